"""What is dropped anywhere on the window: files go with the message; of folders the person says whether they do, too, or are worked in."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import QMenu, QWidget

from atelier_desk.desktop.chat.compose.field import files_of
from atelier_desk.desktop.folders.desk import folders_of
from atelier_desk.desktop.theme import theme
from atelier_desk.i18n import ngettext


class FolderDrop(QObject):
    """Watches a window. What is inside and takes a drop itself, such as the composer, comes first."""

    def __init__(self, window: QWidget, grant: Callable[[Sequence[str]], object], attach: Callable[[list[str]], object]) -> None:
        super().__init__(window)
        self._window, self._grant, self._attach = window, grant, attach
        window.setAcceptDrops(True)
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QDropEvent) and event.type() in (QEvent.Type.DragEnter, QEvent.Type.DragMove, QEvent.Type.Drop):
            folders = folders_of(event.mimeData())
            files = [name for name in files_of(event.mimeData()) if (name.rstrip("/") or "/") not in folders]
            if folders or files:
                event.acceptProposedAction()
                if event.type() == QEvent.Type.Drop and folders:
                    self._ask(folders, event.position().toPoint())
                if event.type() == QEvent.Type.Drop and files:
                    self._attach(files)
                return True
        return False

    def _ask(self, folders: list[str], at: QPoint) -> None:
        """Esc, or a click elsewhere, does neither. The menu is no dialog: the program that was dragged from goes on."""
        menu = QMenu(self._window)
        menu.setObjectName("folder-drop")
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        count = len(folders)
        attach = ngettext("Attach the folder to the message", "Attach the {n} folders to the message", count)
        work = ngettext("Work in this folder", "Work in these {n} folders", count)
        menu.addAction(theme().icon("paperclip"), attach, lambda: self._attach(folders)).setObjectName("folder-attach")
        menu.addAction(theme().icon("folder"), work, lambda: self._grant(folders)).setObjectName("folder-grant")
        menu.popup(self._window.mapToGlobal(at))
        menu.setActiveAction(menu.actions()[0])
