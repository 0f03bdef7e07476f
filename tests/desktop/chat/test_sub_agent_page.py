"""A sub-agent's transcript: prompt, streaming text, report, the way back, and a message to it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QFocusEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.cards.team_card import TeamCard
from atelier_desk.desktop.chat.sub_agent_page import AgentPage
from atelier_desk.desktop.chat.transcript.message_widgets import AssistantMessage
from atelier_desk.desktop.chat.transcript.sub_agent_message import AgentMessage
from atelier_desk.desktop.first_start.starter_model_notice import StarterNotice
from atelier_desk.domain.provider import STARTER
from atelier_desk.domain.workflow import Run
from tests.desktop.chat.conftest import Team
from tests.desktop.team.sample_team_events import event, sub_agent_event
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import settle


async def opened(team: Team, run_id: str = "dot") -> AgentPage:
    team.panel.open_agent(run_id)
    await team.settled()
    assert team.panel.agent_page is not None
    return team.panel.agent_page


def texts(page: AgentPage) -> list[str]:
    return [entry.content for entry in page.view.entries]


async def test_a_click_on_a_lane_opens_the_agent_and_the_breadcrumb_leads_back(team: Team) -> None:
    lane = team.find(TeamCard, "team-card").lanes[0]
    QTest.mouseClick(lane.head, Qt.MouseButton.LeftButton)
    await team.settled()
    page = team.panel.agent_page
    assert page is not None
    assert page.isVisible()
    assert page.crumbs.accessibleName() == "Ada › Bea"
    assert not team.panel.composer.isVisible()
    await opened(team)
    assert page.crumbs.accessibleName() == "Ada › Bea › Dot"
    page.crumbs.back.click()
    await team.settled()
    assert page.crumbs.accessibleName() == "Ada › Bea"
    child(page, QPushButton, "agent-crumb").click()
    await settle()
    assert not page.isVisible()
    assert team.panel.composer.isVisible()
    assert team.panel.view.isVisible()


async def test_prompt_messages_and_streaming_text_are_shown(team: Team) -> None:
    await team.feed(event(14, "token", "dot", content="So ", message_id="d2"))
    page = await opened(team)
    assert texts(page) == ["Check **all** types", "Looking.", "So "]
    memo = child(page, AgentMessage, "agent-memo")
    assert memo._heading.text() == "Prompt from Bea"
    await team.feed(
        event(15, "token", "dot", content="far", message_id="d2"),
        event(15, "token", "cid", content="Other", message_id="z"),
    )
    assert texts(page) == ["Check **all** types", "Looking.", "So far"]
    assert team.engine.calls("teams.transcript") == [(("dot",), {})]


async def test_the_conversations_scroll_position_is_unchanged(team: Team) -> None:
    bar = team.panel.view.verticalScrollBar()
    before = (bar.value(), team.panel.view.following)
    page = await opened(team)
    await team.feed(event(15, "token", "dot", content="words " * 500, message_id="d2"))
    page.left.emit()
    await settle()
    assert (bar.value(), team.panel.view.following) == before


async def test_a_message_goes_to_this_agent(team: Team) -> None:
    page = await opened(team)
    page.composer.field.setPlainText("Look at events.py too")
    QTest.mouseClick(page.composer.send, Qt.MouseButton.LeftButton)
    await team.settled()
    ((args, kwargs),) = team.engine.calls("runs.steering.message")
    assert args == ("dot", "Look at events.py too")
    assert kwargs["strategy"].value == "queue"
    page.composer.stop.click()
    page.pause.click()
    await team.settled()
    assert team.engine.calls("runs.cancel") == [(("dot",), {})]
    assert team.engine.calls("runs.steering.pause") == [(("dot",), {})]


async def test_a_pause_is_shown_at_once_although_the_agent_stops_later(team: Team) -> None:
    page = await opened(team)
    page.pause.click()
    assert page._pill.text() == "pausing…"
    assert not page.pause.isEnabled()
    await team.feed(event(20, "run_status", "dot", status="paused"))
    assert page._pill.text() == "paused"
    assert page.pause.isEnabled()


async def test_a_question_to_the_parent_can_be_answered_by_the_person(team: Team) -> None:
    page = await opened(team)
    await team.feed(
        event(20, "run_status", "dot", status="awaiting_parent"),
        sub_agent_event(20, "dot", what="sub_agent_question", question="May I?"),
    )
    assert texts(page)[-1] == "May I?"
    page.composer.field.setPlainText("Yes")
    page.composer.submit()
    await team.settled()
    assert team.engine.calls("runs.answering.answer_child") == [(("dot", "Yes"), {})]
    await team.feed(sub_agent_event(21, "dot", what="sub_agent_answer", content="Yes", by="user"))
    assert texts(page)[-1] == "Yes"


async def test_the_report_appears_at_the_end_and_the_message_field_disappears(team: Team) -> None:
    page = await opened(team)
    team.changes["dot"] = {"status": "completed", "report": "Two are untyped"}
    await team.feed(
        event(20, "run_status", "dot", status="completed"),
        sub_agent_event(20, "dot", what="sub_agent_complete", report="Two are untyped"),
    )
    assert texts(page)[-1] == "Two are untyped"
    assert page.composer.isHidden()
    assert page._pill.text() == "done"
    page.left.emit()
    await opened(team)
    assert texts(page) == ["Check **all** types", "Looking.", "Two are untyped"]


async def test_when_it_ends_the_back_button_gets_no_focus_and_unsent_text_stays(team: Team, qtbot: QtBot) -> None:
    page = await opened(team)
    page.activateWindow()
    qtbot.waitUntil(lambda: QApplication.focusWidget() is page.composer.field)
    page.composer.field.setPlainText("Half a sent")
    team.changes["dot"] = {"status": "completed", "report": "All well."}
    await team.send_event(20, "sub_agent_complete", "dot", status="completed", report="All well.")
    assert page.member.over
    assert page.composer.field.isVisible()
    assert not page.composer.send.isEnabled()
    page.composer.field.clear()
    page._show()
    assert not page.composer.isVisible()
    assert QApplication.focusWidget() is page.view


async def test_notes_on_the_workflows_model_are_hidden_on_a_sub_agents_page(team: Team) -> None:
    team.panel._show_starter("local", STARTER)
    notice = child(team.panel, StarterNotice)
    assert notice.isVisible()
    page = await opened(team)
    assert not notice.isVisible()
    team.panel._show_starter("local", STARTER)
    assert not notice.isVisible()
    page.left.emit()
    assert notice.isVisible()


async def test_a_last_answer_that_is_the_report_is_shown_once(team: Team) -> None:
    team.changes["dot"] = {"status": "completed", "report": "Looking."}
    await team.feed(sub_agent_event(20, "dot", what="sub_agent_complete", report="Looking."))
    page = await opened(team)
    assert texts(page) == ["Check **all** types", "Looking."]
    assert {memo._heading.text() for memo in page.findChildren(AgentMessage, "agent-memo")} == {
        "Prompt from Bea",
        "Report to Bea",
    }


async def test_messages_cannot_be_edited_or_regenerated(team: Team) -> None:
    page = await opened(team)
    assert team.all(QPushButton, "edit-message") == []
    widget = page.view.widget_of(page.view.entries[1])
    assert isinstance(widget, AssistantMessage)
    assert not widget._has_actions()


async def test_the_turns_own_run_is_the_conversation(team: Team) -> None:
    page = await opened(team)
    team.panel.open_agent("ada")
    await settle()
    assert not page.isVisible()
    team.panel.open_agent("dot")
    team.panel.close_workflow()
    await settle()
    assert not page.isVisible()


async def test_a_found_message_is_shown_in_its_transcript(team: Team) -> None:
    team.engine.set("teams", "run_of", Run(id="dot", workflow_id="w1", correlation_id="ada", depth=2))
    team.panel.finder.reveal("d1")
    await team.settled()
    page = team.panel.agent_page
    assert page is not None
    assert page.isVisible()
    assert page.crumbs.accessibleName() == "Ada › Bea › Dot"
    assert page.view.widget_of(page.view.entries[1]) is not None


async def test_events_during_another_view_are_shown(team: Team) -> None:
    page = await opened(team)
    assert page._pill.text() == "running"
    team.panel.hide()
    team.changes["dot"] = {"status": "completed", "report": "All types fit"}
    await team.feed(sub_agent_event(20, "dot", what="sub_agent_complete", report="All types fit"))
    team.panel.show()
    await team.settled()
    assert page._pill.text() == "done"
    assert texts(page)[-1] == "All types fit"
    assert page.composer.isHidden()


async def test_a_prompt_is_reached_and_copied_with_the_keyboard(team: Team) -> None:
    page = await opened(team)
    memo = child(page, AgentMessage, "agent-memo")
    assert memo.focusPolicy() & Qt.FocusPolicy.TabFocus
    QApplication.sendEvent(memo, QFocusEvent(QEvent.Type.FocusIn))
    assert memo._card.property("variant") == "card-selected"
    QApplication.sendEvent(memo, QFocusEvent(QEvent.Type.FocusOut))
    assert memo._card.property("variant") == "card-sunken"
    QTest.keyClick(memo, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "Check **all** types"
