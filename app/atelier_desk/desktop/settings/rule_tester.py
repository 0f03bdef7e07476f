"""The rule tester: which rule decides ``run_command(git push)``? Nothing is run or stored."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit, QPushButton, QWidget

from atelier_desk.desktop.settings import rule_text
from atelier_desk.desktop.widgets import FlowLayout, control, label, vbox
from atelier_desk.desktop.widgets.language_theme_bindings import bind_text
from atelier_desk.desktop.widgets.wheel_safe_inputs import ComboBox
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.permission import Verdict
from atelier_desk.presentation.permission_profiles import PROFILES, Profile
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.engine.services.tools import ToolInfo

_SUBJECTS = ("command", "path", "url")
"""Parameters that receive the value in parentheses: the first that the tool has."""

_EMPTY: dict[str, object] = {"string": "", "boolean": False, "integer": 1, "number": 1}
"""Placeholder of a required parameter irrelevant for rules, by type."""


_ANY: dict[str, dict[str, object]] = {"edit_file": {"append": ""}}
"""Values that complete a call given only by its subject; rules do not depend on them."""


class RuleTest(QWidget):
    """``rule-test-call``, ``rule-test-folder``, ``rule-test-profile``, ``rule-test-run`` and ``rule-test-result``.

    Signals:
        asked: test the call.
    """

    asked = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.call = control(
            QLineEdit(self),
            "rule-test-call",
            name=N_("Call"),
            hint=N_("run_command(git push), or a tool with JSON arguments"),
        )
        self.folder = control(
            QLineEdit(self), "rule-test-folder", name=N_("Folder"), hint=N_("Working folder (optional)")
        )
        self.profiles = control(ComboBox(self), "rule-test-profile", name=N_("Profile"))
        for profile in PROFILES:
            self.profiles.addItem("", profile.name)
        bind_text(self.profiles, items=[profile.title for profile in PROFILES])
        self.profiles.setCurrentIndex(1)
        run = self.run = control(QPushButton(self), "rule-test-run", N_("Which rule decides?"), on=self.asked.emit)
        self._result = control(label("", "", self, wrap=True), "rule-test-result")
        below = FlowLayout(spacing=8)
        below.addWidget(self.profiles)
        below.addWidget(run)
        vbox(self, self.call, self.folder, below, self._result, spacing=8)
        self.call.returnPressed.connect(self.asked)
        self.folder.returnPressed.connect(self.asked)
        for edited in (self.call.textChanged, self.folder.textChanged, self.profiles.currentIndexChanged):
            edited.connect(self._result.hide)
        self._result.hide()

    @property
    def profile(self) -> Profile:
        return PROFILES[self.profiles.currentIndex()]

    def arguments(self, tools: Sequence[ToolInfo]) -> tuple[str, dict[str, object]]:
        """The tool and arguments as typed. Raises UsageError if ambiguous."""
        return call_of(self.call.text(), tools)

    def show_verdict(self, verdict: Verdict) -> None:
        self._show(rule_text.verdict(verdict, self.profile))

    def show_problem(self, text: str) -> None:
        self._show(text)

    def _show(self, text: str) -> None:
        self._result.setText(text)
        self._result.show()


def call_of(written: str, tools: Sequence[ToolInfo]) -> tuple[str, dict[str, object]]:
    """Parse ``tool(subject)`` or ``tool({"name": "value"})`` into a call.

    Raises:
        UsageError: it is neither, or the tool has no such single parameter.
    """
    name, bracket, rest = written.strip().partition("(")
    if not name or (bracket and not rest.endswith(")")):
        raise UsageError(N_("Enter a tool with its argument in parentheses, such as run_command(git push)."))
    inside = rest[:-1].strip()
    if inside.startswith("{"):
        try:
            return name, dict(json.loads(inside))
        except (ValueError, TypeError) as error:
            raise UsageError(N_("The text in parentheses is not JSON: {error}"), error=error) from None
    tool = next((each for each in tools if each.name == name), None)
    if tool is None or not inside:
        return name, {}
    known = {parameter.name for parameter in tool.parameters}
    subject = next((each for each in _SUBJECTS if each in known), "")
    if not subject:
        raise UsageError(N_("{tool} takes several arguments: write them as JSON in the parentheses."), tool=name)
    others = {
        each.name: _EMPTY[each.kind]
        for each in tool.parameters
        if each.required and each.name != subject and each.kind in _EMPTY
    }
    return name, {**others, **_ANY.get(name, {}), subject: inside}
