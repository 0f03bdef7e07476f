"""Every page fits into the window at any text size and in any language: nothing is clipped on the right."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from PySide6.QtCore import QPoint, QSize, Qt
from PySide6.QtGui import QFontMetrics
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractItemView,
    QAbstractSpinBox,
    QCheckBox,
    QComboBox,
    QLabel,
    QPushButton,
    QScrollArea,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionButton,
    QStyleOptionComboBox,
    QStyleOptionViewItem,
    QWidget,
)
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.settings.agent_form import AgentForm
from atelier_desk.desktop.settings.application_language import switch_language
from atelier_desk.desktop.settings.prompt_size_note import PromptCostNote
from atelier_desk.desktop.settings.registry import sections
from atelier_desk.desktop.settings.setting_rows_and_footer import Row
from atelier_desk.desktop.settings.window import SIZE, SettingsWindow
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import fitting, label
from atelier_desk.desktop.widgets.expand_button import Fold
from atelier_desk.domain.agent import ToolMode
from atelier_desk.engine.maintenance import doctor
from atelier_desk.engine.maintenance.system_checks import Check
from atelier_desk.engine.services.request.prompt_size import PromptCost
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import settle

NAMES = (
    "general",
    "providers",
    "agents",
    "prompts",
    "skills",
    "mcp",
    "approvals",
    "memory",
    "projects",
    "web",
    "media",
    "shortcuts",
    "quick",
    "usage",
    "data",
    "diagnostics",
)


def content_of(area: QScrollArea) -> QWidget:
    content = area.widget()
    assert content is not None
    return content


@pytest.mark.parametrize(("language", "scale"), [("en", 100), ("fr", 150)])
async def test_no_page_is_wider_than_its_window(
    window: SettingsWindow, monkeypatch: pytest.MonkeyPatch, language: str, scale: int
) -> None:
    async def checked(_atelier: object) -> list[Check]:
        return [
            Check(
                name="database",
                title="Database",
                status="fail",
                message="It cannot be opened. " * 8,
                fix="Restore a backup.",
            )
        ]

    monkeypatch.setattr(doctor, "checks", checked)
    theme().set_scale(scale)
    switch_language(language)
    window.resize(SIZE)
    for name in NAMES:
        window.show_page(name)
        await settle()
        area = window.page(name).area
        assert content_of(area).width() <= area.viewport().width(), name
    switch_language("en")
    await settle()


@pytest.mark.parametrize("language", ["en", "fr"])
async def test_a_narrow_window_clips_nothing_on_the_right(window: SettingsWindow, language: str) -> None:
    theme().set_scale(150)
    switch_language(language)
    window.resize(800, 660)
    wide = {}
    for name in NAMES:
        window.show_page(name)
        await settle()
        area = window.page(name).area
        wide[name] = content_of(area).width() - area.viewport().width()
    assert {name: over for name, over in wide.items() if over > 0} == {}
    switch_language("en")
    await settle()


def fits(box: QComboBox) -> bool:
    """Whether its widest entry is readable."""
    option = QStyleOptionComboBox()
    box.initStyleOption(option)
    room = (
        box.style()
        .subControlRect(QStyle.ComplexControl.CC_ComboBox, option, QStyle.SubControl.SC_ComboBoxEditField, box)
        .width()
    )
    return max(box.fontMetrics().horizontalAdvance(box.itemText(row)) for row in range(box.count())) <= room


@pytest.mark.parametrize(("scale", "width"), [(100, 780), (100, 1020), (150, 1020)])
async def test_no_choice_on_the_web_page_is_clipped(window: SettingsWindow, scale: int, width: int) -> None:
    """A combo box keeps the width of the texts with which it was first shown, here English.

    780 pixels at 150 % are too few for the longest entry, which is elided.
    """
    window.show_page("web")
    await settle()
    theme().set_scale(scale)
    switch_language("fr")
    window.resize(width, 660)
    await settle()
    for name in ("web-scripts", "web-search"):
        box = window.page("web").findChild(QComboBox, name)
        assert box is not None
        async with asyncio.timeout(20):
            while not fits(box):
                await settle()
    switch_language("en")
    await settle()


async def test_fields_side_by_side_are_level_even_if_one_label_has_two_lines(
    window: SettingsWindow,
) -> None:
    switch_language("fr")
    window.resize(820, 700)
    window.show_page("agents")
    await settle()
    form = window.findChild(AgentForm)
    assert form is not None
    form.advanced.setChecked(True)
    await settle()
    captions = [form.captions[name] for name in ("approval", "question_timeout_s")]
    assert len({each.heightForWidth(each.width()) for each in captions}) == 2, "the window is wide enough for one line"
    for left, right in (("approval", "question_timeout_s"), ("effort", "tool_mode"), ("provider", "model")):
        assert form.controls[left].mapTo(form, QPoint()).y() == form.controls[right].mapTo(form, QPoint()).y(), left
    switch_language("en")
    await settle()


async def test_a_scroll_bar_does_not_move_its_neighbours(window: SettingsWindow) -> None:
    """The column has the same width with and without a scroll bar, also after the window was made lower."""
    widths = {}
    for height in (1200, 420):
        window.resize(SIZE.width(), height)
        for name in ("general", "memory", "shortcuts"):
            window.show_page(name)
            await settle()
            page = window.page(name)
            widths[name, height, page.area.verticalScrollBar().isVisible()] = page._inner.width()
    assert {scrolls for _name, _height, scrolls in widths} == {False, True}
    assert len(set(widths.values())) == 1, widths


@pytest.mark.parametrize("scale", [80, 100, 150])
@pytest.mark.parametrize("language", ["en", "fr"])
async def test_no_page_name_is_clipped(window: SettingsWindow, language: str, scale: int) -> None:
    theme().set_scale(scale)
    switch_language(language)
    await settle()
    view = window.list
    for row in range(view.count()):
        option = QStyleOptionViewItem()
        delegate = view.itemDelegate()
        assert isinstance(delegate, QStyledItemDelegate)
        delegate.initStyleOption(option, view.indexFromItem(view.item(row)))
        option.rect = view.visualItemRect(view.item(row))
        option.widget, option.font = view, view.font()
        room = view.style().subElementRect(QStyle.SubElement.SE_ItemViewItemText, option, view).width()
        assert QFontMetrics(theme().font(14)).horizontalAdvance(view.item(row).text()) <= room, view.item(row).text()
    switch_language("en")
    await settle()


@pytest.mark.parametrize("scale", [80, 100, 200])
async def test_check_boxes_grow_with_the_text(window: SettingsWindow, scale: int) -> None:
    theme().set_scale(scale)
    window.show_page("approvals")
    await settle()
    boxes = window.page("approvals").findChildren(QCheckBox)
    assert boxes
    for box in boxes:
        option = QStyleOptionButton()
        box.initStyleOption(option)
        tick = box.style().subElementRect(QStyle.SubElement.SE_CheckBoxIndicator, option, box)
        assert tick.width() == tick.height() == theme().px(16) + 2, box.objectName()
        assert box.rect().contains(tick)


@pytest.mark.parametrize("scale", [100, 150])
async def test_the_cost_of_tools_is_never_clipped(window: SettingsWindow, scale: int) -> None:
    theme().set_scale(scale)
    window.show_page("agents")
    await settle()
    note = window.findChild(PromptCostNote, "agent-prompt-cost")
    form = window.findChild(AgentForm)
    assert note is not None
    assert form is not None
    form.advanced.setChecked(True)
    for width in (700, 940, 1300):
        window.resize(width, 680)
        note.show_costs({mode: PromptCost(0, 623, 9, searched=57, listed=21_076) for mode in ToolMode})
        await settle()
        assert note.height() >= note.heightForWidth(note.width()), width


@pytest.mark.parametrize("scale", [100, 150, 200])
async def test_a_tools_description_is_below_its_name(window: SettingsWindow, scale: int) -> None:
    window.show_page("agents")
    await settle()
    for fold in window.findChildren(Fold):
        fold.setChecked(True)
    theme().set_scale(scale)
    await settle()
    box = child(window, QCheckBox, "tool-enabled-TodoTool")
    option = QStyleOptionButton()
    box.initStyleOption(option)
    name = box.style().subElementRect(QStyle.SubElement.SE_CheckBoxContents, option, box)
    row = box.parentWidget()
    assert row is not None
    [summary] = [each for each in row.findChildren(QLabel) if each.buddy() is box]
    assert abs(summary.contentsRect().left() - name.left()) <= 1


def test_the_list_of_pages_checked_here_is_complete() -> None:
    assert {entry.name for entry in sections()} - {"tools"} == set(NAMES)


async def test_a_wide_field_moves_below_its_label_in_a_narrow_window(window: SettingsWindow) -> None:
    window.show_page("memory")
    await settle()
    row = window.page("memory").form.places["kind"]  # type: ignore[attr-defined]
    window.resize(1100, 700)
    await settle()
    assert row.control.y() < row.caption.geometry().bottom() + row.hint.height()
    theme().set_scale(150)
    window.resize(760, 700)
    await settle()
    assert row.control.y() >= row.hint.geometry().bottom()
    assert row.rect().contains(row.control.geometry())


def test_a_field_moves_below_a_label_that_would_need_three_lines(qtbot: QtBot) -> None:
    box = QComboBox()
    box.addItem("A choice that takes much of the width of its row")
    row = Row(box)
    qtbot.addWidget(row)
    row.set_texts("Have the model suggest memories at the end of each answer")
    row.resize(box.sizeHint().width() + 160, 200)
    row.show()
    qtbot.waitUntil(lambda: box.y() > row.caption.geometry().bottom())
    row.resize(box.sizeHint().width() + 600, 200)
    qtbot.waitUntil(lambda: box.y() < row.caption.geometry().bottom())


def test_an_ampersand_in_a_caption_is_shown(qtbot: QtBot) -> None:
    """A name of a project or an agent: a label with a buddy would show "R&D" as "RD"."""
    row = Row(QCheckBox())
    qtbot.addWidget(row)
    row.set_texts(lambda: "R&D")
    assert row.caption.sizeHint().width() == label("R&D").sizeHint().width()
    assert row.control.accessibleName() == "R&D"


async def test_a_models_name_always_has_some_width(window: SettingsWindow) -> None:
    theme().set_scale(150)
    window.show_page("providers")
    window.resize(700, 680)
    await settle()
    table: Any = window.findChild(QWidget, "model-table")
    assert table.columnWidth(1) >= theme().px(110)
    window.resize(1000, 680)
    await settle()
    assert table.horizontalScrollBar().maximum() == 0, "at 150% what a window of 1024 pixels has is enough"


def test_windows_grow_with_the_text_but_not_beyond_the_screen(qtbot: QtBot) -> None:
    widget = QWidget()
    qtbot.addWidget(widget)
    assert fitting(QSize(300, 200), widget) == QSize(300, 200)
    theme().set_scale(200)
    assert fitting(QSize(300, 200), widget) == QSize(600, 400)
    room = widget.screen().availableSize()
    assert fitting(QSize(5000, 5000), widget).width() < room.width()


async def test_fields_may_shrink_below_their_longest_choice(window: SettingsWindow) -> None:
    window.show_page("agents")
    await settle()
    boxes = window.page("agents").findChildren(QComboBox)
    assert boxes
    assert all(box.minimumWidth() == theme().px(112) for box in boxes)


async def test_check_boxes_align_with_the_fields_above_and_below(window: SettingsWindow) -> None:
    window.resize(SIZE)
    window.show_page("general")
    await settle()
    page = window.page("general")
    fields = [each for each in page.findChildren(QAbstractSpinBox) if each.isVisible()]
    boxes = [each for each in page.findChildren(QCheckBox) if each.isVisible()]
    assert fields
    assert boxes
    edge = max(each.mapTo(window, each.rect().topRight()).x() for each in fields)
    for box in boxes:
        option = QStyleOptionButton()
        box.initStyleOption(option)
        drawn = box.style().subElementRect(QStyle.SubElement.SE_CheckBoxIndicator, option, box)
        assert abs(box.mapTo(window, drawn.topRight()).x() - edge) <= 1, box.accessibleName()


async def test_the_focused_row_has_a_frame(window: SettingsWindow, qtbot: QtBot) -> None:
    window.show_page("general")
    qtbot.waitActive(window)
    window.search.setFocus()
    await settle()
    assert frame(window.list) == 0
    QTest.keyClick(window.search, Qt.Key.Key_Tab)
    await settle()
    assert window.list.hasFocus()
    assert frame(window.list) > 100


def frame(view: QAbstractItemView) -> int:
    """Pixels in the accent colour around the current row."""
    box = view.visualRect(view.currentIndex())
    picture = view.viewport().grab(box).toImage()
    accent = theme().colour("accent").rgb()
    edges = [(x, y) for x in range(picture.width()) for y in (0, picture.height() - 1)]
    return sum(picture.pixel(x, y) == accent for x, y in edges)


async def test_new_delete_cancel_and_save_have_one_position_and_label_on_every_page(window: SettingsWindow) -> None:
    """Below a list, adding comes first and deleting last; a form ends with Cancel and Save, always visible."""
    window.resize(1000, 700)
    saves, lines = [], []
    for entry in sections():
        window.show_page(entry.name)
        await settle()
        page = window.page(entry.name)
        rows: dict[QWidget, list[QPushButton]] = {}
        for button in page.findChildren(QPushButton):
            row = button.parentWidget()
            if button.isVisible() and row is not None and button.objectName():
                rows.setdefault(row, []).append(button)
        for found in rows.values():
            found.sort(key=lambda each: (each.y(), each.x()))
            words = [each.text() for each in found]
            if "Save" in words and "Cancel" in words:
                saves.append(entry.name)
                assert words[-2:] == ["Cancel", "Save"], entry.name
                assert found[-1].mapTo(page, QPoint(0, found[-1].height())).y() <= page.height(), entry.name
            names = [each.objectName().rpartition("-")[2] for each in found]
            if {"add", "new"} & set(names) and {"remove", "delete"} & set(names):
                lines.append(entry.name)
                assert names[0] in {"add", "new"}, entry.name
                assert (names[-1] in {"remove", "delete"}, words[-1]) == (True, "Delete"), entry.name
    assert lines == ["providers", "agents", "mcp", "prompts"]
    assert saves == ["providers", "agents", "mcp", "memory", "prompts", "web", "media"]
