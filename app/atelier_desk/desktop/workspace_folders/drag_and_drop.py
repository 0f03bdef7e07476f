"""Drops anywhere on the window: files are attached.

For folders the user chooses between attaching and granting access.

Text, images and links dropped on the chat go to the composer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import QMenu, QPlainTextEdit, QWidget

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.workspace_folders.controller import files_of, folders_of
from atelier_desk.support.i18n import ngettext


class FolderDrop(QObject):
    """Watches a window for dropped folders. Children that accept drops themselves, such as the composer, come first.

    Args:
        field: accepts other items dropped on its surroundings, ``page``.
    """

    def __init__(
        self,
        window: QWidget,
        grant: Callable[[Sequence[str]], object],
        attach: Callable[[list[str]], object],
        field: QPlainTextEdit,
        page: QWidget,
    ) -> None:
        super().__init__(window)
        self._window, self._grant, self._attach, self._field, self._page = window, grant, attach, field, page
        window.setAcceptDrops(True)
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QDropEvent) and event.type() in (
            QEvent.Type.DragEnter,
            QEvent.Type.DragMove,
            QEvent.Type.Drop,
        ):
            folders = folders_of(event.mimeData())
            files = [name for name in files_of(event.mimeData()) if (name.rstrip("/") or "/") not in folders]
            if folders or files:
                event.acceptProposedAction()
                if event.type() == QEvent.Type.Drop and folders:
                    self._ask(folders, event.position().toPoint())
                if event.type() == QEvent.Type.Drop and files:
                    self._attach(files)
                return True
            if self._over_page(event) and self._field.canInsertFromMimeData(event.mimeData()):
                event.acceptProposedAction()
                if event.type() == QEvent.Type.Drop:
                    self._field.insertFromMimeData(event.mimeData())
                    self._field.setFocus()
                return True
        return False

    def _over_page(self, event: QDropEvent) -> bool:
        place = self._page.mapFrom(self._window, event.position().toPoint())
        return self._page.isVisible() and self._page.rect().contains(place)

    def _ask(self, folders: list[str], at: QPoint) -> None:
        """Ask what to do with them; Esc or a click elsewhere does nothing. A menu does not block the source program."""
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
