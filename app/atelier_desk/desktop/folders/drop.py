"""What is dropped anywhere on the window: folders are granted to the workflow in view, or to the new one; files go with the message."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import QWidget

from atelier_desk.desktop.chat.compose.field import files_of
from atelier_desk.desktop.folders.desk import folders_of


class FolderDrop(QObject):
    """Watches a window. What is inside and takes a drop itself, such as the composer, comes first."""

    def __init__(self, window: QWidget, grant: Callable[[Sequence[str]], object], attach: Callable[[list[str]], object]) -> None:
        super().__init__(window)
        self._grant, self._attach = grant, attach
        window.setAcceptDrops(True)
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QDropEvent) and event.type() in (QEvent.Type.DragEnter, QEvent.Type.DragMove, QEvent.Type.Drop):
            folders = folders_of(event.mimeData())
            files = [name for name in files_of(event.mimeData()) if (name.rstrip("/") or "/") not in folders]
            if folders or files:
                event.acceptProposedAction()
                if event.type() == QEvent.Type.Drop and folders:
                    self._grant(folders)
                if event.type() == QEvent.Type.Drop and files:
                    self._attach(files)
                return True
        return False
