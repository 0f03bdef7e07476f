"""Tab goes through what can be seen, in the order in which it is read; F6 goes from part to part."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.window import MainWindow
from atelier_desk.domain.workflow import Message, MessageRole
from atelier_desk.engine.services.workflow.transcript import TranscriptEntry
from tests.desktop.test_rail import started
from tests.support.fake_bridge import settle


async def with_messages(qtbot: QtBot) -> MainWindow:
    """Eight messages, of which the first were made last, because they were scrolled into view."""
    said = [
        TranscriptEntry(Message(id=f"e{n}", workflow_id="w1", run_id=f"r{n // 2}", seq=n, role=role, kind=kind, content=f"{n}\n\n" * 12))
        for n, (role, kind) in enumerate([(MessageRole.USER, "queue"), (MessageRole.ASSISTANT, "reply")] * 4)
    ]
    window = await started(qtbot, transcript=said)
    view = window.chat.view
    assert len(view.entries) == 8
    view.verticalScrollBar().setValue(0)
    await settle()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    return window


def tab(qtbot: QtBot, window: MainWindow, back: bool = False) -> QWidget:
    focused = QApplication.focusWidget()
    assert focused is not None
    qtbot.keyClick(focused, Qt.Key.Key_Backtab if back else Qt.Key.Key_Tab)
    after = QApplication.focusWidget()
    assert after is not None
    return after


async def test_tab_meets_the_messages_as_they_stand_and_nothing_behind_a_tab(qtbot: QtBot) -> None:
    window = await with_messages(qtbot)
    view = window.chat.view
    view.setFocus()
    met: list[QWidget] = []
    while not met or met[-1] is not view:
        met.append(tab(qtbot, window))
        assert not met[-1].visibleRegion().isEmpty(), met[-1].objectName()
        assert len(met) < 300, "it does not come round"
    shown = [each.entry.id for each in met if each.objectName() in {"user-message", "assistant-message"}]  # type: ignore[attr-defined]
    assert shown == [f"e{n}" for n in range(8)]
    names = [each.objectName() for each in met]
    last = max(number for number, each in enumerate(met) if view.viewport().isAncestorOf(each))
    assert last < names.index("chat-input") < names.index("float-tasks") < names.index("new-workflow")
    assert not window.rail.docks["reports"].isHidden()
    assert "float-reports" not in names
    window.chat.composer.field.setFocus()
    while not view.viewport().isAncestorOf(tab(qtbot, window, back=True)):
        pass
    focused = QApplication.focusWidget()
    assert focused is not None
    assert view.widget_of(view.entries[7]).isAncestorOf(focused), "backwards, the newest message comes first"  # type: ignore[union-attr]


async def test_f6_goes_from_part_to_part_and_round(qtbot: QtBot) -> None:
    window = await with_messages(qtbot)
    window.chat.composer.field.setFocus()
    met: list[QWidget] = []
    for _part in range(9):
        window.actions_["next-part"].trigger()
        focused = QApplication.focusWidget()
        assert focused is not None
        assert not focused.visibleRegion().isEmpty()
        met.append(focused)
        if focused is window.chat.composer.field:
            break
    parts = [name for name, pane in window.rail.panes.items() if any(pane.isAncestorOf(each) for each in met)]
    assert parts == [name for name, pane in window.rail.panes.items() if not pane.visibleRegion().isEmpty()]
    assert met[-3:] == [window.sidebar.list, window.chat.view, window.chat.composer.field]
    window.actions_["previous-part"].trigger()
    assert QApplication.focusWidget() is window.chat.view
