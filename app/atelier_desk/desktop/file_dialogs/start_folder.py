"""The folder in which file dialogs start: the last one used, not the process's working directory."""

from __future__ import annotations

from pathlib import Path

from PySide6 import QtCore  # for QStandardPaths, whose enums are made when it is first named: after the first paint

_last: Path | None = None


def start_folder() -> Path:
    """The last folder used, else the user's documents, else the home folder."""
    if _last is not None and _last.is_dir():
        return _last
    places = QtCore.QStandardPaths
    documents = places.writableLocation(places.StandardLocation.DocumentsLocation)
    return Path(documents) if documents and Path(documents).is_dir() else Path.home()


def remember_folder(folder: Path) -> None:
    """Make the next dialog start in this folder."""
    global _last
    _last = folder
