"""Rows built from a list: rules, skills, tool files, projects, tools of a server."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QWidget

from atelier_desk.desktop.widgets import fill, vbox
from atelier_desk.desktop.widgets.tab_stops import chain
from atelier_desk.support.i18n import language

MARGINS = (0, 0, 0, 0)


class RowList(QWidget):
    """A column of widgets, rebuilt when data or language change; the focus stays in its row.

    Args:
        before, after: the neighbours in the tab order, as rows are created later than what is below them.
    """

    def __init__(
        self, parent: QWidget, *, spacing: int = 0, before: QWidget | None = None, after: Sequence[QWidget] = ()
    ) -> None:
        super().__init__(parent)
        self.rows: list[QWidget] = []
        self.before, self.after = before, after
        self._shown: object = None
        self._column = vbox(self, margins=MARGINS, spacing=spacing)

    def show_rows(self, what: object, make: Callable[[], Iterable[QWidget]]) -> bool:
        """Show the rows created by ``make`` with this list as parent.

        False if ``what`` is already shown, in this language.
        """
        content = (language(), what)
        if content == self._shown:
            return False
        self._shown = content
        focused = QApplication.focusWidget()
        name = focused.objectName() if focused is not None and self.isAncestorOf(focused) else ""
        for row in self.rows:
            self._column.removeWidget(row)
            row.hide()
            row.setParent(None)
            row.deleteLater()
        self.rows = list(make())
        fill(self._column, *self.rows)
        self.setVisible(bool(self.rows))
        chain_of = [*self._stops(), *self.after]
        if self.before is not None:
            chain(self.before, chain_of)
        elif chain_of:
            chain(chain_of[0], chain_of[1:])
        if name and (again := self.findChild(QWidget, name)) is not None:
            again.setFocus()
        return True

    def _stops(self) -> list[QWidget]:
        inside = [each for row in self.rows for each in (row, *row.findChildren(QWidget))]
        return [
            each for each in inside if each.focusPolicy() & Qt.FocusPolicy.TabFocus and each.window() is self.window()
        ]
