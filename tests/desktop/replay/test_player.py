"""Position and playback of a replay."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.replay.player import LONGEST_MS, SHORTEST_MS, Player
from tests.helpers.sample_team_history import at


@pytest.fixture
def player(qtbot: QtBot) -> Player:
    made = Player()
    made.set_times([at(0), at(1), at(1.01), at(4000)], 0)
    return made


def test_pauses_follow_the_recorded_times_within_bounds(player: Player) -> None:
    waits = []
    for place in range(3):
        player.seek(place)
        waits.append(player.wait_ms())
    assert waits == [1_000, SHORTEST_MS, LONGEST_MS]
    player.set_speed(4)
    player.seek(0)
    assert player.wait_ms() == 250
    player.set_speed(16)
    assert player.wait_ms() == 62


def test_it_plays_to_the_end_and_stops_there(player: Player) -> None:
    moved: list[int] = []
    player.moved.connect(moved.append)
    player.play()
    while player.playing:
        player._timer.timeout.emit()
        player.shown()
    assert moved == [1, 2, 3]
    player.play()
    assert moved[-1] == 0


def test_a_step_by_hand_ends_playing_and_stays_within(player: Player) -> None:
    player.play()
    player.step(-1)
    assert not player.playing
    assert player.place == 0
    player.step(99)
    assert player.place == 3
    assert player.last == 3


def test_playback_waits_until_the_moment_is_shown(player: Player) -> None:
    player.play()
    player._timer.stop()
    player._move_to(1)
    assert not player._timer.isActive()
    player.shown()
    assert player._timer.isActive()


def test_without_events_nothing_plays(qtbot: QtBot) -> None:
    empty = Player()
    empty.play()
    assert not empty.playing
