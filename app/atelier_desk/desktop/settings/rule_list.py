"""The standing permissions: what a person allowed from now on, each with Remove."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from atelier_desk.desktop.questions.approval_wording import rule_text
from atelier_desk.desktop.widgets import control, fill, label
from atelier_desk.domain.permission import PermissionRule
from atelier_desk.i18n import _


class RuleList(QWidget):
    """Rows ``rule-<text>`` with ``rule-remove-<text>``; ``removed(rule)`` when one is to go."""

    removed = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("approval-rules")
        self._rules: tuple[PermissionRule, ...] = ()
        self._column = fill(QVBoxLayout(self), margins=(0, 0, 0, 0), spacing=2)

    def show_rules(self, rules: Iterable[PermissionRule]) -> None:
        """List these."""
        self._rules = tuple(rules)
        while (item := self._column.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.setParent(None)
                widget.deleteLater()
        for rule in self._rules:
            self._column.addWidget(self._row(rule))
        if not self._rules:
            empty = control(
                label(_("None yet. They come from “Always allow” when an agent asks."), "muted", self, wrap=True), "approval-rules-empty"
            )
            self._column.addWidget(empty)

    def _row(self, rule: PermissionRule) -> QWidget:
        row = control(QWidget(self), f"rule-{rule.text}")
        text = rule_text(rule)
        remove = control(QPushButton(_("Remove"), row), f"rule-remove-{rule.text}", look="quiet", on=lambda: self.removed.emit(rule))
        remove.setAccessibleName(_("Remove: {rule}", rule=text))
        fill(QHBoxLayout(row), (label(text, "", row, wrap=True), 1), remove, margins=(0, 2, 0, 2))
        return row

    def retranslate(self) -> None:
        self.show_rules(self._rules)
