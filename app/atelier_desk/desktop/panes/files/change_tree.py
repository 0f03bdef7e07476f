"""The changes as a tree of folders and files.

Folders show the number and authors of their changes; a file with several changes has them as children.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QKeyEvent
from PySide6.QtWidgets import QTreeWidget, QTreeWidgetItem, QWidget

from atelier_desk.desktop.panes.time_format import ago
from atelier_desk.desktop.panes.two_line_items import KeyRole, style_list
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.theme.manager import Role
from atelier_desk.desktop.widgets.language_theme_bindings import bind
from atelier_desk.desktop.widgets.list_rows import ListRow, RowRole, show_row
from atelier_desk.desktop.widgets.minute_clock import MinuteClock
from atelier_desk.domain.file_change import Change
from atelier_desk.presentation.file_change_text import ACTIONS, mark_text, path_text, state_text
from atelier_desk.support.i18n import _, ngettext

ICONS = {"created": "plus", "changed": "pencil", "deleted": "trash-2", "moved": "folder"}
_Node = tuple[dict[str, "_Node"], dict[str, list[Change]]]
"""Subfolders by name, and the changes of files by name."""


class ChangeTree(QTreeWidget):
    """``file-changes``. Expanded and collapsed rows are preserved on reload.

    Signals:
        opened: the id of a change to show as a diff.
        menu_requested: the changes of a row, and a screen position.
    """

    opened = Signal(str)
    menu_requested = Signal(object, object)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("file-changes")
        self.setHeaderHidden(True)
        self.setIndentation(theme().px(16))
        style_list(self)
        self.setExpandsOnDoubleClick(False)
        self._changes: dict[str, Change] = {}
        self._marks: dict[str, Sequence[str]] = {}
        self._closed: set[str] = set()
        self.itemClicked.connect(lambda item, *_: self._on_item(item))
        self.itemExpanded.connect(lambda item: self._closed.discard(item.data(0, KeyRole)))
        self.itemCollapsed.connect(lambda item: self._closed.add(item.data(0, KeyRole)))
        MinuteClock(self, self._show_ages)
        bind(self._apply_style)

    def show_changes(self, changes: Sequence[Change], marks: Mapping[str, Sequence[str]] | None = None) -> None:
        """Show these changes, newest first per file.

        ``marks``: untrusted content read before writing, by absolute path.
        """
        self._marks = dict(marks or {})
        current = self.currentItem()
        before = current.data(0, KeyRole) if current is not None else ""
        self._changes = {change.id: change for change in changes}
        self.clear()
        roots = list(dict.fromkeys(change.root for change in changes))
        for root in roots:
            node: _Node = ({}, {})
            for change in changes:
                if change.root == root:
                    _place(node, change)
            # A single granted folder needs no line.
            parent = (
                self._folder(self.invisibleRootItem(), root, Path(root).name or root, node) if len(roots) > 1 else None
            )
            self._fill(parent or self.invisibleRootItem(), root, node)
        self._open_again(before)

    def rows(self) -> list[QTreeWidgetItem]:
        """All rows, from top to bottom."""
        found: list[QTreeWidgetItem] = []
        rest = [self.invisibleRootItem()]
        while rest:
            item = rest.pop()
            found.append(item)
            rest += reversed(_children(item))
        return found[1:]

    def changes_of(self, item: QTreeWidgetItem | None) -> list[Change]:
        """The changes of a row and its descendants, newest first."""
        if item is None:
            return []
        rest: list[QTreeWidgetItem] = [item]
        ids: list[str] = []
        while rest:
            each = rest.pop()
            if each.data(0, KeyRole) in self._changes:
                ids.append(each.data(0, KeyRole))
            rest += _children(each)
        return [self._changes[id] for id in sorted(ids, reverse=True)]

    def _fill(self, parent: QTreeWidgetItem, above: str, node: _Node) -> None:
        folders, files = node
        for name in sorted(folders):
            inner, shown, path = folders[name], name, f"{above}/{name}"
            # A folder that contains only a folder shares its line.
            while not inner[1] and len(inner[0]) == 1:
                ((name, inner),) = inner[0].items()
                shown, path = f"{shown}/{name}", f"{path}/{name}"
            self._fill(self._folder(parent, path, f"{shown}/", inner), path, inner)
        for name in sorted(files):
            changes = files[name]
            if len(changes) == 1:
                self._row(parent, changes[0].id, _leaf(changes[0], name), facts(changes[0]), changes[0])
                continue
            file = self._row(parent, f"{above}/{name}\n", name, counted(changes), changes[0])
            for change in changes:
                self._row(file, change.id, _(ACTIONS[change.action]).capitalize(), facts(change, action=False), change)

    def _folder(self, parent: QTreeWidgetItem, key: str, title: str, node: _Node) -> QTreeWidgetItem:
        inside = _all(node)
        alive = any(change.undoable for change in inside)
        role: Role = "accent" if alive else "muted"
        return self._item(parent, key, ListRow(title, facts=counted(inside), icon="folder", role=role))

    def _row(self, parent: QTreeWidgetItem, key: str, title: str, details: str, change: Change) -> QTreeWidgetItem:
        sources = self._marks.get(marked_path(change), ())
        role: Role = "warn" if sources else "accent" if change.undoable else "muted"
        tip = "\n".join(filter(None, (path_text(change), details, mark_text(sources) if sources else "")))
        icon = "triangle-alert" if sources else ICONS[change.action]
        return self._item(parent, key, ListRow(title, facts=details, icon=icon, role=role, tip=tip))

    @staticmethod
    def _item(parent: QTreeWidgetItem, key: str, row: ListRow) -> QTreeWidgetItem:
        item = QTreeWidgetItem(parent)
        item.setData(0, KeyRole, key)
        show_row(item, row)
        return item

    def _show_ages(self) -> None:
        for item in self.rows():
            if (change := self._changes.get(item.data(0, KeyRole))) is not None:
                row, above = item.data(0, RowRole), item.parent()
                details = facts(change, action=above is None or not above.data(0, KeyRole).endswith("\n"))
                show_row(item, replace(row, facts=details, tip=row.tip.replace(row.facts, details)))

    def _open_again(self, current: str) -> None:
        for item in self.rows():
            item.setExpanded(item.childCount() > 0 and item.data(0, KeyRole) not in self._closed)
            if item.data(0, KeyRole) == current:
                self.setCurrentItem(item)
        if self.currentItem() is None and (first := self.topLevelItem(0)) is not None:
            self.setCurrentItem(first)

    def _apply_style(self) -> None:
        self.setIndentation(theme().px(16))

    def _on_item(self, item: QTreeWidgetItem) -> None:
        if item.data(0, KeyRole) in self._changes:
            self.opened.emit(item.data(0, KeyRole))
        else:
            item.setExpanded(not item.isExpanded())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        item = self.currentItem()
        if item is not None and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._on_item(item)
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        by_key = event.reason() is QContextMenuEvent.Reason.Keyboard
        item = self.currentItem() if by_key else self.itemAt(event.pos())
        if item is not None:
            at = self.viewport().mapToGlobal(self.visualItemRect(item).center()) if by_key else event.globalPos()
            self.menu_requested.emit(self.changes_of(item), at)


def marked_path(change: Change) -> str:
    """The current absolute path of a change's file, with links resolved."""
    return os.path.realpath(os.path.join(change.moved_root or change.root, change.moved_to or change.path))  # noqa: PTH118


def facts(change: Change, *, action: bool = True) -> str:
    """What was done, by whom and when."""
    parts = (_(ACTIONS[change.action]) if action else "", change.agent_name, ago(change.at), state_text(change))
    return " · ".join(filter(None, parts))


def _children(item: QTreeWidgetItem) -> list[QTreeWidgetItem]:
    found = [item.child(number) for number in range(item.childCount())]
    return [each for each in found if each is not None]


def _place(node: _Node, change: Change) -> None:
    *above, name = change.path.split("/")
    for each in above:
        node = node[0].setdefault(each, ({}, {}))
    node[1].setdefault(name, []).append(change)


def _all(node: _Node) -> list[Change]:
    own = [change for changes in node[1].values() for change in changes]
    return own + [change for inner in node[0].values() for change in _all(inner)]


def _leaf(change: Change, name: str) -> str:
    return f"{name} → {change.moved_to}" if change.moved_to else name + ("/" if change.folder else "")


def counted(changes: Sequence[Change]) -> str:
    """The number of changes and their authors."""
    who = ", ".join(sorted({change.agent_name for change in changes if change.agent_name}))
    count = ngettext("{n} change", "{n} changes", len(changes))
    return f"{count} · {who}" if who else count
