"""Errors of child processes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class WorkerError(Exception):
    """Base of the three errors. Its text is half an English sentence that fits after a colon.

    Attributes:
        code: for a table of messages.
    """

    code = "worker"


class CannotStart(WorkerError):
    """The process cannot start, or ended before the first request.

    The installation is broken or memory is short.
    """

    code = "cannot_start"


class Ended(WorkerError):
    """The process ended, or was ended, before it answered.

    Attributes:
        code: ``memory`` (limit exceeded), ``timeout`` (of clock or CPU), ``signal`` or ``exit`` (``status``
            is the number), ``too_long`` or ``damaged`` (its answer).
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
    """An expected error of code under ``serve``: a code, optional text and JSON values."""

    def __init__(self, code: str, message: str = "", **params: object) -> None:
        super().__init__(message or code)
        self.code, self.template, self.params = code, "", params


class Failed(WorkerError):
    """The process answered with an error and keeps running.

    Attributes:
        code, template, params: of a ``Refused``, or of an ``AtelierError`` with its values as text; else
            ``failed``, ``""`` and nothing.
        trace: the traceback, or its cause's when the error is meant for people; may be empty.
    """

    def __init__(
        self, message: str, code: str = "", template: str = "", params: Mapping[str, Any] | None = None, trace: str = ""
    ) -> None:
        super().__init__(message)
        self.code = str(code) or "failed"
        self.template = str(template)
        self.params = dict(params or {})
        self.trace = trace
