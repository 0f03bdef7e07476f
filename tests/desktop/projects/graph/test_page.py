"""The graph page: load, expand, narrow, filter, and open the source of a node."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import numpy as np
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QMenu

from atelier_desk.desktop.projects.window import ProjectsWindow
from atelier_desk.domain.project import EntityKind
from tests.helpers.fake_bridge import DelayedResult, FakeAtelier, settle
from tests.helpers.fake_project_service import ENTITIES, Projects

Find = Callable[[str], Any]
SAVE = ENTITIES[3]


async def shown(window: ProjectsWindow) -> None:
    await window.graph.jobs.settled()
    await settle()


async def test_the_complete_project_is_drawn(window: ProjectsWindow, find: Find) -> None:
    find("project-graph").click()
    await shown(window)
    model = window.graph.model
    # Files with their contents and imports.
    assert {each.id for each in model.entities} == {"f1", "f2", "c1", "s1", "k1"}
    assert np.isfinite(model.places).all()
    assert find("graph-count").text() == "5 nodes, 4 relations"
    assert find("graph-kind-scope").text() == "Classes and functions · 2"
    assert not find("graph-kind-image").isVisible()


async def test_expanding_keeps_existing_positions(window: ProjectsWindow) -> None:
    window.open_graph(SAVE)
    await shown(window)
    graph = window.graph
    assert {each.id for each in graph.model.entities} == {"m1", "c1", "m2", "s1"}
    before = graph.model.places.copy()
    graph.expand(graph.model.number["s1"])
    await shown(window)
    assert "f2" in graph.model.number
    assert (graph.model.places[:4] == before).all()
    assert graph.model.entities[graph.view.chosen].id == "s1"


async def test_new_nodes_are_connected_with_all_existing_ones(window: ProjectsWindow) -> None:
    window.open_graph(SAVE)
    await shown(window)
    graph = window.graph
    for name in ("s1", "c1"):
        graph.expand(graph.model.number[name])
        await shown(window)
    edge = [graph.model.number["f2"], graph.model.number["f1"]]
    assert edge in graph.model.edges.tolist(), "that f2 imports f1 was no relation of what was around c1"


async def test_a_kind_is_hidden_and_shown_again(window: ProjectsWindow, find: Find) -> None:
    window.open_graph(None)
    await shown(window)
    find("graph-kind-scope").click()
    assert find("graph-count").text() == "3 nodes, 2 relations"
    find("graph-relation-imports").click()
    assert find("graph-count").text() == "3 nodes, 0 relations"
    find("graph-kind-scope").click()
    assert EntityKind.SCOPE not in window.graph.model.hidden_kinds


async def test_a_node_is_described_and_leads_to_its_source(window: ProjectsWindow, find: Find) -> None:
    window.open_graph(SAVE)
    await shown(window)
    assert find("graph-details").isVisible()
    assert "save" in find("graph-details-title").text()
    find("graph-only").click()
    assert window.graph.model.narrowed
    find("graph-all").click()
    assert not window.graph.model.narrowed
    find("graph-open").click()
    await window.code.jobs.settled()
    assert window.tabs.currentIndex() == 3
    assert window.code.place.text() == "store.py:9"


async def test_signature_and_docstring_of_a_node_are_fetched_when_it_is_chosen(
    window: ProjectsWindow, atelier: FakeAtelier
) -> None:
    window.open_graph(SAVE)
    await shown(window)
    window.graph.view.choose(-1)
    node = window.graph.model.number["m1"]
    # As exploring returns them.
    window.graph.model.entities[node] = SAVE.model_copy(update={"signature": "", "docstring": ""})
    window.graph.view.choose(node)
    await shown(window)
    text = " ".join(each.text() for each in window.graph.details.findChildren(QLabel))
    assert "Write one note to the disk." in text
    assert "self" in text
    assert atelier.calls("projects.entity")


async def test_the_menu_of_a_node(window: ProjectsWindow) -> None:
    window.open_graph(SAVE)
    await shown(window)
    window.graph.view.menu_requested.emit(window.mapToGlobal(window.rect().center()))
    menu = window.graph.findChild(QMenu, "graph-menu")
    assert menu is not None
    entries = {entry.text(): entry for entry in menu.actions() if entry.text()}
    assert list(entries) == [
        "Open the source",
        "Expand",
        "Show only neighbours",
        "Centre on this node",
        "Copy path and line",
    ]
    entries["Copy path and line"].trigger()
    assert QGuiApplication.clipboard().text() == "store.py:9"


async def test_fetching_can_be_stopped(
    window: ProjectsWindow, find: Find, atelier: FakeAtelier, projects: Projects
) -> None:
    delayed = DelayedResult(projects.explore("m1"))
    atelier.set("projects", "explore", delayed)
    window.open_graph(SAVE)
    await settle()
    assert window.graph.busy.running
    window.graph.busy.cancel()
    await asyncio.sleep(0)
    await shown(window)
    assert not len(window.graph.model)
    assert window.graph.busy.text.text() == "Stopped."


async def test_another_project_starts_with_an_empty_graph(window: ProjectsWindow) -> None:
    window.open_graph(SAVE)
    await shown(window)
    window.list.choose("p2")
    await window.jobs.settled()
    assert not len(window.graph.model)
    assert window.graph.empty.isVisible()


async def test_node_counts_are_formatted_in_the_readers_language(
    window: ProjectsWindow, find: Find, projects: Projects
) -> None:
    entities = [ENTITIES[0].model_copy(update={"id": f"n{number}", "path": f"{number}.py"}) for number in range(1_234)]
    window.graph.show_project(projects.stored[0])
    window.graph.model.add(entities, ())
    assert find("graph-count").text() == "1,234 nodes, 0 relations"
