"""Search in projects: find, narrow, open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from atelier_desk.desktop.projects.search_result_rows import preview_lines
from atelier_desk.desktop.projects.window import ProjectsWindow
from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.project import EntityKind, ProjectHit
from tests.helpers.fake_bridge import FakeAtelier, settle
from tests.helpers.fake_project_service import ENTITIES

Find = Callable[[str], Any]


async def search(window: ProjectsWindow, text: str) -> None:
    window.search.enter(text)
    window.search.search()
    await window.search.jobs.settled()
    await settle()


def test_the_preview_has_the_lines_with_the_searched_words() -> None:
    text = "def save(self):\n    first\n    second\n    write the note\n    last"
    found = ProjectHit(entity=ENTITIES[3], project="notes", score=1, preview=text)
    assert preview_lines(found, "note") == ["def save(self):", "write the note"]
    assert preview_lines(found, "") == ["def save(self):", "first"]


async def test_a_search_shows_locations_and_opens_the_source_at_its_lines(window: ProjectsWindow, find: Find) -> None:
    find("project-search").click()
    await search(window, "disk")
    assert find("project-search-count").text() == "1 result"
    assert window.search.chosen is not None
    assert window.search.chosen.qualified == "Store.save"
    QTest.keyClick(window.search.field, Qt.Key.Key_Return)
    await window.code.jobs.settled()
    await settle()
    assert window.tabs.currentIndex() == 3
    assert window.code.place.text() == "store.py:9"


async def test_kinds_and_projects_narrow_it(window: ProjectsWindow, find: Find, atelier: FakeAtelier) -> None:
    window.open_search()
    await search(window, "notes")
    assert find("project-search-count").text() == "2 results"
    assert atelier.calls("projects.find")[-1][1]["project_ids"] == ("p1",)
    window.search.narrow({EntityKind.SECTION})
    await window.search.jobs.settled()
    assert find("project-search-count").text() == "1 result"
    assert find("project-search-kinds").text() == "Sections"
    find("project-search-where").setCurrentIndex(0)
    await window.search.jobs.settled()
    assert atelier.calls("projects.find")[-1][1]["project_ids"] == ()


async def test_an_empty_result_and_an_error_are_shown(window: ProjectsWindow, find: Find, atelier: FakeAtelier) -> None:
    window.open_search()
    await search(window, "zebra")
    assert window.search.empty.isVisible()
    assert window.search.empty.title == "No results"
    atelier.set("projects", "find", StorageError("The index is damaged."))
    await search(window, "note")
    assert find("project-search-count").text() == "The index is damaged."


async def test_ctrl_enter_shows_the_result_in_the_graph(window: ProjectsWindow) -> None:
    window.open_search()
    await search(window, "disk")
    QTest.keyClick(window.search.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    await window.graph.jobs.settled()
    assert window.tabs.currentIndex() == 2
    assert window.graph.model.entities[window.graph.view.chosen].id == "m1"
