"""Drops anywhere on the window: files are attached.

For folders the user chooses between attaching and granting access.

Text, images and links dropped on the chat go to the composer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, Qt
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import QMenu, QPlainTextEdit, QWidget

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.workspace_folders.controller import accept_copy, files_of, folders_of
from atelier_desk.desktop.workspace_folders.drop_overlay import DropHighlight
from atelier_desk.support.i18n import _, ngettext


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
        self._highlight = DropHighlight(window)
        window.setAcceptDrops(True)
        for receiver in (window, page, field, field.viewport(), field.parentWidget()):
            if receiver is not None and receiver.acceptDrops():
                receiver.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self._show_highlight(watched, event)
        if isinstance(event, QDropEvent) and event.type() in (
            QEvent.Type.DragEnter,
            QEvent.Type.DragMove,
            QEvent.Type.Drop,
        ):
            folders = folders_of(event.mimeData())
            files = [name for name in files_of(event.mimeData()) if (name.rstrip("/") or "/") not in folders]
            if folders or files:
                accept_copy(event)
                if event.type() == QEvent.Type.Drop and folders and isinstance(watched, QWidget):
                    self._ask(folders, watched.mapToGlobal(event.position().toPoint()))
                if event.type() == QEvent.Type.Drop and files:
                    self._attach(files)
                return True
            if (
                watched is self._window
                and self._over_page(event)
                and self._field.canInsertFromMimeData(event.mimeData())
            ):
                accept_copy(event)
                if event.type() == QEvent.Type.Drop:
                    self._field.insertFromMimeData(event.mimeData())
                    self._field.setFocus()
                return True
        return False

    def _show_highlight(self, watched: QObject, event: QEvent) -> None:
        """Show where a drag may be dropped: files anywhere, others on the page, where the field shows its own caret."""
        if event.type() in (QEvent.Type.DragLeave, QEvent.Type.Drop):
            self._highlight.hide()
        elif isinstance(event, QDropEvent):  # the drag entered or moved
            if folders := folders_of(event.mimeData()):
                text = ngettext(
                    "Drop to attach the folder or to work in it",
                    "Drop to attach the {n} folders or to work in them",
                    len(folders),
                )
                self._highlight.show_over(self._window.rect(), text)
            elif files_of(event.mimeData()):
                self._highlight.show_over(self._window.rect(), _("Drop to add to the message"))
            elif (
                watched is self._window
                and self._over_page(event)
                and self._field.canInsertFromMimeData(event.mimeData())
            ):
                page = QRect(self._page.mapTo(self._window, QPoint()), self._page.size())
                self._highlight.show_over(page, _("Drop to add to the message"))
            else:
                self._highlight.hide()

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
        menu.popup(at)
        menu.setActiveAction(menu.actions()[0])
