"""The card of a call that started sub-agents: lanes, progress, reports, and requests to the user."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QProgressBar, QPushButton, QToolButton
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.cards.agent_lane import HEIGHT, Lane
from atelier_desk.desktop.chat.cards.limit_card import LimitCard, RaiseField
from atelier_desk.desktop.chat.cards.team_card import AT_ONCE, TeamCard
from atelier_desk.desktop.chat.cards.tool_card import ToolCard
from atelier_desk.desktop.chat.transcript.message_blocks import ProseBlock
from atelier_desk.desktop.chat.transcript.message_widgets import AssistantMessage
from atelier_desk.desktop.theme import theme
from atelier_desk.domain.agent import Budget
from atelier_desk.domain.approval import Ancestor, ApprovalRequest, ApprovalStatus
from tests.desktop.chat.conftest import Team
from tests.desktop.team.sample_team_events import event, sub_agent_event, tree
from tests.helpers.child_widgets import child


async def test_a_batch_has_a_lane_for_each_sub_agent_and_shows_how_far_it_is(team: Team) -> None:
    card: TeamCard = team.find(TeamCard, "team-card")
    assert [lane.member.name for lane in card.lanes] == ["Bea", "Cid"]
    assert card.state_text() == ("0 of 2 done", "accent")
    assert not card.bar.isHidden()
    assert (card.bar.value(), card.bar.maximum()) == (0, 2)
    bea, cid = card.lanes
    assert bea.head.accessibleName().startswith("Bea, waiting for sub-agents")
    assert "0 of 1 sub-agents done" in bea._doing.text()
    assert cid._title.text() == "Write the tests"
    team.changes["cid"] = {"status": "completed"}
    await team.feed(sub_agent_event(20, "cid", what="sub_agent_complete", report="All **green**"))
    assert card.state_text() == ("1 of 2 done", "accent")
    assert card._head.accessibleName().endswith(", 1 of 2 done")
    assert card.bar.value() == 1
    card.fit(700)
    for lane in card.lanes:
        layout = lane.head.layout()
        assert layout is not None
        layout.activate()
    assert cid.stop.isHidden()
    assert cid._figures.geometry().right() == bea._figures.geometry().right()


async def test_a_paused_batch_is_marked(team: Team) -> None:
    card: TeamCard = team.find(TeamCard, "team-card")
    for number, run_id in enumerate(("bea", "cid"), 20):
        team.changes[run_id] = {"status": "paused"}
        await team.feed(event(number, "run_status", run_id, status="paused"))
        assert card.state_text() == (("0 of 2 done", "accent") if run_id == "bea" else ("paused", "warn"))


async def test_the_conversation_has_only_the_turns_own_messages(team: Team) -> None:
    await team.feed(
        event(20, "message", "bea", message_id="x", role="assistant", content="Inside"),
        event(21, "token", "dot", content="Deep", message_id="y"),
    )
    assert [entry.content for entry in team.panel.view.entries] == ["Make it so", "I share the work."]


async def test_a_lane_keeps_its_height_while_agents_work(team: Team) -> None:
    lane: Lane = team.find(TeamCard, "team-card").lanes[0]
    before = lane.fit(600)
    await team.feed(
        sub_agent_event(
            20, "dot", what="sub_agent_progress", tokens_input=900, tokens_output=5, cost=0.1, current_tool="read_file"
        ),
        event(21, "tool_start", "bea", call_id="z", tool="a_tool_with_quite_a_long_name_that_does_not_fit"),
    )
    assert lane.fit(600) == before


async def test_a_report_expands_in_place(team: Team) -> None:
    team.changes["cid"] = {"status": "completed", "report": "# Result\n\nAll **green**"}
    await team.feed(sub_agent_event(20, "cid", what="sub_agent_complete", report="# Result\n\nAll **green**"))
    lane: Lane = team.find(TeamCard, "team-card").lanes[1]
    folded = lane.fit(600)
    assert lane.stop.isHidden()
    QTest.mouseClick(lane.report, Qt.MouseButton.LeftButton)
    assert lane.fit(600) > folded + 20
    assert lane.report.text() == "Hide report"
    lane.toggle_report()
    assert lane.fit(600) == folded
    assert team.panel.agent_page is None


async def test_stop_ends_one_sub_agent(team: Team) -> None:
    lane: Lane = team.find(TeamCard, "team-card").lanes[1]
    child(lane, QToolButton, "lane-stop").click()
    await team.settled()
    assert team.engine.calls("runs.cancel") == [(("cid",), {})]


async def test_an_approval_of_a_nested_sub_agent_is_in_its_ancestors_lane(team: Team) -> None:
    request = ApprovalRequest(
        id="v",
        workflow_id="w1",
        run_id="dot",
        call_id="c1",
        tool="CalculatorTool",
        agent_name="Dot",
        lineage=(Ancestor(run_id="ada", agent_name="Ada"), Ancestor(run_id="bea", agent_name="Bea")),
    )
    team.approvals.append(request)
    await team.send_event(20, "validation_required", "dot", validation_id="v", call_id="c1", tool="CalculatorTool")
    bea, cid = team.find(TeamCard, "team-card").lanes
    assert (len(bea.concerns), len(cid.concerns)) == (1, 0)
    team.approvals[:] = [request.model_copy(update={"status": ApprovalStatus.APPROVED})]
    await team.send_event(21, "validation_response", "dot", validation_id="v", call_id="c1", status="approved")
    assert len(bea.concerns) == 0


async def test_an_approval_of_the_turn_is_below_its_call(team: Team) -> None:
    request = ApprovalRequest(id="v", workflow_id="w1", run_id="ada", call_id="c9", tool="TodoTool", agent_name="Ada")
    team.approvals.append(request)
    await team.send_event(
        20, "validation_required", validation_id="v", call_id="c9", tool="TodoTool", arguments={"operation": "list"}
    )
    entry = team.panel.view.entries[-1]
    assert [(call.tool, call.status) for call in entry.calls][-1] == ("TodoTool", "asked")
    widget = team.panel.view.widget_of(entry)
    assert isinstance(widget, AssistantMessage)
    assert len(widget._concerns["c9"]) == 1
    team.approvals.clear()
    await team.send_event(21, "validation_response", validation_id="v", call_id="c9", status="rejected")
    assert entry.calls[-1].status == "rejected"


async def test_a_decided_approval_disappears_and_the_composer_gets_the_focus(team: Team, qtbot: QtBot) -> None:
    request = ApprovalRequest(id="v", workflow_id="w1", run_id="ada", call_id="c9", tool="TodoTool", agent_name="Ada")
    return_focus = team.panel.return_focus(team.panel)
    assert return_focus is not None
    team.panel.activateWindow()
    team.approvals.append(request)
    await team.send_event(
        20, "validation_required", validation_id="v", call_id="c9", tool="TodoTool", arguments={"operation": "list"}
    )
    widget = team.panel.view.widget_of(team.panel.view.entries[-1])
    assert widget is not None
    team.approvals[:] = [request.model_copy(update={"status": ApprovalStatus.APPROVED})]
    QTest.mouseClick(child(widget, QPushButton, "approval-approve"), Qt.MouseButton.LeftButton)
    await team.send_event(21, "validation_response", validation_id="v", call_id="c9", status="approved")
    qtbot.waitUntil(lambda: QApplication.focusWidget() is team.panel.composer.field)
    for card in [each for each in widget.findChildren(ToolCard) if each.isVisible()]:
        for spot in (card.rect().center(), QPoint(20, 12)):
            hit = widget.childAt(card.mapTo(widget, spot))
            assert hit is not None
            assert hit is card or card.isAncestorOf(hit), f"{hit} lies over {card}"


async def test_a_sub_agent_at_its_limit_names_it_and_can_be_raised(team: Team) -> None:
    stopped = {"status": "paused", "pause": "limit", "limit": "tokens", "budget": Budget(max_tokens=40)}
    team.changes["dot"] = stopped
    await team.feed(
        event(20, "limit_reached", "dot", reason="tokens", details={"value": 42, "cap": 40}),
        event(20, "run_status", "dot", status="paused"),
    )
    card: TeamCard = team.find(TeamCard, "team-card")
    assert card.state_text() == ("waiting for you", "warn")
    limit: LimitCard = team.find(LimitCard, "limit-card")
    assert limit.accessibleName().startswith("Dot: Token limit reached. 42 of 40 used")
    amount: RaiseField = child(limit, RaiseField, "limit-amount")
    assert amount.value() == 40
    amount.setValue(500)
    QTest.mouseClick(child(limit, QPushButton, "notice-raise"), Qt.MouseButton.LeftButton)
    await team.settled()
    child(limit, QPushButton, "notice-finish").click()
    child(limit, QPushButton, "notice-stop").click()
    await team.settled()
    assert team.engine.calls("runs.steering.resume") == [
        (("dot",), {"raise_limits": {"tokens": 500.0}}),
        (("dot",), {"finish": True}),
    ]
    assert team.engine.calls("runs.cancel") == [(("dot",), {})]
    team.changes.clear()
    await team.send_event(25, "run_status", "dot", status="processing")
    assert team.all(LimitCard, "limit-card") == []


async def test_a_question_of_a_sub_agent_opens_its_dialog(team: Team, qtbot: QtBot) -> None:
    await team.send_event(
        20, "user_question_start", "dot", user_question={"question_id": "q", "question": "Which?"}, pending=1
    )
    button = team.find(QPushButton, "question-card-answer")
    with qtbot.waitSignal(team.panel.question_requested) as signal:
        button.click()
    assert signal.args == ["q"]


async def test_stages_are_named_when_there_are_several(team: Team) -> None:
    card: TeamCard = team.find(TeamCard, "team-card")
    assert card._stages == {}
    team.changes["cid"] = {"stage": 1, "status": "planned"}
    team.panel.team.want("again")
    await team.settled()
    assert [label.text() for label in card._stages.values()] == ["Stage 1 of 2", "Stage 2 of 2"]
    headings = list(card._stages.values())
    card.refresh()
    assert list(card._stages.values()) == headings
    assert card.lanes[1].head.accessibleName().startswith("Cid, planned")


async def test_a_lanes_bar_shows_its_own_progress(team: Team) -> None:
    await team.feed(sub_agent_event(20, "cid", what="sub_agent_progress", progress=40))
    bar = team.find(TeamCard, "team-card").lanes[1].findChild(QProgressBar, "lane-progress")
    assert (bar.isHidden(), bar.value(), bar.maximum()) == (False, 40, 100)


async def test_an_expanded_report_follows_the_theme(team: Team) -> None:
    team.changes["cid"] = {"status": "completed", "report": "All **green**"}
    await team.feed(sub_agent_event(20, "cid", what="sub_agent_complete", report="All **green**"))
    lane: Lane = team.find(TeamCard, "team-card").lanes[1]
    lane.toggle_report()

    def colour() -> str:
        (shown,) = [
            each
            for each in lane.findChildren(ProseBlock)
            if each.isVisibleTo(lane) and each.toPlainText() == "All green"
        ]
        return shown.document().firstBlock().begin().fragment().charFormat().foreground().color().name()

    light = colour()
    theme().set_mode("dark")
    assert colour() != light


async def test_the_lanes_of_a_large_batch_are_created_frame_by_frame_in_reserved_space(
    team: Team, qtbot: QtBot
) -> None:
    card: TeamCard = team.find(TeamCard, "team-card")
    before = card.fit(700)
    for number in range(12):
        data = {"sub_agent_id": f"w{number}", "sub_agent_name": f"W{number}", "call_id": "p1", "kind": "parallel"}
        team.panel.team.feed(event(20, "sub_agent_start", **data))
    card.refresh()
    first = list(card.lanes)
    assert [lane.member.name for lane in first] == ["Bea", "Cid", *(f"W{number}" for number in range(AT_ONCE))]
    full_height = card.fit(700)
    assert full_height == before + 12 * theme().px(HEIGHT)
    qtbot.waitUntil(lambda: len(card.lanes) == 14)
    assert card.lanes[: len(first)] == first
    assert [lane.member.name for lane in card.lanes] == ["Bea", "Cid", *(f"W{number}" for number in range(12))]
    assert not card._making.isActive()
    assert card.fit(700) == full_height
    assert card.bar.maximum() == 14
    tops = [lane.y() for lane in card.lanes]
    assert tops == sorted(set(tops))


async def test_agents_removed_while_lanes_are_created_have_no_lane(team: Team, qtbot: QtBot) -> None:
    card: TeamCard = team.find(TeamCard, "team-card")
    model = team.panel.team
    for number in range(12):
        data = {"sub_agent_id": f"w{number}", "sub_agent_name": f"W{number}", "call_id": "p1", "kind": "parallel"}
        model.feed(event(20, "sub_agent_start", **data))
    card.refresh()
    assert card._making.isActive()
    model.state.clear()
    model.state.load(tree())
    qtbot.waitUntil(lambda: not card._making.isActive())
    await team.settled()
    assert [lane.member.name for lane in card.lanes] == ["Bea", "Cid"]
    qtbot.waitUntil(lambda: len(card.findChildren(Lane, "agent-lane")) == 2)


async def test_figures_that_do_not_fit_end_in_an_ellipsis(team: Team) -> None:
    lane: Lane = team.find(TeamCard, "team-card").lanes[0]
    for scale, width, complete in ((100, 700, True), (200, 380, False)):
        theme().set_scale(scale)
        lane.fit(width)
        lane._figures.setText("9.3 s · 3.9 k tokens · $0.0066")
        layout = lane.head.layout()
        assert layout is not None
        layout.activate()
        lane.grab()
        needed = lane._figures.fontMetrics().horizontalAdvance(lane._figures.text())
        assert (lane._figures.width() >= needed) is complete
        assert lane._figures.toolTip() == ("" if complete else lane._figures.text())
        right = lane._figures.mapTo(lane, lane._figures.rect().bottomRight()).x()
        assert right < lane._chevron.mapTo(lane, QPoint()).x() <= width
