"""Find in workflow: all matches are counted, also in closed cards, and next and previous go there."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.cards.tool_card import ToolCard
from atelier_desk.desktop.chat.search.transcript_hits import hits
from atelier_desk.desktop.chat.transcript.message_blocks import ProseBlock
from atelier_desk.desktop.widgets.date_format import short_moment
from atelier_desk.desktop.widgets.language_theme_bindings import refresh_texts
from atelier_desk.domain.workflow import Message, MessageRole, ToolExecution
from atelier_desk.engine.services.workflow.transcript import TranscriptEntry
from atelier_desk.presentation.rows.transcript_entries import Call, Entry, QuestionRow
from atelier_desk.support import i18n
from tests.desktop.chat.panel_harness import PanelHarness
from tests.helpers.fake_bridge import settle

LINES = "\n".join(f"line {number}" for number in range(60))


def long_conversation(qtbot: QtBot) -> PanelHarness:
    """A question, a reply with reasoning and a call, and long replies around it; the needle occurs six times."""
    harness = PanelHarness(qtbot)

    def row(
        key: str, seq: int, role: MessageRole, content: str, reasoning: str = "", call_ids: tuple[str, ...] = ()
    ) -> Message:
        return Message(
            id=key, workflow_id="w1", run_id="r1", seq=seq, role=role, content=content,
            reasoning=reasoning, call_ids=call_ids,
        )  # fmt: skip

    filler = "word " * 3000
    call = ToolExecution(
        id="r1:c", workflow_id="w1", run_id="r1", call_id="c", tool="ReadTool", status="ok",
        arguments={"path": "a/needle.txt"}, result=f"{LINES}\nthe Needle itself",
    )  # fmt: skip
    said = row("a1", 3, MessageRole.ASSISTANT, "I read a **need**le.", "Where is the needle?", ("c",))
    rows = [
        TranscriptEntry(row("u1", 1, MessageRole.USER, "Find the needle")),
        TranscriptEntry(row("a0", 2, MessageRole.ASSISTANT, filler)),
        TranscriptEntry(said, (call,)),
        TranscriptEntry(row("a2", 4, MessageRole.ASSISTANT, filler)),
    ]
    harness.engine.set("workflows", "transcript", lambda key, before=None, limit=0: rows if before is None else [])
    return harness


async def find(harness: PanelHarness, needle: str) -> None:
    harness.panel.find_bar.enter()
    harness.panel.find_bar.field.setText(needle)
    harness.panel.find_bar.needle_changed.emit(needle)
    await settle(40)


def count(harness: PanelHarness) -> str:
    return harness.panel.find_bar.count.text().partition(" · ")[0]


def card(harness: PanelHarness) -> ToolCard:
    found = harness.panel.view.findChild(ToolCard, "tool-card")
    assert isinstance(found, ToolCard)
    return found


def marked(field: QPlainTextEdit | ProseBlock) -> list[str]:
    return [each.cursor.selectedText() for each in field.extraSelections()]


async def test_a_match_inside_a_closed_card_opens_it_and_is_visible(qtbot: QtBot) -> None:
    harness = long_conversation(qtbot)
    await harness.open()
    await find(harness, "needle")
    assert count(harness) == "6 / 6", (
        "question, thoughts, the words across the bold ones, the card's head, its input and its output"
    )
    fields = card(harness).findChildren(QPlainTextEdit)
    assert [marked(field) for field in fields] == [["needle"], ["Needle"]]
    view = harness.panel.view.viewport()
    selections = fields[1].extraSelections()
    point = fields[1].viewport().mapTo(view, fields[1].cursorRect(selections[0].cursor).center())
    assert view.rect().contains(QPoint(10, point.y())), "it is brought into view"


async def test_a_match_has_the_time_of_its_message(qtbot: QtBot) -> None:
    harness = long_conversation(qtbot)
    await harness.open()
    await find(harness, "needle")
    sent_at = harness.panel.view.entries[2].time
    assert sent_at is not None
    assert harness.panel.find_bar.count.text() == f"6 / 6 · {short_moment(sent_at)}"


async def test_previous_visits_text_and_reasoning(qtbot: QtBot) -> None:
    harness = long_conversation(qtbot)
    await harness.open()
    await find(harness, "needle")
    for _step in range(4):
        harness.panel.find_bar.step(-1)
    assert count(harness) == "2 / 6"
    message = harness.panel.view.widget_of(harness.panel.view.entries[2])
    assert message is not None
    thoughts = [each for each in message.findChildren(ProseBlock) if each.toPlainText() == "Where is the needle?"]
    assert marked(thoughts[0]) == ["needle"]
    harness.panel.find_bar.step(-1)
    assert count(harness) == "1 / 6"
    user = harness.panel.view.widget_of(harness.panel.view.entries[0])
    assert user is not None
    assert user.isVisible()
    assert any(marked(each) for each in user.findChildren(ProseBlock))


async def test_the_head_of_a_card_is_found_without_opening_it(qtbot: QtBot) -> None:
    harness = long_conversation(qtbot)
    await harness.open()
    await find(harness, "ReadTool")
    assert count(harness) == "1 / 1"
    assert not card(harness).opened
    assert card(harness).property("variant") == "card-selected"
    harness.panel.find_bar.leave()
    assert card(harness).property("variant") == "card"


async def test_closing_find_removes_every_highlight(qtbot: QtBot) -> None:
    harness = long_conversation(qtbot)
    await harness.open()
    await find(harness, "needle")
    harness.panel.find_bar.leave()
    await settle()
    fields: list[QWidget] = [
        *harness.panel.view.findChildren(QPlainTextEdit),
        *harness.panel.view.findChildren(ProseBlock),
    ]
    assert [field for field in fields if isinstance(field, QPlainTextEdit | ProseBlock) and marked(field)] == []
    assert all(isinstance(frame, QFrame) for frame in fields)


@pytest.mark.parametrize("needle", ["", "nowhere"])
def test_no_match_is_reported(needle: str) -> None:
    assert hits([Entry("a", "assistant", content="text")], needle) == []


def test_questions_and_answers_are_searched() -> None:
    entry = Entry("a", "assistant", asked=(QuestionRow("q", "Which colour?", "answered", "green"),))
    entry.calls.append(Call("c", "Tool", {"x": "green"}, "ok", result={"y": "Green"}))
    assert [hit.place[:2] for hit in hits([entry], "green")] == [
        ("head", "c"),
        ("call", "c\n0"),
        ("call", "c\n1"),
        ("question", "q"),
    ]


async def test_the_match_count_follows_the_language(qtbot: QtBot) -> None:
    harness = long_conversation(qtbot)
    await harness.open()
    await find(harness, "chisel")
    assert count(harness) == "No results"
    i18n.set_language("fr")
    refresh_texts()
    assert count(harness) == "Aucun résultat"
    await find(harness, "needle")
    assert count(harness) == "6 / 6"
    assert harness.panel.find_bar.count.accessibleName() == "6 résultats"
