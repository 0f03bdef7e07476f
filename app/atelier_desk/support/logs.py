"""Logging: a rotating file in the data folder and standard error, without secrets.

Imports nothing of Atelier. Code that holds secrets registers a function that hides them (``add_redactor``).
It is applied to the complete message, arguments and exception text included, before our handlers write a
record.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from logging.handlers import RotatingFileHandler
from pathlib import Path

FILE_NAME = "atelier.log"
FILE_BYTES = 2 * 1024 * 1024
MAX_FILES = 4
FORMAT = "%(asctime)s.%(msecs)03dZ %(levelname)-7s %(name)s [%(correlation_id)s] %(message)s"
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")

Redactor = Callable[[str], str]

_correlation_id: ContextVar[str] = ContextVar("correlation_id", default="-")
_redactors: list[Redactor] = []
_handlers: list[logging.Handler] = []


@contextlib.contextmanager
def correlation(identifier: str) -> Iterator[None]:
    """Add the root run's id to all records written inside, also by tasks started there."""
    token = _correlation_id.set(identifier)
    try:
        yield
    finally:
        _correlation_id.reset(token)


def add_redactor(redactor: Redactor) -> Callable[[], None]:
    """Apply ``redactor`` to every record's text from now on; returns a function that removes it."""
    _redactors.append(redactor)

    def remove() -> None:
        if redactor in _redactors:
            _redactors.remove(redactor)

    return remove


def redact(text: str) -> str:
    """The text without what the registered redactors hide."""
    for redactor in list(_redactors):
        text = redactor(text)
    return text


class _RedactingFilter(logging.Filter):
    """Completes a record's text and hides secrets.

    The record itself changes, so later handlers are safe too.
    """

    _formatter = logging.Formatter()

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = redact(record.getMessage()), None
        if record.exc_info:
            record.exc_text, record.exc_info = redact(self._formatter.formatException(record.exc_info)), None
        elif record.exc_text:
            record.exc_text = redact(record.exc_text)
        if record.stack_info:
            record.stack_info = redact(record.stack_info)
        record.correlation_id = _correlation_id.get()
        return True


class _PrivateRotatingFile(RotatingFileHandler):
    """A rotating file that only its owner can read."""

    def _open(self) -> io.TextIOWrapper:
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        return io.TextIOWrapper(
            io.FileIO(descriptor, "a"), encoding="utf-8", errors="backslashreplace", line_buffering=True
        )


def set_up(directory: Path | None, level: str = "INFO", *, stderr: bool = True) -> None:
    """Start logging, replacing an earlier set-up.

    Args:
        directory: folder of ``atelier.log``, at most ``MAX_FILES`` + 1 files of ``FILE_BYTES``; None writes
            no file. Only one process uses a folder: the one that holds the database.
        level: one of ``LEVELS``, in any case.
        stderr: also write to standard error; standard output stays free for JSON.

    Raises:
        ValueError: unknown level.
        OSError: the file cannot be written.
    """
    level = level.upper()
    if level not in LEVELS:
        raise ValueError(f"unknown log level {level}; allowed: {', '.join(LEVELS)}")
    handlers: list[logging.Handler] = []
    if directory is not None:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        handlers.append(
            _PrivateRotatingFile(directory / FILE_NAME, maxBytes=FILE_BYTES, backupCount=MAX_FILES, encoding="utf-8")
        )
    if stderr:
        handlers.append(logging.StreamHandler(sys.stderr))
    if not handlers:
        handlers.append(logging.NullHandler())  # without any handler, logging writes to standard error itself
    close()
    formatter = logging.Formatter(FORMAT, datefmt="%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    root = logging.getLogger()
    for handler in handlers:
        handler.setFormatter(formatter)
        handler.addFilter(_RedactingFilter())
        root.addHandler(handler)
        _handlers.append(handler)
    root.setLevel(level)
    logging.raiseExceptions = False  # an unwritable log (full disk) must not fill standard error with tracebacks
    for chatty in ("httpx", "httpcore", "asyncio", "surrealdb", "websockets"):
        logging.getLogger(chatty).setLevel(max(logging.WARNING, root.level))


def close() -> None:
    """Stop logging and close the file."""
    root = logging.getLogger()
    while _handlers:
        handler = _handlers.pop()
        root.removeHandler(handler)
        handler.close()
