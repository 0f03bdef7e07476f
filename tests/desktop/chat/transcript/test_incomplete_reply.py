"""The card below an incomplete reply: the same live and after a reload, with Continue on the last reply only."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.cards.notice_card import NoticeCard
from atelier_desk.desktop.chat.transcript.incomplete_reply import UnfinishedCard
from atelier_desk.desktop.widgets.language_theme_bindings import refresh_texts
from atelier_desk.domain.workflow import Message, MessageRole
from atelier_desk.support import i18n
from tests.desktop.chat.panel_harness import PanelHarness
from tests.helpers.fake_bridge import settle


@pytest.fixture
def harness(qtbot: QtBot) -> PanelHarness:
    return PanelHarness(qtbot)


def cards(harness: PanelHarness) -> list[UnfinishedCard]:
    return [card for card in harness.panel.findChildren(UnfinishedCard, "unfinished-card") if card.isVisible()]


def offered(harness: PanelHarness) -> list[QPushButton]:
    return [button for button in harness.panel.findChildren(QPushButton, "reply-go-on") if button.isVisible()]


async def live(harness: PanelHarness, content: str, finish: str, **data: Any) -> None:
    """A turn from its events."""
    await harness.open()
    harness.event("workflow_start")
    harness.event("message", message_id="u2", role="user", content="Next?")
    if content:
        harness.event("token", content=content, message_id="a2")
    harness.event("message", message_id="a2", role="assistant", content=content, finish_reason=finish, **data)
    harness.event("workflow_complete", status="completed", finish_reason=finish)
    await settle()


async def stored(harness: PanelHarness, content: str, finish: str, reasoning: str = "") -> None:
    """The same turn from the database."""
    common: dict[str, Any] = {"workflow_id": "w1", "run_id": "r2"}
    harness.rows += [
        Message(id="u2", seq=3, role=MessageRole.USER, content="Next?", **common),
        Message(
            id="a2",
            seq=4,
            role=MessageRole.ASSISTANT,
            kind="reply",
            content=content,
            reasoning=reasoning,
            details={"finish_reason": finish},
            **common,
        ),
    ]
    harness.workflow = harness.workflow.model_copy(update={"head_run_id": "r2"})
    await harness.open()


@pytest.mark.parametrize("from_store", [False, True])
@pytest.mark.parametrize(
    ("content", "finish", "reasoning", "title"),
    [
        ("One, two,", "length", "", "The reply was cut off"),
        ("Again. Again.", "repetition", "", "The model repeated itself"),
        ("", "empty", "", "The reply is empty"),
        ("", "empty", "I think", "The model thought but did not answer"),
        ("Half", "content_filter", "", "The reply was filtered"),
    ],
)
async def test_it_is_the_same_live_and_after_a_reload(
    harness: PanelHarness, from_store: bool, content: str, finish: str, reasoning: str, title: str
) -> None:
    if from_store:
        await stored(harness, content, finish, reasoning)
    else:
        await live(harness, content, finish, **({"reasoning": reasoning} if reasoning else {}))
    (card,) = cards(harness)
    assert card.title.text() == title
    assert card.accessibleName().startswith(title)
    assert harness.texts[-1] == content
    assert len(offered(harness)) == 1
    assert card.height() >= card.title.height() + card.text.height()


async def test_continue_sends_an_ordinary_message_and_removes_the_offer(harness: PanelHarness) -> None:
    await live(harness, "One, two,", "length")
    QTest.mouseClick(offered(harness)[0], Qt.MouseButton.LeftButton)
    await settle()
    ((args, kwargs),) = harness.engine.calls("runs.send")
    assert (args, kwargs["agent_id"]) == (("w1", "Continue exactly where you stopped."), "Ada")
    assert harness.texts[-1] == "Continue exactly where you stopped."
    assert offered(harness) == [], "a second click finds no button, before the engine has answered too"
    harness.event("workflow_start", run_id="r3")
    await settle()
    assert len(cards(harness)) == 1
    assert offered(harness) == []


async def test_an_incomplete_reply_before_the_last_offers_nothing(harness: PanelHarness) -> None:
    await harness.open()
    harness.event("workflow_start")
    harness.event("message", message_id="a2", role="assistant", content="I call", finish_reason="length")
    harness.event("tool_start", call_id="c1", tool="CalculatorTool", arguments={})
    harness.event(
        "tool_end", call_id="c1", tool="CalculatorTool", success=True, result={}, duration_ms=1, truncated=False
    )
    harness.event("message", message_id="a3", role="assistant", content="Done.", finish_reason="stop")
    harness.event("workflow_complete", status="completed")
    await settle()
    assert len(cards(harness)) == 1
    assert offered(harness) == []


async def test_a_complete_reply_has_no_card(harness: PanelHarness) -> None:
    await live(harness, "Done.", "stop")
    assert cards(harness) == []


async def test_it_is_translated_to_french(harness: PanelHarness) -> None:
    i18n.set_language("fr")
    try:
        await live(harness, "Un, deux,", "length")
        (card,) = cards(harness)
        assert card.title.text() == "La réponse a été coupée"
        assert offered(harness)[0].text() == "Continuer"
        i18n.set_language("en")
        refresh_texts()
        assert card.title.text() == "The reply was cut off"
    finally:
        i18n.set_language("en")


@pytest.mark.parametrize("from_store", [False, True])
async def test_a_retried_request_is_explained(harness: PanelHarness, from_store: bool) -> None:
    details = {"attempt": 2, "delay_s": 0.43172}
    if from_store:
        harness.rows.append(
            Message(
                id="r1-retry-0-0",
                workflow_id="w1",
                run_id="r1",
                seq=3,
                role=MessageRole.NOTICE,
                kind="retry",
                details={"reason": "overloaded", **details},
            )
        )
        await harness.open()
    else:
        await harness.open()
        harness.event("retry", reason="overloaded", details={"attempt": 1, "delay_s": 0.2}, message_id="r1-retry-0-0")
        harness.event("retry", reason="overloaded", details=details, message_id="r1-retry-0-0")
        await settle()
    shown = [widget for widget in harness.panel.findChildren(QWidget, "notice-card") if widget.isVisible()]
    (card,) = shown
    assert isinstance(card, NoticeCard)
    assert card._card.text.text() == "Attempt 2 after 0.4\u202fs: the server is busy"


async def test_reasoning_with_only_an_end_tag_is_separated_from_the_answer(harness: PanelHarness) -> None:
    await harness.open()
    harness.event("workflow_start")
    harness.event("token", content="I should greet.", message_id="a2")
    harness.event("reasoning", content="", all_before=True, message_id="a2")
    harness.event("token", content="Hello.", message_id="a2")
    entry = harness.panel.view.entries[-1]
    assert (entry.content, entry.reasoning) == ("Hello.", "I should greet.")


async def test_loading_the_model_is_shown_only_while_it_loads(harness: PanelHarness) -> None:
    def shown() -> list[QWidget]:
        return [widget for widget in harness.panel.findChildren(QWidget, "notice-card") if widget.isVisible()]

    await harness.open()
    harness.event("workflow_start")
    harness.event("retry", reason="loading", details={"attempt": 1, "delay_s": 0.0}, message_id="n1")
    await settle()
    (card,) = shown()
    assert isinstance(card, NoticeCard)
    assert card._card.title.text() == "Loading the model"
    harness.event("message", message_id="u3", role="user", content="Hurry")
    await settle()
    assert len(shown()) == 1
    harness.event("token", content="Here", message_id="a2")
    await settle()
    assert shown() == []
    assert harness.texts[-2:] == ["Hurry", "Here"]
