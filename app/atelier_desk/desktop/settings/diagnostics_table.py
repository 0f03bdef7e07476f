"""The table of installation checks: status, title, and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QWidget

from atelier_desk.desktop.widgets import Pill, label
from atelier_desk.desktop.widgets.cards_buttons_labels import PillKind
from atelier_desk.support.i18n import _

if TYPE_CHECKING:
    from atelier_desk.engine.maintenance.system_checks import Check

_KINDS: dict[str, PillKind] = {"ok": "ok", "warn": "warn", "fail": "err"}


class CheckTable(QWidget):
    """Two lines a check, with its status on the left."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(12)
        self._grid.setVerticalSpacing(2)
        self._grid.setColumnStretch(1, 1)

    def show_checks(self, checks: Iterable[Check]) -> None:
        """Show other checks."""
        while (item := self._grid.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        words = {"ok": _("ok"), "warn": _("warning"), "fail": _("error")}
        for row, check in enumerate(checks):
            pill = Pill(words.get(check.status, check.status), _KINDS.get(check.status, ""), self)
            text = label(check.message + (f"\n{check.fix}" if check.fix else ""), "muted", self, wrap=True)
            text.setContentsMargins(0, 0, 0, 8)
            text.setTextInteractionFlags(text.textInteractionFlags().TextSelectableByMouse)
            self._grid.addWidget(pill, 2 * row, 0, Qt.AlignmentFlag.AlignRight)
            self._grid.addWidget(label(check.title, "strong", self, wrap=True), 2 * row, 1)
            self._grid.addWidget(text, 2 * row + 1, 1)
