"""Path denials of rules, for code with disk access."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class DeniedPattern:
    """One rule that denies paths.

    Attributes:
        rule: its text, for display.
        line: a .gitignore line below ``start``; a leading or inner slash anchors it there.
        start: base of the line: each granted folder, the home folder or the root of the disk.
        reads, writes: what it denies.
        matches: whether the line covers a path below its base, with ``/`` separators, ignoring case.
    """

    rule: str
    line: str
    start: Literal["workspace", "home", "top"]
    reads: bool
    writes: bool
    matches: Callable[[str], bool]

    @property
    def anchored(self) -> bool:
        """Whether the line names a place rather than a name at any depth.

        Renaming a parent folder changes what it covers.
        """
        return self.start != "workspace" or "/" in self.line.rstrip("/")

    @property
    def base(self) -> str:
        """The literal leading part of all covered paths; empty for a name at any depth."""
        if not self.anchored:
            return ""
        parts: list[str] = []
        for part in self.line.strip("/").split("/"):
            if any(mark in part for mark in "*?[\\"):
                break
            parts.append(part)
        return "/".join(parts)

    def starts(self, roots: Sequence[str], home: str) -> Sequence[str]:
        """Return the base folders of the line; ``roots`` are the granted ones."""
        return {"workspace": roots, "home": (home,), "top": ("/",)}[self.start]

    def covers_all(self, path: str) -> bool:
        """Whether the line covers a folder with all its content."""
        return self.matches(path) or self.matches(f"{path}/") or self.matches(f"{path}/\1")
