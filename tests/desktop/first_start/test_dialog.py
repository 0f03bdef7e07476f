"""The first-start guide: steps, examples, skipping."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.first_start.dialog import FirstStart
from atelier_desk.desktop.first_start.starter_model_notice import StarterNotice
from atelier_desk.desktop.settings.application_language import switch_language
from atelier_desk.desktop.theme import theme
from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.provider import STARTER
from atelier_desk.domain.settings import Settings
from tests.desktop.first_start.conftest import Find, forward
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import FakeAtelier, settle
from tests.helpers.mouse_wheel import changed_by_wheel, inputs


async def test_language_and_theme_apply_at_once_and_are_stored(
    guide: FirstStart, find: Find, atelier: FakeAtelier
) -> None:
    find("theme-select").setCurrentIndex(2)
    find("theme-select").activated.emit(2)
    assert theme().tokens.dark
    await forward(find)
    assert atelier.calls("settings.update") == [((), {"language": "system", "theme": "dark"})]
    assert len(atelier.calls("agents.translate_builtin")) == 1
    assert guide.step is guide.model
    find("first-start-back").click()
    assert guide.stack.currentWidget() is guide.welcome


async def test_a_double_click_moves_by_one_step(guide: FirstStart, find: Find) -> None:
    for name, step in (("next", 1), ("next", 2), ("back", 1), ("back", 0)):
        button = find(f"first-start-{name}")
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)
        await settle()
        QTest.mouseDClick(button, Qt.MouseButton.LeftButton)
        QTest.mouseRelease(button, Qt.MouseButton.LeftButton)
        await settle()
        assert guide.stack.currentIndex() == step, name


async def test_choices_made_elsewhere_meanwhile_are_shown(guide: FirstStart, atelier: FakeAtelier) -> None:
    """And stored by Next; a choice made here and not stored yet stays."""
    boxes = guide.welcome.boxes
    boxes["language"].setCurrentIndex(boxes["language"].findData("fr"))
    atelier.set("settings", "get", Settings(theme="dark"))
    guide._bridge.changed.emit("settings", "theme")
    await settle()
    assert {name: box.currentData() for name, box in boxes.items()} == {"language": "fr", "theme": "dark"}
    atelier.set("settings", "get", Settings(language="en", theme="light"))
    guide._bridge.changed.emit("settings", "max_depth")
    guide._bridge.changed.emit("settings", "language")
    await settle()
    assert {name: box.currentData() for name, box in boxes.items()} == {"language": "en", "theme": "dark"}


async def test_the_wheel_changes_no_choice(guide: FirstStart) -> None:
    assert len(inputs(guide)) >= 2
    assert changed_by_wheel(guide) == []


async def test_the_boxes_fit_their_text_after_a_change_of_language(guide: FirstStart, find: Find) -> None:
    switch_language("fr")
    await settle()
    for name in ("language-select", "theme-select"):
        assert find(name).width() >= find(name).sizeHint().width(), name
    switch_language("en")
    await settle()


async def test_a_goal_starts_a_workflow(guide: FirstStart, find: Find, atelier: FakeAtelier, qtbot: QtBot) -> None:
    await forward(find)
    await forward(find)
    started: list[str] = []
    guide.started.connect(started.append)
    find("goal-1").click()
    await settle()
    goal = "What is 12% of 840?"
    assert atelier.calls("workflows.create") == [(("", "a1"), {})]
    assert atelier.calls("runs.send") == [(("w9", goal), {})]
    assert started == ["w9"]
    assert not guide.isVisible()
    assert atelier.calls("settings.update")[-1] == ((), {"first_start_done": True})


async def test_a_failing_example_is_reported_and_the_guide_stays(
    guide: FirstStart, find: Find, atelier: FakeAtelier
) -> None:
    atelier.set("runs", "send", ProviderError("The model server cannot be reached."))
    guide._show_step(2)
    find("goal-2").click()
    await settle()
    assert find("first-start-error").text() == "The model server cannot be reached."
    assert find("goal-2").isEnabled()


@pytest.mark.parametrize("method", ["button", "escape"])
async def test_it_can_be_skipped_and_does_not_return(
    guide: FirstStart, find: Find, atelier: FakeAtelier, method: str
) -> None:
    if method == "button":
        find("first-start-skip").click()
    else:
        QTest.keyClick(guide, Qt.Key.Key_Escape)
    await settle()
    assert not guide.isVisible()
    assert atelier.calls("settings.update") == [((), {"first_start_done": True})]


async def test_enter_presses_the_focused_button(guide: FirstStart, find: Find, atelier: FakeAtelier) -> None:
    """Enter on Back, on Skip and on an example went on to the next step or finished."""
    await forward(find)
    await forward(find)
    for name, step in (("first-start-back", guide.model), ("first-start-back", guide.welcome)):
        find(name).setFocus()
        QTest.keyClick(find(name), Qt.Key.Key_Return)
        await settle()
        assert guide.step is step
    QTest.keyClick(find("language-select"), Qt.Key.Key_Return)
    await settle()
    assert guide.step is guide.model
    QTest.keyClick(guide.model.starter.tile, Qt.Key.Key_Return)
    await settle()
    assert guide.stack.currentWidget() is guide.goals
    started: list[str] = []
    guide.started.connect(started.append)
    QTest.keyClick(find("goal-2"), Qt.Key.Key_Return)
    await settle()
    assert started == ["w9"]
    assert atelier.calls("runs.send") == [(("w9", "Add a task: prepare for the Monday meeting."), {})]


def test_the_starter_notice_is_shown_only_for_the_starter(qtbot: QtBot) -> None:
    notice = StarterNotice()
    qtbot.addWidget(notice)
    notice.set_model("local", STARTER)
    assert notice.isVisible()
    with qtbot.waitSignal(notice.better_models_requested):
        child(notice, QAbstractButton, "better-models").click()
    notice.set_model("Ollama", "qwen3:4b")
    assert not notice.isVisible()
