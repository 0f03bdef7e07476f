"""Tab visits visible widgets in reading order; F6 goes from part to part."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.window import MainWindow
from atelier_desk.domain.workflow import Message, MessageRole
from atelier_desk.engine.services.workflow.transcript import TranscriptEntry
from tests.desktop.panes.started_window import started
from tests.helpers.fake_bridge import settle


async def with_messages(qtbot: QtBot) -> MainWindow:
    """Eight messages, of which the first were created last, because they were scrolled into view."""
    messages = [
        TranscriptEntry(
            Message(
                id=f"e{n}", workflow_id="w1", run_id=f"r{n // 2}", seq=n, role=role, kind=kind, content=f"{n}\n\n" * 12
            )
        )
        for n, (role, kind) in enumerate([(MessageRole.USER, "queue"), (MessageRole.ASSISTANT, "reply")] * 4)
    ]
    window = await started(qtbot, transcript=messages)
    view = window.chat.view
    assert len(view.entries) == 8
    view.verticalScrollBar().setValue(0)
    await settle()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    return window


def tab(window: MainWindow, back: bool = False) -> QWidget:
    focused = QApplication.focusWidget()
    assert focused is not None
    QTest.keyClick(focused, Qt.Key.Key_Backtab if back else Qt.Key.Key_Tab)
    after = QApplication.focusWidget()
    assert after is not None
    return after


async def test_tab_visits_messages_in_their_order_and_nothing_on_hidden_tabs(qtbot: QtBot) -> None:
    window = await with_messages(qtbot)
    view = window.chat.view
    view.setFocus()
    met: list[QWidget] = []
    while not met or met[-1] is not view:
        met.append(tab(window))
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
    while not view.viewport().isAncestorOf(tab(window, back=True)):
        pass
    focused = QApplication.focusWidget()
    assert focused is not None
    assert view.widget_of(view.entries[7]).isAncestorOf(focused), "backwards, the newest message comes first"  # type: ignore[union-attr]


async def test_tab_visits_header_start_page_and_composer_in_order(qtbot: QtBot) -> None:
    """Both edge buttons came between the pickers and their right neighbours, the start page after the panes."""
    window = await started(qtbot, transcript=[])
    window.chat.close_workflow()
    await settle()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    chat = window.chat
    chat.composer.field.setFocus()
    met: list[QWidget] = []
    while not met or met[-1] is not chat.header.left:
        met.append(tab(window, back=True))
        assert len(met) < 300, "it does not come round"
    met.reverse()
    header = [each for each in met if chat.header.isAncestorOf(each)]
    places = [each.mapTo(chat.header, QPoint()).x() for each in header]
    assert len(header) > 4
    assert places == sorted(places)
    page = [each for each in met if chat.empty.isAncestorOf(each)]
    assert {"start-grant", "example-1"} <= {each.objectName() for each in page}
    heights = [each.mapTo(chat.empty, QPoint()).y() for each in page]
    assert heights == sorted(heights)
    assert met == [*header, *page], "nothing else is between header and composer"


async def test_f6_cycles_through_the_parts_of_the_window(qtbot: QtBot) -> None:
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


async def test_a_replay_puts_its_own_messages_in_order(qtbot: QtBot) -> None:
    ordered: list[str] = []

    class Past(QWidget):
        def order_stops(self) -> None:
            ordered.append("past")

    window = await started(qtbot)
    window.middle.setCurrentIndex(window.middle.addWidget(Past()))
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    window.sidebar.search.setFocus()
    tab(window)
    assert ordered == ["past"]


async def test_the_focus_frame_of_a_message_is_beside_its_text(qtbot: QtBot) -> None:
    window = await with_messages(qtbot)
    view, accent = window.chat.view, theme().colour("accent")
    message = view._widgets[view.entries[1]]

    def reddest(x: int) -> bool:
        """Whether the accent colour is drawn at this position of the message's height."""
        picture = view.viewport().grab().toImage()
        colour = picture.pixelColor(message.x() + x, message.y() + message.height() // 2)
        return abs(colour.blue() - accent.blue()) < 40 and abs(colour.red() - accent.red()) < 90

    assert not any(map(reddest, range(-14, 4)))
    message.setFocus()
    qtbot.waitUntil(message.hasFocus)
    await settle()
    assert [x for x in range(-14, 4) if reddest(x)] in ([-11], [-10], [-11, -10], [-10, -9])


async def test_the_shortcut_of_a_pane_moves_the_focus_into_it(qtbot: QtBot) -> None:
    window = await started(qtbot)
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    for name in ("memory", "tasks", "reports"):
        window.actions_[f"show-{name}"].trigger()
        pane = window.rail.panes[name]
        focused = window.focusWidget()
        assert focused is not None
        assert pane.isAncestorOf(focused), name
        assert focused.isVisible()
