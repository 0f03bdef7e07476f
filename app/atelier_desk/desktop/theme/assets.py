"""Files that travel with the program: where they are, and the bundled fonts."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from PySide6.QtGui import QFontDatabase

SANS = "Inter"
MONO = "JetBrains Mono"


@cache
def resource_dir() -> Path:
    """``resources`` of a checkout, or its copy inside an installed package."""
    package = Path(__file__).resolve().parents[2]
    packaged = package / "_resources"
    return packaged if packaged.is_dir() else package.parents[1] / "resources"


@cache
def load_fonts() -> tuple[str, ...]:
    """Register the bundled fonts with Qt, once; returns the families that could be loaded."""
    families: list[str] = []
    for path in sorted((resource_dir() / "fonts").iterdir()):
        if path.suffix in {".otf", ".ttf"}:
            number = QFontDatabase.addApplicationFont(str(path))
            if number >= 0:
                families.extend(QFontDatabase.applicationFontFamilies(number))
    return tuple(dict.fromkeys(families))
