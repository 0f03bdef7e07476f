"""A button that shows the selection and opens a menu with search, groups, capabilities and favourites."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import ClassVar

from PySide6.QtCore import QEvent, QObject, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QHideEvent, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QLineEdit,
    QPushButton,
    QSizePolicy,
    QWidget,
)

from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets.cards_buttons_labels import vbox
from atelier_desk.desktop.widgets.language_theme_bindings import bind, bind_text, control
from atelier_desk.desktop.widgets.list_rows import ListRow, RowAction
from atelier_desk.desktop.widgets.rounded_popups import round_popup
from atelier_desk.desktop.widgets.search_result_list import SearchList
from atelier_desk.desktop.widgets.text_matching import fits
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.visible_and_shortened_text import visible

SEARCH_FROM = 8
"""With fewer items the search field appears only when the user types."""
_WIDEST, _NARROWEST = 640, 220
_HIGHEST = 420
_RADIUS = 10


@dataclass(frozen=True, slots=True)
class PickerItem:
    """An item of the menu.

    Attributes:
        key: the argument of ``chosen``.
        group: its heading; empty for none. Items of a group are adjacent.
        detail: a second, subdued line.
        also: search terms that are not shown.
        marks: icons of capabilities with labels.
        starred: whether it is a favourite; None: it cannot be one.
    """

    key: str
    text: str
    group: str = ""
    detail: str = ""
    marks: tuple[tuple[str, str], ...] = ()
    starred: bool | None = None
    also: str = ""

    @property
    def spoken(self) -> str:
        """All its texts in one line, for screen readers and tool tips."""
        star = [_("favourite")] if self.starred else []
        return ", ".join(
            [self.text, *([self.detail] if self.detail else []), *(word for _icon, word in self.marks), *star]
        )


def matching(choices: Sequence[PickerItem], needle: str) -> list[PickerItem]:
    """Items that contain every word of ``needle``, ignoring case and accents, in order."""
    return [each for each in choices if fits(needle, f"{each.text} {each.group} {each.spoken} {each.also}")]


class PickerMenu(QFrame):
    """The open menu.

    Letters search, Enter or a click selects, Ctrl+D or a click on the star toggles a favourite, Esc closes.

    Signals:
        chosen: the key of an item.
        starred: a key, and whether it is a favourite now.
        closed: the menu was closed, for any reason.
    """

    chosen = Signal(str)
    starred = Signal(str, bool)
    closed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(
            parent, Qt.WindowType.Popup | Qt.WindowType.FramelessWindowHint | Qt.WindowType.NoDropShadowWindowHint
        )
        self.setObjectName("picker-menu")
        mark(self, "menu")
        self._choices: list[PickerItem] = []
        self._current, self._ticked = "", frozenset[str]()
        self.field = control(QLineEdit(self), "picker-search", look="palette", hint=N_("Search"))
        self.list = bind_text(SearchList(self, "picker", nothing=self._nothing_words, pad=6), name=N_("Choices"))
        self.list.chosen.connect(self._choose)
        self.list.acted.connect(lambda choice, _name: self._star(choice.key))
        vbox(self, self.field, self.list.nothing, (self.list, 1), margins=(1, 4, 1, 4), spacing=2)
        self.field.textChanged.connect(self._filter)
        self.field.installEventFilter(self)

    def open(self, choices: Sequence[PickerItem], current: str, at: QWidget, ticked: Collection[str] = ()) -> None:
        """Show it below a button, or above it where there is more room.

        Args:
            current: the key the keyboard begins at.
            ticked: the keys of what is chosen, where that is more than ``current``.
        """
        self._choices, self._current, self._ticked = list(choices), current, frozenset(ticked or (current,))
        self.field.setVisible(len(choices) >= SEARCH_FROM)
        self.field.clear()
        self._filter("")
        self._select_by_key(current)  # not where the keyboard was when it was last open
        style, screen = theme(), at.screen().availableGeometry()
        metrics = self.fontMetrics()
        texts = (
            max(map(metrics.horizontalAdvance, (each.text, each.detail))) + style.px(18) * len(each.marks)
            for each in choices
        )
        needed = max(texts, default=0) + style.px(92)
        width = min(max(needed, at.width(), style.px(_NARROWEST)), style.px(_WIDEST), screen.width() - 16)
        below = at.mapToGlobal(QPoint(0, at.height() + 4))
        above = at.mapToGlobal(QPoint(0, -4))
        rooms = screen.bottom() - below.y() - 8, above.y() - screen.top() - 8
        height = min(self._natural_height(), style.px(_HIGHEST))
        under = height <= rooms[0] or rooms[0] >= rooms[1]
        height = min(height, max(rooms[0 if under else 1], style.px(120)))
        left = max(screen.left() + 8, min(below.x(), screen.right() - width - 8))
        self.setGeometry(left, below.y() if under else above.y() - height, width, height)
        self.show()
        (self.field if self.field.isVisibleTo(self) else self).setFocus()

    def _nothing_words(self) -> str:
        return _("No results") if self._choices else _("No options.")

    def _natural_height(self) -> int:
        nothing = self.list.nothing
        rows = nothing.sizeHint().height() if self.list.isHidden() else self.list.height_of(len(self._choices) * 2)
        return rows + 14 + (self.field.sizeHint().height() if self.field.isVisibleTo(self) else 0)

    def _filter(self, needle: str) -> None:
        current_key = "" if needle else self.current or self._current
        found = groupby(matching(self._choices, needle), lambda choice: choice.group)
        self.list.fill((group, map(self._line, choices)) for group, choices in found)
        bind_text(self.list.nothing)
        self._select_by_key(current_key)

    def _select_by_key(self, key: str) -> None:
        rows = (row for row in self.list.lines() if self.list.value(self.list.rows.index(row, 0)).key == key)
        if (row := next(rows, None)) is not None:
            self.list.select_row(row)

    def _line(self, choice: PickerItem) -> tuple[ListRow, PickerItem]:
        star = RowAction("star", "star-filled", "accent") if choice.starred else RowAction("star", "star")
        row = ListRow(
            choice.text,
            facts=choice.detail,
            icon="check" if choice.key in self._ticked else "" if self._current else None,
            role="accent",
            marks=tuple(icon for icon, _word in choice.marks),
            actions=(star,) if choice.starred is not None else (),
            accessible_text=choice.spoken,
        )
        return row, choice

    @property
    def current(self) -> str:
        """The key of the current item."""
        choice: PickerItem | None = self.list.current
        return choice.key if choice is not None else ""

    def _choose(self, choice: PickerItem) -> None:
        self.hide()
        self.chosen.emit(choice.key)

    def _star(self, key: str) -> None:
        for place, choice in enumerate(self._choices):
            if choice.key == key and choice.starred is not None:
                self._choices[place] = replace(choice, starred=not choice.starred)
                current = self.current
                self._filter(self.field.text())
                self._select_by_key(current)
                self.starred.emit(key, not choice.starred)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not self._key(event):
            super().keyPressEvent(event)

    def _key(self, event: QKeyEvent) -> bool:
        key = event.key()
        if self.list.key(event):
            return True
        if key == Qt.Key.Key_Escape:
            self.hide()
        elif key == Qt.Key.Key_D and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self._star(self.current)
        else:
            return self._begin_search(event)
        return True

    def _begin_search(self, event: QKeyEvent) -> bool:
        """Start searching when letters are typed without a search field."""
        if self.field.isVisible() or not event.text().strip() or not event.text().isprintable():
            return False
        self.field.show()
        self.field.setFocus()
        self.field.insert(event.text())
        return True

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            return self._key(event)
        return super().eventFilter(watched, event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        round_popup(self, _RADIUS)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.closed.emit()


class Picker(QPushButton):
    """The button. It ignores the wheel; Enter, Space and the arrow keys open the menu. Its text may be elided.

    Signals:
        chosen: the key of the selected item, even if unchanged.
        starred: a key, and whether it is a favourite now.
        closed: the menu was closed.
    """

    chosen = Signal(str)
    starred = Signal(str, bool)
    closed = Signal()
    arrow: ClassVar[str] = "▾"
    around: ClassVar[int] = 28
    """Pixels of the button beside its text."""
    letters = 5
    """Minimum number of letters of its text on the button; with less room there is its icon alone, if it has one."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.choices: tuple[PickerItem, ...] = ()
        self.key = ""
        self._full_text = ""
        self._menu: PickerMenu | None = None
        self.clicked.connect(self.open)
        bind(self._show_text, on="look")

    def set_choices(self, choices: Sequence[PickerItem], key: str, text: str | None = None) -> None:
        """Set the items and the selected one; ``text`` is shown on the button instead of the item's own."""
        self.choices, self.key = tuple(choices), key
        chosen = next((each for each in choices if each.key == key), None)
        self._full_text = visible(text if text is not None else chosen.text if chosen is not None else "")
        self.setAccessibleDescription(visible(chosen.spoken) if chosen is not None else self._full_text)
        self.updateGeometry()
        self._show_text()

    @property
    def full_text(self) -> str:
        """The full text of the selection."""
        return self._full_text

    def open(self) -> None:
        """Show the menu; without items it says so."""
        if self._menu is None:
            self._menu = PickerMenu(self)
            self._menu.chosen.connect(self.chosen)
            self._menu.starred.connect(self.starred)
            self._menu.closed.connect(self.closed)
        bind_text(self._menu, name=self.accessibleName())
        self._menu.open(self.choices, self.key, self)

    @property
    def menu_open(self) -> PickerMenu | None:
        """The menu while open."""
        return self._menu if self._menu is not None and self._menu.isVisible() else None

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in {Qt.Key.Key_Down, Qt.Key.Key_Up, Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            self.open()
        else:
            super().keyPressEvent(event)

    def sizeHint(self) -> QSize:
        """As wide as the selected text."""
        return QSize(min(self._width(self._full_text), theme().px(220)), theme().px(28))

    def minimumSizeHint(self) -> QSize:
        least = self._least_width() if self.icon().isNull() else self._width("")
        return QSize(min(least, self.sizeHint().width()), theme().px(28))

    def _least_width(self) -> int:
        """Width in pixels with the shortest text that is still useful."""
        short = len(self._full_text) <= self.letters + 1
        return self._width(self._full_text if short else f"{self._full_text[: self.letters]}…")

    def _width(self, text: str) -> int:
        icon = 0 if self.icon().isNull() else self.iconSize().width() + 4
        self.ensurePolished()
        return self.fontMetrics().horizontalAdvance(self._shown(text)) + icon + self.around

    def _shown(self, text: str) -> str:
        return f"{text} {self.arrow}".strip()

    def _show_text(self) -> None:
        metrics = self.fontMetrics()
        if self.width() >= self._width(self._full_text):
            self.setText(self._shown(self._full_text).replace("&", "&&"))
            return
        room = max(0, self.width() - self._width("") - metrics.horizontalAdvance(" "))
        if self.width() < self._least_width() and not self.icon().isNull():
            room = 0  # the icon alone
        text = metrics.elidedText(self._full_text, Qt.TextElideMode.ElideRight, room) if room else ""
        self.setText(self._shown(text).replace("&", "&&"))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._show_text()
