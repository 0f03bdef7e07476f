"""Report unhandled errors: write them to a file and offer to copy the report; the program continues where it can."""

from __future__ import annotations

import contextlib
import faulthandler
import logging
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import IO

_MOST_REPORTS = 20


class CrashHandler:
    """Catches unhandled exceptions of any thread.

    ``show`` is called with the report and its file, on the thread that raised.
    """

    def __init__(self, logs: Path | None, show: Callable[[str, str], object]) -> None:
        self._logs = logs
        self._show = show
        self._fault_file: IO[str] | None = None
        self._reporting: set[int] = set()
        """The threads inside ``report``."""

    def install(self) -> None:
        """Install the interpreter's exception hooks, and write native crashes to a file too."""
        sys.excepthook = self._on_exception
        threading.excepthook = self._on_thread_exception
        if self._logs is not None:
            # Without a writable folder there is no file, but the dialog still appears.
            with contextlib.suppress(OSError):
                # A parent folder created implicitly would be readable by others.
                for folder in (self._logs.parent, self._logs):
                    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._fault_file = (self._logs / "native-crash.txt").open("w", encoding="utf-8")
                faulthandler.enable(self._fault_file)

    @staticmethod
    def load() -> Callable[[BaseException, str], str]:
        """Return what writes a report's text; loaded early, while files can be opened."""
        from atelier_desk.desktop.system.crash_report import report_text

        return report_text

    def report(self, error: BaseException, where: str = "") -> None:
        """Write the report and show it. An error raised meanwhile on the same thread is only logged."""
        logging.getLogger(__name__).critical("unhandled error %s", where, exc_info=error)
        thread = threading.get_ident()
        if thread in self._reporting:
            return
        self._reporting.add(thread)
        try:
            text = self.load()(error, where)
            self._show(text, self._write(text))
        finally:
            self._reporting.discard(thread)

    def loop_handler(self, _loop: object, context: dict[str, object]) -> None:
        """For ``loop.set_exception_handler``."""
        error = context.get("exception")
        if isinstance(error, Exception):
            self.report(error, str(context.get("message", "")))
        else:
            logging.getLogger(__name__).error("event loop: %s", context.get("message"))

    def _write(self, text: str) -> str:
        if self._logs is None:
            return ""
        path = self._logs / f"crash-{datetime.now(UTC):%Y%m%d-%H%M%S}.txt"
        try:
            path.write_text(text, encoding="utf-8")
            old = sorted(self._logs.glob("crash-*.txt"))[:-_MOST_REPORTS]
            for each in old:
                each.unlink()
        except OSError as error:
            logging.getLogger(__name__).warning("the crash report could not be written: %s", error)
            return ""
        return str(path)

    def _on_exception(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, trace)
            return
        self.report(error)

    def _on_thread_exception(self, arguments: threading.ExceptHookArgs) -> None:
        if arguments.exc_value is not None and not issubclass(arguments.exc_type, SystemExit):
            self.report(arguments.exc_value, f"thread {arguments.thread.name if arguments.thread else '?'}")
