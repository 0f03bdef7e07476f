"""The virtual view: few widgets for many items, following the end, never moving what is being read."""

from __future__ import annotations

from itertools import pairwise

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.transcript.message_widgets import AssistantMessage
from atelier_desk.desktop.chat.transcript.view import ChatView, EntryWidget
from atelier_desk.desktop.widgets.tab_stops import tab_stops
from atelier_desk.presentation.rows.transcript_entries import Call, Entry, EntryKind
from tests.helpers.mouse_pointer import aim
from tests.helpers.mouse_pointer import leave as leave_view
from tests.helpers.visible_chat_view import live_widgets, shown_view, turn


def entries(count: int, start: int = 0) -> list[Entry]:
    made = []
    for number in range(start, start + count):
        kind: EntryKind = "user" if number % 2 == 0 else "assistant"
        text = f"Message {number}. " + "Words and more words. " * (number % 7)
        made.append(Entry(f"m{number}", kind, run_id=f"r{number // 2}", seq=number + 1, content=text))
    return made


@pytest.fixture
def view(qtbot: QtBot) -> ChatView:
    return shown_view(qtbot)


def widget_of(view: ChatView, entry: Entry) -> EntryWidget:
    found = view.widget_of(entry)
    assert found is not None
    return found


def test_five_thousand_items_have_few_widgets_and_begin_at_the_end(view: ChatView) -> None:
    everything = entries(5000)
    view.set_entries(everything)
    turn()
    assert 1 < live_widgets(view) < 60
    assert view.following
    last = view.widget_of(everything[-1])
    assert last is not None
    assert last.geometry().bottom() <= view.viewport().height()
    for value in range(0, view.verticalScrollBar().maximum(), 40_000):
        view.verticalScrollBar().setValue(value)
        turn()
    assert live_widgets(view) < 90


def test_the_view_follows_the_end_only_if_scrolled_to_it(view: ChatView) -> None:
    view.set_entries(entries(60))
    turn()
    bar = view.verticalScrollBar()
    for entry in entries(5, 60):
        view.append(entry)
    turn()
    assert bar.value() == bar.maximum()
    assert view.jump.isHidden()
    bar.setValue(bar.maximum() // 2)
    turn()
    assert not view.following
    assert not view.jump.isHidden()
    before = bar.value()
    for entry in entries(5, 65):
        view.append(entry)
    turn()
    assert bar.value() == before
    view.jump.click()
    turn()
    assert view.following
    assert bar.value() == bar.maximum()


def test_older_items_do_not_move_the_visible_ones(view: ChatView) -> None:
    newer = entries(200, 200)
    view.set_entries(newer)
    turn()
    bar = view.verticalScrollBar()
    bar.setValue(bar.maximum() // 3)
    turn()
    shown = next(
        entry for entry in newer if (w := view.widget_of(entry)) is not None and 0 <= w.y() < 400 and w.isVisible()
    )
    before = widget_of(view, shown).y()
    view.prepend(entries(200))
    turn()
    assert widget_of(view, shown).y() == before
    assert len(view.entries) == 400


def test_older_items_are_requested_near_the_top(qtbot: QtBot, view: ChatView) -> None:
    view.set_entries(entries(300))
    turn()
    with qtbot.waitSignal(view.older_requested):
        view.verticalScrollBar().setValue(0)


def test_reveal_brings_an_item_into_view(view: ChatView) -> None:
    everything = entries(1000)
    view.set_entries(everything)
    turn()
    view.reveal(everything[123])
    turn()
    widget = view.widget_of(everything[123])
    assert widget is not None
    assert 0 <= widget.y() < view.viewport().height()


def test_items_never_overlap(view: ChatView) -> None:
    everything = entries(80)
    everything[41].calls = [Call("c1", "TodoTool", {"name": "x"}, "ok"), Call("c2", "MemoryTool", {}, "running")]
    view.set_entries(everything)
    for value in (0, 500, 1500, 900):
        view.verticalScrollBar().setValue(value)
        turn()
        shown = [w.geometry() for e in everything if (w := view.widget_of(e)) is not None and w.isVisible()]
        assert shown
        for upper, lower in pairwise(sorted(shown, key=lambda box: box.top())):
            assert upper.bottom() < lower.top() + 1


def test_streamed_text_grows_the_last_item(view: ChatView) -> None:
    everything = entries(30)
    live = Entry("live", "assistant", run_id="r", live=True)
    view.set_entries([*everything, live])
    turn()
    for number in range(40):
        live.content += f"Line {number}\n\n"
        view.update_entry(live, streamed=True)
    reply = widget_of(view, live)
    assert isinstance(reply, AssistantMessage)
    reply.body.flush()
    turn()
    bar = view.verticalScrollBar()
    assert reply.height() > 600
    assert bar.value() == bar.maximum()


def test_keys_scroll_the_view(view: ChatView) -> None:
    view.set_entries(entries(100))
    turn()
    view.setFocus()
    QTest.keyClick(view, Qt.Key.Key_Home)
    turn()
    assert view.verticalScrollBar().value() == 0
    QTest.keyClick(view, Qt.Key.Key_End)
    turn()
    assert view.following


def test_narrow_and_wide_fit_again(view: ChatView) -> None:
    view.set_entries(entries(40))
    turn()
    wide = view.verticalScrollBar().maximum()
    view.resize(420, 600)
    turn()
    assert view.column_width() < 420
    assert view.verticalScrollBar().maximum() > wide


def test_items_are_dropped_from_the_end_and_the_others_keep_their_widgets(view: ChatView) -> None:
    everything = entries(12)
    view.set_entries(everything)
    turn()
    widgets = {entry: view.widget_of(entry) for entry in everything[:5]}
    view.truncate(5)
    turn()
    assert list(view.entries) == everything[:5]
    assert view.widget_of(everything[5]) is None
    assert all(view.widget_of(entry) is widget for entry, widget in widgets.items() if widget is not None)
    tops = [widget_of(view, entry).geometry() for entry in everything[:5]]
    assert all(above.bottom() < below.top() for above, below in pairwise(tops))
    view.truncate(5)
    view.append(everything[7])
    turn()
    assert list(view.entries) == [*everything[:5], everything[7]]
    assert view.widget_of(everything[7]) is not None
    view.truncate(0)
    turn()
    assert list(view.entries) == []
    assert live_widgets(view) == 0


def test_what_disappears_at_the_end_moves_nothing_under_the_pointer(view: ChatView) -> None:
    everything = [*entries(30), Entry("last", "user", run_id="r", content="Gone soon")]
    view.set_entries(everything)
    turn()
    bar = view.verticalScrollBar()

    def top() -> int:
        return widget_of(view, everything[29]).y()

    before = top()
    aim(view)
    view.remove(everything[30])
    turn()
    assert (top(), view.following, bar.value()) == (before, True, bar.maximum())
    view.append(everything[30])
    turn()
    assert (top(), bar.value()) == (before, bar.maximum()), "what comes next uses the room"
    view.remove(everything[30])
    turn()
    leave_view(view)
    view.scroll_to_end()
    turn()
    assert top() > before, "no room stays when the pointer has left"


@pytest.mark.parametrize("leave", ["another conversation", "none", "an earlier turn"])
def test_messages_can_be_removed_while_a_button_in_one_has_the_focus(qtbot: QtBot, view: ChatView, leave: str) -> None:
    """Hiding a message moved the focus to the next one, half out of view, and so caused scrolling."""
    everything = entries(40)
    for entry in everything[1::2]:
        entry.content = ""
        entry.calls = [Call(f"{entry.id}-{number}", "TodoTool", {"name": "x"}, "ok") for number in range(4)]
    view.set_entries(everything)
    view.verticalScrollBar().setValue(view.verticalScrollBar().maximum() // 2)
    turn()
    view.window().activateWindow()
    qtbot.waitUntil(view.window().isActiveWindow)
    view.order_stops()
    shown = [widget for entry in everything if (widget := view.widget_of(entry)) is not None and widget.isVisible()]
    tab_stops(shown[0])[0].setFocus(Qt.FocusReason.TabFocusReason)
    focused = QApplication.focusWidget()
    assert focused is not None
    assert view.viewport().isAncestorOf(focused)
    if leave == "an earlier turn":
        view.truncate(2)
    else:
        view.set_entries(entries(3, 500) if leave == "another conversation" else [])
    turn()
    left = {"another conversation": 3, "none": 0, "an earlier turn": 2}[leave]
    assert len(view.entries) == left
    assert live_widgets(view) == left
    assert view.verticalScrollBar().value() == view.verticalScrollBar().maximum()
