"""Characters that reorder or hide text in names, paths, commands or questions are shown as escapes everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QAbstractButton, QAbstractItemView, QLineEdit, QWidget

from atelier_desk.desktop.folders.button import FolderButton
from atelier_desk.desktop.panes.files.pane import FilesPane
from atelier_desk.desktop.panes.registry import panes
from atelier_desk.desktop.settings.registry import sections
from atelier_desk.desktop.settings.window import SettingsWindow
from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.mcp import McpServer
from atelier_desk.domain.model_messages import ChatReply, ToolCall
from atelier_desk.domain.project import Project
from atelier_desk.domain.provider import ProviderConfig
from atelier_desk.engine.atelier import Atelier
from atelier_desk.llm.scripted import Step
from tests.e2e.asking import ask, remember, report, task
from tests.e2e.conftest import OpenDesk
from tests.e2e.harness import Desk, child
from tests.support.screen_texts import on_screen

TURN = "\u202e"
"""Right-to-left override: ``report<U+202E>txt.sh`` is drawn as ``reporths.txt``."""


def turned(thing: str) -> str:
    return f"{thing}{TURN}txt.sh"


def call(number: int, name: str, **arguments: object) -> ToolCall:
    return ToolCall(id=f"c{number}", name=name, arguments=arguments)


OPTIONS = [{"id": "a", "label": turned("first")}, {"id": "b", "label": turned("second")}]
WORK: list[Step] = [
    "Grant me the folder first.",
    ChatReply(
        content="I begin.",
        tool_calls=(
            task("t1", turned("task"), description=turned("about")),
            remember("m1", turned("memory")),
            report("r1", "audit", f"# {turned('body')}"),
            call(1, "write_file", path=turned("new"), content="a\n"),
            call(2, "write_file", path=turned("AGENTS") + "/AGENTS.md", content="a\n"),
            call(3, "read_file", path=turned("old")),
            call(4, "read_file", path=turned("missing")),
            call(5, "list_directory", path="."),
            call(6, "run_command", command=f"echo {turned('ok')} >&2; false", modifies_files=True),
        ),
    ),
    [
        ask(
            "q1",
            turned("question"),
            "mixed",
            options=OPTIONS,
            context=turned("context"),
            textPlaceholder=turned("hint"),
        )
    ],
    "Done.",
    "Nothing else.",
]


class Screen:
    """Collects unescaped texts on the screen, with the step at which each was first seen."""

    def __init__(self) -> None:
        self.raw: dict[tuple[str, str], str] = {}

    def look(self, desk: Desk, moment: str, *parts: QWidget) -> None:
        desk.settle()
        for place, text in on_screen(*parts):
            if TURN in text:
                self.raw.setdefault((place, text[:120]), moment)

    def verify(self) -> None:
        assert not self.raw, "\n".join(f"{moment}: {place}: {text!r}" for (place, text), moment in self.raw.items())


@pytest.fixture
def screen() -> Iterator[Screen]:
    made = Screen()
    yield made
    made.verify()


async def store_names(atelier: Atelier) -> None:
    """Store one of everything that has a name."""
    await atelier.providers.save(ProviderConfig(name="server", kind="openai", base_url="http://127.0.0.1:9/v1"))
    await atelier.agents.save(AgentConfig(name=turned("agent"), provider="server", model=turned("model")))
    await atelier.repos.projects.save(Project(name=turned("project"), root=f"/nowhere/{turned('root')}"))
    await atelier.mcp.save(McpServer(name="files", command=turned("/bin/serve"), args=(turned("arg"),), enabled=False))


def granted(desk: Desk, screen: Screen, folder: Path) -> None:
    desk.action("show-files")
    pane = desk.find("files-pane", FilesPane)
    desk.send("Begin")
    desk.last_reply("Grant me")
    desk.wait_done()
    pane.folders.grant([str(folder)])
    pane.folders.ask_trust([str(folder)])
    desk.until(lambda: desk.window.findChildren(QWidget, "trust-yes"), "the question whether it is trusted")
    screen.look(desk, "trust")
    desk.click(desk.window.findChildren(QAbstractButton, "trust-yes")[0])
    desk.settle()


def worked(desk: Desk, screen: Screen) -> None:
    """Let the agent do all of ``WORK``; requests are checked and approved."""
    desk.send("Continue")

    def cards() -> list[QWidget]:
        return [each for each in desk.window.chat.findChildren(QWidget, "approval-card") if each.isVisible()]

    while not desk.all("user-question-modal"):
        desk.until(lambda: cards() or desk.all("user-question-modal"), "it asks")
        screen.look(desk, "asked")
        for card in cards():
            desk.click(child(card, QAbstractButton, "approval-approve"))
            desk.until(lambda card=card: card not in cards(), "it is decided")  # type: ignore[misc]
    screen.look(desk, "question")
    desk.click("question-option-a")
    desk.click("question-submit")
    desk.last_reply("Nothing else.")
    desk.wait_done()


def opened_rows(desk: Desk, view: QAbstractItemView) -> Iterator[int]:
    """Select each row of a list, one after another."""
    for row in range(view.model().rowCount()):
        index = view.model().index(row, 0)
        view.setCurrentIndex(index)
        view.clicked.emit(index)
        view.activated.emit(index)
        yield row


def test_of_an_agents_work(open_desk: OpenDesk, screen: Screen, tmp_path: Path) -> None:
    folder = tmp_path / turned("folder")
    folder.mkdir()
    (folder / turned("old")).write_text("one\n")
    desk = open_desk(WORK)
    desk.engine(store_names)
    desk.window.resize(1360, 860)
    granted(desk, screen, folder)
    worked(desk, screen)
    desk.engine(lambda atelier: atelier.workflows.rename(desk.workflow_id, turned("workflow")))
    desk.engine(lambda atelier: atelier.workflows.move(desk.workflow_id, turned("collection")))
    assert (folder / turned("new")).exists()
    for pane in panes():
        desk.action(f"show-{pane.name}")
        screen.look(desk, pane.name)
        shown = desk.window.rail.panes[pane.name]
        for view in shown.findChildren(QAbstractItemView):
            for row in opened_rows(desk, view):
                screen.look(desk, f"{pane.name} {view.objectName()} {row}", shown)
    desk.find("workflow-folders", FolderButton).open()
    screen.look(desk, "menu of folders")
    desk.window.findChildren(QWidget, "folders-menu")[0].close()
    desk.close()
    desk = open_desk()
    screen.look(desk, "started again")


def test_of_settings_and_lists(open_desk: OpenDesk, screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    async def checks(_atelier: object) -> list[object]:
        return []

    monkeypatch.setattr("atelier_desk.engine.maintenance.doctor.checks", checks)
    desk = open_desk(["Done."])
    desk.engine(store_names)
    desk.send("Begin")
    desk.last_reply("Done.")
    desk.wait_done()
    desk.engine(lambda atelier: atelier.workflows.rename(desk.workflow_id, turned("workflow")))
    screen.look(desk, "renamed")
    desk.action("command-palette")
    screen.look(desk, "palette")
    desk.action("search-everywhere")
    desk.find("search-everywhere-field", QLineEdit).setText("Begin")
    screen.look(desk, "search")
    desk.action("projects")
    screen.look(desk, "projects")
    desk.action("settings")
    settings = desk.until(lambda: desk.window.findChildren(SettingsWindow), "the settings")[0]
    for page in sections():
        settings.show_page(page.name)
        screen.look(desk, page.name, settings)
    settings.close()
    desk.action("delete-workflow")
    screen.look(desk, "deleted")
