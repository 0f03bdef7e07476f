"""The permission rules: effect and scope, most recently used first, each with Edit and Remove."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QPushButton, QWidget

from atelier_desk.desktop.settings import rule_text
from atelier_desk.desktop.settings.focus_keeping_rows import RowList
from atelier_desk.desktop.widgets import IconButton, Pill, bind_text, control, hbox, label, vbox
from atelier_desk.desktop.widgets.minute_clock import MinuteClock
from atelier_desk.desktop.widgets.text_matching import fits
from atelier_desk.domain.permission import PermissionRule, by_last_use
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.visible_and_shortened_text import visible


class RuleList(RowList):
    """``approval-rules``: rows ``rule-<text>`` with ``rule-edit-<text>`` and ``rule-remove-<text>``.

    A rule from a foreign backup also has ``rule-confirm-<text>``.

    Signals:
        confirmed: activate this rule.
        edited: edit this rule.
        removed: remove this rule.
    """

    confirmed = Signal(object)
    edited = Signal(object)
    removed = Signal(object)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, spacing=2)
        self.setObjectName("approval-rules")
        self._rules: tuple[PermissionRule, ...] = ()
        self._names: dict[str, str] = {}
        self._never: dict[str, str] = {}
        self._needle = ""

    def show_rules(
        self,
        rules: Iterable[PermissionRule],
        names: Mapping[str, str] | None = None,
        never: Mapping[str, str] | None = None,
    ) -> None:
        """List these rules.

        Args:
            names: of workflows and agents, by id.
            never: why a rule never matches, by its text.
        """
        self._rules = by_last_use(rules)
        self._never = dict(never or {})
        if names is not None:
            self._names = dict(names)
        self._build()

    def filter(self, needle: str) -> None:
        """List only rules with all words of ``needle`` in text, action or scope."""
        self._needle = needle
        self._build()

    def _build(self) -> None:
        shown = [rule for rule in self._rules if fits(self._needle, " ".join((rule.text, self._rule_text(rule))))]
        what = [(rule, self._rule_text(rule), self._never.get(rule.text)) for rule in shown]
        self.show_rows((what, bool(self._rules)), lambda: map(self._row, shown) if shown else [self._none()])

    def _none(self) -> QWidget:
        none = _("No matching rules.") if self._rules else _("No rules yet. “Always allow” in an approval adds one.")
        return control(label(none, "muted", self, wrap=True), "approval-rules-empty")

    def _rule_text(self, rule: PermissionRule) -> str:
        return f"{_(rule_text.ACTIONS[rule.action])} · {self._facts(rule)}"

    def _facts(self, rule: PermissionRule) -> str:
        where = rule_text.scope(rule, self._names)
        # The use of a rule for a repository's settings is not recorded.
        return where if rule_text.repository(rule) else f"{where} · {rule_text.used(rule)}"

    def _row(self, rule: PermissionRule) -> QWidget:
        row = control(QWidget(self), f"rule-{rule.text}")
        bind_text(row, name=lambda: visible(_("{name}: {text}", name=rule.text, text=self._rule_text(rule))))
        pill = Pill(_(rule_text.ACTIONS[rule.action]), "" if rule.held else rule_text.KINDS[rule.action], row)
        repository = rule_text.repository(rule)
        if repository:
            text = label(
                _("Settings of the git repository {path}, until they change", path=repository), "", row, wrap=True
            )
        else:
            text = label(rule.text, "mono", row, wrap=True)
        facts = label("", "small", row, wrap=True)
        bind_text(facts, partial(self._facts, rule))
        MinuteClock(row, lambda: (bind_text(row), bind_text(facts)))
        texts = vbox(None, text, facts, spacing=0)
        if rule_text.unused(rule) and not repository:
            old = control(
                label(_("No matches in the last 30 days"), "warn", row, wrap=True), f"rule-unused-{rule.text}"
            )
            texts.addWidget(old)
        if rule.text in self._never:
            never = _("Never matches: {reason}", reason=self._never[rule.text])
            texts.addWidget(control(label(never, "warn", row, wrap=True), f"rule-never-{rule.text}"))
        confirm: list[tuple[QWidget, int, Qt.AlignmentFlag]] = []
        if rule.held:
            words = _("Waiting for your confirmation: restored from another installation's backup")
            texts.addWidget(control(label(words, "warn", row, wrap=True), f"rule-held-{rule.text}"))
            button = control(
                QPushButton(_("Confirm"), row), f"rule-confirm-{rule.text}", on=lambda: self.confirmed.emit(rule)
            )
            button.setAccessibleName(_("Confirm: {rule}", rule=rule.text))
            confirm = [(button, 0, Qt.AlignmentFlag.AlignTop)]
        edit = control(IconButton("pencil", parent=row), f"rule-edit-{rule.text}", tip=N_("Edit rule"))
        edit.clicked.connect(lambda *_: self.edited.emit(rule))
        edit.setAccessibleName(_("Edit: {rule}", rule=rule.text))
        remove = control(
            QPushButton(_("Remove"), row), f"rule-remove-{rule.text}", look="quiet", on=lambda: self.removed.emit(rule)
        )
        remove.setAccessibleName(_("Remove: {rule}", rule=rule.text))
        edit.setVisible(not repository)  # its text contains a hash
        top = Qt.AlignmentFlag.AlignTop
        buttons = (*confirm, (edit, 0, top), (remove, 0, top))
        hbox(row, (pill, 0, top), (texts, 1), *buttons, margins=(0, 4, 0, 4), spacing=8)
        return row
