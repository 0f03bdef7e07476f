"""The form of a permission rule, and the preview of rules imported from another program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from atelier_desk.desktop.panes.form_dialog import FormDialog
from atelier_desk.desktop.settings.fields import Choice, Examples, Field, Line
from atelier_desk.desktop.settings.rule_text import ACTIONS
from atelier_desk.desktop.settings.validated_form import Form
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import bind, bind_text, control, label, vbox
from atelier_desk.desktop.widgets.wheel_safe_inputs import ComboBox
from atelier_desk.domain import limits
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.permission import Action, Holds, PermissionRule, RuleScope
from atelier_desk.policy.permissions import rule_pattern
from atelier_desk.presentation.permission_rule_text import where_text
from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.policy.permissions.rule_import import Line as ImportedLine


FIELDS: tuple[Field, ...] = (
    Line(
        "text",
        N_("Rule"),
        lambda: "\n".join(
            (
                (
                    "read_file(src/**)  ·  run_command(make)  ·  fetch_web_page(domain:python.org)  ·  mcp__github  ·  "
                    "section:web_ops"
                ),
                _(
                    "A command rule applies in the workspace folder. To apply it in another folder, include the "
                    "folder: run_command(cd vendor && make). “:*” matches any arguments, except options that run "
                    "another program."
                ),
            )
        ),
        example="run_command(git log:*)",
        limit=limits.RULE_TEXT,
    ),
    Choice(
        "action",
        N_("Action"),
        N_("Deny overrides Ask, and Ask overrides Allow, even when the other rule is more specific."),
        choices=tuple(ACTIONS.items()),
    ),
    Examples("match", N_("Must match (one example per line)"), height=38),
    Examples("not_match", N_("Must not match"), height=38),
)


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
        parent: QWidget,
        *,
        folders: Sequence[str],
    ) -> None:
        super().__init__(_("Edit rule") if rule else _("New rule"), parent)
        self.setObjectName("rule-form")
        places = {
            Holds(RuleScope.ALWAYS): "",
            **{Holds(RuleScope.AGENT, id): name for id, name in agents.items()},
            **{Holds(RuleScope.FOLDER, folder): folder for folder in folders},
            **{Holds(RuleScope.WORKFLOW, id): name for id, name in workflows.items()},
        }
        if rule is not None:
            places.setdefault(rule.where, "")
        texts = [(place, partial(where_text, place, name)) for place, name in places.items()]
        fields = (*FIELDS[:2], Choice("where", N_("Applies to"), name="rule-scope", choices=texts), *FIELDS[2:])
        self.form = Form(PermissionRule, self, "rule", *fields)
        self.text, self.action, self.scope, self.match, self.not_match = self.form.controls.values()
        # paths are long
        self.scope.setSizeAdjustPolicy(ComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.scope.setMinimumContentsLength(24)
        bind_text(self.match, hint="git log -3")
        bind_text(self.not_match, hint="git push")
        if rule is not None:
            self.form.show_values(rule)
        vbox(self.form, *map(self.form.cell, self.form.fields), spacing=10)
        self._column.addWidget(self.form)
        self.form.changed.connect(self.check)
        self.finish(_("Save"))
        self.text.setFocus()

    def problem(self) -> str:
        text = self.form.read()["text"]
        if not text:
            return _("Enter a rule.")
        try:
            rule_pattern.parse(text)
        except UsageError as error:
            return error.localized(_)
        return ""

    def submit(self) -> None:
        fields = self.form.read()
        scope, fields["scope_id"] = fields.pop("where")
        fields |= {"action": Action(fields["action"]), "scope": RuleScope(scope)}  # a combo box keeps their text alone
        self.chosen.emit(fields)


class RuleImport(FormDialog):
    """``rule-import``: what each line of a file becomes, ``import-line-<n>``; stored only on confirmation.

    Signals:
        chosen: the file.
    """

    chosen = Signal(object)

    def __init__(self, path: Path, lines: Sequence[ImportedLine], parent: QWidget) -> None:
        super().__init__(_("Import rules from {name}", name=path.name), parent)
        self.setObjectName("rule-import")
        self._path = path
        self._any = any(line.rules for line in lines)
        area = control(QScrollArea(self), "import-lines")
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        bind(area.setMinimumHeight, lambda: theme().px(240), on="look")
        body = QWidget(area)
        column = vbox(body, spacing=8)
        for number, line in enumerate(lines, 1):
            becomes = "\n".join(f"{_(ACTIONS[rule.action])}  {rule.text}" for rule in line.rules)
            result = becomes or (line.problem.localized(_) if line.problem else _("nothing"))
            column.addWidget(label(line.source, "small", body, wrap=True))
            column.addWidget(
                control(label(result, "mono" if becomes else "warn", body, wrap=True), f"import-line-{number}")
            )
            if line.warning is not None:
                never = _("This rule never matches: {reason}.", reason=line.warning.localized(_))
                column.addWidget(control(label(never, "warn", body, wrap=True), f"import-never-{number}"))
        column.addStretch(1)
        area.setWidget(body)
        self.add_field(_("Lines of the file and the resulting rules"), area)
        self.finish(_("Import"))

    def problem(self) -> str:
        return "" if self._any else _("The file has no rules that can be imported.")

    def submit(self) -> None:
        self.chosen.emit(self._path)
