"""The context inspector over a fake engine."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QComboBox, QListWidget, QPlainTextEdit, QPushButton, QWidget

from atelier_desk.desktop.panes.context.pane import ContextPane
from atelier_desk.desktop.panes.context.request_size_bar import PartsBar
from atelier_desk.desktop.theme import theme
from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.engine.services.request.sent_request_data import PartKind, PartSize
from atelier_desk.engine.services.team.agent_tree_and_timeline_types import AgentNode
from atelier_desk.support import i18n
from tests.desktop.panes.conftest import Show
from tests.desktop.panes.context.context_pane_fixtures import atelier, named, pane, texts
from tests.helpers import sample_team_history
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle

__all__ = ["atelier", "pane"]


async def test_the_newest_request_is_shown_part_by_part(pane: ContextPane) -> None:
    assert texts(named(pane, QListWidget, "context-request-list")) == ["Request 1 → Read file", "Request 2"]
    assert named(pane, QListWidget, "context-request-list").currentRow() == 1
    assert texts(named(pane, QListWidget, "context-items")) == [
        "System · You are Ada.",
        "You · Read it",
        "Result of “Read file” · the file",
    ]
    parts = named(pane, PartsBar, "context-parts")
    assert [part.kind for part in parts.parts] == ["system", "results", "message"]
    assert "50 tokens, 50%" in parts.accessibleDescription()
    assert parts.summary == "400 tokens · 40% of the context window"
    assert not parts.grab().isNull()


@pytest.mark.parametrize(
    ("language", "expected"),
    [("en", "32 tools available through search"), ("fr", "32 outils accessibles par recherche")],
)
async def test_tools_found_by_search_are_mentioned(
    pane: ContextPane, atelier: FakeAtelier, language: str, expected: str
) -> None:
    def request(run_id: str, seq: int) -> Any:
        return replace(sample_team_history.request(run_id, seq), searched_tools=32, searched_tokens=12_400)

    atelier.set("inspector", "request", request)
    i18n.set_language(language)
    pane.show_run("root", 3)
    await settle()
    assert expected in named(pane, PartsBar, "context-parts").summary


async def test_another_request_and_another_agent(pane: ContextPane, atelier: FakeAtelier) -> None:
    named(pane, QListWidget, "context-request-list").setCurrentRow(0)
    await settle()
    assert atelier.calls("inspector.request")[-1] == (("root", 3), {})
    agents = named(pane, QComboBox, "context-agent")
    assert [agents.itemText(row).strip() for row in range(agents.count())] == ["Ada", "Helper"]
    agents.setCurrentIndex(1)
    agents.activated.emit(1)
    await settle()
    assert atelier.calls("inspector.requests")[-1] == (("child",), {})
    assert agents.currentText().strip() == "Helper"


async def test_a_selected_request_stays_selected(pane: ContextPane, atelier: FakeAtelier) -> None:
    pane.show_run("child", 3)
    await settle()
    assert atelier.calls("inspector.request")[-1] == (("child", 3), {})
    pane.on_stream(StreamEvent(workflow_id="w1", run_id="child", chunk_type=ChunkType.USAGE))
    pane._refresh.timeout.emit()
    await settle()
    assert atelier.calls("inspector.request")[-1] == (("child", 3), {})
    assert named(pane, QListWidget, "context-request-list").currentRow() == 0


async def test_the_newest_request_follows_the_next_turn(pane: ContextPane, atelier: FakeAtelier) -> None:
    atelier.set("teams", "turns", sample_team_history.turns("root", "later"))
    atelier.set("teams", "tree", AgentNode(run_id="later", name="Ada"))
    pane.on_stream(StreamEvent(workflow_id="w1", run_id="later", chunk_type=ChunkType.USAGE))
    pane._refresh.timeout.emit()
    await settle()
    assert atelier.calls("inspector.requests")[-1] == (("later",), {})
    assert named(pane, QComboBox, "context-turn").currentText().startswith("Turn 2")


async def test_pin_and_unpin(pane: ContextPane, atelier: FakeAtelier) -> None:
    items, pin = named(pane, QListWidget, "context-items"), named(pane, QWidget, "context-pin")
    items.setCurrentRow(0)
    assert pin.isHidden()
    items.setCurrentRow(2)
    pin.click()
    await settle()
    items.setCurrentRow(1)
    pin.click()
    await settle()
    assert atelier.calls("runs.editing.pin") == [(("w1", "root:6", True), {}), (("w1", "root:2", False), {})]
    assert items.currentRow() == 1


async def test_omitted_messages_can_be_read_and_the_omission_undone(pane: ContextPane, atelier: FakeAtelier) -> None:
    named(pane, QPushButton, "context-tab-left-out").click()
    assert texts(named(pane, QListWidget, "context-items")) == ["Tool results shortened"]
    details = named(pane, QPlainTextEdit, "context-details").toPlainText()
    assert "the whole file" in details
    assert "about 900 tokens" in details
    named(pane, QPushButton, "context-undo").click()
    await settle()
    assert atelier.calls("runs.editing.undo_compaction") == [(("w1", "root:7"), {})]


async def test_tools_are_shown_as_sent(pane: ContextPane) -> None:
    named(pane, QPushButton, "context-tab-tools").click()
    assert texts(named(pane, QListWidget, "context-items")) == ["Read file"]
    assert '"type": "object"' in named(pane, QPlainTextEdit, "context-details").toPlainText()


async def test_copy_as_json(pane: ContextPane) -> None:
    named(pane, QWidget, "context-copy").click()
    copied = json.loads(QGuiApplication.clipboard().text())
    assert [each["role"] for each in copied["messages"]] == ["system", "user", "tool"]
    assert copied["tools"][0]["name"] == "read_file"
    assert copied["model"] == "gpt"


async def test_a_wide_pane_has_a_horizontal_layout(pane: ContextPane) -> None:
    assert pane.body.orientation() is Qt.Orientation.Vertical
    pane.window().resize(1000, 400)
    await settle()
    assert pane.body.orientation() is Qt.Orientation.Horizontal


async def test_an_empty_pane_shows_a_hint_and_a_hidden_one_loads_nothing(
    bridge: FakeBridge, atelier: FakeAtelier, shown: Show
) -> None:
    atelier.set("inspector", "requests", [])
    pane = ContextPane(bridge)
    pane.set_workflow("w1")
    await settle()
    assert atelier.calls("inspector.requests") == []
    shown(pane)
    await settle()
    assert not pane.empty.isHidden()
    assert bridge.errors == []


async def test_an_open_list_is_not_changed_by_new_requests(pane: ContextPane, atelier: FakeAtelier) -> None:
    atelier.set("teams", "turns", sample_team_history.turns("earlier", "root"))
    pane.reload()
    await settle()
    boxes = [named(pane, QComboBox, name) for name in ("context-turn", "context-agent")]
    assert [box.count() for box in boxes] == [2, 2]
    deleted: list[QComboBox] = []
    for box in boxes:
        box.model().rowsRemoved.connect(lambda *_, box=box: deleted.append(box))
        box.model().modelReset.connect(lambda *_, box=box: deleted.append(box))
    asked = len(atelier.calls("inspector.requests"))
    pane.on_stream(StreamEvent(workflow_id="w1", run_id="root", chunk_type=ChunkType.USAGE))
    pane._refresh.timeout.emit()
    await settle()
    assert len(atelier.calls("inspector.requests")) == asked + 1
    assert deleted == []


async def test_there_is_space_for_larger_text(pane: ContextPane) -> None:
    names = ("context-request-list", "context-items")
    before = [named(pane, QListWidget, name).minimumSize() for name in names]
    theme().set_scale(150)
    after = [named(pane, QListWidget, name).minimumSize() for name in names]
    assert after[0].width() == round(before[0].width() * 1.5)
    assert after[1].height() == round(before[1].height() * 1.5)


async def test_a_request_selected_while_loading_is_loaded_next(pane: ContextPane, atelier: FakeAtelier) -> None:
    pane.reload()
    pane.show_run("child", 3)
    pane.on_stream(StreamEvent(workflow_id="w1", run_id="child", chunk_type=ChunkType.USAGE))
    await settle()
    assert atelier.calls("inspector.request")[-1] == (("child", 3), {})
    assert named(pane, QComboBox, "context-agent").currentText().strip() == "Helper"


@pytest.mark.parametrize(
    ("scale", "width", "height"), [(100, 430, 220), (150, 660, 300), (150, 300, 300), (200, 700, 260)]
)
async def test_nothing_overlaps_in_a_short_pane(pane: ContextPane, scale: int, width: int, height: int) -> None:
    pane.setMinimumSize(180, 90)  # as in the window, where it may be smaller than its content
    theme().set_scale(scale)
    pane.window().resize(width, height)
    await settle()
    boxes = [
        QRect(part.mapTo(pane.body, QPoint()), part.size())
        for part in (pane.list, pane.parts, pane.items, pane._details)
    ]
    assert all(not one.intersects(other) for one, other in combinations(boxes, 2))
    assert all(pane.body.rect().contains(box) for box in boxes)
    assert pane._details.rect().contains(pane._copy_text.geometry())
    assert pane.parts.height() >= pane.parts.heightForWidth(pane.parts.width())
    area = pane._area
    assert area.viewport().height() >= pane.body.height() or area.verticalScrollBar().maximum() > 0


async def test_a_short_pane_shows_request_rows_and_text_side_by_side(pane: ContextPane) -> None:
    pane.setMinimumSize(180, 90)
    for height, orientation in (
        (700, Qt.Orientation.Vertical),
        (230, Qt.Orientation.Horizontal),
        (700, Qt.Orientation.Vertical),
    ):
        pane.window().resize(520, height)
        await settle()
        assert pane.body.orientation() is orientation


async def test_a_short_legend_shows_the_largest_parts_and_the_total(pane: ContextPane) -> None:
    parts = pane.parts
    sizes: dict[PartKind, int] = {"system": 10, "tools": 900, "memory": 20, "history": 400, "results": 30}
    parts.show_parts([PartSize(kind, tokens, tokens, 0.1) for kind, tokens in sizes.items()], "400 tokens")
    parts.limit(None)
    full_height = parts.heightForWidth(200)
    assert [part.kind for _line, _x, part, _text in parts._keys(200) if part is not None] == list(sizes)
    parts.limit(2)
    shown = parts._keys(200)
    assert parts.heightForWidth(200) < full_height
    kinds = [part.kind for _line, _x, part, _text in shown if part is not None]
    largest = sorted(sizes, key=lambda kind: -sizes[kind])[: len(kinds)]
    assert 0 < len(kinds) < len(sizes)
    assert kinds == [kind for kind in sizes if kind in largest]
    assert [text for *_place, text in shown][-2:] == ["…", "400 tokens"]
    assert "System: 10 tokens" in parts.toolTip()


async def test_the_text_has_the_font_and_colour_of_its_surroundings_in_every_theme(pane: ContextPane) -> None:
    details = named(pane, QPlainTextEdit, "context-details")
    for mode in ("light", "dark", "light"):
        theme().set_mode(mode)
        await settle()
        families = {
            details.fontInfo().family(),
            details.document().defaultFont().family(),
            pane._title.fontInfo().family(),
        }
        assert len(families) == 1, families
