"""The scopes of a file as a tree, and lists of callers and callees."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QListWidget,
    QListWidgetItem,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from atelier_desk.desktop.panes.two_line_items import KeyRole, style_list, two_line_item
from atelier_desk.desktop.projects.entity_icons import KIND_COLOURS, KIND_ICONS
from atelier_desk.desktop.theme import icons, mark, theme
from atelier_desk.desktop.widgets import bind, bind_text, control, label, vbox
from atelier_desk.desktop.widgets.language_theme_bindings import Text
from atelier_desk.desktop.widgets.scroll_bar_space import OverlayBar
from atelier_desk.desktop.widgets.tool_tips import plain_tip
from atelier_desk.domain.project import Entity, EntityKind
from atelier_desk.presentation.project_text import describe, kind_word, place_word, title_word
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.visible_and_shortened_text import visible

OUTLINED = (EntityKind.SCOPE, EntityKind.SECTION, EntityKind.PAGE)
ROWS = 5
"""Maximum rows of a list of places without scrolling."""


class Outline(QTreeWidget):
    """``code-outline``: scopes nested and ordered by line.

    Signals:
        entity_chosen: this ``Entity`` was selected.
    """

    entity_chosen = Signal(object)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("code-outline")
        mark(self, "plain")
        self.setHeaderHidden(True)
        self.setIndentation(14)
        self.setUniformRowHeights(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        OverlayBar(self)
        self._items: dict[str, QTreeWidgetItem] = {}
        self._entities: dict[str, Entity] = {}
        self.itemClicked.connect(self._on_item)
        self.itemActivated.connect(self._on_item)
        bind(self._apply_style, on="look")
        bind_text(self, name=N_("Outline of the file"))

    def show_entities(self, entities: Sequence[Entity]) -> None:
        """Show the entities of a file."""
        self.clear()
        self._items, self._entities = {}, {}
        parts = sorted(
            (each for each in entities if each.kind in OUTLINED), key=lambda each: (each.start_line, -each.end_line)
        )
        for each in parts:
            above = self._items.get(each.parent)
            item = QTreeWidgetItem(above if above is not None else self)
            item.setText(0, visible(each.name))
            item.setData(0, KeyRole, each.id)
            item.setData(0, Qt.ItemDataRole.AccessibleTextRole, visible(describe(each)))
            item.setToolTip(0, plain_tip(each.signature or f"{kind_word(each)} {title_word(each)}"))
            self._items[each.id], self._entities[each.id] = item, each
        if len(parts) <= 60:
            self.expandAll()
        else:
            self.expandToDepth(0)
        self._apply_style()

    def mark_entity(self, entity_id: str) -> None:
        """Select an entity, without signals."""
        item = self._items.get(entity_id)
        if item is None:
            self.clearSelection()
        else:
            self.setCurrentItem(item)
            self.scrollToItem(item)

    def at_line(self, line: int) -> Entity | None:
        """The innermost entity that contains a line."""
        around = [each for each in self._entities.values() if each.start_line <= line <= each.end_line]
        return min(around, key=lambda each: each.end_line - each.start_line, default=None)

    def _on_item(self, item: QTreeWidgetItem, _column: int = 0) -> None:
        self.entity_chosen.emit(self._entities[str(item.data(0, KeyRole))])

    def _apply_style(self) -> None:
        style = theme()
        side = style.px(14)
        self.setIconSize(QSize(side, side))
        for key, item in self._items.items():
            kind = self._entities[key].kind
            item.setIcon(
                0,
                icons.tinted(
                    KIND_ICONS[kind], getattr(style.tokens, KIND_COLOURS[kind]), side, (self.devicePixelRatioF(),)
                ),
            )
            item.setSizeHint(0, QSize(0, style.px(26)))


class PlaceList(QWidget):
    """A heading with entities below; hidden if empty.

    Signals:
        entity_chosen: this ``Entity``.
    """

    entity_chosen = Signal(object)

    def __init__(self, name: str, title: Text, parent: QWidget) -> None:
        super().__init__(parent)
        self.list = control(QListWidget(self), name, look="plain", name=title)
        style_list(self.list)
        self._entities: dict[str, Entity] = {}
        self._lines: dict[str, int] = {}
        heading = control(label("", "heading", self), "", title)
        vbox(self, heading, self.list, spacing=4)
        self.list.itemClicked.connect(self._on_item)
        self.list.itemActivated.connect(self._on_item)
        bind(self._size)
        self.hide()

    def show_places(self, places: Sequence[tuple[Entity, float]]) -> None:
        """Show entities with the confidence of each match (0–1)."""
        self.list.clear()
        self._entities = {each.id: each for each, _sure in places}
        for each, sure in places:
            facts = place_word(each) or kind_word(each)
            if sure < 0.75:
                facts = _("{place} · uncertain", place=facts)
            two_line_item(self.list, each.id, title_word(each), facts)
        self.setVisible(bool(places))
        self._size()

    def _size(self) -> None:
        if self.list.count():
            self.list.setFixedHeight(self.list.sizeHintForRow(0) * min(ROWS, self.list.count()) + 4)

    def _on_item(self, item: QListWidgetItem) -> None:
        self.entity_chosen.emit(self._entities[str(item.data(KeyRole))])
