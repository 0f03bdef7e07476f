"""Folders dropped anywhere on the window are granted to the workflow in view, or to the new one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import QWidget

from atelier_desk.desktop.folders.desk import folders_of


class FolderDrop(QObject):
    """Watches a window. What is inside and takes a drop itself, such as a picture for the message, comes first."""

    def __init__(self, window: QWidget, grant: Callable[[Sequence[str]], object]) -> None:
        super().__init__(window)
        self._grant = grant
        window.setAcceptDrops(True)
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QDropEvent) and event.type() in (QEvent.Type.DragEnter, QEvent.Type.DragMove, QEvent.Type.Drop):
            folders = folders_of(event.mimeData())
            if folders:
                event.acceptProposedAction()
                if event.type() == QEvent.Type.Drop:
                    self._grant(folders)
                return True
        return False
