"""The usage page: chart, table, texts, period and export."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from PySide6.QtCore import QRect
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.settings.application_language import switch_language
from atelier_desk.desktop.settings.bar_chart import PALER, BarChart
from atelier_desk.desktop.settings.pages import usage
from atelier_desk.desktop.settings.pages.usage import UsagePage
from atelier_desk.desktop.settings.window import SettingsWindow
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.theme.design_tokens import DARK, LIGHT, blend, contrast
from atelier_desk.domain.base_model import utc_now
from atelier_desk.domain.model_messages import Usage
from atelier_desk.domain.usage import MonthUsage, UsageRow, UsageSum
from atelier_desk.support import i18n
from atelier_desk.support.locale_format import NARROW
from tests.desktop.settings.conftest import Engine
from tests.helpers.fake_bridge import DelayedResult, settle

Find = Callable[[str], Any]


def row(
    days_ago: int, workflow: str, model: str, sent: int, *, cost: float = 0.0, unpriced: int = 0, agent: str = "Ada"
) -> UsageRow:
    usage = Usage(
        tokens_input=sent, tokens_output=sent // 10, tokens_cached=sent // 2, cost=cost, tokens_unpriced=unpriced
    )
    day = utc_now().astimezone().date() - timedelta(days=days_ago)
    return UsageRow(day, workflow, f"About {workflow}", agent, "p", model, UsageSum(usage, 2, 1500))


ROWS = [
    row(3, "herons", "small", 1000, cost=0.5),
    row(1, "herons", "large", 20_000, cost=2.0, agent="Bob"),
    row(0, "storks", "own", 300, unpriced=330),
]


@pytest.fixture
async def page(window: SettingsWindow, atelier: Engine) -> Any:
    atelier.set(
        "usage",
        "rows",
        lambda days=0, zone=None: [each for each in ROWS if not days or each is not ROWS[0] or days > 3],
    )
    window.show_page("usage")
    await settle()
    return window.page("usage")


def choose(box: QComboBox, value: object) -> None:
    box.setCurrentIndex(box.findData(value))
    box.activated.emit(box.currentIndex())


def cells(find: Find) -> list[list[str]]:
    table = find("usage-table")
    return [
        [table.item(row, column).toolTip().replace(NARROW, " ") for column in range(table.columnCount())]
        for row in range(table.rowCount())
    ]


async def test_every_day_of_the_period_has_a_bar_and_the_table_has_the_figures(page: Any, find: Find) -> None:
    chart: BarChart = find("usage-chart")
    assert len(chart.bars) == 30
    assert [round(bar.length) for bar in chart.bars[-4:]] == [1100, 0, 22_000, 330]
    assert [line[1:] for line in cells(find)] == [
        ["300", "150", "30", "unknown", "2", "1.5 s"],
        ["20,000", "10,000", "2,000", "$2.00", "2", "1.5 s"],
        ["1,000", "500", "100", "$0.50", "2", "1.5 s"],
        ["21,300", "10,650", "2,130", "at least $2.50", "6", "4.5 s"],
    ]
    assert find("usage-table").horizontalHeaderItem(6).text() == "Duration"
    assert [find("usage-table").item(3, column).text().replace(NARROW, " ") for column in (1, 4)] == [
        "21.3 k",
        "≥ $2.50",
    ]
    assert (
        find("usage-summary").text().replace(NARROW, " ") == "23,430 tokens · at least $2.50 · generation time: 4.5 s"
    )
    assert "330 tokens have no known price" in page.note.text()
    assert not chart.grab().isNull()


async def test_an_unknown_cost_is_labelled_as_a_cost(page: Any, find: Find, atelier: Engine) -> None:
    atelier.set("usage", "rows", [ROWS[2]])
    choose(find("usage-period"), 7)
    await settle()
    assert find("usage-summary").text().replace(NARROW, " ") == "330 tokens · cost unknown · generation time: 1.5 s"


async def test_cache_savings_are_shown(page: Any, find: Find, atelier: Engine) -> None:
    cached = row(0, "herons", "claude", 1000, cost=0.5)
    total = UsageSum(cached.total.usage.model_copy(update={"saved": 0.25}), 2, 1500)
    atelier.set("usage", "rows", lambda days=0, zone=None: [replace(cached, total=total)])
    page.reload()
    await settle()
    assert "$0.50 · $0.25 saved by the cache ·" in find("usage-summary").text()
    assert [line[2] for line in cells(find)] == ["500 · $0.25 saved by the cache"] * 2


async def test_sums_by_model_agent_and_workflow_are_in_descending_order(page: Any, find: Find) -> None:
    for by, names in (
        ("model", ["p/large", "p/small", "p/own"]),
        ("agent", ["Bob", "Ada"]),
        ("workflow", ["About herons", "About storks"]),
    ):
        choose(find("usage-by"), by)
        assert [line[0] for line in cells(find)] == [*names, "Total"]
        assert [bar.name for bar in find("usage-chart").bars] == names
        assert not find("usage-chart").grab().isNull()
    choose(find("usage-measure"), "cost")
    assert [(bar.name, bar.text) for bar in find("usage-chart").bars] == [
        ("About herons", "$2.50"),
        ("About storks", "unknown"),
    ]
    description = find("usage-chart").accessibleDescription()
    assert description == "About herons: $2.50; About storks: unknown"
    assert find("usage-chart").accessibleName() == "Bar chart: cost, by workflow"


async def test_what_imported_workflows_used_before_is_mentioned_where_it_is_left_out(
    page: Any, find: Find, atelier: Engine
) -> None:
    words = "What imported workflows used before their import is not included."
    assert words not in page.note.text()
    atelier.set("usage", "leaves_out", True)
    for rows in (ROWS, []):
        atelier.set("usage", "rows", rows)
        page.reload()
        await settle()
        assert words in page.note.text()
        assert page.note.isVisible()


async def test_another_period_is_loaded_and_an_empty_one_is_marked(page: Any, find: Find, atelier: Engine) -> None:
    choose(find("usage-period"), 1)
    await settle()
    assert [args for args, _fields in atelier.calls("usage.rows")] == [(30,), (1,)]
    assert len(cells(find)) == 3
    atelier.set("usage", "rows", [])
    choose(find("usage-period"), 0)
    await settle()
    assert page.empty.isVisible()
    assert not find("usage-chart").isVisible()
    assert not find("usage-export").isEnabled()


async def test_usage_that_is_still_read_is_not_called_none(window: SettingsWindow, atelier: Engine, find: Find) -> None:
    atelier.set("usage", "rows", delayed := DelayedResult(ROWS))
    window.show_page("usage")
    await settle()
    page = window.page("usage")
    assert isinstance(page, UsagePage)
    assert not page.empty.isVisible()
    await delayed.release()
    await settle()
    assert find("usage-summary").isVisible()


async def test_a_long_period_is_shown_by_month(page: Any, find: Find, atelier: Engine) -> None:
    atelier.set("usage", "rows", [row(400, "old", "m", 10), *ROWS])
    choose(find("usage-period"), 0)
    await settle()
    bars = find("usage-chart").bars
    assert 13 <= len(bars) <= 15
    assert bars[0].length == 11
    assert sum(bar.length for bar in bars) == 23_441


async def test_the_figures_are_exported(page: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page.export_to(tmp_path / "u.csv")
    lines = (tmp_path / "u.csv").read_text("utf-8-sig").splitlines()
    assert len(lines) == 1 + len(ROWS)
    assert lines[1].split(",")[2:6] == ["About herons", "Ada", "p", "small"]
    page.export_to(tmp_path)
    assert "could not be written" in page.window().toasts.current.accessibleName()
    monkeypatch.setattr(os, "fsync", Mock(side_effect=OSError(28, "No space left on device")))
    (tmp_path / "u.csv").write_text("old")
    page.export_to(tmp_path / "u.csv")
    assert (tmp_path / "u.csv").read_text() == "old", "a full disk destroys no file"


async def test_it_follows_the_language(page: Any, find: Find) -> None:
    switch_language("fr")
    await settle()
    assert cells(find)[-1][4] == "au moins 2,50 $"
    switch_language("en")


@pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=lambda tokens: tokens.name)
def test_both_parts_of_a_bar_contrast_with_the_background_and_each_other(tokens: Any) -> None:
    paler = blend(tokens.accent, tokens.surface, PALER)
    assert contrast(tokens.accent, tokens.surface) >= 3
    assert contrast(paler, tokens.surface) >= 2
    assert contrast(paler, tokens.accent) >= 1.4


async def test_all_columns_of_the_table_fit_into_the_page(
    page: Any, find: Find, window: SettingsWindow, qtbot: QtBot
) -> None:
    """Narrow figures under wide headings and wide ones under narrow: each column takes the wider of both."""
    window.resize(940, 680)
    for code in ("en", "fr"):
        i18n.set_language(code)

        def fits() -> None:
            table = find("usage-table")
            assert table.horizontalScrollBar().maximum() == 0
            assert table.horizontalHeader().length() == table.viewport().width(), (
                "it ends where the picture above it ends"
            )

        qtbot.waitUntil(fits)


def last_ink(picture: QImage, part: QRect) -> int:
    """The rightmost column of a part of an image that differs from its background: where a word ends."""
    ground = picture.pixelColor(part.left() + 1, part.top() + 4)
    columns = range(part.right(), part.left(), -1)
    lines = range(part.top() + 4, part.bottom() - 4)
    return next(x for x in columns if any(picture.pixelColor(x, y) != ground for y in lines))


async def test_table_headings_are_right_aligned_with_their_figures(
    page: Any, find: Find, window: SettingsWindow
) -> None:
    window.resize(940, 680)
    await settle()
    table = find("usage-table")
    header = table.horizontalHeader()
    for column in (1, 2, 5):
        left, wide = header.sectionViewportPosition(column), header.sectionSize(column)
        heads = last_ink(header.grab().toImage(), QRect(left + 2, 0, wide - 3, header.height()))
        figures = last_ink(table.viewport().grab().toImage(), QRect(left + 2, 0, wide - 3, table.rowHeight(0)))
        assert abs(heads - figures) <= 1, column


@pytest.mark.parametrize("language", ["en", "fr"])
async def test_in_a_narrow_window_the_cost_is_visible_and_a_scroll_bar_leads_to_the_other_columns(
    page: Any, window: SettingsWindow, find: Find, qtbot: QtBot, language: str
) -> None:
    table = find("usage-table")
    bar = table.horizontalScrollBar()
    assert bar.maximum() == 0, "all fit"
    theme().set_scale(150)
    switch_language(language)
    try:
        window.resize(1024, 700)
        await settle()
        qtbot.waitUntil(lambda: bar.maximum() > 0 and bar.isVisible())
        assert table.visualItemRect(table.item(0, 4)).right() <= table.viewport().width()
        assert not any(table.isColumnHidden(head) for head in range(7))
        last = table.visualItemRect(table.item(table.rowCount() - 1, 0))
        assert last.bottom() <= table.viewport().height(), "the bar covers no row"
    finally:
        theme().set_scale(100)
        switch_language("en")
    window.resize(1300, 800)
    await settle()
    qtbot.waitUntil(lambda: bar.maximum() == 0)


async def test_the_monthly_limit_is_shown_and_saved_as_it_is_typed(page: Any, find: Find, atelier: Engine) -> None:
    atelier.set("usage", "month", MonthUsage("2026-11", 2.5, 10.0))
    page.reload()
    await settle()
    shown = find("usage-month")
    assert shown.text().replace(NARROW, " ") == "This month: $2.50 of $10.00 (25%)"
    assert (find("usage-limit").value(), find("usage-limit").text()) == (10.0, "$10.00")
    find("usage-limit").setValue(12.5)
    await settle()
    assert atelier.calls("settings.update")[-1] == ((), {"monthly_cost_limit": 12.5, "monthly_warned": ""})
    switch_language("fr")
    try:
        await settle()
        assert shown.text().startswith("Ce mois-ci")
        assert find("usage-limit").text() == "10,00\u202f$", "the position is that of the sentence below"
    finally:
        switch_language("en")


async def test_a_limit_changed_elsewhere_is_shown_unless_one_is_being_typed(
    page: Any, find: Find, atelier: Engine, qtbot: QtBot
) -> None:
    limit = find("usage-limit")
    limit.setFocus()
    qtbot.waitUntil(limit.hasFocus)
    atelier.set("usage", "month", MonthUsage("2026-11", 2.5, 10.0))
    page.reload()
    await settle()
    assert limit.value() == 10.0, "the focus alone does not keep an old value"
    limit.selectAll()
    QTest.keyClicks(limit, "7")
    atelier.set("usage", "month", MonthUsage("2026-11", 2.5, 20.0))
    page.reload()
    await settle()
    assert limit.cleanText() == "7"
    limit.interpretText()
    await settle()
    assert atelier.calls("settings.update")[-1] == ((), {"monthly_cost_limit": 7.0, "monthly_warned": ""})


async def test_slow_loading_is_shown_and_can_be_stopped(
    page: Any, find: Find, atelier: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usage, "SLOW_S", 0.0)
    atelier.set("usage", "reading", (3, 12))
    atelier.set("usage", "rows", delayed := DelayedResult([ROWS[2]]))
    choose(find("usage-period"), 7)
    await settle()
    assert page.busy.isVisible()
    assert page.busy.text.text().startswith("Reading the history…")
    assert (page.busy._bar.value(), page.busy._bar.maximum()) == (3, 12)
    page.busy.stop.click()
    await settle()
    assert page.busy.text.text() == "Stopped."
    assert "23,430" in find("usage-summary").text().replace(NARROW, " "), "what was read before stays"
    choose(find("usage-period"), 30)
    await settle()
    await delayed.release()
    assert not page.busy.isVisible()
    assert "330" in find("usage-summary").text()
