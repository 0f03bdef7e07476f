"""What rules against paths deny, as whoever looks at a disk needs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class DeniedPattern:
    """One rule that denies paths.

    Attributes:
        rule: its text, as it is shown.
        line: a line of .gitignore below ``start``; a slash at its beginning or inside anchors it there.
        start: where the line begins: in each granted folder, in the person's home folder or at the top of the disk.
        reads, writes: what it denies.
        matches: whether the line covers a path below its start, with ``/`` between the parts; in any letter case.
    """

    rule: str
    line: str
    start: Literal["workspace", "home", "top"]
    reads: bool
    writes: bool
    matches: Callable[[str], bool]

    @property
    def anchored(self) -> bool:
        """Whether the line names a place, and not a name at any depth: with a folder above it renamed, it covers something else."""
        return self.start != "workspace" or "/" in self.line.rstrip("/")

    @property
    def base(self) -> str:
        """What every path of the line begins with, whole names without patterns; empty for a name at any depth."""
        if not self.anchored:
            return ""
        parts: list[str] = []
        for part in self.line.strip("/").split("/"):
            if any(mark in part for mark in "*?[\\"):
                break
            parts.append(part)
        return "/".join(parts)

    def starts(self, roots: Sequence[str], home: str) -> Sequence[str]:
        """The folders that the line begins in; ``roots`` are the granted ones."""
        return {"workspace": roots, "home": (home,), "top": ("/",)}[self.start]

    def covers_all(self, path: str) -> bool:
        """Whether the line covers a folder with all in it."""
        return self.matches(path) or self.matches(f"{path}/") or self.matches(f"{path}/\1")
