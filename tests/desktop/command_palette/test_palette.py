"""Command palette: matches, their order, and running one."""

from __future__ import annotations

from functools import partial

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMainWindow
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.command_palette.palette import Command, CommandPalette, score
from atelier_desk.desktop.main_window.action_registry import ActionRegistry, ActionSpec, action
from atelier_desk.desktop.widgets.list_rows import RowRole


class Window(QMainWindow):
    def __init__(self) -> None:
        super().__init__()
        self.triggered: list[str] = []

    @action("first", "Show tasks", group="view", shortcut="Ctrl+1")
    def first(self) -> None:
        self.triggered.append("first")

    @action("second", "Search everywhere", group="workflow", keywords="find")
    def second(self) -> None:
        self.triggered.append("second")


@pytest.fixture
def window(qtbot: QtBot) -> Window:
    made = Window()
    qtbot.addWidget(made)
    made.resize(900, 700)
    made.show()
    return made


def lines(palette: CommandPalette) -> list[str]:
    return [str(palette.list.rows.index(row, 0).data()) for row in range(palette.list.rows.rowCount())]


def command(text: str, keywords: str = "") -> Command:
    return Command(text, lambda: None, keywords=keywords)


@pytest.mark.parametrize(
    ("needle", "text", "fits"),
    [
        ("", "Anything", True),
        ("tas", "Show tasks", True),
        ("tasks show", "Show tasks", True),
        ("memoire", "Afficher la Mémoire", True),
        ("shtk", "Show tasks", True),
        ("xyz", "Show tasks", False),
    ],
)
def test_matching(needle: str, text: str, fits: bool) -> None:
    assert (score(needle, command(text)) is not None) is fits


def test_beginnings_come_first() -> None:
    words = ["A long sea", "Search", "Research"]
    assert sorted(words, key=lambda text: score("sea", command(text)) or 0)[0] == "Search"


def test_keyboard_runs_the_chosen_command(window: Window) -> None:
    palette = CommandPalette(
        ActionRegistry(window),
        window,
        lambda: [Command("Workflow A", lambda: window.triggered.append("A"), group="Workflows")],
    )
    palette.popup()
    assert lines(palette) == ["Commands", "Show tasks", "Search everywhere", "Workflows", "Workflow A"]
    QTest.keyClicks(palette.field, "find")
    assert palette.list.rows.rowCount() == 1
    QTest.keyClick(palette.field, Qt.Key.Key_Return)
    assert palette.isHidden()
    palette.popup()
    QTest.keyClick(palette.field, Qt.Key.Key_Up)
    QTest.keyClick(palette.field, Qt.Key.Key_Return)
    assert window.triggered == ["second", "A"]


def test_disabled_actions_are_not_offered(window: Window) -> None:
    registry = ActionRegistry(window)
    registry["first"].setEnabled(False)
    palette = CommandPalette(registry, window)
    palette.popup()
    assert lines(palette) == ["Search everywhere"]


def test_a_search_finds_a_disabled_action_grey_with_its_reason_and_runs_nothing_else(window: Window) -> None:
    registry = ActionRegistry(window)
    registry.add(
        ActionSpec("pause", "Pause the agent", "run", unavailable="Nothing is running"),
        lambda: window.triggered.append("pause"),
    ).setEnabled(False)
    registry.add(
        ActionSpec("step-mode", "Step mode", "run", keywords="pause"), lambda: window.triggered.append("step-mode")
    )
    palette = CommandPalette(registry, window)
    palette.popup()
    QTest.keyClicks(palette.field, "pause")
    assert lines(palette) == ["Pause the agent", "Step mode"]
    row = palette.list.rows.index(0, 0).data(RowRole)
    assert (row.colour, row.end) == ("muted", "Nothing is running")
    QTest.keyClick(palette.field, Qt.Key.Key_Return)
    assert window.triggered == []
    assert palette.isVisible()
    QTest.keyClick(palette.field, Qt.Key.Key_Down)
    QTest.keyClick(palette.field, Qt.Key.Key_Return)
    assert window.triggered == ["step-mode"]


def test_a_name_cannot_be_registered_twice(window: Window) -> None:
    registry = ActionRegistry(window)
    with pytest.raises(ValueError, match="first"):
        registry.add(ActionSpec("first", "x", "view"), lambda: None)


def test_recent_commands_come_first_and_break_ties(window: Window) -> None:
    agents = [
        Command(f"Agent {name}", partial(window.triggered.append, name), key=f"agent:{name}", group="Agents")
        for name in "abc"
    ]
    palette = CommandPalette(ActionRegistry(window), window, lambda: agents)
    stored: list[str] = []
    palette.ran.connect(stored.append)
    palette.popup()
    assert lines(palette) == ["Commands", "Show tasks", "Search everywhere", "Agents", "Agent a", "Agent b", "Agent c"]
    assert palette.list.currentIndex().data() == "Show tasks"
    QTest.keyClicks(palette.field, "agent")
    assert lines(palette) == ["Agent a", "Agent b", "Agent c"]
    QTest.keyClick(palette.field, Qt.Key.Key_Down)
    QTest.keyClick(palette.field, Qt.Key.Key_Down)
    QTest.keyClick(palette.field, Qt.Key.Key_Return)
    assert (window.triggered, stored, palette.recent) == (["c"], ["agent:c"], ["agent:c"])
    palette.popup()
    assert lines(palette)[:3] == ["Recent", "Agent c", "Commands"]
    QTest.keyClicks(palette.field, "agent")
    assert lines(palette) == ["Agent c", "Agent a", "Agent b"]


def test_headings_are_skipped_and_an_empty_result_is_shown(window: Window) -> None:
    palette = CommandPalette(
        ActionRegistry(window), window, lambda: [Command("W", lambda: None, key="w", group="Workflows")]
    )
    palette.popup()
    seen = []
    for _ in range(4):
        seen.append(palette.list.currentIndex().data())
        QTest.keyClick(palette.field, Qt.Key.Key_Down)
    assert seen == ["Show tasks", "Search everywhere", "W", "Show tasks"]
    QTest.keyClicks(palette.field, "xyzzy")
    assert palette.list.nothing.isVisible()
    QTest.keyClick(palette.field, Qt.Key.Key_Return)
    assert palette.isVisible()


def test_its_corners_are_round_without_a_compositor(window: Window) -> None:
    palette = CommandPalette(ActionRegistry(window), window)
    palette.popup()
    assert not palette.testAttribute(Qt.WidgetAttribute.WA_TranslucentBackground)
    assert not palette.mask().contains(palette.rect().topLeft())
    assert not palette.mask().contains(palette.rect().bottomRight())
    assert palette.mask().contains(palette.rect().center())


def test_its_height_fits_the_results(qtbot: QtBot, window: Window) -> None:
    palette = CommandPalette(
        ActionRegistry(window), window, lambda: [Command(f"Workflow {number}", bool) for number in range(30)]
    )
    palette.popup()
    full = palette.height()
    assert full <= window.height()
    QTest.keyClicks(palette.field, "tasks")
    assert palette.list.rows.rowCount() == 1
    qtbot.waitUntil(lambda: palette.height() < full / 2)
    row = palette.list.visualRect(palette.list.rows.index(0, 0))
    assert palette.list.viewport().rect().contains(row), "the only line is completely visible"
    palette.field.setText("nothing of this name")
    qtbot.waitUntil(lambda: palette.list.nothing.isVisible() and palette.height() < full / 2)
    palette.field.clear()
    qtbot.waitUntil(lambda: palette.height() == full)
    palette.hide()
