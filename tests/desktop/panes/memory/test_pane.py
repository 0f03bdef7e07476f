"""The memory pane: search, filters, pages, changes, undo."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any, Literal

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QMenu, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.panes import time_format
from atelier_desk.desktop.panes.memory.dialog import MemoryDialog, provenance, split_tags
from atelier_desk.desktop.panes.memory.duplicate_memories import TidyDialog
from atelier_desk.desktop.panes.memory.pane import PAGE, MemoryPane
from atelier_desk.desktop.widgets.minute_clock import MinuteClock
from atelier_desk.domain.base_model import utc_now
from atelier_desk.domain.memory import Memory, MemoryHit, MemoryScope, MemoryType
from atelier_desk.engine.services.common.memory_maintenance import MemoryPair
from tests.desktop.panes.conftest import Show
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle
from tests.helpers.mouse_pointer import aim, leave


def memory(number: int, **fields: Any) -> Memory:
    return Memory(id=f"m{number}", content=f"Fact number {number}", **({"type": MemoryType.KNOWLEDGE} | fields))


EVERY = [memory(number) for number in range(250)]


@pytest.fixture
async def pane(bridge: FakeBridge, atelier: FakeAtelier, shown: Show) -> MemoryPane:
    atelier.set("memories", "list", lambda **kw: EVERY[kw["offset"] : kw["offset"] + kw["limit"]])
    atelier.set("memories", "describe", {"tags": {"python": 2, "style": 1}})
    made = shown(MemoryPane(bridge))
    made.set_workflow("w")
    await settle()
    return made


async def test_pages_of_a_hundred_are_loaded_while_scrolling(pane: MemoryPane, atelier: FakeAtelier) -> None:
    model = pane.list.model()
    assert pane.list.objectName() == "memory-list"
    assert model.rowCount() == PAGE
    for expected in (200, 250, 250):
        pane.list.verticalScrollBar().setValue(pane.list.verticalScrollBar().maximum())
        await settle()
        assert model.rowCount() == expected
    offsets = [kwargs["offset"] for _args, kwargs in atelier.calls("memories.list")]
    assert offsets == [0, 100, 200]
    assert model.index(249, 0).data() == "Fact number 249"


async def test_only_rows_whose_age_has_another_text_are_repainted(
    pane: MemoryPane, atelier: FakeAtelier, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = utc_now()
    ages = (timedelta(minutes=3), timedelta(days=2, minutes=30))
    atelier.set("memories", "list", [memory(at, created_at=now - age) for at, age in enumerate(ages)])
    pane.reload()
    await settle()
    painted: list[int] = []
    pane.list.memories.dataChanged.connect(lambda first, last: painted.extend(range(first.row(), last.row() + 1)))
    monkeypatch.setattr(time_format, "utc_now", lambda: now + timedelta(minutes=2))
    child(pane.list, MinuteClock).timeout.emit()
    assert painted == [0]
    assert "5 minutes ago" in pane.list.model().index(0, 0).data(Qt.ItemDataRole.AccessibleTextRole)


async def test_searching_waits_for_the_end_of_typing_and_shows_the_parts_of_the_score(
    pane: MemoryPane, atelier: FakeAtelier, qtbot: QtBot
) -> None:
    hit = MemoryHit(
        memory=EVERY[3], score=0.81, relevance=0.9, lexical=0.5, cosine=0.7, certainty=0.4, importance=0.6, recency=1
    )
    atelier.set("memories", "search", SimpleNamespace(hits=[hit], search_type="hybrid"))
    QTest.keyClicks(pane.search, "fact")
    assert atelier.calls("memories.search") == []
    qtbot.waitUntil(lambda: not pane._typing.isActive())
    await settle()
    assert [args for args, _kwargs in atelier.calls("memories.search")] == [("fact",)]
    assert pane.list.model().rowCount() == 1
    assert pane.list.model().index(0, 0).data(Qt.ItemDataRole.ToolTipRole) == (
        "score 0.81 · relevance 0.90 · words 0.50 · meaning 0.70 · certainty 0.40 · importance 0.60 · recency 1.00"
    )
    assert pane.found.text() == "found by keywords and meaning"


async def test_filters_are_sent_to_the_engine(pane: MemoryPane, atelier: FakeAtelier) -> None:
    assert [action.text() for action in pane.filters.menus["tag"].actions()] == ["All tags", "#python", "#style"]
    for name, value in (("type", MemoryType.DECISION), ("scope", MemoryScope.GENERAL), ("tag", "style")):
        next(action for action in pane.filters.menus[name].actions() if action.data() == value).trigger()
        await settle()
    assert atelier.calls("memories.list")[-1][1] == {
        "workflow_id": "w", "scope": MemoryScope.GENERAL, "type": MemoryType.DECISION, "tags": ("style",), "limit": 100,
        "offset": 0,
    }  # fmt: skip


async def test_selected_filters_are_shown_and_cleared(pane: MemoryPane, atelier: FakeAtelier) -> None:
    assert not pane.filters.isVisible()
    pane.filters.choose("type", MemoryType.DECISION)
    pane.filters.choose("tag", "style")
    await settle()
    assert pane.filters.isVisible()
    assert pane.filters.button.accessibleName() == "Filter: Decision · #style"
    assert [action.data() for action in pane.filters.menus["type"].actions() if action.isChecked()] == [
        MemoryType.DECISION
    ]
    QTest.mouseClick(child(pane.filters, QWidget, "memory-filter-clear"), Qt.MouseButton.LeftButton)
    await settle()
    assert not pane.filters.isVisible()
    assert atelier.calls("memories.list")[-1][1]["tags"] == ()
    assert atelier.calls("memories.list")[-1][1]["type"] is None


async def test_a_selected_tag_no_longer_in_use_can_be_deselected(pane: MemoryPane) -> None:
    pane.filters.choose("tag", "style")
    pane.filters.set_tags(["python"])
    assert pane.filters.tags == ("python", "style")
    assert pane.filters.tag == "style"


async def test_the_forms_have_titles_of_their_own(pane: MemoryPane) -> None:
    pane.add()
    pane.edit("m1")
    assert [dialog.windowTitle() for dialog in pane.window().findChildren(MemoryDialog)] == [
        "New memory",
        "Edit memory",
    ]


async def test_a_new_memory_has_the_defaults_of_its_type(pane: MemoryPane, atelier: FakeAtelier) -> None:
    pane.add()
    dialog = child(pane.window(), MemoryDialog)
    dialog.type.setCurrentIndex(dialog.type.findData(MemoryType.CONTEXT))
    assert dialog.scope.currentData() == MemoryScope.WORKFLOW
    assert dialog.importance.value() == 0.3
    dialog.content.setPlainText("Réunion lundi")
    dialog.tags.setText("#work, work, monday ")
    child(dialog, QPushButton, "form-submit").click()
    await settle()
    fields = {"content": "Réunion lundi", "tags": ("work", "monday"), "importance": 0.3}
    expected = {"workflow_id": "w", "type": MemoryType.CONTEXT, "scope": MemoryScope.WORKFLOW} | fields
    assert atelier.calls("memories.add") == [((), expected)]


async def test_a_memory_is_edited_and_invalid_values_are_refused(pane: MemoryPane, atelier: FakeAtelier) -> None:
    pane.edit("m1")
    dialog = child(pane.window(), MemoryDialog)
    assert dialog.content.textCursor().atEnd(), "what is typed is added"
    dialog.tags.setText("x" * 65)
    child(dialog, QPushButton, "form-submit").click()
    await settle()
    assert child(dialog, QLabel, "form-error").text() == "A tag can have at most 64 characters."
    assert not dialog.type.isVisible()
    dialog.tags.setText("ok")
    child(dialog, QPushButton, "form-submit").click()
    await settle()
    assert atelier.calls("memories.update") == [
        (("m1",), {"content": "Fact number 1", "tags": ("ok",), "importance": 0.5})
    ]


async def test_delete_can_be_undone(pane: MemoryPane, atelier: FakeAtelier) -> None:
    pane.list.setCurrentIndex(pane.list.model().index(2, 0))
    QTest.keyClick(pane.list, Qt.Key.Key_Delete)
    await settle()
    assert atelier.calls("memories.delete") == [(("m2",), {})]
    assert pane.list.memories.row_of("m2") == -1
    child(pane.window(), QPushButton, "toast-action").click()
    await settle()
    assert atelier.calls("memories.undo_delete") == [(("m2",), {})]
    assert pane.list.memories.row_of("m2") == 2
    assert pane.list.currentIndex().row() == 2


def test_provenance_shows_who_wrote_and_who_found_it() -> None:
    by_agent = memory(1, source="agent", agent_source="Ada", retrieved_by=("r1", "r2"))
    assert provenance(by_agent).startswith("Written by Ada, ")
    assert provenance(by_agent).endswith("Used by 2 runs")
    assert provenance(memory(2, source="user")).startswith("Written by you, ")
    assert split_tags(" #a,, b c ,a") == ("a", "b c")


async def test_a_change_elsewhere_keeps_the_scroll_position(
    pane: MemoryPane, atelier: FakeAtelier, bridge: FakeBridge, qtbot: QtBot
) -> None:
    pane.list.verticalScrollBar().setValue(pane.list.verticalScrollBar().maximum())
    await settle()
    pane.list.setCurrentIndex(pane.list.model().index(120, 0))
    pane.list.scrollTo(pane.list.model().index(120, 0))
    scroll_position = pane.list.verticalScrollBar().value()
    atelier.set("memories", "list", lambda **kw: [memory(999), *EVERY][kw["offset"] : kw["offset"] + kw["limit"]])
    bridge.changed.emit("memory", "m999")
    qtbot.waitUntil(lambda: not pane._reload_timer.isActive())
    await settle()
    assert atelier.calls("memories.list")[-1][1]["limit"] == 200
    assert pane.list.model().index(0, 0).data() == "Fact number 999"
    chosen = pane.list.current_row()
    assert chosen is not None
    assert chosen.memory.id == "m120"
    assert pane.list.verticalScrollBar().value() == scroll_position


async def test_the_menu_key_opens_the_menu_of_the_current_memory(pane: MemoryPane) -> None:
    pane.list.setCurrentIndex(pane.list.memories.index(0))
    middle = pane.list.viewport().rect().center()
    ask = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, middle, pane.list.viewport().mapToGlobal(middle))
    QApplication.sendEvent(pane.list.viewport(), ask)
    menu = child(pane, QMenu, "memory-menu")
    assert menu.isVisible()
    row = pane.list.current_row()
    assert row is not None
    assert row.memory.id == "m0"
    menu.close()


async def test_a_new_workflow_shows_the_memories_of_all_workflows(
    bridge: FakeBridge, atelier: FakeAtelier, shown: Show
) -> None:
    general = [memory(1, workflow_id=None)]
    atelier.set(
        "memories",
        "list",
        lambda **kw: general if kw["workflow_id"] is None and kw["scope"] is MemoryScope.GENERAL else [],
    )
    made = shown(MemoryPane(bridge))
    made.set_workflow("")
    await settle()
    assert [row.memory.id for row in made.list.memories.rows] == ["m1"]
    assert made.filters.isVisible()
    assert made.filters.button.accessibleName() == "Filter: All workflows"
    assert [action.data() for action in made.filters.menus["scope"].actions()] == [MemoryScope.GENERAL]
    assert not made.filters.active
    general.append(memory(2))
    bridge.changed.emit("memory", "m2")
    made._reload_timer.timeout.emit()
    await settle()
    assert made.list.memories.rowCount() == 2
    made.add()
    dialog = child(made.window(), MemoryDialog)
    assert [dialog.scope.itemData(row) for row in range(dialog.scope.count())] == [MemoryScope.GENERAL]


async def test_the_scope_is_remembered_over_a_new_workflow(pane: MemoryPane, atelier: FakeAtelier) -> None:
    pane.filters.choose("scope", MemoryScope.WORKFLOW)
    pane.set_workflow("")
    await settle()
    assert atelier.calls("memories.list")[-1][1]["scope"] is MemoryScope.GENERAL
    pane.set_workflow("w")
    await settle()
    assert atelier.calls("memories.list")[-1][1]["scope"] is MemoryScope.WORKFLOW


async def test_nothing_is_shown_of_memories_before_they_are_loaded(
    bridge: FakeBridge, atelier: FakeAtelier, shown: Show
) -> None:
    made = shown(MemoryPane(bridge))
    assert made.empty.isVisible()
    assert made.empty.title == "Opening…", "the engine is still opening: it is not known whether there are any"
    made.set_workflow("w")
    assert made.empty.title == "Opening…"
    await settle()
    assert made.empty.title == "No memories yet"


async def test_reembedding_does_not_reload_the_list(pane: MemoryPane, bridge: FakeBridge) -> None:
    """Re-embedding emits changes several times a second, for minutes.

    The list would reload without end and never be shown.
    """
    bridge.changed.emit("memory", "reembed")
    assert not pane._reload_timer.isActive()
    bridge.changed.emit("memory", "m1")
    assert pane._reload_timer.isActive()


async def test_pending_pairs_are_shown_in_the_pane_with_a_link(
    pane: MemoryPane, atelier: FakeAtelier, bridge: FakeBridge
) -> None:
    assert not pane.against.isVisible()
    kinds: tuple[Literal["same", "against"], ...] = ("against", "against", "same")
    pairs = [
        MemoryPair(kind=kind, first=EVERY[number], second=EVERY[number + 1], similarity=0.9)
        for number, kind in enumerate(kinds)
    ]
    atelier.set("memories", "pairs", pairs)
    bridge.changed.emit("memory", "m1")
    assert pane._compare.isActive()
    pane._compare.timeout.emit()
    await settle()
    assert (pane.against.text(), pane.same.text()) == ("2 contradictions", "1 duplicate")
    assert pane.against.isVisible()
    pane.against.click()
    await settle()
    tidy = child(pane.window(), TidyDialog)
    assert len(tidy.cards) == 3
    tidy.reject()
    atelier.set("memories", "pairs", [])
    pane._compare.timeout.emit()
    await settle()
    assert not pane.against.isVisible()
    assert not pane.same.isVisible()


async def test_without_memories_nothing_is_compared(bridge: FakeBridge, atelier: FakeAtelier, shown: Show) -> None:
    made = shown(MemoryPane(bridge))
    made.set_workflow("w")
    await settle()
    made._compare.timeout.emit()
    await settle()
    assert atelier.calls("memories.pairs") == []


async def test_weak_matches_are_shown_only_on_request(pane: MemoryPane, atelier: FakeAtelier) -> None:
    def hit(number: int, certainty: float) -> MemoryHit:
        score = {"score": 0.1, "relevance": 0.1, "lexical": 0.0, "importance": 0.6, "recency": 1.0}
        return MemoryHit(memory=memory(number, tags=("pets",) if number == 3 else ()), certainty=certainty, **score)

    atelier.set(
        "memories", "search", SimpleNamespace(hits=[hit(1, 0.9), hit(2, 0.3), hit(3, 0.2)], search_type="hybrid")
    )
    pane.search.setText("what is the name of my cat")
    pane.reload()
    await settle()
    assert [row.memory.id for row in pane.list.memories.rows] == ["m1"]
    assert pane.less_sure.text() == "Show 2 less relevant memories"
    pane.less_sure.click()
    await settle()
    assert [row.memory.id for row in pane.list.memories.rows] == ["m1", "m2", "m3"]
    assert not pane.less_sure.isVisible()
    pane.search.setText("pets")  # a tag has exactly this word
    pane.reload()
    await settle()
    assert [row.memory.id for row in pane.list.memories.rows] == ["m1", "m3"]
    pane.search.clear()
    pane.reload()
    await settle()
    assert not pane.less_sure.isVisible()


async def test_disabled_memory_is_explained(pane: MemoryPane, atelier: FakeAtelier) -> None:
    assert not pane.off.isVisible()
    atelier.set("memories", "is_on", False)
    pane.reload()
    await settle()
    assert pane.off.isVisible()
    assert pane.off.text() == "Memory is off in this workflow: its agents neither search nor save memories."


async def test_memories_keep_their_places_under_the_pointer(
    pane: MemoryPane, atelier: FakeAtelier, bridge: FakeBridge
) -> None:
    def first() -> str:
        return str(pane.list.model().index(0, 0).data())

    aim(pane.list, 1)
    atelier.set("memories", "list", lambda **kw: [memory(999), *EVERY][kw["offset"] : kw["offset"] + kw["limit"]])
    pane._reload_in_place()
    await settle()
    assert first() == "Fact number 0"
    leave(pane.list)
    await settle()
    assert first() == "Fact number 999"
