"""Search everywhere: readable results by workflow, keyboard use, and opening a result at its message."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from PySide6.QtCore import QCoreApplication, QModelIndex, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.search import search_everywhere
from atelier_desk.desktop.chat.search.search_everywhere import SearchEverywhere
from atelier_desk.desktop.chat.search.search_everywhere_rows import who
from atelier_desk.desktop.settings.application_language import switch_language
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.theme.manager import Mode
from atelier_desk.domain.call_presentation_and_subjects import CallText, Presentation
from atelier_desk.domain.errors import StorageError
from atelier_desk.storage.repositories import SearchHit
from atelier_desk.storage.search_terms import word_places
from tests.desktop.chat.panel_harness import PanelHarness
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import DelayedResult, FakeAtelier, FakeBridge, settle
from tests.helpers.pixel_colours import colours

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
CALL = Presentation(
    icon="calculator",
    title="Calculator",
    summary=CallText(text="Calculate {x}", params={"x": "12*7"}),
    done="Calculated {x}",
)
HITS = [
    SearchHit(
        "message",
        "w1",
        "Budget",
        "m1",
        4,
        "…## The **budget** of\n- the `year` is **ti…",
        NOW,
        run_id="r1",
        message_id="m1",
        who="Ada",
    ),
    SearchHit(
        "tool_execution",
        "w2",
        "Shelf",
        "r2:c",
        0,
        "the budget * 2",
        NOW,
        "r2",
        "m2",
        tool="CalculatorTool",
        presentation=CALL,
    ),
    SearchHit("message", "w1", "Budget", "m0", 1, "Make a budget", NOW, run_id="r1", message_id="m0"),
    SearchHit("memory", "", "", "k", 0, "The budget is tight", NOW),
]


@pytest.fixture
def search(qtbot: QtBot) -> Iterator[SearchEverywhere]:
    window = QWidget()
    window.resize(1000, 700)
    qtbot.addWidget(window)
    window.show()
    yield SearchEverywhere(FakeBridge(FakeAtelier(workflows={"search": HITS})), window)
    window.close()


async def find(search: SearchEverywhere) -> None:
    search.popup("budget")
    search.search()
    await settle()


def rows(search: SearchEverywhere) -> list[str]:
    model = search.list.model()
    return [str(model.index(row, 0).data()) for row in range(model.rowCount())]


async def test_results_are_grouped_by_workflow_in_plain_text(search: SearchEverywhere) -> None:
    await find(search)
    assert rows(search) == ["Budget", "Ada", "You", "Shelf", "Calculated 12*7", "Memories for all workflows", "Memory"]
    accessible_text = search.list.model().index(4, 0).data(Qt.ItemDataRole.AccessibleTextRole)
    assert accessible_text.startswith("Calculated 12*7, ")
    assert accessible_text.endswith(", the budget * 2")  # no Markdown
    message = search.list.model().index(1, 0).data(Qt.ItemDataRole.AccessibleTextRole)
    assert message.endswith(", …The budget of the year is ti…")
    assert search._count.text() == "4 results"
    headings = [row for row in range(7) if search.list.value(search.list.rows.index(row, 0)) is None]
    assert headings == [0, 3, 5]


async def test_the_arrows_skip_headings_and_enter_opens(search: SearchEverywhere) -> None:
    opened: list[tuple[str, ...]] = []
    search.chosen.connect(lambda *target: opened.append(target))
    await find(search)
    assert search.list.currentIndex().row() == 1
    for key, row in (("Up", 6), ("Down", 1), ("Down", 2), ("Down", 4), ("PageDown", 6), ("Up", 4)):
        QTest.keyClick(search.field, Qt.Key[f"Key_{key}"])
        assert search.list.currentIndex().row() == row
    QTest.keyClick(search.field, Qt.Key.Key_Return)
    assert opened == [("w2", "tool_execution", "r2:c", "m2")]
    assert search.isHidden()


@pytest.mark.parametrize("mode", ["light", "dark"])
async def test_the_searched_words_are_marked(search: SearchEverywhere, mode: Mode) -> None:
    theme().set_mode(mode)
    await find(search)
    index: QModelIndex = search.list.model().index(2, 0)
    image = search.list.viewport().grab(search.list.visualRect(index)).toImage()
    assert QColor(theme().tokens.warn_soft).name() in colours(image)


def test_positions_of_the_searched_words() -> None:
    assert [("Réunions du budget"[a:b]) for a, b in word_places("Réunions du budget", "la réunion, budgets")] == [
        "Réunions",
        "budget",
    ]
    assert word_places("nothing", "budget") == []


async def test_a_result_opens_at_its_message_while_the_workflow_still_loads(qtbot: QtBot) -> None:
    harness = PanelHarness(qtbot)
    harness.engine.set("teams", "run_of", None)
    await harness.panel.choices.load()
    harness.panel.open_workflow("w1")
    harness.panel.finder.reveal("u1")
    await settle(20)
    assert harness.texts == ["Question", "Answer"]
    assert not harness.panel.view.following, "it is scrolled to the message, not to the end"


def test_messages_to_a_sub_agent_show_their_author() -> None:
    hit = SearchHit("message", "w1", "Budget", "m9", 1, "Check the budget", NOW, run_id="r9", message_id="m9", to="Bea")
    assert who(hit) == "Message to Bea"
    assert who(hit._replace(to="")) == "You"


async def test_the_result_count_follows_the_language(search: SearchEverywhere) -> None:
    await find(search)
    count = child(search, QLabel, "search-everywhere-count")
    assert count.text() == "4 results"
    switch_language("fr")
    QCoreApplication.sendPostedEvents()
    assert count.text() == "4 résultats"


async def test_a_search_that_first_reads_the_history_shows_how_far_it_is(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_everywhere, "SLOW_S", 0.0)
    results = DelayedResult(HITS)
    window = QWidget()
    qtbot.addWidget(window)
    engine = FakeAtelier(workflows={"search": results}, usage={"reading": None})
    search = SearchEverywhere(FakeBridge(engine), window)
    await find(search)
    assert search._count.text() == "Searching…"
    engine.answers["usage.reading"] = (3, 12)
    await settle()
    assert search._count.text() == "Reading workflow history: 3 of 12…"
    await results.release()
    await settle()
    assert search._count.text() == "4 results"


@pytest.mark.parametrize("error", [StorageError("no full-text search"), OSError(28, "No space left on device")])
async def test_a_failed_search_does_not_go_on_saying_that_it_searches(qtbot: QtBot, error: Exception) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    search = SearchEverywhere(FakeBridge(FakeAtelier(workflows={"search": error})), window)
    await find(search)
    assert search._count.text() == ""
