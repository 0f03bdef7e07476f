"""Command palette: every action and every workflow, a few letters away."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QKeyEvent, QPainter, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QDialog, QFrame, QLineEdit, QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QVBoxLayout, QWidget

from atelier_desk.desktop.actions import GROUPS, ActionRegistry, shortcut_text
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import control, fill, say
from atelier_desk.i18n import N_, _

_WIDTH, _ROWS = 560, 9
_Role = Qt.ItemDataRole


@dataclass(frozen=True, slots=True)
class Command:
    """One line of the palette. ``hint`` stands at the right: keys, or what kind of thing it is."""

    text: str
    run: Callable[[], object]
    hint: str = ""
    icon: str = ""
    keywords: str = ""


def plain(text: str) -> str:
    """Lower case without accents, for comparing."""
    return "".join(c for c in unicodedata.normalize("NFD", text.casefold()) if not unicodedata.combining(c))


def fits(needle: str, text: str) -> bool:
    """Whether a text has every word of what is searched, without regard to case and accents."""
    return all(word in plain(text) for word in plain(needle).split())


def score(needle: str, command: Command) -> int | None:
    """How well a command fits (less is better), None when it does not: all words must be in it, or its letters in order."""
    wanted = plain(needle).split()
    if not wanted:
        return 0
    text = plain(command.text)
    everything = f"{text} {plain(command.keywords)} {plain(command.hint)}"
    if all(word in everything for word in wanted):
        first = text.find(wanted[0])
        starts = first == 0 or (first > 0 and text[first - 1] == " ")
        return (0 if starts else 20) + (first if first >= 0 else 40)
    position = 0
    for letter in "".join(wanted):
        position = text.find(letter, position) + 1
        if not position:
            return None
    return 100 + position


class _Delegate(QStyledItemDelegate):
    """Icon, text, hint at the right."""

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(100, theme().px(36))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> None:
        look = theme()
        rect: QRect = option.rect
        state = option.state
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if state & QStyle.StateFlag.State_Selected:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(look.colour("accent_soft"))
            painter.drawRoundedRect(rect.adjusted(4, 1, -4, -1), 8, 8)
        inner = rect.adjusted(16, 0, -16, 0)
        icon = index.data(_Role.UserRole + 1)
        side = look.px(16)
        if icon:
            picture = look.pixmap(icon, "muted", side, painter.device().devicePixelRatio())
            painter.drawPixmap(inner.left(), inner.top() + (inner.height() - side) // 2, picture)
        painter.setFont(look.font(12))
        painter.setPen(look.colour("text" if state & QStyle.StateFlag.State_Selected else "muted"))
        hint = str(index.data(_Role.UserRole + 2) or "")
        wide = painter.fontMetrics().horizontalAdvance(hint)
        painter.drawText(inner, int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter), hint)
        painter.setFont(look.font(14))
        painter.setPen(look.colour("text"))
        body = inner.adjusted(side + 12, 0, -wide - 12, 0)
        text = painter.fontMetrics().elidedText(str(index.data(_Role.DisplayRole)), Qt.TextElideMode.ElideRight, body.width())
        painter.drawText(body, int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft), text)
        painter.restore()


class CommandPalette(QDialog):
    """Type to filter, arrows to choose, Enter to run, Esc to leave. Opened with ``popup``."""

    def __init__(self, registry: ActionRegistry, window: QWidget, extra: Callable[[], Iterable[Command]] = tuple) -> None:
        super().__init__(window)
        self.setObjectName("command-palette")
        self.setWindowFlags(Qt.WindowType.Popup | Qt.WindowType.FramelessWindowHint)
        self.setAttribute(Qt.WidgetAttribute.WA_TranslucentBackground)
        self._registry, self._window, self._extra = registry, window, extra
        self._commands: list[Command] = []
        self.field = control(QLineEdit(self), "palette-field", look="palette", hint=N_("Search commands and workflows"))
        self.list = control(QListView(self), "palette-list", look="plain", name=N_("Commands"), on=self._run)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setItemDelegate(_Delegate(self.list))
        self.list.setUniformItemSizes(True)
        self._model = QStandardItemModel(self)
        self.list.setModel(self._model)
        card = control(QFrame(self), look="card-raised")
        fill(QVBoxLayout(card), self.field, self.list, margins=(6, 8, 6, 8), spacing=6)
        fill(QVBoxLayout(self), card, margins=(0, 0, 0, 0))
        self.field.textChanged.connect(self._filter)
        self.field.installEventFilter(self)
        say(self, name=N_("Command palette"))

    def popup(self) -> None:
        """Show it near the top of the window with everything in it."""
        self._commands = self._collect()
        self.field.clear()
        self._filter("")
        width = min(theme().px(_WIDTH), self._window.width() - 32)
        self.setFixedSize(width, theme().px(36) * _ROWS + theme().px(64))
        corner = self._window.mapToGlobal(self._window.rect().topLeft())
        self.move(corner.x() + (self._window.width() - width) // 2, corner.y() + theme().px(72))
        self.show()
        self.field.setFocus()

    def _collect(self) -> list[Command]:
        found = [
            Command(made.text(), made.trigger, shortcut_text(made) or _(GROUPS[spec.group]), spec.icon, spec.keywords)
            for spec, made in self._registry
            if made.isEnabled() and spec.name != "command-palette"
        ]
        return [*found, *self._extra()]

    def _filter(self, needle: str) -> None:
        scored = [
            (value, number, command) for number, command in enumerate(self._commands) if (value := score(needle, command)) is not None
        ]
        self._model.clear()
        for _value, number, command in sorted(scored, key=lambda item: item[:2])[:60]:
            item = QStandardItem(command.text)
            item.setEditable(False)
            item.setData(number, _Role.UserRole)
            item.setData(command.icon, _Role.UserRole + 1)
            item.setData(command.hint, _Role.UserRole + 2)
            self._model.appendRow(item)
        self.list.setCurrentIndex(self._model.index(0, 0))

    def _run(self) -> None:
        index = self.list.currentIndex()
        if index.isValid():
            self.hide()
            self._commands[index.data(_Role.UserRole)].run()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            moves = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: _ROWS, Qt.Key.Key_PageUp: -_ROWS}
            if event.key() in moves:
                rows = max(1, self._model.rowCount())
                row = self.list.currentIndex().row() + moves[Qt.Key(event.key())]
                row = row % rows if abs(moves[Qt.Key(event.key())]) == 1 else min(max(row, 0), rows - 1)
                self.list.setCurrentIndex(self._model.index(row, 0))
                return True
            if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
                self._run()
                return True
        return super().eventFilter(watched, event)
