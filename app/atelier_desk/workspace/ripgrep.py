"""Use an installed ``rg`` to find which files may match; our own search then finds the matches.

So results are the same with and without it, and nothing it reads can reach outside the workspace: its answer is a set
of names. Only patterns with the same meaning in both engines are passed to it. Files with non-ASCII characters or
carriage returns are always searched by ourselves: there the engines differ in letters and lines.
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
"""Patterns with the same meaning for a single line and within a text, and for Python's ``regex`` and ripgrep:

no look-around, atomic groups, back references or inline flags.
"""
_ARGUMENTS = (
    *("--no-config", "--no-messages", "--color=never", "--files-with-matches", "--null", "--text"),
    *("--no-require-git", "--no-ignore-global", "--no-ignore-exclude", "--no-ignore-parent", "--no-ignore-messages"),
)
_ALWAYS = (r"\r", r"(?-u:[\x80-\xff])")
_POLL_S = 0.05


def program(workspace: Path) -> str | None:
    """Return the machine's ``rg``, unless it lies in the workspace."""
    path = os.pathsep.join(each for each in os.environ.get("PATH", "").split(os.pathsep) if Path(each).is_absolute())
    found = shutil.which("rg", path=path)
    if found is None or Path(found).resolve().is_relative_to(workspace.resolve()):
        return None
    return found


class Candidates:
    """The files below ``start`` that may match a pattern. Starts immediately; ``names`` waits for the answer, and
    blocks.

    Args:
        most: maximum bytes of a searched file; the caller searches larger ones itself.
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
        """Return the files relative to the folder; None if unknown.

        Args:
            seconds: time limit; ``stopped`` ends it too.
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
        """Stop: the answer is not needed any more."""
        if self._process is not None and self._process.poll() is None:
            with contextlib.suppress(OSError):
                self._process.kill()
            self._process.communicate()
