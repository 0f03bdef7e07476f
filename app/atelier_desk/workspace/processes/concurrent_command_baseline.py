# ruff: noqa: PTH108, PTH118, PTH208
"""Shared state of launchers of concurrent commands in the same folders. A leaf: the launcher loads it as a file.

A command that starts while another runs must not treat that one's changes as the original state, or it would restore
them at its end. So each launcher records its state and holds a lock on the file while it runs; later launchers use the
recorded state.
"""

import contextlib
import fcntl
import marshal
import os
import time
from typing import Any


class Baseline:
    """The file of one launcher in ``folder``, which is created; no file if ``folder`` is empty."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._file = -1
        self._path = ""
        self._gate = -1

    def others(self) -> list[Any]:
        """Return the states of running launchers, and block other starts until ``write`` is called.

        Raises ``OSError``.
        """
        if not self._folder:
            return []
        os.makedirs(self._folder, 0o700, exist_ok=True)  # noqa: PTH103
        self._gate = os.open(os.path.join(self._folder, "gate"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._gate, fcntl.LOCK_EX)
        found = []
        for name in sorted(os.listdir(self._folder)):
            if not name.endswith(".baseline"):
                continue
            path = os.path.join(self._folder, name)
            try:
                with open(path, "rb") as file:  # noqa: PTH123
                    try:
                        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    except BlockingIOError:
                        found.append(marshal.load(file))  # noqa: S302 (the program's own folder)
                        continue
                # Its launcher was killed.
                os.unlink(path)
            except FileNotFoundError:
                # It has just ended.
                continue
        return found

    def write(self, state: Any) -> None:
        """Record this launcher's state until ``close``. Raises ``OSError``."""
        if not self._folder:
            return
        self._path = os.path.join(self._folder, f"{time.time_ns()}-{os.getpid()}.baseline")
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._file, fcntl.LOCK_EX)
        with os.fdopen(os.dup(self._file), "wb") as file:
            marshal.dump(state, file)
        self._open_gate()

    def close(self) -> None:
        self._open_gate()
        if self._file >= 0:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._path)
            os.close(self._file)
            self._file = -1

    def _open_gate(self) -> None:
        if self._gate >= 0:
            os.close(self._gate)
            self._gate = -1
