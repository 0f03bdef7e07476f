"""The folder in which dialogs for files begin: the one that was used last, never the one the program happened to be started in."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QStandardPaths

_last: Path | None = None


def start_folder() -> Path:
    """Where a dialog for files begins: the folder used last, else the person's documents, else their home."""
    if _last is not None and _last.is_dir():
        return _last
    documents = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation)
    return Path(documents) if documents and Path(documents).is_dir() else Path.home()


def remember_folder(folder: Path) -> None:
    """The next dialog begins there."""
    global _last
    _last = folder
