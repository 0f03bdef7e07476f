"""The granted folders as rows: name, trust (a click changes it), and remove."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtWidgets import QPushButton, QSizePolicy, QWidget

from atelier_desk.desktop.widgets import ElidedLabel, IconButton, bind, bind_text, control, hbox, tint, vbox
from atelier_desk.desktop.widgets.flow_layout import FlowLayout
from atelier_desk.desktop.workspace_folders.controller import FolderController
from atelier_desk.presentation.file_change_text import GONE, trust_text
from atelier_desk.support.i18n import N_, _

MOST_LETTERS = 28
"""Maximum characters of a folder's name on a button."""


class FolderRows(QWidget):
    """``folder-rows``: hidden if empty."""

    def __init__(self, controller: FolderController, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("folder-rows")
        self._controller = controller
        self._column = vbox(self, spacing=0)
        controller.changed.connect(self._fill)
        bind(self._fill)

    def _fill(self) -> None:
        while (item := self._column.takeAt(0)) is not None:
            if (row := item.widget()) is not None:
                row.hide()
                row.deleteLater()
        for folder in self._controller.folders:
            self._column.addWidget(self._row(folder))
        self.setVisible(bool(self._controller.folders))

    def _row(self, folder: str) -> QWidget:
        row = QWidget(self)
        trusted = self._controller.trusted.get(folder)
        name = control(ElidedLabel(short_path(folder), row), "files-folder", look="muted", tip=partial(str, folder))
        state = control(QPushButton(row), "folder-trust", N_("Trusted") if trusted else N_("Not trusted"), look="link")
        tint(state, "shield", "ok" if trusted else "muted", 14)
        state.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        bind_text(
            state,
            tip=trust_text(trusted),
            name=lambda: _("{name}: {text}", name=Path(folder).name, text=_(trust_text(trusted))),
        )
        if folder in self._controller.missing:
            bind_text(
                state,
                text=N_("Missing"),
                tip=GONE,
                name=lambda: _("{name}: {text}", name=Path(folder).name, text=_(GONE)),
            )
            tint(state, "triangle-alert", "warn", 14)
            state.clicked.connect(lambda *_on: self._controller.replace(folder))
        elif not self._controller.trust_matters(folder):
            state.hide()
        elif trusted:
            state.clicked.connect(lambda *_on: self._controller.trust([folder], False))
        else:
            state.clicked.connect(lambda *_on: self._controller.ask_trust([folder]))
        remove = control(
            IconButton("x", parent=row, size=14), "files-ungrant", on=partial(self._controller.revoke, folder)
        )
        bind_text(remove, tip=lambda: _("Revoke access to {name}", name=Path(folder).name))
        hbox(row, (name, 1), state, remove, spacing=4)
        return row


class RecentFolders(QWidget):
    """``recent-folders``: buttons that grant folders of other workflows; hidden if empty."""

    def __init__(self, controller: FolderController, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("recent-folders")
        self._controller = controller
        self._flow = FlowLayout(self)
        controller.changed.connect(self._fill)
        bind(self._fill)

    def _fill(self) -> None:
        while (item := self._flow.takeAt(0)) is not None:
            if (button := item.widget()) is not None:
                button.hide()
                button.deleteLater()
        for folder in self._controller.recent:
            self._flow.addWidget(self._button(folder))
        self.setVisible(bool(self._controller.recent))

    def _button(self, folder: str) -> QPushButton:
        button = control(
            QPushButton(self), "recent-folder", look="chip-plain", on=partial(self._controller.grant, [folder])
        )
        tint(button, "folder", "muted", 14)
        text = " " + cut(Path(folder).name or folder).replace("&", "&&")
        return bind_text(
            button, lambda: text, tip=lambda: folder, name=lambda: _("Grant access to {folder}", folder=folder)
        )


def cut(name: str) -> str:
    """A long name cut at its end."""
    return name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 1]}…"


def short_path(folder: str) -> str:
    """The folder's name before its parent: paths are cut at the end, and their beginnings are least informative."""
    path, home = Path(folder), Path.home()
    above = f"~/{path.parent.relative_to(home)}" if path.is_relative_to(home) and path != home else str(path.parent)
    return f"{path.name} · {above.removesuffix('/.')}" if path.name else folder
