"""Approvals: when agents must ask first, what happens when nobody answers, risks, standing permissions, and how deep teams go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QValidator
from PySide6.QtWidgets import QCheckBox, QComboBox, QGridLayout, QSpinBox, QWidget

from atelier_desk.desktop.panes.base import toast
from atelier_desk.desktop.panes.wording import locale
from atelier_desk.desktop.questions.approval_wording import rule_text
from atelier_desk.desktop.settings.page import SettingsPage
from atelier_desk.desktop.settings.registry import settings_page
from atelier_desk.desktop.settings.risk_table import RiskTable
from atelier_desk.desktop.settings.rule_list import RuleList
from atelier_desk.desktop.widgets import control, fill, label, say
from atelier_desk.domain import limits
from atelier_desk.domain.approval import AllowRule, ApprovalSettings, OnTimeout
from atelier_desk.domain.settings import Settings
from atelier_desk.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge import Bridge

MODES = (
    (N_("Selective"), N_("Asks about the kinds of calls ticked below. The usual choice.")),
    (N_("Manual"), N_("Asks before every call, except calls of low risk, if that is set below.")),
    (N_("Automatic"), N_("Never asks, except about calls of high risk, if that is set below.")),
)
FLAGS = (
    ("sub_agents", N_("Agents"), N_("Starting agents, handing work over, carrying out plans.")),
    ("mcp", N_("MCP servers"), N_("Every tool of a server.")),
    ("file_ops", N_("Files and commands"), N_("Reading and changing files, running commands.")),
    ("db_ops", N_("Projects and knowledge"), N_("Everything that touches projects and their knowledge graph.")),
    ("tools", N_("All other tools"), N_("Tasks, memory, reports, calculation and the like.")),
)
LOW, HIGH = limits.APPROVAL_TIMEOUT


class TimeoutBox(QSpinBox):
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


@settings_page("approvals", order=37, icon="shield", title=N_("Approvals and teams"))
class ApprovalsPage(SettingsPage):
    """Controls ``approval-flag-<kind>``, ``approval-auto-low``, ``approval-confirm-high``, ``approval-timeout``, ``approval-on-timeout``,
    ``risk-<ToolName>``, ``approval-rules``, ``max-depth``. Everything applies at once, to runs that start from then on.
    """

    topics = ("settings", "tool", "approval")

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(bridge, parent)
        self._kept = ApprovalSettings()
        self._build_modes()
        self._build_flags()
        self._build_time()
        self._rules_heading, rules = self.section()
        self.rules = RuleList(self)
        rules.body.addWidget(self.rules)
        self._team_heading, team = self.section()
        self.max_depth = control(QSpinBox(self), "max-depth")
        self.max_depth.setRange(0, limits.DEPTH_MAX)
        self._depth_row = self.row(team, self.max_depth)
        self._risk_heading, risk = self.section()
        self._risk_hint = control(label("", "muted", self, wrap=True), "", N_("Your choice replaces the risk a tool gives itself."))
        self.risks = RiskTable(self)
        fill(risk.body, self._risk_hint, self.risks)
        self.end()
        self._connect()
        say(self._modes_heading, N_("APPROVAL MODES"))
        say(self._flags_heading, N_("SELECTIVE MODE: ASK ABOUT"))
        say(self._threshold_heading, N_("RISK, IN EVERY MODE"))
        say(self._time_heading, N_("WHEN NOBODY DECIDES"))
        say(self._rules_heading, N_("ALWAYS ALLOWED"))
        say(self._team_heading, N_("TEAMS"))
        say(self._risk_heading, N_("RISK BY TOOL"))
        self.retranslate()

    def _build_modes(self) -> None:
        self._modes_heading, card = self.section()
        self._modes_hint = control(
            label("", "muted", self, wrap=True),
            "",
            N_("Each agent has a mode, chosen in its form. A sub-agent is never freer than its parent."),
        )
        card.body.addWidget(self._modes_hint)
        grid = QGridLayout()
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(1, 1)
        self._modes = [(label("", "strong", self), label("", "", self, wrap=True)) for _mode in MODES]
        for row, (name, told) in enumerate(self._modes):
            grid.addWidget(name, row, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(told, row, 1)
        card.body.addLayout(grid)

    def _build_flags(self) -> None:
        self._flags_heading, card = self.section()
        self.flags = {name: QCheckBox(self) for name, _title, _hint in FLAGS}
        for name, box in self.flags.items():
            box.setObjectName(f"approval-flag-{name}")
        self._flag_rows = {name: self.row(card, box) for name, box in self.flags.items()}
        self._threshold_heading, card = self.section()
        self.auto_low = control(QCheckBox(self), "approval-auto-low")
        self.confirm_high = control(QCheckBox(self), "approval-confirm-high")
        self._low_row, self._high_row = self.row(card, self.auto_low), self.row(card, self.confirm_high)

    def _build_time(self) -> None:
        self._time_heading, card = self.section()
        self.timeout = TimeoutBox(self)
        self.timeout.setObjectName("approval-timeout")
        self.on_timeout = control(QComboBox(self), "approval-on-timeout")
        for choice in OnTimeout:
            self.on_timeout.addItem("", choice)
        self._timeout_row, self._after_row = self.row(card, self.timeout), self.row(card, self.on_timeout)

    def _connect(self) -> None:
        for name, box in self.flags.items():
            box.clicked.connect(lambda on, name=name: self._save(flags=self._kept.flags.model_copy(update={name: on})))
        self.auto_low.clicked.connect(lambda on: self._save(auto_approve_low=on))
        self.confirm_high.clicked.connect(lambda on: self._save(always_confirm_high=on))
        self.timeout.valueChanged.connect(lambda value: self._save(timeout_s=float(value)))
        self.on_timeout.activated.connect(lambda _index: self._save(on_timeout=self.on_timeout.currentData()))
        self.risks.chosen.connect(self._set_risk)
        self.rules.removed.connect(lambda rule: self.jobs.once(("remove", rule), lambda: self._remove(rule)))
        self.max_depth.valueChanged.connect(lambda value: self.call(self.bridge.engine.settings.update(max_depth=value)))

    # values -------------------------------------------------------------------------------------------------------------------------

    async def load(self) -> None:
        settings: Settings = await self.bridge.engine.settings.get()
        tools = [info for info in await self.bridge.engine.tools.list() if info.section]
        kept = self._kept = settings.approvals
        for name, box in self.flags.items():
            box.setChecked(getattr(kept.flags, name))
        self.auto_low.setChecked(kept.auto_approve_low)
        self.confirm_high.setChecked(kept.always_confirm_high)
        for spin, value in ((self.timeout, round(kept.timeout_s)), (self.max_depth, settings.max_depth)):
            spin.blockSignals(True)
            spin.setValue(value)
            spin.blockSignals(False)
        self.on_timeout.setCurrentIndex(self.on_timeout.findData(kept.on_timeout))
        self.on_timeout.setEnabled(kept.timeout_s > 0)
        self.risks.show_tools(tools, kept.risks)
        self.rules.show_rules(kept.allowed)

    def _save(self, **fields: Any) -> None:
        """Change some of the approval settings; rules that came in meanwhile stay."""
        self.call(self.bridge.engine.approvals.set_policy(**fields))

    def _set_risk(self, tool: str, risk: str) -> None:
        rest = {name: kept for name, kept in self._kept.risks.items() if name != tool}
        self._save(risks=rest | {tool: risk} if risk else rest)

    async def _remove(self, rule: AllowRule) -> None:
        await self.bridge.engine.approvals.remove_rule(rule)
        await self.load()
        toast(self, _("No longer allowed: {rule}", rule=rule_text(rule)), _("Undo"), lambda: self._bring_back(rule))

    def _bring_back(self, rule: AllowRule) -> None:
        self.call(self.bridge.engine.approvals.add_rule(rule))

    # texts --------------------------------------------------------------------------------------------------------------------------

    def retranslate(self) -> None:
        for (name, about), (title, text) in zip(self._modes, MODES, strict=True):
            name.setText(_(title))
            about.setText(_(text))
        for flag, title, hint in FLAGS:
            self._flag_rows[flag].set_texts(_(title), _(hint))
        self._low_row.set_texts(_("Allow calls of low risk without asking"), _("In the manual and selective modes."))
        self._high_row.set_texts(_("Always ask about calls of high risk"), _("Also in the automatic mode."))
        told = _("0 waits for ever, else {low}–{high} seconds. Only time in which the card is in sight counts.", low=LOW, high=HIGH)
        self._timeout_row.set_texts(_("Seconds to decide"), told)
        self.timeout.setSpecialValueText(_("for ever"))
        self.timeout.setLocale(locale())
        self._after_row.set_texts(_("Then"))
        words = {OnTimeout.REJECT: _("reject it"), OnTimeout.APPROVE: _("allow it"), OnTimeout.ASK_AGAIN: _("ask again")}
        for row, choice in enumerate(OnTimeout):
            self.on_timeout.setItemText(row, words[choice])
        self.rules.retranslate()
        deep = _("0: no agent starts sub-agents. 1: sub-agents start none of their own. More: teams go that many levels deep.")
        self._depth_row.set_texts(_("Team depth"), deep)
        self.risks.retranslate()
