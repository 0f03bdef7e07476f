"""The team's usage in the header while it runs."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.usage_meter import UsageMeter, shares
from atelier_desk.desktop.widgets.language_theme_bindings import refresh_texts
from atelier_desk.domain.agent import Budget
from atelier_desk.domain.model_messages import Usage
from atelier_desk.domain.stream.payloads import UsageTotals
from atelier_desk.presentation.rows.team_state import AgentUsage
from tests.desktop.chat.conftest import Team
from tests.desktop.team.sample_team_events import event

BUDGET = Budget(max_cost=2.0, max_tokens=1_000, max_seconds=60, max_tool_calls=10)


def test_the_most_used_limit_comes_first() -> None:
    found = shares(AgentUsage(100, 50, 1.8, tool_calls=1, elapsed_ms=30_000), BUDGET)
    assert [(share.name, round(share.part, 2)) for share in found] == [
        ("Cost", 0.9),
        ("Time", 0.5),
        ("Tokens", 0.15),
        ("Tool calls", 0.1),
    ]
    assert shares(AgentUsage(), Budget()) == []
    assert shares(AgentUsage(), Budget(max_tool_calls=0))[0].part == 1.0


def test_totals_are_the_teams_and_the_context_is_the_root_agents() -> None:
    meter = UsageMeter()
    meter.show_usage(Usage(tokens_input=900, tokens_output=100, cost=0.5), 500, 1_000)
    assert meter.text.text() == "$0.50 · 50%"
    meter.update_usage(UsageTotals(tokens_input=3_000, cost=0.75), None)
    assert meter.text.text() == "$0.75 · 50%"
    meter.brief = True
    refresh_texts()
    assert meter.text.text() == "$0.75"
    assert "Sent: 3" in meter.toolTip()
    meter.brief = False
    meter.show_usage(Usage(tokens_input=1))
    assert meter.text.text() == "1 token"
    assert "Sent: 1 token\nReceived: 0 tokens" in meter.toolTip()
    assert "Cost: $0" in meter.toolTip()


def test_an_unknown_cost_is_not_shown_as_zero() -> None:
    meter = UsageMeter()
    meter.show_usage(Usage(tokens_input=900, tokens_unpriced=900))
    assert "Cost: unknown" in meter.toolTip()
    meter.update_usage(UsageTotals(tokens_input=900, cost=0.0), None)
    assert "Cost: $0" in meter.toolTip()
    meter.update_usage(UsageTotals(tokens_input=900, cost=None), None)
    assert "Cost: unknown" in meter.toolTip()


def test_a_budget_is_shown_as_a_share_with_all_limits_in_the_tool_tip() -> None:
    meter = UsageMeter()
    assert meter.bar.isHidden()
    meter.show_budget(AgentUsage(100, 50, 1.8, 1, 30_000), BUDGET)
    assert not meter.bar.isHidden()
    assert meter.bar.part == 0.9
    assert meter.bar.accessibleName() == "Budget: 90% used"
    assert "Cost: $1.80 of $2.00 (90%)" in meter.toolTip()
    assert "Tool calls: 1 of 10 (10%)" in meter.toolTip()
    meter.show_budget(None, None)
    assert meter.bar.isHidden()


def test_the_number_beside_the_bar_is_that_of_the_bar() -> None:
    meter = UsageMeter()
    meter.show_usage(Usage(tokens_input=900, tokens_output=100, cost=0.5), 600, 1_000)
    meter.show_budget(AgentUsage(100, 50, 1.8, 1, 30_000), BUDGET)
    assert meter.text.text() == "$0.50 · 90%"
    assert "Context: 600 of 1,000 tokens" in meter.toolTip()
    meter.show_budget(None, None)
    assert meter.text.text() == "$0.50 · 60%"


def test_usage_of_a_turn_and_of_the_workflow_are_distinguished() -> None:
    meter = UsageMeter()
    meter.show_usage(Usage(tokens_input=400, tokens_output=18))
    meter.show_budget(AgentUsage(40, 14), None)
    tip = meter.toolTip().splitlines()
    assert (tip[0], tip[-1]) == ("Whole workflow: 418 tokens", "Latest turn: 54 tokens")
    assert meter.bar.isHidden(), "without limits there is no share of them"
    meter.show_budget(AgentUsage(400, 18), None)
    assert "Whole workflow" not in meter.toolTip(), "with only one turn nothing is shown twice"


async def test_the_header_follows_every_agent_of_the_team(team: Team) -> None:
    meter = team.panel.header.meter
    assert "120" in meter.toolTip()
    sums = {"tokens_input": 5_000, "tokens_output": 0, "cost": 1.0}
    await team.feed(event(20, "usage", "dot", own={"tokens_input": 790, "cost": 0.2}, workflow=sums))
    assert "$1.00" in meter.text.text()
    assert "Sent: 5,000 tokens" in meter.toolTip()
    assert meter.bar.part == 1.0
    assert "Tokens: 1.0\u202fk of 1.0\u202fk (100%)" in meter.toolTip()


def test_the_share_of_the_context_window_appears_once_the_model_is_known(qtbot: QtBot) -> None:
    meter = UsageMeter()
    qtbot.addWidget(meter)
    meter.show_usage(Usage(tokens_input=2_000, tokens_output=800), 2_048, 0)
    assert "%" not in meter.text.text()
    meter.know_window(4_096)
    assert "50" in meter.text.text()
    assert "%" in meter.text.text()
