"""The button in the header with the workflow's folders and their trust; its menu changes both."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QPoint, QSize, Qt
from PySide6.QtWidgets import QMenu, QWidget

from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import bind, bind_text
from atelier_desk.desktop.widgets.button_menu import popup_from
from atelier_desk.desktop.widgets.picker import Picker
from atelier_desk.desktop.widgets.tool_tips import plain_tip
from atelier_desk.desktop.widgets.untrusted_links import add_address
from atelier_desk.desktop.workspace_folders.controller import FolderController
from atelier_desk.desktop.workspace_folders.granted_folder_rows import short_path
from atelier_desk.presentation.file_change_text import GONE, trust_text
from atelier_desk.support.i18n import _, ngettext
from atelier_desk.support.visible_and_shortened_text import visible


class FolderButton(Picker):
    """``workflow-folders``: the first folder's name and the number of others; without folders, an icon to add one."""

    def __init__(self, controller: FolderController, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("workflow-folders")
        mark(self, "picker")
        self._controller = controller
        controller.changed.connect(self._show)
        bind(self._show)

    def open(self) -> None:
        """Show the menu; without current and recent folders, ask for one at once."""
        if not self._controller.folders and not self._controller.recent:
            self._controller.ask()
            return
        menu = QMenu(self)
        menu.setObjectName("folders-menu")
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for folder in self._controller.folders:
            trusted = self._controller.trusted.get(folder)
            if menu.actions():
                menu.addSeparator()
            place = add_address(menu, visible(folder))
            place.setIcon(theme().icon("folder", "muted"))
            place.setEnabled(False)
            if folder in self._controller.missing:
                menu.addAction(theme().icon("triangle-alert", "warn"), _(GONE)).setEnabled(False)
                menu.addAction(
                    theme().icon("folder-open", "muted"),
                    _("Choose another folder…"),
                    partial(self._controller.replace, folder),
                )
                menu.addAction(
                    theme().icon("x", "muted"),
                    _("Revoke access to {name}", name=_name(folder)),
                    partial(self._controller.revoke, folder),
                )
                continue
            if self._controller.trust_matters(folder):
                state = menu.addAction(theme().icon("shield", "ok" if trusted else "muted"), _(trust_text(trusted)))
                state.setEnabled(False)
                if not trusted:
                    menu.addAction(_("Trust this folder…"), partial(self._controller.ask_trust, [folder]))
                if trusted is not False:
                    menu.addAction(_("Do not trust this folder"), partial(self._controller.trust, [folder], False))
            menu.addAction(
                theme().icon("x", "muted"),
                _("Revoke access to {name}", name=_name(folder)),
                partial(self._controller.revoke, folder),
            )
        if self._controller.recent:
            if menu.actions():
                menu.addSeparator()
            menu.addAction(_("Recent folders")).setEnabled(False)
        for folder in self._controller.recent:
            entry = add_address(menu, visible(short_path(folder)))
            entry.setIcon(theme().icon("history", "muted"))
            entry.setToolTip(plain_tip(folder))
            entry.triggered.connect(lambda _on=False, folder=folder: self._controller.grant([folder]))
        menu.addSeparator()
        menu.addAction(theme().icon("plus", "muted"), _("Grant folder access…"), self._controller.ask)
        popup_from(self, menu, self.mapToGlobal(QPoint(0, self.height())))

    def _show(self) -> None:
        folders = self._controller.folders
        open_ = [folder for folder in folders if not self._controller.trusted.get(folder)]
        missing = [folder for folder in folders if folder in self._controller.missing]
        mark(self, "picker-warn" if missing else "picker")
        self.setIcon(
            theme().icon("triangle-alert", "warn", 14)
            if missing
            else theme().icon("folder", "muted" if open_ or not folders else "ok", 14)
        )
        self.setIconSize(QSize(theme().px(14), theme().px(14)))
        first = _name((missing or folders)[0]) if folders else ""
        several = f"{first} +{len(folders) - 1}" if len(folders) > 1 else first
        self.set_choices((), "", _("{name}: missing", name=several) if missing else several)
        bind_text(self, tip=self._tool_tip, name=self._called)

    def _tool_tip(self) -> str:
        folders = self._controller.folders
        if not folders:
            return _("Grant agents access to a folder")
        hint = (
            [_("Restore the missing folder, choose another one, or revoke access.")] if self._controller.missing else []
        )
        text = ngettext("Agents can use this folder:", "Agents can use these folders:", len(folders))
        return "\n".join([text, *map(self._state_line, folders), *hint])

    def _state_line(self, folder: str) -> str:
        if folder in self._controller.missing:
            return _("{name}: {text}", name=folder, text=_(GONE))
        return (
            _("{name}: {text}", name=folder, text=_(trust_text(self._controller.trusted.get(folder))))
            if self._controller.trust_matters(folder)
            else folder
        )

    def _called(self) -> str:
        folders = self._controller.folders
        names = [
            _("{name}: missing", name=_name(each)) if each in self._controller.missing else _name(each)
            for each in folders
        ]
        return _("Folders: {names}", names=", ".join(names)) if folders else _("Grant folder access…")


def _name(folder: str) -> str:
    return Path(folder).name or folder
