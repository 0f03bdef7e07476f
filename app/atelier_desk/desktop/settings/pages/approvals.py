"""Approvals: when agents must ask first, what happens when nobody answers, risks, standing permissions, and how deep teams go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QValidator
from PySide6.QtWidgets import QGridLayout, QWidget

from atelier_desk.desktop.panes.base import offer_undo
from atelier_desk.desktop.questions.approval_wording import rule_text
from atelier_desk.desktop.settings.registry import settings_page
from atelier_desk.desktop.settings.risk_table import RiskTable
from atelier_desk.desktop.settings.rows import Choice, Number, RowsPage, Section, Toggle
from atelier_desk.desktop.settings.rule_list import RuleList
from atelier_desk.desktop.widgets import fill, label, say
from atelier_desk.desktop.widgets.inputs import SpinBox
from atelier_desk.domain import limits
from atelier_desk.domain.approval import ApprovalSettings, OnTimeout
from atelier_desk.domain.permission import PermissionRule
from atelier_desk.domain.settings import Settings
from atelier_desk.figures import NARROW
from atelier_desk.i18n import N_, _
from atelier_desk.profile_words import ALL

if TYPE_CHECKING:
    pass

LOW, HIGH = limits.APPROVAL_TIMEOUT


class TimeoutBox(SpinBox):
    """0 (for ever) or 30–300 seconds; what lies between is no choice."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setRange(0, HIGH)
        self.setKeyboardTracking(False)

    def stepBy(self, steps: int) -> None:
        """Steps of ten seconds; below the shortest there is only for ever."""
        wanted = self.value() + 10 * steps
        self.setValue(wanted if wanted >= LOW else LOW if steps > 0 else 0)

    def validate(self, text: str, at: int) -> tuple[QValidator.State, str, int]:
        """Half a number may be typed; it is no value yet."""
        state, said, where = super().validate(text, at)
        if state == QValidator.State.Acceptable and 0 < self.valueFromText(said) < LOW:
            state = QValidator.State.Intermediate
        return state, said, where

    def fixup(self, text: str) -> str:
        """A time that is too short becomes the shortest."""
        return self.textFromValue(LOW)


FLAGS = tuple(
    Toggle(f"approvals.flags.{kind}", caption, hint, f"approval-flag-{kind}")
    for kind, caption, hint in (
        ("sub_agents", N_("Agents"), N_("Starting agents, handing work over, carrying out plans.")),
        ("mcp", N_("MCP servers"), N_("Every tool of a server.")),
        ("file_ops", N_("Files and commands"), N_("Reading and changing files, running commands.")),
        ("db_ops", N_("Projects and knowledge"), N_("Everything that touches projects and their knowledge graph.")),
        ("tools", N_("All other tools"), N_("Tasks, memory, reports, calculation and the like.")),
    )
)
RISKS = (
    Toggle(
        "approvals.auto_approve_low",
        N_("Allow calls of low risk without asking"),
        N_("Under Ask, Ask always and Edit."),
        "approval-auto-low",
    ),
    Toggle(
        "approvals.always_confirm_high",
        N_("Always ask about calls of high risk"),
        N_("Also under Free."),
        "approval-confirm-high",
    ),
)
TIMES = (
    Number(
        "approvals.timeout_s",
        N_("Time limit to decide"),
        lambda: _(
            "Agents wait until you decide. A limit of {low}–{high} seconds can be set by hand; 0 is none. "
            "Only time in which the card is in sight counts.",
            low=LOW,
            high=HIGH,
        ),
        "approval-timeout",
        suffix=f"{NARROW}s",
        zero=N_("none, they wait"),
        box=TimeoutBox,
    ),
    Choice(
        "approvals.on_timeout",
        N_("Then"),
        name="approval-on-timeout",
        choices=((OnTimeout.REJECT, N_("reject it")), (OnTimeout.APPROVE, N_("allow it")), (OnTimeout.ASK_AGAIN, N_("ask again"))),
    ),
)
DEPTH = Number(
    "max_depth",
    N_("Team depth"),
    N_("0: no agent starts sub-agents. 1: sub-agents start none of their own. More: teams go that many levels deep."),
    "max-depth",
)


@settings_page("approvals", order=37, icon="shield", title=N_("Approvals and teams"))
class ApprovalsPage(RowsPage):
    """Controls ``approval-flag-<kind>``, ``approval-auto-low``, ``approval-confirm-high``, ``approval-timeout``, ``approval-on-timeout``,
    ``risk-<ToolName>``, ``approval-rules``, ``max-depth``. Everything applies at once, to runs that start from then on.
    """

    topics = ("settings", "tool", "approval")
    _kept = ApprovalSettings()

    def build(self) -> None:
        self._build_modes()
        self.add(Section(N_("ASK AND EDIT: ASK ABOUT"), *FLAGS))
        self.add(Section(N_("RISK"), *RISKS))
        self.add(Section(N_("WHEN NOBODY DECIDES"), *TIMES))
        self.rules = RuleList(self)
        self.section(N_("ALWAYS ALLOWED")).body.addWidget(self.rules)
        self.add(Section(N_("TEAMS"), DEPTH))
        hint = say(label("", "muted", self, wrap=True), N_("Your choice replaces the risk a tool gives itself."))
        self.risks = RiskTable(self)
        fill(self.section(N_("RISK BY TOOL")).body, hint, self.risks)
        self.risks.chosen.connect(self._set_risk)
        self.rules.removed.connect(lambda rule: self.jobs.once(("remove", rule), lambda: self._remove(rule)))

    def _build_modes(self) -> None:
        grid = QGridLayout()
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(1, 1)
        self._modes = [(say(label("", "strong", self), one.title), say(label("", "", self, wrap=True), one.allows)) for one in ALL]
        for row, (name, told) in enumerate(self._modes):
            grid.addWidget(name, row, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(told, row, 1)
        hint = N_(
            "Chosen for each workflow where you write; an agent's form has the one it begins with. "
            "A sub-agent is never freer than its parent."
        )
        fill(self.section(N_("PROFILES")).body, say(label("", "muted", self, wrap=True), hint), grid)

    # values -------------------------------------------------------------------------------------------------------------------------

    async def load(self) -> None:
        settings: Settings = await self.bridge.engine.settings.get()
        tools = [info for info in await self.bridge.engine.tools.list() if info.section]
        self.show_settings(settings)
        kept = self._kept = settings.approvals
        self.control("approvals.on_timeout").setEnabled(kept.timeout_s > 0)
        self.risks.show_tools(tools, kept.risks)
        self.rules.show_rules(kept.rules)

    def _set_risk(self, tool: str, risk: str) -> None:
        rest = {name: kept for name, kept in self._kept.risks.items() if name != tool}
        self.store("approvals.risks", rest | {tool: risk} if risk else rest)

    async def _remove(self, rule: PermissionRule) -> None:
        await self.bridge.engine.permissions.remove(rule.id)
        await self.load()
        offer_undo(self, _("No longer allowed: {rule}", rule=rule_text(rule)), lambda: self._bring_back(rule))

    def _bring_back(self, rule: PermissionRule) -> None:
        self.call(self.bridge.engine.permissions.add(rule))

    def retranslate(self) -> None:
        super().retranslate()
        self.rules.retranslate()
