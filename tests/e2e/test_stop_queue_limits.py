"""While the agent works: stop, queue, limits, errors."""

from __future__ import annotations

import asyncio
from typing import Any

from atelier_desk.domain.agent import Budget
from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.model_messages import ChatReply, FinishReason, Role
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.llm.scripted_model import ScriptedModel
from tests.e2e.conftest import OpenApp
from tests.e2e.harness import AppDriver, rendered
from tests.e2e.scripted_tool_calls import calculate, report


async def limit_calls(atelier: Any, most: int) -> None:
    agent = await atelier.agents.default()
    await atelier.agents.save(agent.config.model_copy(update={"budget": Budget(max_tool_calls=most)}), agent.id)


def statuses(app: AppDriver) -> list[RunStatus]:
    return [run.status for run in app.engine(lambda a: a.repos.runs.list(app.workflow_id))]


def test_stop_preserves_the_partial_reply(open_app: OpenApp) -> None:
    gate = asyncio.Event()
    app = open_app(ScriptedModel(["The beginning.\n\nThe end.\n\n", "A second try."], chunk=16, gate=gate))
    app.send("Tell me a story")
    reply = app.until_reply("The beginning.")
    app.click("stop-button")
    app.wait_done()
    app.until(lambda: "Stopped" in rendered(app.window.chat), "the stop is shown")
    assert "The beginning." in rendered(reply)
    assert "The end." not in rendered(reply)
    assert statuses(app) == [RunStatus.CANCELLED]
    app.engine(lambda a: gate.set())
    app.send("Again")
    app.until_reply("A second try.")
    app.wait_done()


def test_a_run_that_waits_for_its_next_step_says_so_and_is_stopped(open_app: OpenApp) -> None:
    app = open_app([[calculate("c1", "6*7")], "It is 42."])
    app.action("step-mode")
    app.send("Multiply")
    app.find("step-next")
    app.until_text("connection-state", "Paused")
    assert app.window.actions_["stop-run"].isEnabled(), "the palette offers it"
    app.click("stop-button")
    app.until_hidden("step-bar")
    app.until_hidden("stop-button")
    app.until_text("connection-state", "Ready")
    assert statuses(app) == [RunStatus.CANCELLED]
    assert not app.window.actions_["stop-run"].isEnabled()


def test_a_paused_run_says_so_and_is_stopped_even_after_a_restart(open_app: OpenApp) -> None:
    gate = asyncio.Event()
    app = open_app(ScriptedModel([[calculate("c1", "6*7")], "It is 42."], gate=gate))
    app.send("Multiply")
    app.until_text("connection-state", "Working")
    assert not app.window.actions_["run-on"].isEnabled()
    app.action("pause-run")
    app.until_text("step-text", "pauses after this step")
    app.engine(lambda a: gate.set())
    app.until_text("connection-state", "Paused")
    app.until(lambda: statuses(app) == [RunStatus.PAUSED], "it is paused")
    assert app.find("stop-button").isVisible()
    assert not app.window.actions_["pause-run"].isEnabled()
    app.until(app.window.actions_["run-on"].isEnabled, "F5 continues it, as its button says")
    app.close()
    app = open_app(["It is 42."])
    app.until_text("connection-state", "Paused")
    app.find("stop-button")
    assert app.window.actions_["stop-run"].isEnabled(), "the palette offers it"
    app.click("stop-button")
    app.until_text("connection-state", "Ready")
    app.until_hidden("stop-button")
    assert not app.window.actions_["stop-run"].isEnabled()
    assert statuses(app) == [RunStatus.CANCELLED]


def test_a_queued_message_sent_after_a_stop_is_no_longer_queued(open_app: OpenApp) -> None:
    gate = asyncio.Event()
    app = open_app(ScriptedModel(["The first answer.", "The second answer."], chunk=9, gate=gate))
    app.send("First")
    app.until_reply("The first")
    app.send("Second")
    app.until(lambda: len(app.find_all("queued-message")) == 1, "the second waits above the composer")
    app.click("stop-button")
    app.wait_done()
    app.engine(lambda a: gate.set())
    app.click("queue-send")
    app.until_reply("The second answer.")
    app.until(lambda: not app.find_all("queued-message"), "it is not shown as queued")
    app.wait_done()


def test_a_limit_still_waits_after_a_restart(open_app: OpenApp) -> None:
    app = open_app([[calculate("c1", "1+1")], [calculate("c2", "2+2")]])
    app.engine(lambda a: limit_calls(a, 1))
    app.send("Calculate")
    app.until_text("notice-card", "Tool-call limit reached")
    app.settle()
    app.close()
    app = open_app(["Both are done."])
    app.until_text("notice-card", "1 of 1")
    app.click(app.find("notice-raise", within=app.window.chat))
    app.until_reply("Both are done.")
    app.wait_done()
    assert statuses(app) == [RunStatus.COMPLETED]
    assert [card for card in app.find_all("tool-card") if "✓" in rendered(card)] == app.find_all("tool-card")


def test_finishing_at_a_limit_gives_a_last_answer(open_app: OpenApp) -> None:
    app = open_app([[calculate("c1", "1+1")], [calculate("c2", "2+2")], "Only the first is done."])
    app.engine(lambda a: limit_calls(a, 1))
    app.send("Calculate")
    app.click(app.find("notice-finish", within=app.window.chat))
    app.until_reply("Only the first is done.")
    app.wait_done()
    assert app.model is not None
    assert app.model.requests[-1].tools == ()


def test_an_error_can_be_retried(open_app: OpenApp) -> None:
    failure = ProviderError("The server is on fire.", code="unavailable", recoverable=True)
    app = open_app([[report("r1", "once", "Written once.")], failure, "Back again."])
    app.send("Try")
    app.until_text("notice-card", "The server is on fire.")
    app.until_hidden("stop-button")
    app.click("notice-retry")
    app.until(app.find("chat-input").hasFocus, "the keyboard is in the composer")
    app.until_reply("Back again.")
    app.wait_done()
    app.until_hidden("notice-retry")
    assert statuses(app) == [RunStatus.COMPLETED]
    assert app.model is not None
    assert [m.content for m in app.model.requests[-1].messages if m.role is Role.USER] == ["Try"]
    assert len(app.find_all("tool-card")) == 1


def test_a_servers_error_text_is_not_shown_in_the_agent_tree(open_app: OpenApp) -> None:
    failure = ProviderError("The server is on fire ({'error': 500}).", code="unavailable", recoverable=True)
    app = open_app([failure])
    app.send("Try")
    app.find("notice-retry")
    app.wait_done()
    app.window.rail.show_pane("activity")
    before = rendered(app.find("agent-tree"))
    assert "failed" in before
    app.close()
    again = open_app([])
    again.find("notice-retry")
    again.settle()
    assert rendered(again.find("agent-tree")) == before, "it is shown as it was"
    assert "fire" not in before


def test_a_cut_reply_continues_and_looks_the_same_after_a_restart(open_app: OpenApp) -> None:
    cut = ChatReply(content="One, two,", finish_reason=FinishReason.LENGTH)
    app = open_app([cut])
    app.send("Count")
    app.wait_done()
    assert "cut off" in rendered(app.find("unfinished-card"))
    app.close()
    app = open_app([cut, " three."])
    assert "cut off" in rendered(app.find("unfinished-card"))
    app.click("reply-go-on")
    app.until_text("user-message", "Continue exactly where you stopped.")
    app.wait_done()
    assert "cut off" in rendered(app.find_all("unfinished-card")[-1])
    app.click("reply-go-on")
    app.until_reply("three.")
    app.wait_done()
    app.until_hidden("reply-go-on")
    assert len(app.find_all("unfinished-card")) == 2
