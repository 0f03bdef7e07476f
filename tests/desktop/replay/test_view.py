"""The replay over a fake engine: it loads moments and requests nothing else."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QSlider, QToolButton, QTreeWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.replay.scrubber import Scrubber
from atelier_desk.desktop.replay.span_and_event_titles import mark_role, mark_title, span_title
from atelier_desk.desktop.replay.view import ReplayView
from atelier_desk.engine.services.team.agent_tree_and_timeline_types import TimelineMark
from atelier_desk.support import i18n
from tests.helpers import sample_team_history
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle
from tests.helpers.list_texts import titles


@pytest.fixture
def atelier() -> FakeAtelier:
    return sample_team_history.engine()


@pytest.fixture
async def view(qtbot: QtBot, atelier: FakeAtelier) -> ReplayView:
    made = ReplayView(FakeBridge(atelier))
    qtbot.addWidget(made)
    made.resize(900, 700)
    made.show()
    await made.open("w1", "root")
    await settle()
    return made


def shown(view: ReplayView) -> list[str]:
    return [entry.content for entry in view.view.entries]


def scrubber(view: ReplayView) -> Scrubber:
    found = view.findChild(QSlider, "replay-scrubber")
    assert isinstance(found, Scrubber)
    return found


def agents(view: ReplayView) -> list[str]:
    tree = view.findChild(QTreeWidget, "replay-agents")
    assert tree is not None
    items = tree.findItems("", Qt.MatchFlag.MatchContains | Qt.MatchFlag.MatchRecursive)
    return [item.text(0) for item in items]


def event_words(view: ReplayView) -> str:
    label = view.findChild(QLabel, "replay-event")
    assert label is not None
    return label.text()


async def test_a_replay_opens_at_the_end_with_agents_and_tasks(view: ReplayView) -> None:
    assert shown(view)[-1] == "text 7"
    assert agents(view) == ["Ada", "Helper"]
    assert titles(view.side.tasks)[0] == "Read"
    assert scrubber(view).maximum() == 6
    assert event_words(view) == "Reply from Helper"


async def test_the_slider_moves_back_and_forward(view: ReplayView) -> None:
    scrubber(view).setValue(1)
    await settle()
    assert shown(view) == ["text 1", "text 2"]
    assert agents(view) == ["Ada"]
    assert view.side.tasks.isHidden()
    assert event_words(view) == "Message"
    scrubber(view).setValue(4)
    await settle()
    assert shown(view) == [f"text {number}" for number in range(1, 6)]


async def test_moving_forward_keeps_the_widgets_that_stay(view: ReplayView) -> None:
    scrubber(view).setValue(1)
    await settle()
    first = view.view.entries[0]
    scrubber(view).setValue(2)
    await settle()
    assert view.view.entries[0] is first
    assert len(view.view.entries) == 3


async def test_keys_step_play_and_close(view: ReplayView, qtbot: QtBot) -> None:
    scrubber(view).setFocus()
    for key, index in (
        (Qt.Key.Key_Left, 5),
        (Qt.Key.Key_Left, 4),
        (Qt.Key.Key_Right, 5),
        (Qt.Key.Key_Home, 0),
        (Qt.Key.Key_PageDown, 6),
        (Qt.Key.Key_PageUp, 0),
        (Qt.Key.Key_End, 6),
    ):
        QTest.keyClick(scrubber(view), key)
        assert view.player.place == index, key
    QTest.keyClick(scrubber(view), Qt.Key.Key_Space)
    assert view.player.playing
    with qtbot.waitSignal(view.closed):
        QTest.keyClick(scrubber(view), Qt.Key.Key_Escape)
    assert not view.player.playing


async def test_a_click_on_the_slider_goes_there(view: ReplayView) -> None:
    slider = scrubber(view)
    QTest.mouseClick(slider, Qt.MouseButton.LeftButton, pos=QPoint(round(slider.x_of(3)), slider.height() - 12))
    assert view.player.place == 3


async def test_a_replay_can_start_at_an_event_and_fork_from_its_position(view: ReplayView, qtbot: QtBot) -> None:
    await view.open("w1", "root", 4)
    await settle()
    assert view.seq == 4
    button = view.findChild(QPushButton, "replay-fork")
    assert button is not None
    with qtbot.waitSignal(view.fork_requested) as signal:
        button.click()
    assert signal.args == ["w1", 4]


async def test_a_sub_agents_transcript_at_that_moment(view: ReplayView) -> None:
    view.show_agent("child")
    assert shown(view) == ["from the helper"]
    scrubber(view).setValue(1)
    await settle()
    assert shown(view) == []
    view.show_agent("root")
    assert shown(view) == ["text 1", "text 2"]


async def test_while_a_moment_loads_only_the_newest_request_counts(view: ReplayView, atelier: FakeAtelier) -> None:
    gate = asyncio.Event()

    async def slow(workflow: str, root: str, seq: int) -> Any:
        await gate.wait()
        return sample_team_history.snapshot(workflow, root, seq)

    atelier.set("teams", "at", slow)
    asked = len(atelier.calls("teams.at"))
    scrubber(view).setValue(5)
    await settle(2)
    for index in (4, 3, 2, 1):
        scrubber(view).setValue(index)
    gate.set()
    await settle(20)
    assert [args[2] for args, _named in atelier.calls("teams.at")[asked:]] == [6, 2]
    assert shown(view) == ["text 1", "text 2"]


async def test_playing_shows_events_one_after_another(view: ReplayView) -> None:
    button = view.findChild(QToolButton, "replay-play")
    assert button is not None
    button.click()
    await settle()
    assert view.player.place == 0
    for _number in range(6):
        view.player._timer.timeout.emit()
        await settle()
    assert view.player.place == 6
    assert not view.player.playing
    assert shown(view)[-1] == "text 7"


async def test_a_replay_requests_only_history_from_the_engine(view: ReplayView, atelier: FakeAtelier) -> None:
    for index in (0, 3, 6):
        scrubber(view).setValue(index)
        await settle()
    assert {name for name, *_rest in atelier.log} == {"teams.timeline", "teams.at"}


async def test_actions_impossible_in_a_replay_explain_why(view: ReplayView, qtbot: QtBot) -> None:
    with qtbot.waitSignal(view.failed) as signal:
        view.host.question_requested.emit("q1")
    assert "replay" in signal.args[0]
    assert not view.host.versions


def test_every_kind_of_event_has_a_text() -> None:
    from atelier_desk.domain.events.run import event_body_adapter

    kinds = list(event_body_adapter.json_schema()["discriminator"]["mapping"])
    assert len(kinds) > 30
    for kind in kinds:
        title = mark_title(TimelineMark(1, sample_team_history.START, "r", kind, ""), "Ada")
        assert title
        assert "_" not in title
        assert title[0].isupper()


@pytest.mark.parametrize(
    ("language", "label", "agent", "expected"),
    [
        ("en", "Plan", "Ada", "Task: Plan"),
        ("en", "", "Ada", "Task: Ada"),
        ("en", "", "", "Task"),
        ("fr", "Plan", "", "Tâche\u00a0: Plan"),
        ("fr", "", "", "Tâche"),
    ],
)
def test_an_event_is_shown_with_the_name_of_its_object(language: str, label: str, agent: str, expected: str) -> None:
    i18n.set_language(language)
    assert mark_title(TimelineMark(1, sample_team_history.START, "r", "task_changed", label), agent) == expected


def test_spans_have_a_text() -> None:
    assert span_title(sample_team_history.span("r", "model", 0, 1)) == "Model request"
    assert span_title(sample_team_history.span("r", "wait", 0, 1, "children")) == "Waiting for sub-agents"
    assert span_title(sample_team_history.span("r", "paused", 0, 1, "step")) == "Paused: step mode"
    assert span_title(sample_team_history.span("r", "tool", 0, 1, "read_file")) == "read_file"


async def test_tab_visits_its_buttons_in_visible_order(view: ReplayView, qtbot: QtBot) -> None:
    view.scrubber.setFocus()
    qtbot.waitUntil(view.scrubber.hasFocus)
    met: list[str] = []
    while not met or met[-1] != "replay-fork":
        focused = QApplication.focusWidget()
        assert focused is not None
        QTest.keyClick(focused, Qt.Key.Key_Tab)
        after = QApplication.focusWidget()
        assert after is not None
        met.append(after.objectName())
    assert met == ["replay-back", "replay-play", "replay-speed-1", "replay-fork"]


async def test_space_presses_a_focused_button_and_plays_otherwise(view: ReplayView, qtbot: QtBot) -> None:
    forks: list[tuple[str, int]] = []
    view.fork_requested.connect(lambda workflow_id, seq: forks.append((workflow_id, seq)))
    view.fork.setFocus()
    qtbot.waitUntil(view.fork.hasFocus)
    QTest.keyClick(view.fork, Qt.Key.Key_Space)
    assert len(forks) == 1
    assert not view.player.playing
    view.scrubber.setFocus()
    qtbot.waitUntil(view.scrubber.hasFocus)
    QTest.keyClick(view.scrubber, Qt.Key.Key_Space)
    assert view.player.playing
    assert len(forks) == 1


@pytest.mark.parametrize(
    ("status", "expected", "role"),
    [
        ("completed", "Ada is done", "ok"),
        ("cancelled", "Ada was stopped", "muted"),
        ("abandoned", "Ada gave up", "muted"),
        ("error", "Ada failed", "err"),
    ],
)
def test_the_end_of_a_run_shows_how_it_ended(status: str, expected: str, role: str) -> None:
    end = TimelineMark(1, sample_team_history.START, "r", "run_finished", status)
    assert (mark_title(end, "Ada"), mark_role(end)) == (expected, role)


async def test_that_it_is_read_only_is_said_once(view: ReplayView) -> None:
    texts = [label.text() for label in view.findChildren(QLabel) if label.isVisible()]
    assert sum("read-only" in text.lower() for text in texts) == 1
