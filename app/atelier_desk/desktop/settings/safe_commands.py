"""Commands that run without approval, from the table that decides: what each does, and its allowed options."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QLineEdit,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import bind_text, control, label, vbox
from atelier_desk.desktop.widgets.table_style import style_table
from atelier_desk.desktop.widgets.text_matching import fits
from atelier_desk.desktop.widgets.tool_tips import plain_tip
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.visible_and_shortened_text import visible
from atelier_desk.workspace.commands.safe_command_descriptions import Does, SafeCommand, safe_commands

DOES = {
    Does.READS: N_("Only reads"),
    Does.WRITES: N_("Writes the given files"),
    Does.DELETES: N_("Deletes (asks first)"),
}
ROWS = 8
NAME, KIND = 110, 150
"""Column widths at 100 %; the description takes the rest."""


class SafeCommands(QWidget):
    """``safe-filter``, ``safe-commands`` and ``safe-options``, which shows the options of the current row."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._commands = safe_commands()
        self.shown: list[SafeCommand] = []
        self.filter = control(QLineEdit(self), "safe-filter", hint=N_("Filter commands"))
        table = self.table = control(QTableWidget(0, 3, self), "safe-commands")
        bind_text(table, name=N_("Commands that run without asking"))
        table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        table.horizontalHeader().setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        style_table(table)
        self.options = control(label("", "small", self, wrap=True), "safe-options")
        vbox(self, self.filter, table, self.options, spacing=8)
        self.filter.textChanged.connect(lambda _text: self.show_commands())
        table.currentCellChanged.connect(lambda *_: self._show_options())
        theme().changed.connect(self._fit)
        self.show_commands()

    def show_commands(self) -> None:
        """Fill the table with the commands that match the filter."""
        self.table.setHorizontalHeaderLabels([_("Command"), _("Action"), _("Files")])
        needle = self.filter.text()
        self.shown = [
            each
            for each in self._commands
            if fits(needle, f"{each.name} {_(each.about)} {_(DOES[each.does])} {each.options}")
        ]
        self.table.setRowCount(len(self.shown))
        for row, each in enumerate(self.shown):
            about = _("{name}: {text}", name=each.name, text=_(each.about))
            for column, text in enumerate((each.name, _(each.about), _(DOES[each.does]))):
                item = QTableWidgetItem(visible(text))
                item.setToolTip(plain_tip("\n".join(filter(None, (about, each.options)))))
                item.setData(
                    Qt.ItemDataRole.AccessibleTextRole,
                    f"{about}; {_(DOES[each.does])}; {each.options}",
                )
                self.table.setItem(row, column, item)
        self.table.setCurrentCell(0 if self.shown else -1, 0)
        self._fit()
        self._show_options()

    def _show_options(self) -> None:
        row = self.table.currentRow()
        if not 0 <= row < len(self.shown):
            self.options.setText(_("No matching commands. Commands not listed here need approval."))
            return
        one = self.shown[row]
        known = _("allowed options: {options}", options=one.options) if one.options else _("no options allowed")
        self.options.setText(f"{one.name} · {known}")

    def _fit(self) -> None:
        view, high = theme(), theme().px(30)
        self.table.verticalHeader().setDefaultSectionSize(high)
        rows = min(max(len(self.shown), 1), ROWS)
        self.table.setFixedHeight(
            self.table.horizontalHeader().sizeHint().height() + rows * high + 2 * self.table.frameWidth() + 6
        )
        name, kind = view.px(NAME), view.px(KIND)
        for column, width in enumerate((name, max(view.px(220), self.table.viewport().width() - name - kind), kind)):
            self.table.setColumnWidth(column, width)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()
