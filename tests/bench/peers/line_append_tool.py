"""The tool of runs that are killed: both a repeated and a missing call are visible in its file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path


def line_appender(folder: Path) -> Callable[[str], str]:
    """The function of the tool: appends a line to ``effects`` in the folder, on disk before it returns."""

    def append_line(line: str) -> str:
        """Append a line."""
        with (folder / "effects").open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
            file.flush()
            os.fsync(file.fileno())
        return f"appended: {line}"

    return append_line
