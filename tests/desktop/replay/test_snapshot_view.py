"""Snapshots: what stays the same is not redrawn."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.transcript.view import ChatView
from atelier_desk.desktop.panes.time_format import duration, short_number
from atelier_desk.desktop.replay.snapshot_view import SnapshotTeam, _agent_row, show_entries
from atelier_desk.domain.model_messages import Usage
from atelier_desk.domain.question import QuestionSpec, QuestionType, UserQuestion
from atelier_desk.domain.workflow import MessageRole
from atelier_desk.engine.services.team.agent_tree_and_timeline_types import AgentNode
from atelier_desk.engine.services.team.replay import Snapshot
from atelier_desk.engine.services.workflow.transcript import TranscriptEntry
from atelier_desk.presentation.rows.team_state import TeamState
from atelier_desk.presentation.rows.transcript_entries import Entry
from tests.helpers.sample_team_history import at, message, snapshot, tree
from tests.helpers.visible_chat_view import shown_view, turn


def moment(seconds: float, node: AgentNode | None) -> Snapshot:
    base = snapshot("w1", "root", 5)
    assert base.mark is not None
    return replace(base, mark=replace(base.mark, time=at(seconds)), tree=node)


def working(**child: Any) -> AgentNode:
    """The root running since the start, and its sub-agent."""
    base = tree()
    below = replace(base.children[0], **{"status": "completed", **child})
    return replace(base, counting_since=at(0), children=(below,))


def signalled(team: SnapshotTeam, qtbot: QtBot, *moments: Snapshot) -> set[str]:
    """The signals of the team after these moments were shown in sequence."""
    with qtbot.waitSignal(team.changed) as signal:
        for each in moments:
            team.show(each)
    assert signal.args is not None
    return set(signal.args[0])


def test_only_agents_with_visible_changes_are_signalled(qtbot: QtBot) -> None:
    team = SnapshotTeam()
    assert signalled(team, qtbot, moment(1, working())) == {"root", "child"}
    assert signalled(team, qtbot, moment(2, working())) == {"root"}, "its time continues"
    assert signalled(team, qtbot, moment(3, working(report="done"))) == {"root", "child"}
    only = replace(working(), children=())
    assert signalled(team, qtbot, moment(1, only)) == {"root", "child"}, "a removed one is signalled too"
    assert team.get("child") is None


def test_pending_signals_are_sent_with_the_next_moment(qtbot: QtBot) -> None:
    team = SnapshotTeam()
    signalled(team, qtbot, moment(1, working()))
    assert signalled(team, qtbot, moment(2, working(report="done")), moment(3, working(report="done"))) == {
        "root",
        "child",
    }


@pytest.fixture
def view(qtbot: QtBot) -> ChatView:
    return shown_view(qtbot)


def message_entries(*texts: str) -> list[TranscriptEntry]:
    return [message(f"m{number}", "root", text, MessageRole.ASSISTANT, number) for number, text in enumerate(texts, 1)]


def widgets(view: ChatView) -> list[Any]:
    return [view.widget_of(entry) for entry in view.entries]


def test_going_back_drops_later_messages_and_keeps_the_widgets_of_the_others(view: ChatView) -> None:
    show_entries(view, message_entries("one", "two", "three"))
    turn()
    first, second, _third = widgets(view)
    show_entries(view, message_entries("one", "two"))
    turn()
    assert widgets(view) == [first, second]
    show_entries(view, message_entries("one", "two, more", "three"))
    turn()
    assert widgets(view)[:2] == [first, second]
    assert [entry.content for entry in view.entries] == ["one", "two, more", "three"]
    assert second.body.text == "two, more"


def test_a_message_that_lost_a_part_is_recreated(view: ChatView) -> None:
    show_entries(view, message_entries("one", "two"))
    turn()
    first, second = widgets(view)
    shown: Entry = view.entries[1]
    shown.reasoning = "Because."
    second.refresh()
    show_entries(view, message_entries("one", "two"))
    turn()
    assert widgets(view)[0] is first
    assert widgets(view)[1] is not second
    assert view.entries[1].reasoning == ""


def test_a_message_with_a_question_that_stays_the_same_is_not_drawn_again(
    view: ChatView, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = QuestionSpec(question="Which way?", question_type=QuestionType.TEXT)
    question = UserQuestion(id="q1", workflow_id="w1", run_id="root", call_id="c1", spec=spec)
    stored = message_entries("one")[0]
    asked, answered = (
        replace(stored, questions=(each,)) for each in (question, question.model_copy(update={"text_response": "Left"}))
    )
    show_entries(view, [asked])
    drawn: list[Entry] = []
    monkeypatch.setattr(view, "update_entry", drawn.append)
    show_entries(view, [asked])
    assert not drawn
    show_entries(view, [answered])
    assert [each.answer for entry in drawn for each in entry.asked] == ["Left"]


def test_other_messages_replace_all(view: ChatView) -> None:
    show_entries(view, message_entries("one", "two"))
    show_entries(view, [message("c1", "child", "from the helper")])
    turn()
    assert [entry.content for entry in view.entries] == ["from the helper"]
    show_entries(view, [])
    assert list(view.entries) == []


def test_a_replayed_agents_figures_include_its_sub_agents(qtbot: QtBot) -> None:
    """As for live agents: the same lead must not show less usage in a replay."""
    used = Usage(tokens_input=1_000, tokens_output=500)
    first, second = (
        AgentNode(name, name, "w", "root", parent_run_id="root", parent_call_id="c", usage=used, elapsed_ms=ms, depth=1)
        for name, ms in (("a", 4_000), ("b", 9_000))
    )
    aside = AgentNode(
        "c", "c", "w", "root", parent_run_id="root", parent_call_id="d", elapsed_ms=60_000, background=True, depth=1
    )
    lead = AgentNode("root", "Lead", "w", usage=used, elapsed_ms=5_000, children=(first, second, aside))
    row = _agent_row(lead)
    assert row.facts == f"{duration(14_000)} · {short_number(4_500)} tokens"
    state = TeamState()
    state.load(lead)
    shown = state.shown("root", datetime(2026, 1, 1, tzinfo=UTC))
    assert (shown.elapsed_ms, shown.tokens_input + shown.tokens_output) == (14_000, 4_500)
