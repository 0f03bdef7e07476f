"""File names made from workflow names, valid on every system."""

from __future__ import annotations

from pathlib import Path

from atelier_desk.support.visible_and_shortened_text import shorten

LENGTH = 80
_RESERVED = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10))}
)
"""Device names reserved by Windows."""


def file_name(name: str) -> str:
    """A file name without extension: letters, digits, spaces, hyphens and underscores of ``name``, cut at a word."""
    allowed = "".join(each if each.isalnum() or each in " -_" else " " for each in name)
    text = shorten(" ".join(allowed.split()), LENGTH, at_word=True).rstrip("…").strip()
    return "workflow" if not text or text.lower() in _RESERVED else text


def free_path(folder: Path, name: str) -> Path:
    """An unused path in ``folder``: the name, with a number if needed."""
    path, number = folder / f"{name}.json", 2
    while path.exists():
        path, number = folder / f"{name} ({number}).json", number + 1
    return path
