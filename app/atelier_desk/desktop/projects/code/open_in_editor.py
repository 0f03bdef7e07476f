"""Opens a text in the system's editor. Not by its default action, which on some systems runs scripts."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from PySide6.QtCore import QProcess, QUrl
from PySide6.QtGui import QDesktopServices


def open_text(path: Path) -> bool:
    """Open a text file in the default editor; False if none could be started."""
    if not path.is_file():
        return False
    if sys.platform == "win32":
        try:
            os.startfile(path, "edit")  # noqa: S606
        except OSError:  # no program is registered for editing such files
            return bool(QProcess.startDetached("notepad.exe", [str(path)])[0])
        return True
    if sys.platform == "darwin":
        return bool(QProcess.startDetached("/usr/bin/open", ["-t", str(path)])[0])
    return QDesktopServices.openUrl(QUrl.fromLocalFile(str(path)))
