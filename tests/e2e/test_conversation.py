"""A conversation: sending, streaming, tool cards."""

from __future__ import annotations

import asyncio

from PySide6.QtWidgets import QPushButton, QWidget

from atelier_desk.llm.scripted_model import ScriptedModel
from tests.e2e.conftest import OpenApp
from tests.e2e.harness import error_text, rendered
from tests.helpers.tool_calls import tool_call


def test_a_message_is_answered_in_markdown(open_app: OpenApp) -> None:
    app = open_app(["Here is **the answer**:\n\n- one\n- two\n"])
    app.send("Tell me")
    app.until_text("user-message", "Tell me")
    reply = app.until_reply("two")
    app.wait_done()
    assert "**" not in rendered(reply)
    assert "the answer" in rendered(reply)
    assert app.engine(lambda a: a.workflows.get(app.workflow_id)).name == "Tell me"


def test_a_reply_is_shown_while_it_streams(open_app: OpenApp) -> None:
    gate = asyncio.Event()
    app = open_app(ScriptedModel(["The first line.\n\nThe second line.\n\n"], chunk=20, gate=gate))
    app.send("Go")
    reply = app.until_reply("The first line.")
    assert "The second line." not in rendered(reply)
    assert app.find("stop-button").isVisible()
    app.engine(lambda a: gate.set())
    app.until(lambda: "The second line." in rendered(reply), "the same message holds the rest")
    app.wait_done()
    assert len(app.find_all("assistant-message")) == 1


def test_a_tool_card_opens_with_arguments_and_result(open_app: OpenApp) -> None:
    call = tool_call("CalculatorTool", "c1", operation="eval", expression="12*7")
    app = open_app([[call], "It is eighty-four."])
    app.send("What is 12*7?")
    app.until_reply("eighty-four")
    app.wait_done()
    card = app.find("tool-card")
    assert "Calculated" in rendered(card)
    assert "84" not in rendered(card)
    app.click(_head(card))
    app.until(lambda: "84" in rendered(card), "the card shows the result")
    assert '"expression": "12*7"' in rendered(card)
    app.click(_head(card))
    app.until(lambda: '"expression"' not in rendered(card), "the card is closed")


def test_a_failed_call_says_so_on_its_card(open_app: OpenApp) -> None:
    call = tool_call("CalculatorTool", "c1", operation="eval", expression="1/0")
    app = open_app([[call], "That cannot be divided."])
    app.send("Divide")
    app.until_reply("cannot be divided")
    app.wait_done()
    card = app.until_text("tool-card", "failed")
    assert error_text(card) == ["failed"]
    app.click(_head(card))
    app.until(lambda: "zero" in rendered(card).lower(), "the card shows the reason")


def test_the_usage_line_counts_tokens(open_app: OpenApp) -> None:
    app = open_app(["One.", "Two."])
    app.send("First")
    app.until_reply("One.")
    app.wait_done()
    first = app.find("status-usage")
    app.until(lambda: "tokens" in first.toolTip(), "the usage is shown")
    before = first.toolTip()
    app.send("Second")
    app.until_reply("Two.")
    app.wait_done()
    app.until(lambda: first.toolTip() != before, "the usage grew")


def _head(card: QWidget) -> QPushButton:
    """The clickable line of a tool card."""
    head = card.findChild(QPushButton)
    assert head is not None
    return head
