"""The form of a permission rule, and the preview of rules imported from another program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QLineEdit, QPlainTextEdit, QScrollArea, QVBoxLayout, QWidget

from atelier_desk.desktop.panes.form_dialog import FormDialog
from atelier_desk.desktop.settings.rule_text import ACTIONS
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import bind, control, fill, label
from atelier_desk.desktop.widgets.inputs import ComboBox
from atelier_desk.desktop.widgets.wrapping import TextField
from atelier_desk.domain import limits
from atelier_desk.domain.permission import Action, PermissionRule, RuleScope
from atelier_desk.presentation.rules import where_text
from atelier_desk.support.i18n import _

if TYPE_CHECKING:
    from atelier_desk.policy.permissions.rule_import import Line


class RuleForm(FormDialog):
    """``rule-form``: ``rule-text``, ``rule-action``, ``rule-scope``, ``rule-match`` and ``rule-not-match``.

    Signals:
        chosen: the fields of the rule, as ``PermissionService.change`` takes them.
    """

    chosen = Signal(object)

    def __init__(
        self,
        rule: PermissionRule | None,
        agents: Mapping[str, str],
        workflows: Mapping[str, str],
        parent: QWidget | None = None,
        *,
        folders: Sequence[str] = (),
    ) -> None:
        super().__init__(_("Edit rule") if rule else _("New rule"), parent)
        self.setObjectName("rule-form")
        self.text = control(QLineEdit(rule.text if rule else "", self), "rule-text")
        self.text.setMaxLength(limits.RULE_TEXT)
        self.text.setPlaceholderText("run_command(git log:*)")
        examples = "read_file(src/**)  ·  run_command(make)  ·  fetch_web_page(domain:python.org)  ·  mcp__github  ·  section:web_ops"
        of_commands = _(
            "A command rule applies in the workspace folder; for another folder, write run_command(cd vendor && "
            "make). :* matches any arguments, except options that run another program."
        )
        self.add_field(_("Rule"), self.text, f"{examples}\n{of_commands}")
        self.action = control(ComboBox(self), "rule-action")
        for action, words in ACTIONS.items():
            self.action.addItem(_(words), action)
        self.add_field(
            _("Action"), self.action, _("Deny overrides Ask, and Ask overrides Allow, even when the other rule is more specific.")
        )
        self.scope = control(ComboBox(self), "rule-scope")
        self.scope.setSizeAdjustPolicy(ComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)  # paths are long
        self.scope.setMinimumContentsLength(24)
        self.scope.addItem(_("Everywhere"), (RuleScope.ALWAYS, ""))
        for id, name in agents.items():
            self.scope.addItem(_("For the agent {name}", name=name), (RuleScope.AGENT, id))
        for folder in folders:
            self.scope.addItem(_("In the folder {name}", name=folder), (RuleScope.FOLDER, folder))
        for id, name in workflows.items():
            self.scope.addItem(_("In the workflow {name}", name=name), (RuleScope.WORKFLOW, id))
        self.add_field(_("Applies to"), self.scope)
        self.match = self._examples("rule-match", rule.match if rule else (), _("Must match (one example per line)"), "git log -3")
        self.not_match = self._examples("rule-not-match", rule.not_match if rule else (), _("Must not match"), "git push")
        if rule is not None:
            self.action.setCurrentIndex(self.action.findData(rule.action))
            places = [self.scope.itemData(row) for row in range(self.scope.count())]
            here = (rule.scope, rule.scope_id)
            if here not in places:
                self.scope.addItem(where_text(rule.where), here)
                places.append(here)
            self.scope.setCurrentIndex(places.index(here))
        self.text.textChanged.connect(self.check)
        self.finish(_("Save"))
        self.text.setFocus()

    def _examples(self, name: str, kept: Sequence[str], caption: str, hint: str) -> QPlainTextEdit:
        field = control(TextField("\n".join(kept), self), name)
        field.setPlaceholderText(hint)
        field.setTabChangesFocus(True)
        bind(field.setFixedHeight, lambda: theme().px(38), on="look")  # two lines; more scroll
        self.add_field(caption, field)
        field.enter_sends = False  # Enter starts a new line: each line is an example
        return field

    def problem(self) -> str:
        from atelier_desk.domain.errors import UsageError
        from atelier_desk.policy.permissions import pattern

        text = self.text.text().strip()
        if not text:
            return _("Enter a rule.")
        try:
            pattern.parse(text)
        except UsageError as error:
            return error.localized(_)
        return ""

    def submit(self) -> None:
        place, scope_id = self.scope.currentData()
        fields: dict[str, Any] = {
            "text": self.text.text().strip(),
            "action": Action(self.action.currentData()),
            "scope": RuleScope(place),
            "scope_id": scope_id,
            "match": _lines(self.match),
            "not_match": _lines(self.not_match),
        }
        self.chosen.emit(fields)


class RuleImport(FormDialog):
    """``rule-import``: what each line of a file becomes, ``import-line-<n>``; stored only on confirmation.

    Signals:
        chosen: the file.
    """

    chosen = Signal(object)

    def __init__(self, path: Path, lines: Sequence[Line], parent: QWidget | None = None) -> None:
        super().__init__(_("Import rules from {name}", name=path.name), parent)
        self.setObjectName("rule-import")
        self._path = path
        self._any = any(line.rules for line in lines)
        area = control(QScrollArea(self), "import-lines")
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        bind(area.setMinimumHeight, lambda: theme().px(240), on="look")
        body = QWidget(area)
        column = fill(QVBoxLayout(body), margins=(0, 0, 0, 0), spacing=8)
        for number, line in enumerate(lines, 1):
            becomes = "\n".join(f"{_(ACTIONS[rule.action])}  {rule.text}" for rule in line.rules)
            result = becomes or (line.problem.localized(_) if line.problem else _("nothing"))
            column.addWidget(label(line.source, "small", body, wrap=True))
            column.addWidget(control(label(result, "mono" if becomes else "warn", body, wrap=True), f"import-line-{number}"))
            if line.warning is not None:
                never = _("This never matches: {reason}.", reason=line.warning.localized(_))
                column.addWidget(control(label(never, "warn", body, wrap=True), f"import-never-{number}"))
        column.addStretch(1)
        area.setWidget(body)
        self.add_field(_("Lines of the file and the resulting rules"), area)
        self.finish(_("Import"))

    def problem(self) -> str:
        return "" if self._any else _("The file has no rules that can be imported.")

    def submit(self) -> None:
        self.chosen.emit(self._path)


def _lines(field: QPlainTextEdit) -> tuple[str, ...]:
    return tuple(line.strip() for line in field.toPlainText().splitlines() if line.strip())
