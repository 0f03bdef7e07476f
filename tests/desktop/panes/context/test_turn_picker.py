"""The turn a pane shows, in workflows with few and with thousands of turns."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.panes.context import turn_picker as module
from atelier_desk.desktop.panes.context.turn_picker import TurnPicker
from atelier_desk.desktop.panes.time_format import clock_time
from atelier_desk.desktop.widgets.language_theme_bindings import refresh_texts
from atelier_desk.engine.services.team.agent_tree_and_timeline_types import Turn
from atelier_desk.support.i18n import set_language

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


def turns(count: int) -> list[Turn]:
    return [Turn(run_id=f"r{number}", number=number, began=NOON) for number in range(1, count + 1)]


@pytest.fixture
def picker(qtbot: QtBot) -> TurnPicker:
    made = TurnPicker()
    qtbot.addWidget(made)
    return made


def test_the_newest_turn_is_shown_until_another_one_is_picked(picker: TurnPicker, qtbot: QtBot) -> None:
    picker.set_turns(turns(3))
    assert [picker.itemText(row).split(" · ")[0] for row in range(picker.count())] == ["Turn 3", "Turn 2", "Turn 1"]
    assert (picker.currentIndex(), picker.root_run_id) == (0, "r3")
    with qtbot.waitSignal(picker.picked) as picked:
        picker.setCurrentIndex(2)
        picker.activated.emit(2)
    assert picked.args == ["r1"]
    picker.set_turns(turns(4))
    assert picker.currentText().startswith("Turn 1 ")
    picker.want("")
    assert picker.currentText().startswith("Turn 4 ")
    picker.set_turns([])
    assert (picker.count(), picker.currentIndex(), picker.isHidden()) == (0, -1, True)


def test_it_follows_the_language(picker: TurnPicker) -> None:
    picker.set_turns(turns(2))
    set_language("fr")
    try:
        refresh_texts()
        assert picker.currentText().startswith("Tour 2 ")
    finally:
        set_language("en")


def test_only_visible_turns_of_thousands_are_formatted(picker: TurnPicker, monkeypatch: pytest.MonkeyPatch) -> None:
    formatted: list[datetime] = []

    def counted(when: datetime) -> str:
        formatted.append(when)
        return clock_time(when)

    monkeypatch.setattr(module, "clock_time", counted)
    picker.set_turns(turns(5_000))
    picker.sizeHint()
    picker.want("r17")
    assert picker.currentText().startswith("Turn 17 ")
    assert len(formatted) < 50
