"""The models of a provider: capabilities, context window and prices, editable in place."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QPainter, QPen, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemDelegate,
    QApplication,
    QHeaderView,
    QStyle,
    QStyleOptionViewItem,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

from atelier_desk.desktop.panes.time_format import locale
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import bind_text
from atelier_desk.desktop.widgets.table_style import FramedDelegate, style_table
from atelier_desk.desktop.widgets.text_matching import fits
from atelier_desk.desktop.widgets.tool_tips import plain_tip
from atelier_desk.domain.provider import ModelInfo
from atelier_desk.presentation.model_names import model_name
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.visible_and_shortened_text import visible

NAME = 110
"""Minimum width of a model's name, in logical pixels at 100 %."""
ROOM = 480
"""Width, likewise, below which cache prices, the least edited columns, are hidden."""
COLUMNS = (
    "favourite",
    "name",
    "context_window",
    "price_input",
    "price_output",
    "price_cache_read",
    "price_cache_write",
)
STAR, TITLE = 0, 1
AbilitiesRole = Qt.ItemDataRole.UserRole + 1


class _NameDelegate(FramedDelegate):
    """Paints a model's name with its capabilities below."""

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        shown = QStyleOptionViewItem(option)
        self.initStyleOption(shown, index)
        name, current_style = shown.text, theme()
        shown.text = ""
        style = shown.widget.style() if shown.widget is not None else QApplication.style()
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, shown, painter, shown.widget)
        about = str(index.data(AbilitiesRole) or "")
        room = shown.rect.adjusted(current_style.px(4), current_style.px(3), -current_style.px(4), -current_style.px(3))
        upper = room.adjusted(0, 0, 0, -room.height() // 2) if about else room
        painter.save()
        for rect, text, font, colour in (
            (upper, name, shown.font, current_style.colour("text")),
            (room.adjusted(0, room.height() // 2, 0, 0), about, current_style.font(11), current_style.colour("muted")),
        ):
            painter.setFont(font)
            painter.setPen(QPen(colour))
            words = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideMiddle, rect.width())
            painter.drawText(rect, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, words)
        painter.restore()
        self.frame(painter, option, index)


class ModelTable(QTableWidget):
    """``on_edit(info, field, value)`` receives the parsed value (None for an empty cell).

    Invalid numbers are rejected.

    ``on_star(info, on)`` receives favourites. Models are in the same order as in pickers.
    """

    def __init__(
        self,
        on_edit: Callable[[ModelInfo, str, object], object],
        on_star: Callable[[ModelInfo, bool], object],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(0, len(COLUMNS), parent)
        self.setObjectName("model-table")
        self._on_edit, self._on_star = on_edit, on_star
        self._models: list[ModelInfo] = []
        self._all: list[ModelInfo] = []
        self._favourites: frozenset[str] = frozenset()
        self._needle = ""
        self._fill_after_edit = False
        self.horizontalHeader().setSectionResizeMode(TITLE, QHeaderView.ResizeMode.Stretch)
        self.horizontalHeader().setSectionResizeMode(STAR, QHeaderView.ResizeMode.Fixed)
        for column in range(TITLE + 1, len(COLUMNS)):
            self.horizontalHeader().setSectionResizeMode(column, QHeaderView.ResizeMode.ResizeToContents)
        style_table(self, cells=True)
        self.setItemDelegateForColumn(TITLE, _NameDelegate(self, cells=True))
        self.itemChanged.connect(self._edited)
        theme().changed.connect(self._restyle)
        bind_text(self, name=N_("Models: double-click a number to change it, press Space to add or remove a favourite"))
        self._restyle()
        self._fill()

    def show_models(self, models: list[ModelInfo], favourites: Iterable[str]) -> None:
        """Fill the table, after an edit in progress; ``favourites`` are ``provider/model``."""
        self._all, self._favourites = models, frozenset(favourites)
        self._fill()

    def filter(self, needle: str) -> None:
        """Show only models whose name or capabilities contain these words."""
        self._needle = needle
        self._fill()

    @property
    def shown(self) -> list[ModelInfo]:
        """The visible models, in order."""
        return self._models

    def focus_price(self, key: str) -> bool:
        """Edit the missing price of the model with this ``key_of``, else the input price; False if it is not shown."""
        row = self._row(key)
        if row is not None:
            info = self._models[row]
            only_output = info.price_input is not None and info.price_output is None
            self.setCurrentCell(row, COLUMNS.index("price_output" if only_output else "price_input"))
            self.setFocus()
            self.editItem(self.currentItem())
        return row is not None

    def _row(self, key: str) -> int | None:
        return next((row for row, info in enumerate(self._models) if key_of(info) == key), None)

    def _fill(self) -> None:
        # New items would empty or close an open editor.
        self._fill_after_edit = self.state() == self.State.EditingState
        if self._fill_after_edit:
            return
        found = [info for info in self._all if fits(self._needle, f"{info.name} {info.label} {abilities(info)}")]
        chosen, column = self.chosen, self.currentColumn()
        self._models = sorted(found, key=lambda info: key_of(info) not in self._favourites)
        self.blockSignals(True)
        self._head()
        self.setRowCount(len(self._models))
        for row, info in enumerate(self._models):
            for each, field in enumerate(COLUMNS):
                self.setItem(row, each, self._star(info) if each == STAR else self._item(info, each, field))
        self.blockSignals(False)
        same = self._row(key_of(chosen)) if chosen is not None else None
        if chosen is not None and same != self.currentRow():  # its model moved, or is filtered out
            self.setCurrentCell(-1 if same is None else same, column)
        self._fit_height()

    def _fit_height(self) -> None:
        rows = min(max(len(self._models), 2), 10)
        height = self.horizontalHeader().sizeHint().height() + rows * self.verticalHeader().defaultSectionSize()
        self.setFixedHeight(height + 2 * self.frameWidth() + 4)

    def _star(self, info: ModelInfo) -> QTableWidgetItem:
        """A check box, usable with Space and mouse."""
        item = QTableWidgetItem()
        item.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsUserCheckable)
        item.setCheckState(Qt.CheckState.Checked if key_of(info) in self._favourites else Qt.CheckState.Unchecked)
        item.setToolTip(_("Favourite: listed first wherever you choose a model"))
        item.setData(Qt.ItemDataRole.AccessibleTextRole, _("Favourite: {model}", model=model_name(info)))
        return item

    def _item(self, info: ModelInfo, column: int, field: str) -> QTableWidgetItem:
        item = QTableWidgetItem(visible(_name(info)) if column == TITLE else self._text(getattr(info, field)))
        if column == TITLE:
            facts = (info.name, abilities(info), _cache_prices(info), _source(info), _learned(info))
            item.setToolTip(plain_tip("\n".join(filter(None, facts))))
            item.setFlags(item.flags() & ~Qt.ItemFlag.ItemIsEditable)
            item.setData(AbilitiesRole, abilities(info))
            item.setData(
                Qt.ItemDataRole.AccessibleTextRole, visible(" · ".join(filter(None, (_name(info), abilities(info)))))
            )
        else:
            item.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        return item

    @property
    def chosen(self) -> ModelInfo | None:
        """The model of the current row."""
        return self._models[self.currentRow()] if 0 <= self.currentRow() < len(self._models) else None

    def closeEditor(self, editor: QWidget, hint: QAbstractItemDelegate.EndEditHint) -> None:
        """Show what arrived during the edit."""
        super().closeEditor(editor, hint)
        if self._fill_after_edit:
            self._fill()
            self.itemSelectionChanged.emit()  # the current row may have the same place and other values

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The name column takes the remaining width, with a minimum below which the table scrolls.

        If cache prices are hidden, they are in the tool tip of the name.
        """
        super().resizeEvent(event)
        header = self.horizontalHeader()
        for column in (len(COLUMNS) - 2, len(COLUMNS) - 1):
            self.setColumnHidden(column, self.viewport().width() < theme().px(ROOM))
        figures = sum(header.sectionSize(column) for column in range(len(COLUMNS)) if column != TITLE)
        least = theme().px(NAME)
        tight = self.viewport().width() - figures < least
        header.setSectionResizeMode(TITLE, QHeaderView.ResizeMode.Fixed if tight else QHeaderView.ResizeMode.Stretch)
        if tight:
            header.resizeSection(TITLE, least)

    def _restyle(self) -> None:
        self.verticalHeader().setDefaultSectionSize(theme().px(42))
        self.horizontalHeader().resizeSection(STAR, theme().px(36))
        self.horizontalHeader().setMinimumSectionSize(theme().px(30))
        self._fit_height()

    def _head(self) -> None:
        # Short headings leave room for names; their units are explained below the table.
        self.setHorizontalHeaderLabels(
            ["★", _("Model"), _("Context"), _("Input"), _("Output"), _("Cache read"), _("Cache write")]
        )
        centre = Qt.AlignmentFlag.AlignVCenter
        for column in range(len(COLUMNS)):
            side = Qt.AlignmentFlag.AlignRight if column > TITLE else Qt.AlignmentFlag.AlignLeft
            header = self.horizontalHeaderItem(column)
            if header is not None:
                header.setTextAlignment(side | centre)
        star = self.horizontalHeaderItem(STAR)
        if star is not None:
            star.setToolTip(_("Favourites"))
        about = {
            "context_window": N_("Context window in tokens"),
            "price_input": N_("Price per million input tokens"),
            "price_output": N_("Price per million output tokens"),
            "price_cache_read": N_("Price per million cached input tokens; if empty, the input price applies"),
            "price_cache_write": N_("Price per million tokens written to the cache; if empty, the input price applies"),
        }
        for field, words in about.items():
            header = self.horizontalHeaderItem(COLUMNS.index(field))
            if header is not None:
                header.setToolTip(plain_tip(_(words)))

    @staticmethod
    def _text(value: object) -> str:
        if value is None:
            return ""
        return (
            locale().toString(value) if isinstance(value, int) else f"{value:g}".replace(".", locale().decimalPoint())
        )

    def _edited(self, item: QTableWidgetItem) -> None:
        if item.column() == STAR:
            self._on_star(self._models[item.row()], item.checkState() is Qt.CheckState.Checked)
            return
        info, field = self._models[item.row()], COLUMNS[item.column()]
        text = "".join(item.text().split()).replace(locale().groupSeparator(), "")
        value: int | float | None = None
        ok = not text
        if text and field == "context_window":
            value, ok = locale().toLongLong(text)
        elif text:
            value, ok = locale().toDouble(text)
        if ok:
            self._all = [  # shown until the edited list is loaded
                each.model_copy(update={field: value}) if key_of(each) == key_of(info) else each for each in self._all
            ]
            self._on_edit(info, field, value)
        else:
            self.blockSignals(True)
            item.setText(self._text(getattr(info, field)))
            self.blockSignals(False)


def _name(info: ModelInfo) -> str:
    name = model_name(info)
    return _("{name} (adjusted)", name=name) if info.source == "learned" else name


def key_of(info: ModelInfo) -> str:
    """The stored key of a favourite."""
    return f"{info.provider}/{info.name}"


def abilities(info: ModelInfo) -> str:
    """A model's known capabilities."""
    known = ((info.supports_vision, N_("images")), (info.supports_thinking, N_("reasoning")))
    words = [_(word) for can, word in known if can]
    return " · ".join(words if info.embedding or info.starter else [tool_calls(info), *words])


def tool_calls(info: ModelInfo) -> str:
    """The default format of a model's tool calls, if its agent does not set one."""
    words = {True: N_("tools"), None: N_("tools (not tried yet)"), False: N_("tools as text")}
    return _(words[info.supports_tools])


def _cache_prices(info: ModelInfo) -> str:
    if info.price_cache_read is None and info.price_cache_write is None:
        return ""
    read, write = (ModelTable._text(each) or "–" for each in (info.price_cache_read, info.price_cache_write))
    return _("Cache, $ per million tokens: {read} read, {write} write", read=read, write=write)


def _source(info: ModelInfo) -> str:
    """The source of a value."""
    texts = {
        "server": N_("Reported by the server."),
        "list": N_("From models.dev."),
        "profile": N_("Guessed from its name."),
        "user": N_("Entered by you."),
    }
    return _(texts[info.source]) if info.source in texts else ""


def _learned(info: ModelInfo) -> str:
    """Limits learned from a server's refusal, as a sentence; empty if none."""
    if info.source != "learned":
        return ""
    if info.supports_tools is False:
        return _("The server refused tool definitions, so tool calls are sent as text.")
    return _("The server refused longer requests and reported this limit.")
