"""Set up the program's logs."""

from __future__ import annotations

from pathlib import Path

from atelier_desk.llm import secrets
from atelier_desk.support import logs

_redactor: object = None


def start_logging(level: str | None, directory: Path | None = None) -> None:
    """Log to the data folder's file, and with ``level`` to standard error.

    The file is used once this process holds the data folder. Without ``--log-level`` standard error is for
    people: messages for them appear there in their language. Keys are hidden in both logs.
    """
    global _redactor
    if _redactor is None:
        _redactor = logs.add_redactor(secrets.redact)
    logs.set_up(directory, level or "warning", stderr=level is not None)
