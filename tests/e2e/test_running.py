"""While the agent works: stop, queue, limits, errors."""

from __future__ import annotations

import asyncio
from typing import Any

from PySide6.QtWidgets import QPlainTextEdit

from atelier_desk.domain.agent import Budget
from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.model_messages import ChatReply, FinishReason, Role
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.llm.scripted import ScriptedModel
from tests.e2e.asking import calculate, report
from tests.e2e.conftest import OpenDesk
from tests.e2e.harness import Desk, rendered


async def limit_calls(atelier: Any, most: int) -> None:
    agent = await atelier.agents.default()
    await atelier.agents.save(agent.config.model_copy(update={"budget": Budget(max_tool_calls=most)}), agent.id)


def statuses(desk: Desk) -> list[RunStatus]:
    return [run.status for run in desk.engine(lambda a: a.repos.runs.list(desk.workflow_id))]


def test_stop_keeps_what_was_written(open_desk: OpenDesk) -> None:
    gate = asyncio.Event()
    desk = open_desk(ScriptedModel(["The beginning.\n\nThe end.\n\n", "A second try."], chunk=16, gate=gate))
    desk.send("Tell me a story")
    reply = desk.last_reply("The beginning.")
    desk.click("stop-button")
    desk.wait_done()
    desk.until(lambda: "Stopped" in rendered(desk.window.chat), "it is said that it was stopped")
    assert "The beginning." in rendered(reply)
    assert "The end." not in rendered(reply)
    assert statuses(desk) == [RunStatus.CANCELLED]
    desk.engine(lambda a: gate.set())
    desk.send("Again")
    desk.last_reply("A second try.")
    desk.wait_done()


def test_a_message_sent_meanwhile_is_queued(open_desk: OpenDesk) -> None:
    gate = asyncio.Event()
    desk = open_desk(ScriptedModel(["The first answer.", "The second answer."], chunk=9, gate=gate))
    desk.send("First")
    desk.last_reply("The first")
    desk.send("Second")
    desk.until(lambda: len(desk.all("queued-message")) == 1, "the second waits above the composer")
    assert desk.find("chat-input", QPlainTextEdit).toPlainText() == ""
    assert len(desk.all("user-message")) == 1, "it does not look sent"
    desk.engine(lambda a: gate.set())
    desk.last_reply("The second answer.")
    desk.wait_done()
    assert len(desk.all("user-message")) == 2
    assert desk.model is not None
    assert [m.content for m in desk.model.requests[1].messages if m.role is Role.USER] == ["First", "Second"]
    assert statuses(desk) == [RunStatus.COMPLETED]


def test_a_limit_stops_the_run_until_it_is_raised(open_desk: OpenDesk) -> None:
    steps = [[calculate("c1", "1+1")], [calculate("c2", "2+2")], "Both are done."]
    desk = open_desk(steps)
    desk.engine(lambda a: limit_calls(a, 1))
    desk.send("Calculate")
    card = desk.until_shown("notice-card", "Tool-call limit reached")
    assert statuses(desk) == [RunStatus.PAUSED]
    assert "1 of 1" in rendered(card)
    desk.click("notice-raise")
    desk.last_reply("Both are done.")
    desk.wait_done()
    desk.gone("notice-raise")
    assert statuses(desk) == [RunStatus.COMPLETED]


def test_a_limit_still_waits_after_a_restart(open_desk: OpenDesk) -> None:
    desk = open_desk([[calculate("c1", "1+1")], [calculate("c2", "2+2")]])
    desk.engine(lambda a: limit_calls(a, 1))
    desk.send("Calculate")
    desk.until_shown("notice-card", "Tool-call limit reached")
    desk.wait_done()
    desk.close()
    desk = open_desk(["Both are done."])
    desk.until_shown("notice-card", "1 of 1")
    desk.click("notice-raise")
    desk.last_reply("Both are done.")
    desk.wait_done()
    assert statuses(desk) == [RunStatus.COMPLETED]
    assert [card for card in desk.all("tool-card") if "✓" in rendered(card)] == desk.all("tool-card")


def test_finishing_at_a_limit_gives_a_last_answer(open_desk: OpenDesk) -> None:
    desk = open_desk([[calculate("c1", "1+1")], [calculate("c2", "2+2")], "Only the first is done."])
    desk.engine(lambda a: limit_calls(a, 1))
    desk.send("Calculate")
    desk.click("notice-finish")
    desk.last_reply("Only the first is done.")
    desk.wait_done()
    assert desk.model is not None
    assert desk.model.requests[-1].tools == ()


def test_an_error_can_be_retried(open_desk: OpenDesk) -> None:
    failure = ProviderError("The server is on fire.", code="unavailable", recoverable=True)
    desk = open_desk([[report("r1", "once", "Written once.")], failure, "Back again."])
    desk.send("Try")
    desk.until_shown("notice-card", "The server is on fire.")
    desk.gone("stop-button")
    desk.click("notice-retry")
    desk.last_reply("Back again.")
    desk.wait_done()
    desk.gone("notice-retry")
    assert statuses(desk) == [RunStatus.COMPLETED]
    assert desk.model is not None
    assert [m.content for m in desk.model.requests[-1].messages if m.role is Role.USER] == ["Try"]
    assert len(desk.all("tool-card")) == 1


def test_what_a_server_said_is_not_shown_next_to_the_agent(open_desk: OpenDesk) -> None:
    failure = ProviderError("The server is on fire ({'error': 500}).", code="unavailable", recoverable=True)
    desk = open_desk([failure])
    desk.send("Try")
    desk.find("notice-retry")
    desk.wait_done()
    desk.window.rail.show_pane("activity")
    before = rendered(desk.find("agent-tree"))
    assert "failed" in before
    desk.close()
    again = open_desk([])
    again.find("notice-retry")
    again.settle()
    assert rendered(again.find("agent-tree")) == before, "it is shown as it was"
    assert "fire" not in before


def test_a_cut_reply_continues_and_looks_the_same_after_a_restart(open_desk: OpenDesk) -> None:
    cut = ChatReply(content="One, two,", finish_reason=FinishReason.LENGTH)
    desk = open_desk([cut])
    desk.send("Count")
    desk.wait_done()
    assert "cut off" in rendered(desk.find("unfinished-card"))
    desk.close()
    desk = open_desk([cut, " three."])
    assert "cut off" in rendered(desk.find("unfinished-card"))
    desk.click("reply-go-on")
    desk.until_shown("user-message", "Continue exactly where you stopped.")
    desk.wait_done()
    assert "cut off" in rendered(desk.all("unfinished-card")[-1])
    desk.click("reply-go-on")
    desk.last_reply("three.")
    desk.wait_done()
    desk.gone("reply-go-on")
    assert len(desk.all("unfinished-card")) == 2
