"""Where the program logs to."""

from __future__ import annotations

from pathlib import Path

from atelier_desk.support import logs

_redactor: object = None


def start_logging(level: str | None, directory: Path | None = None) -> None:
    """Log to the file in the data folder, once this process holds it, and to standard error when ``level`` was asked for.

    Without ``--log-level`` standard error is for people: what concerns them is said to them, in their language. Keys are hidden in both.
    """
    global _redactor
    if _redactor is None:
        from atelier_desk.llm import secrets  # takes as long as all the rest of --help

        _redactor = logs.add_redactor(secrets.redact)
    logs.set_up(directory, level or "warning", stderr=level is not None)
