"""The header: the title keeps some words, whatever is beside it."""

from __future__ import annotations

from functools import partial
from itertools import combinations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QHBoxLayout, QMenu, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.header import ChatHeader
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets.list_rows import RowRole
from atelier_desk.desktop.widgets.picker import Picker, PickerItem
from atelier_desk.desktop.workspace_folders.button import FolderButton
from atelier_desk.desktop.workspace_folders.controller import FolderController
from atelier_desk.domain.model_messages import Usage
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge


def in_folder(header: ChatHeader, path: str) -> FolderButton:
    """The header's button of a workflow with this folder."""
    folders = FolderController(FakeBridge(FakeAtelier()), header)
    folders.folders = (path,)
    header.add(button := FolderButton(folders, header))
    return button


@pytest.fixture
def header(qtbot: QtBot) -> ChatHeader:
    made = ChatHeader()
    qtbot.addWidget(made)
    return made


def choose(header: ChatHeader, agent: str, model: str) -> None:
    """Show an agent and a model as the chosen ones."""
    header.set_agents([PickerItem("a", agent)], "a")
    header.set_models([PickerItem("p/m", model)], "p/m", model)


def test_the_title_is_full_if_it_fits_and_keeps_some_words_otherwise(qtbot: QtBot, header: ChatHeader) -> None:
    header.resize(900, 46)
    header.show()
    choose(header, "Architect of everything", "a-model-with-a-name")
    header.set_title("Build the shelf")
    for scale in (100, 150):
        theme().set_scale(scale)
        qtbot.waitUntil(lambda: header.title.width() >= header.title.fontMetrics().horizontalAdvance("Build the shelf"))
    header.set_title("Can you isolate the execution of tools and add a test?")
    header.resize(600, 60)
    qtbot.waitUntil(lambda: header.title.width() >= theme().px(100) - 1)


def test_the_usage_is_hidden_before_title_and_names_are_elided(qtbot: QtBot) -> None:
    header = ChatHeader()
    qtbot.addWidget(header)
    header.set_agents([PickerItem("a", "Assistant")], "a")
    header.set_models([PickerItem("p/m", "Starter (offline)")], "p/m", "Starter (offline)")
    header.set_title("Isolate the execution")
    header.resize(1200, 46)
    header.show()
    qtbot.waitExposed(header)
    header.show_usage(Usage(tokens_input=5_000, tokens_output=500, cost=0.008), 2_800, 4_000)

    def complete() -> bool:
        cut = header.title.width() < header.title.fontMetrics().horizontalAdvance(header.title.text())
        return not cut and all(box.text().rstrip(" ▾·") == box.full_text for box in (header.agents, header.models))

    seen: list[bool] = []
    for width in (*range(1200, 400, -10), 1200):
        if seen[-1:] == [False] and width < 1200:
            continue  # from here on names are elided
        header.resize(width, 46)
        qtbot.waitUntil(complete)
        assert header.meter.isVisible()
        if (state := "%" in header.usage.text()) not in seen[-1:]:
            seen.append(state)
    assert seen == [True, False, True]


def test_a_wide_header_does_not_prevent_a_narrow_window(qtbot: QtBot) -> None:
    """As when it is tiled beside another window, in one step."""
    window = QWidget()
    qtbot.addWidget(window)
    header = ChatHeader(window)
    row = QHBoxLayout(window)
    row.addWidget(header)
    choose(header, "Architect of everything", "a-model-with-a-name")
    header.set_title("Can you isolate the execution of tools and add a test?")
    header.show_usage(Usage(tokens_input=5_000, tokens_output=500, cost=0.008), 2_800, 4_000)
    window.resize(1300, 60)
    window.show()
    qtbot.waitExposed(window)
    qtbot.waitUntil(lambda: header.models.text().rstrip(" ▾·") == header.models.full_text)
    window.resize(480, 60)
    assert window.width() == 480


def test_a_title_set_before_the_first_paint_is_full_too(qtbot: QtBot, header: ChatHeader) -> None:
    header.resize(900, 46)
    header.set_title("New workflow")
    header.show()
    qtbot.waitExposed(header)
    assert header.title.width() >= header.title.fontMetrics().horizontalAdvance("New workflow")


@pytest.mark.parametrize(("scale", "width"), [(100, 420), (100, 700), (150, 600), (200, 600), (200, 700), (200, 900)])
def test_nothing_overlaps_and_the_usage_is_full_or_hidden(qtbot: QtBot, scale: int, width: int) -> None:
    theme().set_scale(scale)
    window = QWidget()
    qtbot.addWidget(window)
    holder = QWidget(window)
    holder.setMinimumWidth(200)  # as in the window, where the middle column may be narrower than its content
    outer = QHBoxLayout(window)
    outer.addWidget(holder)
    row = QHBoxLayout(holder)
    row.setContentsMargins(0, 0, 0, 0)
    header = ChatHeader(holder)
    row.addWidget(header)
    outer.setContentsMargins(0, 0, 0, 0)
    choose(header, "Architecte", "gpt-local")
    header.set_title("Can you isolate the execution of tools and add a test?")
    folder = in_folder(header, "/home/ada/Dossier Martin")
    window.resize(width, 80)
    window.show()
    qtbot.waitExposed(window)
    header.show_usage(Usage(tokens_input=12_345, tokens_output=3_200, cost=0.03), 4_000, 16_000)

    def settled() -> None:
        parts = [
            part
            for part in (header.left, header.title, header.answering, folder, header.meter, header.more, header.right)
            if part.isVisible()
        ]
        places = [part.geometry() for part in parts]
        assert not any(one.intersects(other) for one, other in combinations(places, 2))
        assert header.width() == width
        assert places[-1].right() <= width
        assert header.meter.isHidden() or header.usage.width() >= header.usage.sizeHint().width()
        for box in header.findChildren(Picker, options=Qt.FindChildOption.FindDirectChildrenOnly):
            assert box.width() >= box.minimumSizeHint().width()

    qtbot.waitUntil(settled)


def test_the_usage_is_shown_again_when_there_is_space(qtbot: QtBot, header: ChatHeader) -> None:
    header.setMinimumWidth(100)
    header.set_title("Can you isolate the execution of tools and add a test?")
    header.resize(900, 46)
    header.show()
    qtbot.waitExposed(header)
    header.show_usage(Usage(tokens_input=12_345, tokens_output=3_200, cost=0.03))

    def usage_is(shown: bool) -> bool:
        return header.meter.isVisible() == shown

    for width, shown in ((900, True), (210, False), (900, True)):
        header.resize(width, 46)
        qtbot.waitUntil(partial(usage_is, shown))


@pytest.mark.parametrize(("scale", "width"), [(100, 440), (100, 730), (150, 640), (150, 564)])
def test_in_a_narrow_header_title_agent_and_folder_have_names(qtbot: QtBot, scale: int, width: int) -> None:
    """The chat's width in a window of 1024 pixels is 730 at 100 % and 640 at 150 %."""
    theme().set_scale(scale)
    header = ChatHeader()
    qtbot.addWidget(header)
    folder = in_folder(header, "/home/ada/Dossier Martin")
    header.setMinimumWidth(100)
    header.set_agents([PickerItem("a", "Relectrice du code")], "a")
    header.set_models([PickerItem("p/m", "mistral-large-latest")], "p/m", "mistral-large-latest")
    header.set_title("Planifier la commande du bois pour le mur du fond")
    header.resize(width, 60)
    header.show()
    qtbot.waitExposed(header)
    header.show_usage(Usage(tokens_input=150, tokens_output=12))

    def settled() -> None:
        title = header.title
        assert title.width() >= title.fontMetrics().horizontalAdvance("Planifier la…")
        for part, least in ((header.agents, "Relec"), (header.models, "mistr"), (folder, "Dossi")):
            assert part.text().startswith(least)
            assert part.full_text in part.toolTip()
        places = [each.geometry() for each in (title, header.answering, folder)]
        assert not any(one.intersects(other) for one, other in combinations(places, 2))

    qtbot.waitUntil(settled)


def test_there_are_two_lines_only_in_a_narrow_header(qtbot: QtBot) -> None:
    header = ChatHeader()
    qtbot.addWidget(header)
    header.setMinimumWidth(100)
    header.set_agents([PickerItem("a", "Assistant")], "a")
    header.set_title("Isolate the execution")
    header.resize(900, 46)
    header.show()
    qtbot.waitExposed(header)

    def lines(number: int) -> bool:
        return (header.answering.y() > header.title.geometry().bottom()) == (number == 2)

    for width, expected in ((900, 1), (700, 2), (900, 1)):
        header.resize(width, 60)
        qtbot.waitUntil(partial(lines, expected))
        assert header.title.x() >= header.left.geometry().right()
        assert header.title.width() >= header.title.fontMetrics().horizontalAdvance(header.title.text())
        if expected == 2:
            assert header.title.x() == header.answering.x(), "both begin at the same place"


def test_the_headers_other_actions_are_in_one_menu(header: ChatHeader) -> None:
    header.show()
    pressed = {each.objectName() for each in header.findChildren(QAbstractButton) if not each.isHidden()}
    assert pressed <= {"toggle-sidebar", "agent-select", "model-select", "workflow-menu", "toggle-rail"}
    header.more.set_efforts([PickerItem("", "Agent default"), PickerItem("high", "High")], "high")
    chosen: list[str] = []
    header.effort_chosen.connect(chosen.append)
    levels = header.more.open().findChild(QMenu, "effort-menu")
    assert levels is not None
    assert [(each.text(), each.isChecked()) for each in levels.actions()] == [("Agent default", False), ("High", True)]
    levels.actions()[0].trigger()
    assert chosen == [""]
    header.more.set_efforts([], "")
    assert header.more.open().actions() == []


def test_agent_and_model_are_chosen_in_one_menu(header: ChatHeader) -> None:
    header.show()
    header.set_agents([PickerItem("ada", "Ada"), PickerItem("bea", "Bea", starred=False)], "ada")
    header.set_models([PickerItem("p/m", "m", "p"), PickerItem("p/n", "n", "p", starred=False)], "p/m", "m")
    emitted: list[tuple[object, ...]] = []
    header.agent_chosen.connect(lambda *key: emitted.append(("agent", *key)))
    header.model_chosen.connect(lambda *key: emitted.append(("model", *key)))
    header.agents.starred.connect(lambda *key: emitted.append(("agent star", *key)))
    header.models.starred.connect(lambda *key: emitted.append(("model star", *key)))
    menus = set()
    for part, at in ((header.agents, "ada"), (header.models, "p/m")):
        QTest.mouseClick(part, Qt.MouseButton.LeftButton)
        menu = part.menu_open
        assert menu is not None
        menus.add(menu)
        rows = menu.list.rows
        lines = [(rows.item(row).text(), rows.item(row).data(RowRole).icon or "") for row in range(rows.rowCount())]
        assert lines == [("Agents", ""), ("Ada", "check"), ("Bea", ""), ("p", ""), ("m", "check"), ("n", "")]
        assert menu.current == at
        QTest.keyClick(menu, Qt.Key.Key_Down)
        QTest.keyClick(menu, Qt.Key.Key_D, Qt.KeyboardModifier.ControlModifier)
        QTest.keyClick(menu, Qt.Key.Key_Return)
        assert part.menu_open is None
    assert len(menus) == 1
    assert emitted == [("agent star", "bea", True), ("agent", "bea"), ("model star", "p/n", True), ("model", "p/n")]
