"""The models of one provider: context window and prices, editable in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableWidget, QTableWidgetItem, QWidget

from atelier_desk.desktop.panes.wording import locale
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import Translated, say
from atelier_desk.domain.provider import ModelInfo
from atelier_desk.i18n import N_, _

NAME = 150
"""Least width of a model's name, in logical pixels at 100 %."""
COLUMNS = ("name", "context_window", "price_input", "price_output")


class ModelTable(Translated, QTableWidget):
    """``on_edit(info, field, value)`` is called with the parsed value (None for an empty cell); text that is no number is refused."""

    def __init__(self, on_edit: Callable[[ModelInfo, str, Any], object], parent: QWidget | None = None) -> None:
        super().__init__(0, len(COLUMNS), parent)
        self.setObjectName("model-table")
        self._on_edit = on_edit
        self._models: list[ModelInfo] = []
        self.verticalHeader().hide()
        self.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        for column in range(1, len(COLUMNS)):
            self.horizontalHeader().setSectionResizeMode(column, QHeaderView.ResizeMode.ResizeToContents)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setShowGrid(False)
        mark(self, "plain")
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setTabKeyNavigation(False)
        self.setMinimumHeight(theme().px(140))
        self.itemChanged.connect(self._edited)
        say(self, name=N_("Models: double-click a number to change it"))
        self.retranslate()

    def show_models(self, models: list[ModelInfo]) -> None:
        """Fill the table."""
        self._models = models
        self.blockSignals(True)
        self.setRowCount(len(models))
        for row, info in enumerate(models):
            for column, field in enumerate(COLUMNS):
                value = getattr(info, field)
                item = QTableWidgetItem(_name(info) if column == 0 else self._text(value))
                if column == 0:
                    item.setToolTip("\n".join(filter(None, (info.name, _learned(info)))))
                    item.setFlags(item.flags() & ~Qt.ItemFlag.ItemIsEditable)
                else:
                    item.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                self.setItem(row, column, item)
        self.blockSignals(False)
        rows = min(max(len(models), 2), 8)
        height = self.horizontalHeader().sizeHint().height() + rows * self.verticalHeader().defaultSectionSize()
        self.setFixedHeight(height + 2 * self.frameWidth() + 4)

    @property
    def chosen(self) -> ModelInfo | None:
        """The model of the row that has the cursor."""
        return self._models[self.currentRow()] if 0 <= self.currentRow() < len(self._models) else None

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The name takes what the figures leave, and never less than a name needs: then the table scrolls."""
        super().resizeEvent(event)
        header = self.horizontalHeader()
        figures = sum(header.sectionSize(column) for column in range(1, len(COLUMNS)))
        least = theme().px(NAME)
        tight = self.viewport().width() - figures < least
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Fixed if tight else QHeaderView.ResizeMode.Stretch)
        if tight:
            header.resizeSection(0, least)

    def retranslate(self) -> None:
        self.setHorizontalHeaderLabels([_("Model"), _("Window (tokens)"), _("$ / M in"), _("$ / M out")])
        centre = Qt.AlignmentFlag.AlignVCenter
        for column in range(len(COLUMNS)):
            side = Qt.AlignmentFlag.AlignRight if column else Qt.AlignmentFlag.AlignLeft
            header = self.horizontalHeaderItem(column)
            if header is not None:
                header.setTextAlignment(side | centre)

    @staticmethod
    def _text(value: Any) -> str:
        if value is None:
            return ""
        return locale().toString(value) if isinstance(value, int) else f"{value:g}".replace(".", locale().decimalPoint())

    def _edited(self, item: QTableWidgetItem) -> None:
        info, field = self._models[item.row()], COLUMNS[item.column()]
        text = "".join(item.text().split()).replace(locale().groupSeparator(), "")
        value: int | float | None = None
        ok = not text
        if text and field == "context_window":
            value, ok = locale().toLongLong(text)
        elif text:
            value, ok = locale().toDouble(text)
        if ok:
            self._on_edit(info, field, value)
        else:
            self.blockSignals(True)
            item.setText(self._text(getattr(info, field)))
            self.blockSignals(False)


def _name(info: ModelInfo) -> str:
    name = info.label or info.name
    return _("{name} (learned)", name=name) if info.source == "learned" else name


def _learned(info: ModelInfo) -> str:
    """What the server showed by refusing a request, in a sentence; empty when nothing."""
    if info.source != "learned":
        return ""
    if info.supports_tools is False:
        return _("The server has refused tool definitions, so calls are written as text.")
    return _("The server has refused longer requests, and named this window.")
