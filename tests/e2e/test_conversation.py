"""A conversation: sending, streaming, tool cards."""

from __future__ import annotations

from app.domain.chat import ToolCall
from tests.e2e.conftest import OpenDesk
from tests.e2e.harness import rendered


def test_a_message_is_answered_in_markdown(open_desk: OpenDesk) -> None:
    desk = open_desk(["Here is **the answer**:\n\n- one\n- two\n"])
    desk.send("Tell me")
    desk.until_shown("user-message", "Tell me")
    reply = desk.last_reply("two")
    desk.wait_done()
    assert "**" not in rendered(reply)
    assert "the answer" in rendered(reply)
    assert desk.engine(lambda a: a.workflows.get(desk.workflow_id)).name == "Tell me"


def test_a_tool_card_opens_with_arguments_and_result(open_desk: OpenDesk) -> None:
    call = ToolCall(id="c1", name="CalculatorTool", arguments={"operation": "eval", "expression": "12*7"})
    desk = open_desk([[call], "It is 84."])
    desk.send("What is 12*7?")
    desk.last_reply("It is 84.")
    desk.wait_done()
    card = desk.find("tool-card")
    assert "CalculatorTool" in rendered(card)
    assert "84" not in rendered(card)
    desk.click(card.findChildren(type(card))[0] if False else card._head)
    desk.until(lambda: "84" in rendered(card), "the card shows the result")
    assert '"expression": "12*7"' in rendered(card)
    desk.click(card._head)
    desk.until(lambda: '"expression"' not in rendered(card), "the card is closed")
