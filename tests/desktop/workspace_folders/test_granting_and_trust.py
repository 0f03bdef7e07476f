"""Granting folders (on the start page, by dropping, in the header), and the question about trust."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, QSysInfo, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QMenu, QMessageBox, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.compose.message_field import MessageField
from atelier_desk.desktop.chat.panel import ChatPanel
from atelier_desk.desktop.settings.application_language import switch_language
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.workspace_folders.button import FolderButton
from atelier_desk.desktop.workspace_folders.controller import files_of, folders_of
from atelier_desk.desktop.workspace_folders.drag_and_drop import FolderDrop
from atelier_desk.domain.agent import Agent, AgentConfig
from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.domain.workflow import Workflow
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle

ADA = Agent(id="a", config=AgentConfig(name="Ada", provider="p", model="m"))


class Panel:
    """The panel over an engine that stores folders and decisions."""

    def __init__(self, qtbot: QtBot) -> None:
        self.decided: dict[str, bool] = {}
        self.removed: set[str] = set()
        self.workflow = Workflow(id="w", name="W")
        self.engine = FakeAtelier(
            agents={"list": [ADA], "default": ADA},
            workflows={"get": lambda _id: self.workflow, "set_workspace": self._keep, "create": self._create},
            files={
                "trusted": self._trusted,
                "trust": self._trust,
                "missing": self._missing,
                "instruction_files": ["AGENTS.md"],
            },
            runs={"send": "r"},
        )
        self.bridge = FakeBridge(self.engine)
        self.chat = ChatPanel(self.bridge)
        qtbot.addWidget(self.chat)
        self.chat.resize(900, 700)
        self.chat.show()

    def _keep(self, _id: str, folders: tuple[str, ...]) -> Workflow:
        self.workflow = self.workflow.model_copy(update={"workspace": folders})
        return self.workflow

    def _create(self, workspace: tuple[str, ...] = (), **_fields: object) -> Workflow:
        return self._keep("", workspace)

    def _trusted(self, folders: tuple[str, ...]) -> dict[str, bool | None]:
        return {folder: self.decided.get(folder) for folder in folders}

    def _missing(self, folders: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(folder for folder in folders if folder in self.removed)

    def _trust(self, folder: str, trusted: bool) -> None:
        self.decided[folder] = trusted

    @property
    def button(self) -> FolderButton:
        found = self.chat.findChild(FolderButton, "workflow-folders")
        assert isinstance(found, FolderButton)
        return found

    def question(self) -> QMessageBox | None:
        shown = [box for box in self.chat.findChildren(QMessageBox, "trust-question") if box.isVisible()]
        return shown[0] if shown else None

    def press(self, name: str) -> None:
        box = self.question()
        assert box is not None
        found = box.findChild(QPushButton, name)
        assert isinstance(found, QPushButton)
        found.click()


@pytest.fixture
async def panel(qtbot: QtBot) -> Panel:
    made = Panel(qtbot)
    await made.chat.choices.load()
    await settle()
    return made


def dropped(*paths: Path) -> QMimeData:
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    return mime


async def test_a_folder_chosen_on_the_start_page_is_granted_with_the_first_message(panel: Panel) -> None:
    panel.chat.close_workflow()
    await settle()
    assert panel.chat.empty.folders.isVisibleTo(panel.chat)
    panel.chat.folders.grant(["/home/ada/project"])
    await settle()
    assert panel.button.full_text == "project"
    panel.press("trust-no")
    await settle()
    assert panel.decided == {"/home/ada/project": False}
    panel.chat.sending.send("Go", [], "queue")
    await settle()
    assert panel.engine.calls("workflows.create")[0][1]["workspace"] == ("/home/ada/project",)
    panel.chat.close_workflow()
    await settle()
    assert panel.button.full_text == "", "the next new workflow begins without"


async def test_the_question_names_the_files_and_can_be_left_open(panel: Panel) -> None:
    panel.chat.open_workflow("w")
    await settle()
    panel.chat.folders.grant(["/p"])
    await settle()
    box = panel.question()
    assert box is not None
    assert box.text() == "Do you trust this folder?\n/p"
    assert "AGENTS.md" in box.informativeText()
    box.reject()
    await settle()
    assert panel.decided == {}
    assert panel.workflow.workspace == ("/p",), "it is granted all the same"
    assert "not yet trusted" in panel.button.toolTip()
    panel.chat.folders.grant(["/p"])
    await settle()
    assert panel.question() is None


async def test_trust_is_not_mentioned_for_a_folder_without_instruction_files(panel: Panel) -> None:
    panel.engine.set("files", "instruction_files", [])
    panel.chat.open_workflow("w")
    await settle()
    panel.chat.folders.grant(["/p"])
    await settle()
    assert panel.question() is None
    assert (panel.workflow.workspace, panel.decided) == (("/p",), {})
    assert "trust" not in panel.button.toolTip()
    panel.button.open()
    menu = panel.button.findChildren(QMenu, "folders-menu")[-1]
    assert [each.text() for each in menu.actions() if each.text()] == [
        "/p",
        "Revoke access to p",
        "Grant folder access…",
    ]
    menu.close()
    panel.engine.set("files", "instruction_files", ["AGENTS.md"])
    panel.chat.folders.refresh()
    await settle()
    assert "not yet trusted" in panel.button.toolTip(), "an agent may have fetched them meanwhile"


async def test_trust_is_given_and_revoked_in_the_menu_of_the_header(panel: Panel) -> None:
    panel.workflow = Workflow(id="w", name="W", workspace=("/p", "/q"))
    panel.chat.open_workflow("w")
    await settle()
    assert panel.button.full_text == "p +1"

    async def choose(text: str) -> None:
        panel.button.open()
        menu = panel.button.findChildren(QMenu, "folders-menu")[-1]
        next(each for each in menu.actions() if each.text() == text).trigger()
        menu.close()
        await settle()

    await choose("Trust this folder…")
    panel.press("trust-yes")
    await settle()
    assert panel.decided == {"/p": True}
    assert "/p: trusted" in panel.button.toolTip()
    await choose("Do not trust this folder")
    assert panel.decided == {"/p": False}
    await choose("Revoke access to p")
    assert panel.workflow.workspace == ("/q",)


async def test_a_dropped_folder_asks_for_its_purpose_and_a_dropped_file_is_attached(
    panel: Panel, tmp_path: Path, qtbot: QtBot
) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    granted: list[str] = []
    attached: list[str] = []
    FolderDrop(window, granted.extend, attached.extend, panel.chat.composer.field, QWidget(window))
    folder, file = tmp_path / "folder", tmp_path / "file"
    folder.mkdir()
    file.touch()
    copy, left, none = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    for mime in (dropped(file), dropped(folder, file)):
        entering = QDragEnterEvent(QPoint(5, 5), copy, mime, left, none)
        entering.ignore()
        QApplication.sendEvent(window, entering)
        assert entering.isAccepted()
        QApplication.sendEvent(window, QDropEvent(QPointF(5, 5), copy, mime, left, none))
    assert (granted, attached) == ([], [str(file)] * 2)
    menu = child(window, QMenu, "folder-drop")
    assert [each.text() for each in menu.actions()] == ["Attach the folder to the message", "Work in this folder"]
    menu.actions()[1].trigger()
    assert granted == [str(folder)]
    menu.actions()[0].trigger()
    assert attached[2:] == [str(folder)]
    menu.close()
    mime = dropped(folder)
    entering = QDragEnterEvent(QPoint(5, 5), copy, mime, left, none)
    panel.chat.composer.field.dragEnterEvent(entering)
    assert not entering.isAccepted(), "the field leaves it to the window"


async def test_what_is_dragged_over_the_window_shows_where_it_may_be_dropped(
    panel: Panel, tmp_path: Path, qtbot: QtBot
) -> None:
    window, page = QWidget(), QWidget()
    qtbot.addWidget(window)
    page.setParent(window)
    window.resize(300, 200)
    page.setGeometry(100, 0, 200, 200)
    composer = panel.chat.composer
    composer.setParent(page)
    window.show()
    FolderDrop(window, list[str]().extend, list[str]().extend, composer.field, page)
    highlight = child(window, QWidget, "drop-highlight")
    folder, file = tmp_path / "folder", tmp_path / "file"
    folder.mkdir()
    file.touch()
    text = QMimeData()
    text.setText("some words")
    copy, left, none = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier

    def enter(over: QWidget, mime: QMimeData, x: int = 5) -> str:
        """The text of the highlight, if any."""
        QApplication.sendEvent(over, QDragEnterEvent(QPoint(x, 5), copy, mime, left, none))
        (said,) = highlight.findChildren(QLabel)
        return said.text() if highlight.isVisible() else ""

    def leave(over: QWidget) -> None:
        QApplication.sendEvent(over, QDragLeaveEvent())

    assert enter(window, dropped(file)) == "Drop to add to the message"
    assert highlight.geometry() == window.rect()
    leave(window)
    assert highlight.isHidden()
    assert enter(composer, dropped(file)) == "Drop to add to the message"
    leave(composer)
    assert enter(composer.field.viewport(), dropped(file)) != ""
    leave(composer.field.viewport())
    assert highlight.isHidden()
    assert enter(window, dropped(folder)) == "Drop to attach the folder or to work in it"
    mime = dropped(file)
    QApplication.sendEvent(window, QDropEvent(QPointF(5, 5), copy, mime, left, none))
    assert highlight.isHidden()
    assert enter(window, text) == "", "the list of workflows takes no text"
    assert enter(window, text, 150) == "Drop to add to the message"
    assert highlight.geometry() == page.geometry()
    assert enter(composer.field.viewport(), text) == "", "it shows its own caret"


@pytest.mark.parametrize("receiver", ["window", "composer", "field"])
async def test_a_dropped_file_is_copied_even_if_its_program_would_move_it(
    panel: Panel, tmp_path: Path, qtbot: QtBot, receiver: str
) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    composer = panel.chat.composer
    FolderDrop(window, list[str]().extend, list[str]().extend, composer.field, QWidget(window))
    file = tmp_path / "file"
    file.touch()
    mime = dropped(file)
    both = Qt.DropAction.CopyAction | Qt.DropAction.MoveAction
    event = QDropEvent(QPointF(5, 5), both, mime, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ShiftModifier)
    assert event.proposedAction() == Qt.DropAction.MoveAction
    over = {"window": window, "composer": composer, "field": composer.field.viewport()}[receiver]
    entering = QDragEnterEvent(QPoint(5, 5), both, mime, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ShiftModifier)
    QApplication.sendEvent(over, entering)  # Qt drops on what accepted it
    QApplication.sendEvent(over, event)
    assert (event.isAccepted(), event.dropAction()) == (True, Qt.DropAction.CopyAction)


def picture() -> QImage:
    made = QImage(4, 4, QImage.Format.Format_RGB32)
    made.fill(0)
    return made


@pytest.mark.parametrize("kind", ["text", "link", "picture", "picture with its address"])
async def test_files_dropped_on_the_conversation_are_attached_to_the_message(
    panel: Panel, qtbot: QtBot, kind: str
) -> None:
    window, page, field = QWidget(), QWidget(), MessageField()
    field.accepts_files = True
    qtbot.addWidget(window)
    qtbot.addWidget(field)
    page.setParent(window)
    window.resize(200, 100)
    page.resize(100, 100)
    window.show()
    FolderDrop(window, list[str]().extend, list[str]().extend, field, page)
    pictures: list[object] = []
    field.pictures_given.connect(pictures.extend)
    mime = QMimeData()
    if "picture" in kind:
        mime.setImageData(picture())
    if kind in {"link", "picture with its address"}:
        mime.setUrls([QUrl("https://example.com/a.png")])
        mime.setText("https://example.com/a.png")
    if kind == "text":
        mime.setText("some words")
    copy, left, none = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    for position, accepted in ((150, False), (50, True)):
        entering = QDragEnterEvent(QPoint(position, 50), copy, mime, left, none)
        entering.ignore()
        QApplication.sendEvent(window, entering)
        assert entering.isAccepted() is accepted
        QApplication.sendEvent(window, QDropEvent(QPointF(position, 50), copy, mime, left, none))
    assert (len(pictures), field.toPlainText()) == (
        (1, "") if "picture" in kind else (0, "some words" if kind == "text" else "https://example.com/a.png")
    )


@pytest.mark.parametrize("host", ["", "localhost", "LOCALHOST", QSysInfo.machineHostName()])
def test_local_file_addresses_of_every_form_are_resolved(tmp_path: Path, host: str) -> None:
    file = tmp_path / "a b%.txt"
    file.touch()
    mime = QMimeData()
    mime.setData(
        "text/uri-list",
        f"file://{host}{QUrl.fromLocalFile(str(file)).path(QUrl.ComponentFormattingOption.FullyEncoded)}\r\n".encode(),
    )
    assert files_of(mime) == [str(file)]


def test_a_file_on_another_machine_is_not_treated_as_local(tmp_path: Path) -> None:
    mime = QMimeData()
    mime.setData("text/uri-list", f"file://elsewhere{tmp_path}\r\n".encode())
    assert [path for path in files_of(mime) if Path(path) == tmp_path] == []
    assert folders_of(mime) == []


@pytest.mark.parametrize("scale", [100, 150])
async def test_the_button_shows_a_readable_name_or_its_icon_alone(panel: Panel, tmp_path: Path, scale: int) -> None:
    theme().set_scale(scale)
    folder = tmp_path / "Dossier Martin"
    folder.mkdir()
    panel.chat.folders.grant([str(folder)])
    await settle()
    button = panel.button
    button.setMinimumWidth(0)  # the header gives it more where there is room
    shown = set()
    for width in range(button.minimumSizeHint().width(), button.sizeHint().width() + 1):
        button.resize(width, button.height())
        shown.add(button.text().removesuffix("▾").strip())
    assert "" in shown
    assert "Dossier Martin" in shown
    assert [text for text in shown if text and not text.startswith("Doss")] == []
    assert str(folder) in button.toolTip()


async def test_the_texts_follow_the_language(panel: Panel) -> None:
    panel.workflow = Workflow(id="w", name="W", workspace=("/p",))
    panel.chat.open_workflow("w")
    await settle()
    try:
        switch_language("fr")
        await settle()
        assert "dossier" in panel.button.toolTip()
        assert "/p\u00a0: " in panel.button.toolTip()
    finally:
        switch_language("en")


async def test_a_removed_folder_is_shown_as_missing_with_a_next_step(
    panel: Panel, qtbot: QtBot, tmp_path: Path
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    panel.workflow = panel.workflow.model_copy(update={"workspace": (str(folder),)})
    panel.chat.open_workflow("w")
    await settle()
    assert panel.button.full_text == "project"
    watcher = panel.chat.folders._watcher
    assert watcher is not None
    assert watcher.directories() == [str(tmp_path)]
    panel.removed = {str(folder)}
    watcher.directoryChanged.emit(str(tmp_path))
    panel.chat.folders._debouncer.timeout.emit()
    await settle()
    assert panel.button.full_text == "project: missing"
    assert panel.button.property("variant") == "picker-warn"
    assert "no longer exists" in panel.button.toolTip()
    assert "choose another one" in panel.button.toolTip()
    panel.button.open()
    menu = panel.button.findChild(QMenu, "folders-menu")
    assert menu is not None
    words = [each.text() for each in menu.actions()]
    assert "Choose another folder…" in words
    assert "Revoke access to project" in words
    assert not any("rust" in each for each in words), "no question about trust for a missing folder"
    menu.close()
    await panel.chat.folders._replace("w", str(folder), str(tmp_path))
    await settle()
    assert panel.workflow.workspace == (str(tmp_path),)


@pytest.mark.parametrize("kind", [ChunkType.WORKFLOW_START, ChunkType.WORKFLOW_COMPLETE])
async def test_each_turn_checks_that_the_folder_exists(panel: Panel, kind: ChunkType) -> None:
    panel.workflow = panel.workflow.model_copy(update={"workspace": ("/p",)})
    panel.chat.open_workflow("w")
    await settle()
    panel.removed = {"/p"}
    panel.bridge.stream_event.emit(
        StreamEvent(workflow_id="w", run_id="r", chunk_type=kind, data={"status": "completed"})
    )
    await settle()
    assert panel.button.full_text == "p: missing"
    panel.removed = set()
    panel.chat.folders.refresh()
    await settle()
    assert panel.button.full_text == "p"


async def test_enter_gives_the_safe_answer_about_trust(panel: Panel) -> None:
    panel.chat.open_workflow("w")
    await settle()
    panel.chat.folders.grant(["/p"])
    await settle()
    box = panel.question()
    assert box is not None
    no, yes = child(box, QPushButton, "trust-no"), child(box, QPushButton, "trust-yes")
    assert no.isDefault()
    assert (no.property("variant"), yes.property("variant")) == ("primary", None)


async def test_recent_folders_are_offered_where_folders_are_granted(panel: Panel) -> None:
    """Existing folders not granted here, most recently used first; one click grants one."""
    used = (("/a/old", "/a/here"), ("/a/gone", "/a/new & fine"))
    listed = [
        Workflow(id=f"w{n}", name="W", workspace=each, updated_at=datetime(2026, 1, n, tzinfo=UTC))
        for n, each in enumerate(used, 1)
    ]
    panel.engine.set("workflows", "list", listed)
    panel.removed.add("/a/gone")
    await panel.chat.choices.load()
    panel.chat.close_workflow()
    await settle(20)
    offered = [each for each in panel.chat.findChildren(QPushButton, "recent-folder") if each.isVisible()]
    assert [each.toolTip() for each in offered] == ["/a/new & fine", "/a/old", "/a/here"]
    assert offered[0].text() == " new && fine"
    panel.button.open()
    menu = panel.button.findChild(QMenu, "folders-menu")
    assert menu is not None
    words = [each.text() for each in menu.actions() if each.text()]
    assert words == ["Recent folders", "new && fine · /a", "old · /a", "here · /a", "Grant folder access…"]
    menu.close()
    offered[2].click()
    await settle(20)
    assert panel.chat.folders.for_new == ("/a/here",)
    assert panel.chat.folders.recent == ("/a/new & fine", "/a/old")


async def test_a_long_path_is_elided_in_the_middle_of_its_menu_entry(panel: Panel) -> None:
    long = "/srv/" + "/".join(["a folder of a customer with a long name"] * 6) + "/invoices"
    panel.workflow = Workflow(id="w", name="W", workspace=(long,))
    panel.chat.open_workflow("w")
    await settle()
    panel.button.open()
    menu = panel.button.findChild(QMenu, "folders-menu")
    assert menu is not None
    entry = menu.actions()[0]
    assert entry.text().startswith("/srv/a folder")
    assert entry.text().endswith("/invoices")
    assert "…" in entry.text()
    assert (entry.toolTip(), menu.toolTipsVisible()) == (long, True)
    assert menu.sizeHint().width() < 640
    menu.close()


@pytest.mark.parametrize("height", [700, 260], ids=["sheet", "window of its own"])
async def test_keys_typed_for_the_message_do_not_answer_whether_a_folder_is_trusted(panel: Panel, height: int) -> None:
    panel.chat.setMinimumHeight(1)
    panel.chat.resize(900, height)
    panel.chat.open_workflow("w")
    await settle()
    panel.chat.activateWindow()
    panel.chat.composer.field.setFocus()
    panel.chat.folders.grant(["/p"])
    await settle()
    box = panel.question()
    assert box is not None
    assert box.isWindow() == (height == 260)
    for key in (Qt.Key.Key_T, Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Escape):
        target = box.defaultButton() if box.isWindow() else QApplication.focusWidget()
        assert target is not None
        QTest.keyClick(target, key)
    await settle()
    assert panel.question() is box
    assert panel.decided == {}
    panel.press("trust-yes")  # a click is not typing
    await settle()
    assert panel.decided == {"/p": True}
