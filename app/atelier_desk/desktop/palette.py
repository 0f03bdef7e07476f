"""Command palette: every action, workflow, agent, model and settings page, a few letters away; what was run last stands first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPersistentModelIndex, QRect, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter, QStandardItem
from PySide6.QtWidgets import QDialog, QFrame, QLineEdit, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QVBoxLayout, QWidget

from atelier_desk.desktop.actions import GROUPS, ActionRegistry, shortcut_text
from atelier_desk.desktop.palette_words import found_by
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import control, fill, label, say
from atelier_desk.desktop.widgets.grouped_list import GroupedList
from atelier_desk.desktop.widgets.matching import plain
from atelier_desk.desktop.widgets.rounded import round_popup
from atelier_desk.domain.text import visible
from atelier_desk.i18n import N_, _

_WIDTH, _ROWS = 560, 10
RECENT = 5
"""So many that were run last stand first."""
CORNER = 14
"""Radius of its corners: that of its card."""
KEPT = 20
"""So many are remembered."""
MOST = 80
"""Lines that are shown at once."""
_Role = Qt.ItemDataRole


@dataclass(frozen=True, slots=True)
class Command:
    """One line of the palette. ``hint`` stands at the right: keys, or what kind of thing it is. ``key`` is what it is remembered by when it
    was run, ``group`` the heading it stands under while nothing is searched.
    """

    text: str
    run: Callable[[], object]
    hint: str = ""
    icon: str = ""
    keywords: str = ""
    key: str = ""
    group: str = ""


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
        if not index.flags() & Qt.ItemFlag.ItemIsSelectable:
            painter.setFont(look.font(12, 600))
            painter.setPen(look.colour("muted"))
            low = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignBottom)
            painter.drawText(rect.adjusted(16, 0, -16, -look.px(5)), low, str(index.data(_Role.DisplayRole)))
            painter.restore()
            return
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
    """Type to filter, arrows to choose, Enter to run, Esc to leave. Opened with ``popup``.

    Signals:
        ran: the key of a command that was run; whoever keeps ``recent`` stores it.
    """

    ran = Signal(str)

    def __init__(self, registry: ActionRegistry, window: QWidget, extra: Callable[[], Iterable[Command]] = tuple) -> None:
        super().__init__(window)
        self.setObjectName("command-palette")
        self.setWindowFlags(Qt.WindowType.Popup | Qt.WindowType.FramelessWindowHint)
        self._registry, self._window, self._extra = registry, window, extra
        self._commands: list[Command] = []
        self._shown: list[Command] = []
        self.recent: list[str] = []
        self.field = control(
            QLineEdit(self), "palette-field", look="palette", hint=N_("Search commands, workflows, agents, models, settings")
        )
        self.list = control(GroupedList(self), "palette-list", look="plain", name=N_("Commands"), on=self._run)
        self.list.setItemDelegate(_Delegate(self.list))
        self.list.setUniformItemSizes(True)
        self.list.setMinimumHeight(1)  # of its own it would not be lower than three lines
        self._model = self.list.rows
        self.nothing = control(label("", "muted", self, wrap=True), "palette-nothing", N_("No results"))
        self.nothing.setMargin(12)
        card = control(QFrame(self), look="card-raised")
        fill(QVBoxLayout(card), self.field, self.nothing, (self.list, 1), margins=(6, 8, 6, 8), spacing=6)
        fill(QVBoxLayout(self), card, margins=(0, 0, 0, 0))
        self.field.textChanged.connect(self._filter)
        self.field.installEventFilter(self)
        say(self, name=N_("Command palette"))

    def popup(self) -> None:
        """Show it near the top of the window with everything in it."""
        self._commands = self._collect()
        self.field.clear()
        self._filter("")
        corner = self._window.mapToGlobal(self._window.rect().topLeft())
        self.move(corner.x() + (self._window.width() - self.width()) // 2, corner.y() + theme().px(72))
        self.show()
        self.field.setFocus()

    def collect_again(self) -> None:
        """More can be done than was known when it was opened; what is typed and chosen stays."""
        if self.isVisible():
            row = self.list.currentIndex().row()
            self._commands = self._collect()
            self._filter(self.field.text())
            if row >= 0:
                self.list.setCurrentIndex(self._model.index(row, 0))

    def _collect(self) -> list[Command]:
        found = [
            Command(
                made.text(),
                made.trigger,
                shortcut_text(made) or _(GROUPS[spec.group]),
                spec.icon,
                f"{spec.keywords} {found_by(spec.name, spec.text, GROUPS[spec.group])}",
                spec.name,
                _("Commands"),
            )
            for spec, made in self._registry
            if made.isEnabled() and made.isVisible() and spec.name != "command-palette"
        ]
        return [*found, *self._extra()]

    def _filter(self, needle: str) -> None:
        self._shown = []
        self.list.fill([("", map(self._line, self._best(needle)))] if needle.strip() else self._all())
        self.nothing.setVisible(not self._model.rowCount())
        self.list.setVisible(self._model.rowCount() > 0)
        self._fit()

    def _fit(self) -> None:
        """As high as what is found: an empty ground below one line looks as if something were missing."""
        look, rows = theme(), self._model.rowCount()
        width = min(look.px(_WIDTH), self._window.width() - 32)
        inner = look.px(36) * min(rows, _ROWS) if rows else self.nothing.heightForWidth(width - 12)
        self.setFixedSize(width, min(inner + look.px(64), self._window.height() - look.px(72) - 16))
        round_popup(self, CORNER)  # a translucent window would have black corners where nothing composes windows

    def _best(self, needle: str) -> list[Command]:
        """What fits, the best first; of equals, what was run last."""
        places = {key: place for place, key in enumerate(self.recent)}
        scored = [
            (value, places.get(command.key, KEPT), number)
            for number, command in enumerate(self._commands)
            if (value := score(needle, command)) is not None
        ]
        return [self._commands[number] for _value, _place, number in sorted(scored)[:MOST]]

    def _all(self) -> Iterator[tuple[str, Iterable[QStandardItem]]]:
        """Under headings: what was run last, then everything by its group."""
        known = {command.key: command for command in self._commands if command.key}
        recent = [known[key] for key in self.recent if key in known][:RECENT]
        groups: dict[str, list[Command]] = {_("Recent"): recent} if recent else {}
        for command in self._commands:
            groups.setdefault(command.group, []).append(command)
        for title, commands in groups.items():
            yield title if len(groups) > 1 else "", map(self._line, commands[:MOST])

    def _line(self, command: Command) -> QStandardItem:
        text, hint = visible(command.text), visible(command.hint)
        item = QStandardItem(text)
        item.setData(len(self._shown), _Role.UserRole)
        self._shown.append(command)
        item.setData(command.icon, _Role.UserRole + 1)
        item.setData(hint, _Role.UserRole + 2)
        item.setData(f"{text}, {hint}" if hint else text, _Role.AccessibleTextRole)
        return item

    def _run(self) -> None:
        index = self.list.currentIndex()
        number = index.data(_Role.UserRole) if index.isValid() else None
        if number is None:
            return
        command = self._shown[number]
        self.hide()
        if command.key:
            self.recent = [command.key, *(key for key in self.recent if key != command.key)][:KEPT]
            self.ran.emit(command.key)
        command.run()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            if self.list.key(event):
                return True
            if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
                self._run()
                return True
        return super().eventFilter(watched, event)
