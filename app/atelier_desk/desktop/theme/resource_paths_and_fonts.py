"""Resource files: their location, and the bundled fonts."""

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


def notices_file() -> Path:
    """The notices of installed components: at the root of a checkout, or in an installed package's licences."""
    resources = resource_dir()
    packaged = resources / "licenses" / "THIRD-PARTY-NOTICES"
    return packaged if packaged.is_file() else resources.parent / packaged.name


def docs_dir() -> Path:
    """The documentation: ``docs`` of a checkout, or its copy among the resources of an installed package."""
    packaged = resource_dir() / "docs"
    return packaged if packaged.is_dir() else resource_dir().parent / packaged.name


@cache
def load_fonts() -> tuple[str, ...]:
    """Register the bundled fonts with Qt, once; returns the loaded families."""
    families: list[str] = []
    for path in sorted((resource_dir() / "fonts").iterdir()):
        if path.suffix in {".otf", ".ttf"}:
            number = QFontDatabase.addApplicationFont(str(path))
            if number >= 0:
                families.extend(QFontDatabase.applicationFontFamilies(number))
    return tuple(dict.fromkeys(families))
