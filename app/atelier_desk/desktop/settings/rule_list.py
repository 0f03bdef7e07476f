"""The standing permissions: what a person allowed from now on, each with Remove."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from atelier_desk.desktop.questions.approval_wording import rule_text
from atelier_desk.desktop.theme import mark
from atelier_desk.desktop.widgets import label
from atelier_desk.domain.approval import AllowRule
from atelier_desk.i18n import _


class RuleList(QWidget):
    """Rows ``rule-<what>-<target>`` with ``rule-remove-<what>-<target>``; ``removed(rule)`` when one is to go."""

    removed = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("approval-rules")
        self._rules: tuple[AllowRule, ...] = ()
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(2)

    def show_rules(self, rules: Iterable[AllowRule]) -> None:
        """List these."""
        self._rules = tuple(rules)
        while (item := self._column.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.setParent(None)
                widget.deleteLater()
        for rule in self._rules:
            self._column.addWidget(self._row(rule))
        if not self._rules:
            empty = label(_("None yet. They come from “Always allow” when an agent asks."), "muted", self, wrap=True)
            empty.setObjectName("approval-rules-empty")
            self._column.addWidget(empty)

    def _row(self, rule: AllowRule) -> QWidget:
        row = QWidget(self)
        row.setObjectName(f"rule-{rule.what}-{rule.target}")
        line = QHBoxLayout(row)
        line.setContentsMargins(0, 2, 0, 2)
        text = rule_text(rule)
        line.addWidget(label(text, "", row, wrap=True), 1)
        remove = QPushButton(_("Remove"), row)
        remove.setObjectName(f"rule-remove-{rule.what}-{rule.target}")
        remove.setAccessibleName(_("Remove: {rule}", rule=text))
        mark(remove, "quiet")
        remove.clicked.connect(lambda *_: self.removed.emit(rule))
        line.addWidget(remove)
        return row

    def retranslate(self) -> None:
        self.show_rules(self._rules)
