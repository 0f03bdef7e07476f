"""A ``rg`` that is on the machine tells which files may hold a pattern; what is found in them is our own search's to say.

So the results are the same with and without it, and nothing that it reads can reach outside of the workspace: its answer is a set of names.
Only patterns that mean the same in both languages go to it. A file that is not plain ASCII, or has carriage returns, is always searched by
ourselves: there the two differ in what a letter and a line is.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

PLAIN = re.compile(
    r"""(?:
        [^\\\[\]()|?*+{}^$.\n]            # a letter
      | \\[wWdDsSbB] | \\[^\w\s]          # a class of letters, or a sign taken as it is
      | [.^$|)] | \((?!\?) | \(\?:
      | \[\^?\]?(?:[^\[\]\\&~\-]|-(?!-)|\\[wWdDsS]|\\[^\w\s])*\]
      | [*+?](?!\+) | \{\d+(?:,\d*)?\}(?!\+)
    )+""",
    re.VERBOSE,
)
"""Patterns that say the same of a line alone and of a line among others, and mean the same to Python's ``regex`` and to ripgrep: no
look-around, no atomic groups, no back references, no flags inside."""
_ARGUMENTS = (
    *("--no-config", "--no-messages", "--color=never", "--files-with-matches", "--null", "--text"),
    *("--no-require-git", "--no-ignore-global", "--no-ignore-exclude", "--no-ignore-parent", "--no-ignore-messages"),
)
_ALWAYS = (r"\r", r"(?-u:[\x80-\xff])")
_POLL_S = 0.05


def program(workspace: Path) -> str | None:
    """The ``rg`` of the machine; one that lies in the workspace is not taken."""
    path = os.pathsep.join(each for each in os.environ.get("PATH", "").split(os.pathsep) if Path(each).is_absolute())
    found = shutil.which("rg", path=path)
    if found is None or Path(found).resolve().is_relative_to(workspace.resolve()):
        return None
    return found


class Candidates:
    """The files below ``start`` that may hold a pattern. It works from the moment it is made; ``names`` waits for the answer, and blocks.

    Args:
        most: bytes of a file that is looked into; whoever asks looks at larger ones itself.
    """

    def __init__(self, folder: Path, start: str, pattern: str, *, ignore_case: bool, most: int) -> None:
        self._start = start
        self._process: subprocess.Popen[bytes] | None = None
        rg = program(folder)
        if rg is None or not pattern.isascii() or PLAIN.fullmatch(pattern) is None:
            return
        patterns = [part for each in (pattern, *_ALWAYS) for part in ("-e", each)]
        case = "--ignore-case" if ignore_case else "--case-sensitive"
        with contextlib.suppress(OSError):
            self._process = subprocess.Popen(
                [rg, *_ARGUMENTS, case, f"--max-filesize={most}", *patterns, "--", "./"],
                cwd=folder / start,
                env={key: value for key, value in os.environ.items() if key in ("PATH", "HOME", "LANG", "SYSTEMROOT")},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )

    @property
    def at_work(self) -> bool:
        """Whether there is an answer to wait for."""
        return self._process is not None

    def names(self, seconds: float, stopped: Callable[[], object]) -> set[str] | None:
        """The files as paths below the folder; None when nobody can tell.

        Args:
            seconds: after which it is given up; ``stopped`` ends it as well.
        """
        process, left = self._process, seconds
        if process is None:
            return None
        while True:
            try:
                out, _nothing = process.communicate(timeout=_POLL_S)
                break
            except subprocess.TimeoutExpired:
                left -= _POLL_S
                if left <= 0 or stopped():
                    self.end()
                    return None
        if process.returncode not in (0, 1):
            return None
        names = (os.fsdecode(name).removeprefix("./").replace(os.sep, "/") for name in out.split(b"\0") if name)
        return {f"{self._start}/{name}" if self._start else name for name in names}

    def end(self) -> None:
        """Nobody waits for the answer any more."""
        if self._process is not None and self._process.poll() is None:
            with contextlib.suppress(OSError):
                self._process.kill()
            self._process.communicate()
