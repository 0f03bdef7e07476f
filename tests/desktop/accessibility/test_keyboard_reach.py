"""Every control has an accessible name and is reachable by keyboard: in window, panes, settings, dialogs and cards."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QAbstractItemView, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.transcript.message_widgets import make_widget
from atelier_desk.desktop.chat.transcript.transcript_host import TranscriptHost
from atelier_desk.desktop.first_start.dialog import FirstStart
from atelier_desk.desktop.panes.activity.pane import ActivityPane
from atelier_desk.desktop.panes.context.pane import ContextPane
from atelier_desk.desktop.panes.files.pane import FilesPane
from atelier_desk.desktop.panes.inbox.pane import InboxPane
from atelier_desk.desktop.panes.memory.pane import MemoryPane
from atelier_desk.desktop.panes.reports_pane import ReportsPane
from atelier_desk.desktop.panes.tasks.pane import TaskPane
from atelier_desk.desktop.panes.timeline.pane import TimelinePane
from atelier_desk.desktop.panes.timeline.view import TimelineView
from atelier_desk.desktop.questions.dialog import QuestionDialog
from atelier_desk.desktop.questions.presenter import QuestionPresenter
from atelier_desk.desktop.questions.queue import QueuePosition
from atelier_desk.desktop.replay.view import ReplayView
from atelier_desk.desktop.settings.registry import sections
from atelier_desk.desktop.settings.window import SettingsWindow
from atelier_desk.desktop.system.tray_icon import Tray
from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.file_change import Change
from atelier_desk.domain.memory import Memory, MemoryType
from atelier_desk.domain.question import QuestionAnswer
from atelier_desk.domain.task import Task
from atelier_desk.domain.workflow import Message, MessageRole, Report, Workflow
from atelier_desk.presentation.rows.transcript_entries import Call, Entry, QuestionRow
from atelier_desk.support.i18n import N_
from tests.desktop.chat.conftest import Team
from tests.desktop.chat.message_menus import menu_of
from tests.desktop.chat.panel_harness import PanelHarness
from tests.desktop.questions.approval_fixtures import ApprovalEngine, asks
from tests.desktop.questions.conftest import ask
from tests.desktop.settings.conftest import Engine
from tests.desktop.team.sample_team_events import started, tree
from tests.helpers import sample_team_history
from tests.helpers.accessibility import ask_for_menu, menu_faults, nameless, open_menu, out_of_reach
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle
from tests.helpers.main_window_with_fake_engine import Program


def check(root: QWidget) -> None:
    found = {"nameless": nameless(root), "out of reach": out_of_reach(root)}
    assert not any(found.values()), "\n".join(f"{what}: {each}" for what, all_ in found.items() for each in all_)


async def test_the_window_with_a_workflow(program: Program) -> None:
    await program.start(workflow="w1")
    program.window.actions_["find"].trigger()
    check(program.window)


async def test_the_window_with_a_new_workflow(program: Program) -> None:
    await program.start()
    check(program.window)


async def test_the_window_without_its_engine(program: Program) -> None:
    program.window.show_engine_error(StorageError("It is locked.", code="locked"), "/data", lambda: None)
    check(program.window)


async def test_what_the_window_opens(program: Program, qtbot: QtBot) -> None:
    await program.start(workflow="w1")
    for name in ("command-palette", "search-everywhere"):
        program.window.actions_[name].trigger()
        await settle()
    check(program.window)


async def test_a_team_at_work(qtbot: QtBot) -> None:
    team = Team(qtbot)
    await team.open()
    check(team.panel)


PANES: dict[str, tuple[type[Any], dict[str, dict[str, Any]]]] = {
    "tasks": (
        TaskPane,
        {"tasks": {"list": [Task(workflow_id="w1", name="Read"), Task(workflow_id="w1", name="Write")]}},
    ),
    "memory": (
        MemoryPane,
        {
            "memories": {
                "list": [Memory(type=MemoryType.USER_PREF, content="Short answers")],
                "describe": {"tags": {"style": 1}},
            }
        },
    ),
    "files": (
        FilesPane,
        {
            "workflows": {"get": Workflow(id="w1", name="W", workspace=("/home/ada/project",))},
            "files": {
                "held": [],
                "marked": [],
                "list": [
                    Change(
                        id="1",
                        workflow_id="w1",
                        at=datetime(2026, 11, 1, tzinfo=UTC),
                        action="changed",
                        root="/home/ada/project",
                        path="a.py",
                    )
                ],
            },
        },
    ),
    "reports": (ReportsPane, {"reports": {"list": [Report(workflow_id="w1", name="Findings")], "read": "# Findings"}}),
}


@pytest.mark.parametrize("name", PANES)
async def test_a_pane_with_content(name: str, qtbot: QtBot) -> None:
    kind, services = PANES[name]
    await _shown(qtbot, kind(FakeBridge(FakeAtelier(**services))))


@pytest.mark.parametrize("kind", [ActivityPane, TimelinePane, ContextPane])
async def test_a_pane_of_a_run(kind: type[Any], qtbot: QtBot) -> None:
    await _shown(qtbot, kind(FakeBridge(sample_team_history.engine())))


async def _shown(qtbot: QtBot, pane: Any) -> QWidget:
    """The window of a pane, and its owner."""
    window = QWidget()
    qtbot.addWidget(window)
    pane.setParent(window)
    window.resize(900, 700)
    pane.resize(900, 700)
    window.show()
    pane.set_workflow("w1")
    await settle(30)
    check(pane)
    for opener in ("add", "_open_filter"):
        if hasattr(pane, opener):
            getattr(pane, opener)()
            await settle()
    if isinstance(pane, ReportsPane):
        pane.open("Findings")
        await settle()
        pane.edit()
    check(window)
    return window


async def test_the_inbox_with_every_kind_of_pending_item(host: QWidget) -> None:
    engine = ApprovalEngine(asks("v1", risk="high"), questions={"pending": [ask("q1")], "get": lambda _id: ask("q1")})
    bridge = FakeBridge(engine)
    presenter = QuestionPresenter(bridge, host)
    pane = InboxPane(bridge, presenter)
    layout = host.layout()
    assert layout is not None
    layout.addWidget(pane)
    pane.set_workflow("w1")
    presenter.start()
    await settle(30)
    assert pane.findChildren(QWidget, "approval-card")
    check(pane)


@pytest.mark.parametrize("kind", ["checkbox", "mixed", "text"])
async def test_a_question(kind: str, host: QWidget) -> None:
    dialog = QuestionDialog(ask("q1", kind), QueuePosition(1, 2), QuestionAnswer(), host)
    dialog.open()
    check(dialog)


async def test_the_settings(qtbot: QtBot, tmp_path: Path) -> None:
    window = SettingsWindow(FakeBridge(Engine(tmp_path)))
    qtbot.addWidget(window)
    window.show()
    for entry in sections():
        window.show_page(entry.name)
        await settle()
    check(window)


async def test_the_first_start(qtbot: QtBot) -> None:
    from tests.desktop.first_start.found_ollama import OLLAMA

    engine = FakeAtelier(providers={"detect": [OLLAMA], "models": []})
    guide = FirstStart(FakeBridge(engine))
    qtbot.addWidget(guide)
    guide.begin()
    await settle()
    check(guide)


async def test_a_replay(qtbot: QtBot) -> None:
    view = ReplayView(FakeBridge(sample_team_history.engine()))
    qtbot.addWidget(view)
    view.show()
    await view.open("w1", "root")
    await settle()
    check(view)


CALL = Call("c1", "CalculatorTool", {"expression": "12*7"}, "ok", {"result": 84}, duration_ms=1200)
ENTRIES: dict[str, Callable[[], Entry]] = {
    "a call": lambda: Entry("a", "assistant", run_id="r", calls=[CALL]),
    "what was thought": lambda: Entry("a", "assistant", run_id="r", content="Yes.", reasoning="Because."),
    "a question": lambda: Entry("a", "assistant", run_id="r", asked=(QuestionRow("q1", "Which?", "pending"),)),
    "code": lambda: Entry("a", "assistant", run_id="r", content="```python\nx = 1\n```"),
    "what a person said": lambda: Entry("u", "user", run_id="r", content="Hello"),
}


@pytest.mark.parametrize("name", ENTRIES)
async def test_a_message(name: str, qtbot: QtBot) -> None:
    frame = QWidget()
    qtbot.addWidget(frame)
    host = TranscriptHost()
    host.state.open_calls.add("r:c1")
    widget = make_widget(ENTRIES[name](), host, frame)
    widget.setGeometry(0, 0, 700, widget.fit(700))
    frame.show()
    await settle()
    check(frame)


@pytest.mark.parametrize("index", [0, 1], ids=["own", "answer"])
async def test_the_menu_of_a_message(index: int, qtbot: QtBot) -> None:
    harness = PanelHarness(qtbot)
    await harness.open()
    menu = menu_of(harness, index)
    entries = [each for each in menu.actions() if not each.isSeparator()]
    assert all(each.text().strip() for each in entries)
    met = [menu.activeAction()]
    for _entry in [each for each in entries if each.isEnabled()][1:]:
        QTest.keyClick(menu, Qt.Key.Key_Down)
        met.append(menu.activeAction())
    assert met == [each for each in entries if each.isEnabled()], "Down comes to each of them"
    menu.close()


async def test_the_menus_of_the_sidebar_and_around_the_conversation(program: Program) -> None:
    listed = [Workflow(id="w1", name="First"), Workflow(id="w2", name="Second", collection="Art")]
    pinned = Message(id="m1", workflow_id="w1", run_id="r1", seq=1, role=MessageRole.USER, content="Kept", pinned=True)
    for method, answer in (("list", listed), ("get", listed[0].model_copy(update={"workspace": ("/tmp",)}))):
        program.engine.set("workflows", method, answer)
    program.engine.set("messages", "pinned", [pinned])
    await program.start(workflow="w1")
    window = program.window
    rows, sidebar = window.sidebar.list, window.sidebar
    rows.select_one("w1")
    ask_for_menu(rows)
    assert menu_faults(open_menu(window)) == []
    sidebar.workflow_actions.menu(["w1", "w2"], lambda _id: None).popup(QPoint())
    assert menu_faults(open_menu(window)) == []
    sidebar.workflow_actions.folder_menu("Art").popup(QPoint())
    assert menu_faults(open_menu(window)) == []
    for name in ("main-menu", "attach-button", "workflow-menu", "workflow-folders"):
        button = window.findChild(QAbstractButton, name)
        assert button is not None, name
        assert button.isVisible(), name
        button.click()
        assert menu_faults(open_menu(window)) == [], name
    tray = Tray(window, [(N_("Quit"), window.close)], window.close)
    tray.menu.popup(QPoint())
    assert menu_faults(tray.menu) == []


@pytest.mark.parametrize(
    ("name", "control"), [("tasks", "task-list"), ("memory", "memory-list"), ("files", "file-changes")]
)
async def test_the_menu_of_a_row_of_a_pane(name: str, control: str, qtbot: QtBot) -> None:
    kind, services = PANES[name]
    pane = kind(FakeBridge(FakeAtelier(**services)))
    window = await _shown(qtbot, pane)
    rows = pane.findChild(QAbstractItemView, control)
    rows.setCurrentIndex(rows.model().index(0, 0))
    ask_for_menu(rows)
    assert menu_faults(open_menu(window)) == []
    if name == "memory":
        button = pane.findChild(QAbstractButton, "memory-filter")
        button.menu().popup(QPoint())
        assert menu_faults(button.menu()) == []


async def test_agents_and_their_menu(qtbot: QtBot) -> None:
    services: dict[str, Any] = {
        "workflows": {"get": Workflow(id="w1", name="Team")},
        "teams": {"tree": lambda *_: tree()},
    }
    pane = ActivityPane(FakeBridge(FakeAtelier(**services)))
    window = await _shown(qtbot, pane)
    for each in started():
        pane.on_stream(each)
    qtbot.waitUntil(lambda: len(pane.tree._rows) == 4)
    assert nameless(window) == []
    pane.tree.choose("bea")
    ask_for_menu(pane.tree)
    menu, row = open_menu(window), pane.tree._rows["bea"]
    offered = {each.text() for each in menu.actions()}
    assert offered == {each.accessibleName() for each in (row.opener, row.message, row.pause, row.stop)}, (
        "its buttons are no stops of Tab"
    )
    assert menu_faults(menu) == []


async def test_the_timeline_and_its_menu(qtbot: QtBot) -> None:
    pane = TimelinePane(FakeBridge(sample_team_history.engine()))
    window = await _shown(qtbot, pane)
    view = child(pane, TimelineView, "timeline-view")
    assert len(view.bars) == 6
    view.choose(view.bars[1].span)
    ask_for_menu(view)
    assert menu_faults(open_menu(window)) == []
