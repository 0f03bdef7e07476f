"""Asks the process that draws formulas and diagrams, which is started when the first is wanted and ends when none was for a while."""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import sys
import threading
from functools import cache

from PySide6.QtCore import QObject, Signal

from atelier_desk.support.worker import environment as children
from atelier_desk.threads import in_background

IDLE_S = 120.0
"""Seconds without anything to draw after which the process ends; it takes some 40 MB."""
DRAW_S = 10.0
"""Seconds one drawing may take; then the process is ended, and the source stays as it is."""
_NO_WINDOW = getattr(subprocess, "CREATE_NO_WINDOW", 0)


class Drawings(QObject):
    """One for the program.

    Signals:
        drawn: kind, source and what was drawn, empty when that cannot be.
    """

    drawn = Signal(str, str, str)

    def __init__(self) -> None:
        super().__init__()
        self._wanted: queue.Queue[tuple[str, str]] = queue.Queue()
        self._began = False
        self._child: subprocess.Popen[str] | None = None

    def want(self, kind: str, source: str) -> None:
        """Draw it; ``drawn`` tells when."""
        if not self._began:
            self._began = True
            in_background(self._work)
        self._wanted.put((kind, source))

    def _work(self) -> None:
        """On a thread that only waits: for something to draw, and for the process."""
        while True:
            try:
                kind, source = self._wanted.get(timeout=IDLE_S if self._child is not None else None)
            except queue.Empty:
                self._end()
                continue
            answer = self._ask(kind, source)
            with contextlib.suppress(RuntimeError):  # the program ends
                self.drawn.emit(kind, source, answer)

    def _ask(self, kind: str, source: str) -> str:
        child = self._child or self._start()
        if child is None or child.stdin is None or child.stdout is None:
            return ""
        late = threading.Timer(DRAW_S, child.kill)
        late.start()
        try:
            child.stdin.write(json.dumps([kind, source]) + "\n")
            child.stdin.flush()
            answer = json.loads(child.stdout.readline())
        except (OSError, ValueError):
            self._end()
            return ""
        finally:
            late.cancel()
        return answer or ""

    def _start(self) -> subprocess.Popen[str] | None:
        # -P: no module of the folder the program was started in takes the place of one of Python's.
        command = [sys.executable, "-P", "-m", "atelier_desk.desktop.chat.markdown.draw_process"]
        try:
            self._child = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=children.reader_environment(),
                text=True,
                encoding="ascii",
                creationflags=_NO_WINDOW,
            )
        except OSError:
            return None
        return self._child

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.communicate()


@cache
def drawings() -> Drawings:
    """The one of the program; made in the window's thread."""
    return Drawings()
