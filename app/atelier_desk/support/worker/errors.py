"""What can go wrong with a child process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class WorkerError(Exception):
    """Base of the three. Its text is English, half a sentence that fits behind a colon.

    Attributes:
        code: for a table of messages.
    """

    code = "worker"


class CannotStart(WorkerError):
    """There is no process, or it ended before it could be asked anything: the installation is broken, or memory is short."""

    code = "cannot_start"


class Ended(WorkerError):
    """The process ended, or was ended, before it answered.

    Attributes:
        code: ``memory`` (it asked for more than it may have), ``timeout`` (of a clock or of a processor), ``signal`` or ``exit``
            (``status`` is the number), ``too_long`` (its answer) or ``damaged`` (its answer).
        status: number of the signal, or exit status.
    """

    def __init__(self, code: str, status: int = 0) -> None:
        super().__init__(code, status)
        self.code, self.status = code, status

    def __str__(self) -> str:
        how = f"exit status {self.status}" if self.code == "exit" else f"signal {self.status}"
        return {
            "memory": "it asked for too much memory",
            "timeout": "it took too long",
            "too_long": "its answer is too long",
            "damaged": "its answer is damaged",
        }.get(self.code, f"it ended its process before it was done ({how})")


class Refused(Exception):
    """Raised by what ``serve`` runs: it cannot answer, for a reason with a code, maybe in words, and with values that JSON can write."""

    def __init__(self, code: str, message: str = "", **params: object) -> None:
        super().__init__(message or code)
        self.code, self.template, self.params = code, "", params


class Failed(WorkerError):
    """The process answered with an error of its own, and goes on.

    Attributes:
        code, template, params: of a ``Refused``, or an ``AtelierError`` with its values as text; else ``failed``, ``""`` and nothing.
        trace: the traceback, or that of its cause where the error is meant for people; may be empty.
    """

    def __init__(self, message: str, code: str = "", template: str = "", params: Mapping[str, Any] | None = None, trace: str = "") -> None:
        super().__init__(message)
        self.code = str(code) or "failed"
        self.template = str(template)
        self.params = dict(params or {})
        self.trace = trace
