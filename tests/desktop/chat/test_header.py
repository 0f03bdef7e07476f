"""The line above the transcript: the title keeps some words, whatever stands beside it."""

from __future__ import annotations

from itertools import pairwise

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.header import ChatHeader
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets.picker import Picker, PickerItem
from atelier_desk.domain.model_messages import Usage


def test_the_title_is_whole_where_there_is_room_and_keeps_some_words_where_there_is_not(qtbot: QtBot) -> None:
    header = ChatHeader()
    qtbot.addWidget(header)
    header.resize(900, 46)
    header.show()
    header.set_agents([PickerItem("a", "Architect of everything")], "a")
    header.set_models([PickerItem("p/m", "a-model-with-a-name")], "p/m", "a-model-with-a-name")
    header.set_title("Build the shelf")
    for scale in (100, 150):
        theme().set_scale(scale)
        wanted = header.title.fontMetrics().horizontalAdvance
        qtbot.waitUntil(lambda wanted=wanted: header.title.width() >= wanted("Build the shelf"))
    header.set_title("Can you isolate the execution of tools and add a test?")
    header.resize(600, 60)
    qtbot.waitUntil(lambda: header.title.width() >= theme().px(100) - 1)


def test_the_usage_folds_before_title_and_names_are_cut(qtbot: QtBot) -> None:
    header = ChatHeader()
    qtbot.addWidget(header)
    header.set_agents([PickerItem("a", "Assistant")], "a")
    header.set_models([PickerItem("p/m", "SmolLM2 135M")], "p/m", "SmolLM2 135M")
    header.set_title("Isolate the execution")
    header.resize(1200, 46)
    header.show()
    qtbot.waitExposed(header)
    header.show_usage(Usage(tokens_input=5_000, tokens_output=500, cost=0.008), 2_800, 4_000)

    def whole() -> bool:
        cut = header.title.width() < header.title.fontMetrics().horizontalAdvance(header.title.text())
        return not cut and all(box.text().rstrip(" ▾") == box.whole_text for box in (header.agents, header.models))

    seen: list[bool] = []
    for width in (*range(1200, 400, -10), 1200):
        if seen[-1:] == [False] and width < 1200:
            continue  # from here on names are cut
        header.resize(width, 46)
        qtbot.waitUntil(whole)
        assert header.meter.isVisible()
        if (state := "$" in header.usage.text()) not in seen[-1:]:
            seen.append(state)
    assert seen == [True, False, True]


def test_a_title_given_before_the_first_paint_is_whole_too(qtbot: QtBot) -> None:
    header = ChatHeader()
    qtbot.addWidget(header)
    header.resize(900, 46)
    header.set_title("New workflow")
    header.show()
    qtbot.waitExposed(header)
    assert header.title.width() >= header.title.fontMetrics().horizontalAdvance("New workflow")


@pytest.mark.parametrize(("scale", "width"), [(100, 420), (100, 700), (150, 600), (200, 600), (200, 700), (200, 900)])
def test_nothing_runs_into_anything_else_and_the_usage_is_whole_or_away(qtbot: QtBot, scale: int, width: int) -> None:
    theme().set_scale(scale)
    window = QWidget()
    qtbot.addWidget(window)
    holder = QWidget(window)
    holder.setMinimumWidth(200)  # as in the window, where the middle column may be narrower than what is in it
    QHBoxLayout(window).addWidget(holder)
    row = QHBoxLayout(holder)
    row.setContentsMargins(0, 0, 0, 0)
    header = ChatHeader(holder)
    row.addWidget(header)
    window.layout().setContentsMargins(0, 0, 0, 0)
    header.set_agents([PickerItem("a", "Architecte")], "a")
    header.set_models([PickerItem("p/m", "gpt-local")], "p/m", "gpt-local")
    header.set_title("Can you isolate the execution of tools and add a test?")
    window.resize(width, 80)
    window.show()
    qtbot.waitExposed(window)
    header.show_usage(Usage(tokens_input=12_345, tokens_output=3_200, cost=0.03), 4_000, 16_000)

    def settled() -> None:
        parts = [part for part in (header.left, header.title, header.agents, header.models, header.meter, header.right) if part.isVisible()]
        places = [part.geometry() for part in parts]
        assert all(one.right() < other.left() for one, other in pairwise(places))
        assert header.width() == width
        assert places[-1].right() <= width
        assert header.meter.isHidden() or header.usage.width() >= header.usage.sizeHint().width()
        for box in header.findChildren(Picker, options=Qt.FindChildOption.FindDirectChildrenOnly):
            assert box.width() >= box.minimumSizeHint().width()

    qtbot.waitUntil(settled)


def test_the_usage_comes_back_with_the_room(qtbot: QtBot) -> None:
    header = ChatHeader()
    qtbot.addWidget(header)
    header.setMinimumWidth(100)
    header.set_title("Can you isolate the execution of tools and add a test?")
    header.resize(900, 46)
    header.show()
    qtbot.waitExposed(header)
    header.show_usage(Usage(tokens_input=12_345, tokens_output=3_200, cost=0.03))
    for width, shown in ((900, True), (210, False), (900, True)):
        header.resize(width, 46)
        qtbot.waitUntil(lambda shown=shown: header.meter.isVisible() == shown)


@pytest.mark.parametrize(("scale", "width", "there"), [(100, 560, True), (150, 784, True), (150, 420, False)])
def test_the_settings_of_the_workflow_stay_while_names_are_whole(qtbot: QtBot, scale: int, width: int, there: bool) -> None:
    theme().set_scale(scale)
    header = ChatHeader()
    qtbot.addWidget(header)
    header.setMinimumWidth(100)
    header.set_agents([PickerItem("a", "Ada")], "a")
    header.set_models([PickerItem("p/m", "gpt-5")], "p/m", "gpt-5")
    header.set_title("Build the shelf")
    header.resize(width, 60)
    header.show()
    qtbot.waitExposed(header)
    header.show_usage(Usage(tokens_input=150, tokens_output=12))

    def settled() -> None:
        assert header.options.isVisible() == there
        assert header.meter.isHidden() or header.usage.text() == "162 tokens"

    qtbot.waitUntil(settled)
