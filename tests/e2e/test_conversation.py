"""A conversation: sending, streaming, tool cards."""

from __future__ import annotations

import asyncio

from PySide6.QtWidgets import QPushButton, QWidget

from atelier_desk.domain.model_messages import ToolCall
from atelier_desk.llm.scripted import ScriptedModel
from tests.e2e.conftest import OpenDesk
from tests.e2e.harness import in_red, rendered


def test_a_message_is_answered_in_markdown(open_desk: OpenDesk) -> None:
    desk = open_desk(["Here is **the answer**:\n\n- one\n- two\n"])
    desk.send("Tell me")
    desk.until_shown("user-message", "Tell me")
    reply = desk.last_reply("two")
    desk.wait_done()
    assert "**" not in rendered(reply)
    assert "the answer" in rendered(reply)
    assert desk.engine(lambda a: a.workflows.get(desk.workflow_id)).name == "Tell me"


def test_a_reply_is_shown_while_it_still_comes(open_desk: OpenDesk) -> None:
    gate = asyncio.Event()
    desk = open_desk(ScriptedModel(["The first line.\n\nThe second line.\n\n"], chunk=20, gate=gate))
    desk.send("Go")
    reply = desk.last_reply("The first line.")
    assert "The second line." not in rendered(reply)
    assert desk.find("stop-button").isVisible()
    desk.engine(lambda a: gate.set())
    desk.until(lambda: "The second line." in rendered(reply), "the same message holds the rest")
    desk.wait_done()
    assert len(desk.all("assistant-message")) == 1


def test_a_tool_card_opens_with_arguments_and_result(open_desk: OpenDesk) -> None:
    call = ToolCall(id="c1", name="CalculatorTool", arguments={"operation": "eval", "expression": "12*7"})
    desk = open_desk([[call], "It is eighty-four."])
    desk.send("What is 12*7?")
    desk.last_reply("eighty-four")
    desk.wait_done()
    card = desk.find("tool-card")
    assert "Calculated" in rendered(card)
    assert "84" not in rendered(card)
    desk.click(_head(card))
    desk.until(lambda: "84" in rendered(card), "the card shows the result")
    assert '"expression": "12*7"' in rendered(card)
    desk.click(_head(card))
    desk.until(lambda: '"expression"' not in rendered(card), "the card is closed")


def test_a_failed_call_says_so_on_its_card(open_desk: OpenDesk) -> None:
    call = ToolCall(id="c1", name="CalculatorTool", arguments={"operation": "eval", "expression": "1/0"})
    desk = open_desk([[call], "That cannot be divided."])
    desk.send("Divide")
    desk.last_reply("cannot be divided")
    desk.wait_done()
    card = desk.until_shown("tool-card", "failed")
    assert in_red(card) == ["failed"]
    desk.click(_head(card))
    desk.until(lambda: "zero" in rendered(card).lower(), "the card says why")


def test_the_usage_line_counts(open_desk: OpenDesk) -> None:
    desk = open_desk(["One.", "Two."])
    desk.send("First")
    desk.last_reply("One.")
    desk.wait_done()
    first = desk.find("status-usage")
    desk.until(lambda: "tokens" in first.toolTip(), "the usage is told")
    before = first.toolTip()
    desk.send("Second")
    desk.last_reply("Two.")
    desk.wait_done()
    desk.until(lambda: first.toolTip() != before, "the usage grew")


def _head(card: QWidget) -> QPushButton:
    """The clickable line of a tool card."""
    head = card.findChild(QPushButton)
    assert head is not None
    return head
