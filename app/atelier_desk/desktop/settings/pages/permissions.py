"""Permissions: rules with a test, further approvals, timeouts, risks, and teams."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from atelier_desk.desktop.bridge.jobs import error_text
from atelier_desk.desktop.file_dialogs.open_save_confirm import ask_open
from atelier_desk.desktop.panes.pane_base import offer_undo, toast
from atelier_desk.desktop.settings.approval_timeout_field import HIGH, LOW, TimeoutBox
from atelier_desk.desktop.settings.audit_trail import AuditTrail
from atelier_desk.desktop.settings.declarative_page import RowsPage, Section
from atelier_desk.desktop.settings.fields import Choice, Number, Toggle
from atelier_desk.desktop.settings.registry import settings_page
from atelier_desk.desktop.settings.risk_table import RiskTable
from atelier_desk.desktop.settings.rule_form_and_import import RuleForm, RuleImport
from atelier_desk.desktop.settings.rule_list import RuleList
from atelier_desk.desktop.settings.rule_tester import RuleTest
from atelier_desk.desktop.settings.safe_commands import SafeCommands
from atelier_desk.domain.approval import ApprovalSettings, OnTimeout
from atelier_desk.domain.audit import AuditLine
from atelier_desk.domain.errors import AtelierError
from atelier_desk.domain.permission import PermissionRule
from atelier_desk.domain.settings import Settings
from atelier_desk.engine.services.tools import ToolInfo
from atelier_desk.presentation.permission_profiles import ALL
from atelier_desk.support.i18n import N_, _, ngettext
from atelier_desk.support.locale_format import NARROW

FLAGS = tuple(
    Toggle(f"approvals.flags.{kind}", caption, hint, f"approval-flag-{kind}")
    for kind, caption, hint in (
        ("sub_agents", N_("Agents"), N_("Starting agents, delegating work, running sequences of actions.")),
        ("mcp", N_("MCP servers"), N_("All tools of MCP servers.")),
        ("file_ops", N_("Files and commands"), N_("Reading and changing files, running commands.")),
        ("db_ops", N_("Projects and knowledge"), N_("Projects and their knowledge graph.")),
        ("tools", N_("All other tools"), N_("Tasks, memory, reports, the calculator and other tools.")),
    )
)
RISKS = (
    Toggle(
        "approvals.auto_approve_low",
        N_("Allow low-risk calls without asking"),
        N_("Applies to the profiles “Ask”, “Ask every time” and “Edit”."),
        "approval-auto-low",
    ),
    Toggle(
        "approvals.always_confirm_high",
        N_("Always ask about high-risk calls"),
        N_("Also applies to the Free profile."),
        "approval-confirm-high",
    ),
)
TIMES = (
    Number(
        "approvals.timeout_s",
        N_("Approval timeout"),
        lambda: _(
            "0 means that agents wait until you decide. Otherwise, enter {low} to {high} seconds. Time counts only "
            "while the approval request is visible.",
            low=LOW,
            high=HIGH,
        ),
        "approval-timeout",
        suffix=f"{NARROW}s",
        zero=N_("none"),
        box=TimeoutBox,
    ),
    Choice(
        "approvals.on_timeout",
        N_("On timeout"),
        name="approval-on-timeout",
        choices=(
            (OnTimeout.REJECT, N_("Reject")),
            (OnTimeout.APPROVE, N_("Allow")),
            (OnTimeout.ASK_AGAIN, N_("Ask again")),
        ),
    ),
)
DAYS = Number(
    "audit_days",
    N_("Show decisions for"),
    N_("Older decisions are hidden, not deleted; 0 shows all."),
    "audit-days",
    suffix=lambda: _("{n} d", n="").replace(" ", NARROW),
    zero=N_("all"),
)
DEPTH = Number(
    "max_depth",
    N_("Team depth"),
    N_(
        "0: agents cannot start sub-agents. 1: sub-agents cannot start their own. 2 or more: that many levels of "
        "sub-agents."
    ),
    "max-depth",
)


@settings_page("approvals", order=40, icon="shield", title=N_("Permissions and tools"), section=N_("Permissions"))
class ApprovalsPage(RowsPage):
    """The page of permissions. Changes apply at once, to runs started afterwards.

    Controls: ``approval-flag-<kind>``, ``approval-auto-low``, ``approval-confirm-high``, ``approval-timeout``,
    ``approval-on-timeout``, ``risk-<ToolName>``, ``approval-rules`` with ``rule-filter``, ``rule-add`` and
    ``rule-import-file``, ``rule-test-…``, ``audit-…``, ``safe-…``, ``max-depth``.
    """

    topics = ("settings", "tool", "approval")
    _approvals = ApprovalSettings()
    _tools: tuple[ToolInfo, ...] | list[ToolInfo] = ()
    _agents: dict[str, str] = {}
    _workflows: dict[str, str] = {}
    _folders: tuple[str, ...] = ()

    def build(self) -> None:
        self._build_modes()
        self._build_rules()
        self._build_seen()
        self.add(Section(N_("Approvals in Ask and Edit"), *FLAGS))
        self.add(Section(N_("Risk"), *RISKS))
        self.add(Section(N_("Timeout"), *TIMES))
        self.add(Section(N_("Teams"), DEPTH))
        self.risks = RiskTable(self)
        self.section(N_("Risk by tool"), self.risks, about=N_("Your choice overrides the tool's own risk level."))
        self.risks.chosen.connect(self._set_risk)

    def _build_modes(self) -> None:
        hint = N_(
            "Choose a workflow's profile next to its message field; each agent has its own default. A sub-agent "
            "never has more permissions than its parent."
        )
        card = self.section(N_("Profiles"), about=hint)
        self.add_pairs(card, *((one.title, one.allows) for one in ALL), looks=("strong", ""), wide=1)

    def _build_rules(self) -> None:
        hint = N_("Deny overrides Ask, and Ask overrides Allow. Where no rule applies, the profile decides.")
        card = self.section(N_("Rules"), about=hint)
        self.rules = RuleList(self)
        self.filter = self.add_search(card, "rule-filter", N_("Filter rules"), self.rules.filter)
        card.body.addWidget(self.rules)
        add = self.button("rule-add", N_("Add a rule…"), lambda: self._edit(None))
        load = self.button("rule-import-file", N_("Import from another program…"), self._ask_file)
        self.button_row(card, add, load)
        self.tester = RuleTest(self)
        self.section(N_("Which rule decides?"), self.tester)
        self.rules.before, self.rules.after = self.filter, [add, load]
        self.rules.edited.connect(self._edit)
        self.rules.confirmed.connect(lambda rule: self.jobs.once(("confirm", rule), lambda: self._confirm(rule)))
        self.rules.removed.connect(lambda rule: self.jobs.once(("remove", rule), lambda: self._remove(rule)))
        self.tester.asked.connect(lambda: self.jobs.start(self._test(), "test"))

    def _build_seen(self) -> None:
        hint = N_(
            "Every decision about a call, whether made by a rule, the profile or you. Details are in the workflow."
        )
        card = self.add(Section(N_("Audit trail"), DAYS, about=hint))
        self.trail = AuditTrail(self.bridge, self.jobs, self)
        card.body.addWidget(self.trail)
        self.trail.opened.connect(self._show_call)
        self.commands = SafeCommands(self)
        hint = N_(
            "In your workspace folders, the Ask profile runs read-only commands without asking. The Edit "
            "profile also runs commands that write only the files they name. Other commands, options and "
            "folders need approval."
        )
        self.section(N_("Safe commands"), self.commands, about=hint)

    async def load(self) -> None:
        settings: Settings = await self.bridge.engine.settings.get()
        tools = [info for info in await self.bridge.engine.tools.list() if info.section]
        self.show_settings(settings)
        stored = self._approvals = settings.approvals
        self.control("approvals.on_timeout").setEnabled(stored.timeout_s > 0)
        self.risks.show_tools(tools, stored.risks)
        self._tools = tools
        self._agents = {agent.id: agent.config.name for agent in await self.bridge.engine.agents.list()}
        workflows = await self.bridge.engine.workflows.list(limit=None)
        self._workflows = {workflow.id: workflow.name for workflow in workflows}
        self._folders = tuple(sorted({workflow.workspace[0] for workflow in workflows if workflow.workspace}))
        held = await self.bridge.engine.permissions.held()
        rules = (*stored.rules, *held)
        found = await self.bridge.engine.permissions.unmatchable([rule.text for rule in rules])
        never = {text: problem.localized(_) for text, problem in found.items()}
        self.rules.show_rules(rules, {**self._agents, **self._workflows}, never)
        self.trail.show_choices(self._workflows, self._agents, (tool.name for tool in tools))
        self.commands.show_commands()
        await self.trail.load()

    def _show_call(self, line: AuditLine) -> None:
        one = line.entry
        self.place_requested.emit(one.workflow_id, "tool_execution", f"{one.run_id}:{one.call_id}", one.message_id)

    def _set_risk(self, tool: str, risk: str) -> None:
        rest = {name: level for name, level in self._approvals.risks.items() if name != tool}
        self.store("approvals.risks", rest | {tool: risk} if risk else rest)

    async def _confirm(self, rule: PermissionRule) -> None:
        await self.bridge.engine.permissions.confirm(rule.id)
        await self.load()

    async def _remove(self, rule: PermissionRule) -> None:
        await self.bridge.engine.permissions.remove(rule.id)
        await self.load()
        offer_undo(self, _("Removed: {rule}", rule=rule.text), lambda: self._bring_back(rule))

    def _edit(self, rule: PermissionRule | None) -> RuleForm:
        form = RuleForm(rule, self._agents, self._workflows, self, folders=self._folders)
        form.chosen.connect(lambda fields: self.jobs.start(self._save(form, rule, fields)))
        form.open()
        return form

    async def _save(self, form: RuleForm, rule: PermissionRule | None, fields: dict[str, Any]) -> None:
        away = ""
        try:
            if rule is None or fields["text"] != rule.text:  # the name of a removed tool may stay
                away = await self.bridge.engine.permissions.missing(fields["text"])
            if rule is None:
                await self.bridge.engine.permissions.add(PermissionRule(**fields))
            else:
                await self.bridge.engine.permissions.change(rule.id, **fields)
        except AtelierError as error:
            form.show_error(error_text(error))
            return
        form.accept()
        await self.load()
        note = (
            _("There is no MCP server {name} with this tool yet; the rule will apply once there is.", name=away)
            if away
            else ""
        )
        for never in () if away else (await self.bridge.engine.permissions.unmatchable([fields["text"]])).values():
            note = _("Never matches: {reason}", reason=never.localized(_))
        if rule is not None:
            before = rule.model_dump(include=set(fields))
            undo = partial(self.bridge.engine.permissions.change, rule.id, **before)
            words = " · ".join(filter(None, (_("Changed: {rule}", rule=rule.text), note)))
            offer_undo(self, words, lambda: self.call(undo()))
        elif note:
            toast(self, note)

    def _ask_file(self) -> None:
        kinds = _("Settings of other programs ({patterns})", patterns="*.json")
        ask_open(self, _("Import rules"), kinds, lambda path: self.jobs.start(self._preview(path)))

    async def _preview(self, path: Path) -> None:
        dialog = RuleImport(path, await self.bridge.engine.permissions.preview(path), self)
        dialog.chosen.connect(lambda path: self.jobs.start(self._import(dialog, path)))
        dialog.open()

    async def _import(self, dialog: RuleImport, path: Path) -> None:
        try:
            added = await self.bridge.engine.permissions.import_(path)
        except AtelierError as error:
            dialog.show_error(error_text(error))
            return
        dialog.accept()
        await self.load()
        words = ngettext("{n} rule was added.", "{n} rules were added.", len(added))
        offer_undo(self, words, lambda: self.call(self._remove_rules(added)))

    async def _remove_rules(self, rules: tuple[PermissionRule, ...]) -> None:
        for rule in rules:
            await self.bridge.engine.permissions.remove(rule.id)

    async def _test(self) -> None:
        try:
            tool, arguments = self.tester.arguments(self._tools)
            folder = self.tester.folder.text().strip()
            verdict = await self.bridge.engine.permissions.trials.test(
                tool, arguments, workspace=(folder,) if folder else (), mode=self.tester.profile.mode
            )
        except AtelierError as error:
            self.tester.show_problem(error_text(error))
        else:
            self.tester.show_verdict(verdict)

    def _bring_back(self, rule: PermissionRule) -> None:
        self.call(self.bridge.engine.permissions.add(rule))
