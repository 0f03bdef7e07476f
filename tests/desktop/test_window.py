"""The main window against a fake engine."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QPoint, Qt
from PySide6.QtGui import QFont
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QComboBox, QLabel, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.main_window.startup_error_page import StartupErrorPage
from atelier_desk.desktop.settings.application_language import switch_language
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.window import MainWindow, first_view
from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.memory import EMBEDDING_OFFER
from atelier_desk.domain.settings import Settings
from atelier_desk.domain.usage import EmbeddingOffer
from atelier_desk.domain.workflow import Workflow, WorkflowStatus
from atelier_desk.engine.services.step_mode import WaitingStep
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle
from tests.helpers.fake_project_service import Projects
from tests.helpers.main_window_with_fake_engine import Program
from tests.helpers.mouse_wheel import changed_by_wheel, inputs

NAMES = [
    "workflow-list", "new-workflow", "agent-select", "model-select", "chat-view", "chat-input", "send-button",
    "stop-button", "task-pane",
    "memory-pane", "activity-pane", "reports-pane", "question-inbox", "search-field", "status-usage",
]  # fmt: skip


async def test_every_widget_name_of_the_interface_exists_and_has_an_accessible_name(program: Program) -> None:
    await program.start(workflow="w1")
    assert program.window.objectName() == "main-window"
    for name in NAMES:
        found = program.window.findChild(QWidget, name)
        assert found is not None, name
        if name not in {
            "status-usage",
            "workflow-list",
            "task-pane",
            "memory-pane",
            "activity-pane",
            "reports-pane",
            "question-inbox",
        }:
            assert found.accessibleName(), name


async def test_the_last_workflow_is_restored_without_showing_the_start_page_first(program: Program) -> None:
    window, pages = program.window, list[QWidget | None]()
    window.chat.workflow_shown.connect(lambda _id: pages.append(window.pages.currentWidget()))
    await program.start(workflow="w1")
    assert (pages, window.pages.currentWidget()) == ([window.opening], window.middle)
    assert window.chat.composer.field.hasFocus(), "one can write at once"
    assert program.window.chat.workflow_id == "w1"
    assert program.window.sidebar.list.currentIndex().data() == "First"
    assert program.window.actions_["rename-workflow"].isEnabled()


async def test_a_deleted_last_workflow_is_replaced(program: Program) -> None:
    await program.start(workflow="gone")
    assert program.window.chat.workflow_id == ""
    assert not program.window.actions_["rename-workflow"].isEnabled()


async def test_the_layout_is_saved_and_restored(qtbot: QtBot, program: Program) -> None:
    await program.start(workflow="w1")
    program.window.resize(1300, 500)
    program.window.toggle_sidebar()
    program.window.rail.docks["activity"].close()
    layout = program.window.layout_state()
    assert layout["workflow"] == "w1"
    other = Program(qtbot)
    other.window.restore_layout(layout)
    assert other.window.size().height() == 500
    assert other.window.sidebar.isHidden()
    assert other.window.rail.docks["activity"].isHidden()
    other.window.reset_layout()
    assert not other.window.rail.visible, "nothing is in the panes"
    other.window.rail.set_visible(True)
    assert not other.window.rail.docks["activity"].isHidden()
    other.window.restore_layout({"geometry": "!!", "state": "AAAA", "columns": "%"})


async def test_panes_float_and_hide(program: Program) -> None:
    await program.start(workflow="w1")
    rail = program.window.rail
    child(program.window, QAbstractButton, "float-tasks").click()
    assert rail.docks["tasks"].isFloating()
    program.window.toggle_panes()
    assert not rail.visible
    program.window.actions_["show-memory"].trigger()
    assert not rail.docks["memory"].isHidden()


async def test_the_wheel_changes_no_input_of_the_window(program: Program) -> None:
    await program.start(workflow="w1")
    for name in ("activity", "context", "tasks", "memory"):  # some are created when first shown
        program.window.rail.show_pane(name)
    await settle()
    assert inputs(program.window)
    assert changed_by_wheel(program.window) == []


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("locked", "Another program"),
        ("newer_schema", "newer version of Atelier"),
        ("older_schema", "early version of Atelier"),
        ("missing_manifest", "Part of your data"),
        ("damaged", "damaged"),
        ("disk_full", "disk is full"),
        ("read_only", "cannot be written"),
    ],
)
def test_each_startup_error_is_shown_with_what_to_do(program: Program, code: str, words: str) -> None:
    tried: list[int] = []
    program.window.show_engine_error(
        StorageError("Because of {x}.", code=code, x="this"), "/data", lambda: tried.append(1)
    )
    page = program.window.pages.currentWidget()
    assert isinstance(page, StartupErrorPage)
    shown = " ".join(label.text() for label in page.findChildren(QWidget) if hasattr(label, "text"))
    assert words in shown
    assert "Because of this." in shown
    assert "/data" in page.details()
    child(program.window, QPushButton, "startup-retry").click()
    assert tried == [1]
    program.window.leave_engine_error()
    assert program.window.pages.currentWidget() is program.window.opening


def test_keys_typed_during_start_press_nothing(qtbot: QtBot, program: Program) -> None:
    program.window.activateWindow()  # as a window manager does
    qtbot.waitUntil(program.window.isActiveWindow)
    assert program.window.focusWidget() is program.window.opening
    for key in (Qt.Key.Key_Space, Qt.Key.Key_Return):
        QTest.keyClick(program.window.focusWidget(), key)
    assert program.window.pages.currentWidget() is program.window.opening


def test_problems_become_toasts(program: Program) -> None:
    program.bridge.failed.emit("The disk is full.")
    toast = child(program.window, QWidget, "toast")
    assert toast.accessibleName() == "The disk is full."


async def test_language_change_reaches_every_part(program: Program) -> None:
    await program.start(workflow="w1")
    switch_language("fr")
    await settle()
    assert program.window.sidebar.foot.settings.text().strip() == "Réglages"
    assert program.window.chat.composer.field.accessibleName() == "Message"
    assert program.window.chat.composer.attach.accessibleName() == "Joindre des fichiers ou un dossier"
    switch_language("en")
    await settle()
    assert program.window.sidebar.foot.settings.text().strip() == "Settings"


async def test_a_language_is_chosen_in_the_settings_and_the_palette_only(qtbot: QtBot, program: Program) -> None:
    await program.start(workflow="w1")
    assert not program.window.findChildren(QComboBox, "language-select")
    with qtbot.waitSignal(program.window.language_requested) as signal:
        program.window.actions_["language-french"].trigger()
    assert signal.args == ["fr"]


async def test_text_size_and_theme_are_settings(program: Program) -> None:
    program.window.larger_text()
    program.window.smaller_text()
    program.window.theme_dark()
    await settle()
    larger, smaller, dark = (fields for _others, fields in program.engine.calls("settings.update"))
    assert [larger["font_scale"](percent) for percent in (100, 195)] == [110, 200]
    assert [smaller["font_scale"](percent) for percent in (100, 85)] == [90, 80]
    assert dark == {"theme": "dark"}


@pytest.mark.parametrize("scale", [80, 200])
async def test_the_window_can_be_drawn_at_every_size(program: Program, scale: int) -> None:
    await program.start(workflow="w1")
    theme().set_scale(scale)
    await settle()
    assert not program.window.grab().isNull()
    assert program.window.chat.composer.field.font().pixelSize() == round(14 * scale / 100)


SMALL, LARGE = (1024, 700), (1600, 1000)


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param((150, SMALL), id="large text in a window made smaller"),
        pytest.param((SMALL, 150), id="text made larger in a small window"),
        pytest.param((SMALL, 150, LARGE, SMALL), id="a window made larger and smaller again"),
        pytest.param((150, SMALL, 100, 150), id="text made smaller and larger again"),
    ],
)
async def test_window_and_left_column_are_as_in_a_fresh_start(program: Program, steps: tuple[Any, ...]) -> None:
    """Panes that do not fit beside a narrow conversation were shown for a moment: the window grew, the left column
    shrank.
    """
    window = program.window
    await program.window.start(Settings(window={"workflow": "w1"}))
    for step in steps:
        if isinstance(step, int):
            theme().set_scale(step)
        else:
            window.resize(*step)
        await settle(30)
    assert (window.width(), window.height(), window.sidebar.width()) == (*SMALL, round(248 * 1.25))
    theme().set_scale(100)
    await settle(30)
    assert (window.width(), window.height(), window.sidebar.width()) == (*SMALL, 248)


def test_large_text_stacks_fewer_panes(program: Program) -> None:
    program.window.rail.set_visible(True)
    docks = program.window.rail.docks
    assert docks["activity"] not in program.window.tabifiedDockWidgets(docks["memory"])
    theme().set_scale(150)
    assert docks["activity"] in program.window.tabifiedDockWidgets(docks["memory"])
    theme().set_scale(100)
    assert docks["activity"] not in program.window.tabifiedDockWidgets(docks["memory"])


def test_large_text_does_not_close_open_panes(qtbot: QtBot, program: Program) -> None:
    rail = program.window.rail
    program.window.show()
    qtbot.waitExposed(program.window)
    rail.docks["reports"].close()
    rail.show_pane("questions")
    rail.show_pane("context")

    def in_sight(name: str) -> bool:
        return not rail.docks[name].visibleRegion().isEmpty()

    for scale in (150, 100):
        theme().set_scale(scale)
        qtbot.waitUntil(lambda: in_sight("questions") and in_sight("context"))
        assert rail.docks["reports"].isHidden()
        assert rail.docks["timeline"].isHidden()


def test_closing_signals_once_and_saves_the_draft(program: Program) -> None:
    closed: list[int] = []
    program.window.closing.connect(lambda: closed.append(1))
    program.window.close()
    assert closed == [1]


def test_the_first_view_is_a_running_then_the_last_seen_then_an_interrupted_or_waiting_workflow() -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [
        Workflow(id=name, name=name, status=status, updated_at=start + timedelta(hours=hour))
        for hour, (name, status) in enumerate(
            [("old", WorkflowStatus.WAITING), ("done", WorkflowStatus.COMPLETED), ("asks", WorkflowStatus.WAITING)]
        )
    ]
    assert first_view([], "gone") == ""
    assert first_view(rows, "") == "asks"
    assert first_view(rows, "done") == "done"
    works = Workflow(id="works", name="works", status=WorkflowStatus.RUNNING, updated_at=start)
    assert first_view([*rows, works], "done") == "works"
    cut_off = Workflow(id="cut", name="cut", status=WorkflowStatus.INTERRUPTED, updated_at=start)
    assert first_view([*rows, cut_off], "") == "cut"
    assert first_view([*rows, cut_off], "done") == "done"


async def test_a_toast_covers_neither_the_composer_nor_the_equally_wide_step_bar(
    program: Program, qtbot: QtBot
) -> None:
    await program.start(workflow="w1")
    window, chat = program.window, program.window.chat
    window.resize(1500, 860)
    toast = window.toasts.show("Saved")
    left = chat.composer.mapTo(window, QPoint()).x()
    assert window.conductor is not None
    bar = window.conductor.step_bar
    bar.paused = WaitingStep("r1", "r1", "A very long name of an agent " * 8, 0)
    bar._show(())
    qtbot.waitUntil(lambda: bar.isVisible() and bar.width() == chat.composer.width())

    def apart() -> None:
        assert toast.geometry().bottom() < bar.mapTo(window, QPoint()).y()
        assert chat.composer.mapTo(window, QPoint()).x() == left, "the bar pushes the composer aside"

    qtbot.waitUntil(apart)


def toast_buttons(program: Program) -> dict[str, QPushButton]:
    toast = program.window.findChild(QWidget, "toast")
    found = toast.findChildren(QPushButton) if toast is not None else []
    return {each.objectName(): each for each in found if each.isVisible()}


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        (1.5, "1,204 texts are waiting to be embedded by mistral/mistral-embed (up to $1.50)."),
        (None, "1,204 texts are waiting to be embedded by mistral/mistral-embed (price unknown)."),
    ],
)
async def test_texts_that_wait_for_a_paid_index_are_offered_with_their_price(
    program: Program, cost: float | None, words: str
) -> None:
    await program.start(workflow="w1")
    program.engine.set("memories", "offer", EmbeddingOffer(1204, "mistral/mistral-embed", cost))
    program.bridge.changed.emit("memory", "m1")
    await settle()
    assert not toast_buttons(program)  # another change of the memories offers nothing
    program.bridge.changed.emit("memory", EMBEDDING_OFFER)
    await settle()
    assert child(program.window, QWidget, "toast").accessibleName() == words
    buttons = toast_buttons(program)
    assert [each.text() for each in buttons.values()] == ["Embed now", "Not now"]
    assert not program.engine.calls("memories.embed_now")  # nothing that costs money starts by itself
    QTest.mouseClick(buttons["toast-action"], Qt.MouseButton.LeftButton)
    await settle()
    assert len(program.engine.calls("memories.embed_now")) == 1
    assert not toast_buttons(program)


async def test_the_offer_of_an_index_can_be_dismissed_and_is_made_only_for_waiting_texts(program: Program) -> None:
    await program.start(workflow="w1")
    program.engine.set("memories", "offer", None)
    program.bridge.changed.emit("memory", EMBEDDING_OFFER)
    await settle()
    assert not toast_buttons(program)
    program.engine.set("memories", "offer", EmbeddingOffer(1, "p/m", 0.01))
    program.bridge.changed.emit("memory", EMBEDDING_OFFER)
    await settle()
    QTest.mouseClick(toast_buttons(program)["toast-second"], Qt.MouseButton.LeftButton)
    await settle()
    assert not toast_buttons(program)
    assert not program.engine.calls("memories.embed_now")


async def test_a_granted_folder_is_offered_above_the_composer(program: Program) -> None:
    projects = Projects()
    for name, answer in projects.answers().items():
        program.engine.set("projects", name, answer)
    program.engine.set("files", "missing", ())
    program.engine.set("files", "trusted", lambda folders: dict.fromkeys(folders, True))
    await program.start(workflow="w1")
    chat = program.window.chat
    chat.folders._show(("/srv/shop",))
    await settle()
    offer = child(program.window, QWidget, "project-offer")
    assert offer.isVisible()
    assert child(offer, QLabel, "project-offer-text").text() == "Index “shop” so agents can search it?"
    assert offer.mapTo(chat, offer.rect().bottomLeft()).y() < chat.composer.mapTo(chat, QPoint()).y()
    QTest.mouseClick(child(offer, QPushButton, "project-offer-yes"), Qt.MouseButton.LeftButton)
    await settle()
    assert projects.answered == {"/srv/shop": True}
    assert not offer.isVisible()
    assert child(program.window, QWidget, "toast").accessibleName() == "Indexing “shop”…"
    assert [each.text() for each in toast_buttons(program).values()] == ["Show"]


async def test_no_line_remains_at_the_windows_edge_and_toasts_are_over_the_conversation(
    program: Program, qtbot: QtBot
) -> None:
    await program.start(workflow="w1")
    window = program.window
    window.resize(1300, 800)
    assert window.pages.property("variant") == "middle"
    toast = window.toasts.show("Saved")

    def centred() -> bool:
        return abs(toast.geometry().center().x() - window.pages.geometry().center().x()) <= 1

    def lines(variant: str) -> bool:
        return bool(window.pages.property("variant") == variant)

    qtbot.waitUntil(centred)
    window.toggle_sidebar()
    qtbot.waitUntil(lambda: window.pages.x() == 0 and lines("middle-right") and window.pages.contentsRect().left() == 0)
    qtbot.waitUntil(centred)
    window.rail.set_visible(False)
    qtbot.waitUntil(lambda: lines("middle-right") and window.pages.geometry().right() == window.rail.strip.x() - 1)
    window.rail.set_aside(True)
    qtbot.waitUntil(lambda: lines("middle-none") and window.pages.contentsRect().width() == window.width())
    window.toggle_sidebar()
    qtbot.waitUntil(lambda: lines("middle-left") and window.pages.contentsRect().left() == 1)


async def test_nothing_is_visible_beside_the_first_start_card(qtbot: QtBot) -> None:
    program = Program(qtbot)
    await program.start()
    window = program.window
    window.new_workflow()
    window.hold(True)
    await settle()
    texts = [each.text() for each in window.chat.empty.findChildren(QLabel) if each.isVisible()]
    assert texts == []
    assert not window.chat.bottom.isVisible(), "neither the composer nor the line about its model"
    window.hold(False)
    await settle()
    assert window.chat.composer.isVisible()
    assert window.focusWidget() is window.chat.composer.field


async def test_a_long_startup_error_can_be_read_completely(program: Program) -> None:
    program.window.resize(1024, 700)
    program.window.show_engine_error(
        StorageError("All of this went wrong with the data. " * 20, code="locked"), "/data", lambda: None
    )
    await settle()
    texts = [
        each
        for each in program.window.findChildren(QLabel)
        if each.isVisible() and each.text().startswith("All of this")
    ]
    assert len(texts) == 1
    assert texts[0].height() >= texts[0].heightForWidth(texts[0].width())


async def test_fonts_set_by_a_desktop_for_widget_classes_are_removed(program: Program, qtbot: QtBot) -> None:
    await program.start(workflow="w1")
    buttons = program.window.findChildren(QPushButton)
    # PySide's stub asks for bytes, which PySide refuses.
    QApplication.setFont(QFont("DejaVu Sans", 10), "QPushButton")  # type: ignore[arg-type]
    assert {button.font().family() for button in buttons} == {"DejaVu Sans"}
    QCoreApplication.sendEvent(program.window, QEvent(QEvent.Type.ThemeChange))
    qtbot.waitUntil(lambda: not {button.font().family() for button in buttons} & {"DejaVu Sans"})


async def test_on_a_sharper_screen_images_are_redrawn(program: Program, qtbot: QtBot) -> None:
    with qtbot.waitSignal(theme().changed):
        QCoreApplication.sendEvent(program.window, QEvent(QEvent.Type.DevicePixelRatioChange))


def test_the_first_paint_creates_neither_actions_nor_list_and_tab_still_reaches_the_list(
    qtbot: QtBot,
) -> None:
    window = MainWindow(FakeBridge(FakeAtelier()))
    qtbot.addWidget(window)
    window.show()
    assert window.findChild(QWidget, "workflow-list") is None
    assert not window.actions()
    window.prepare()
    listed = window.findChild(QWidget, "workflow-list")
    assert listed is not None
    assert listed.isVisible()
    assert window.actions()
    after = window.sidebar.search.nextInFocusChain()
    while after is not None and after.focusPolicy() == Qt.FocusPolicy.NoFocus:
        after = after.nextInFocusChain()
    assert after is listed
    foot, new = window.sidebar.foot, window.sidebar.new
    assert new.geometry().bottom() < listed.y() < listed.geometry().bottom() < foot.y()
