"""Characters that reorder or hide text in names, paths, commands or questions are shown as escapes everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QAbstractButton, QAbstractItemView, QLineEdit, QWidget

from atelier_desk.desktop.panes.files.pane import FilesPane
from atelier_desk.desktop.panes.registry import panes
from atelier_desk.desktop.settings.registry import sections
from atelier_desk.desktop.settings.window import SettingsWindow
from atelier_desk.desktop.workspace_folders.button import FolderButton
from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.mcp import McpServer
from atelier_desk.domain.model_messages import ChatReply, ToolCall
from atelier_desk.domain.project import Project
from atelier_desk.domain.provider import ProviderConfig
from atelier_desk.engine.atelier import Atelier
from atelier_desk.llm.scripted_model import Step
from tests.e2e.conftest import OpenApp
from tests.e2e.harness import AppDriver
from tests.e2e.scripted_tool_calls import ask_user, remember, report, task
from tests.helpers.child_widgets import child
from tests.helpers.tool_calls import tool_call
from tests.helpers.window_texts import on_screen

TURN = "\u202e"
"""Right-to-left override: ``report<U+202E>txt.sh`` is drawn as ``reporths.txt``."""


def turned(name: str) -> str:
    return f"{name}{TURN}txt.sh"


def call(number: int, name: str, **arguments: object) -> ToolCall:
    return tool_call(name, f"c{number}", **arguments)


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
        ask_user(
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

    def check(self, app: AppDriver, moment: str, *parts: QWidget) -> None:
        app.settle()
        for position, text in on_screen(*parts):
            if TURN in text:
                self.raw.setdefault((position, text[:120]), moment)

    def verify(self) -> None:
        assert not self.raw, "\n".join(
            f"{moment}: {position}: {text!r}" for (position, text), moment in self.raw.items()
        )


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


def granted(app: AppDriver, screen: Screen, folder: Path) -> None:
    app.action("show-files")
    pane = app.find("files-pane", FilesPane)
    app.send("Begin")
    app.until_reply("Grant me")
    app.wait_done()
    pane.folders.grant([str(folder)])
    pane.folders.ask_trust([str(folder)])
    app.until(lambda: app.window.findChildren(QWidget, "trust-yes"), "the question whether it is trusted")
    screen.check(app, "trust")
    app.click(app.window.findChildren(QAbstractButton, "trust-yes")[0])
    app.settle()


def worked(app: AppDriver, screen: Screen) -> None:
    """Let the agent do all of ``WORK``; requests are checked and approved."""
    app.send("Continue")

    def cards() -> list[QWidget]:
        return [each for each in app.window.chat.findChildren(QWidget, "approval-card") if each.isVisible()]

    while not app.find_all("user-question-modal"):
        app.until(lambda: cards() or app.find_all("user-question-modal"), "it asks")
        screen.check(app, "asked")
        for card in cards():
            app.click(child(card, QAbstractButton, "approval-approve"))
            app.until(lambda card=card: card not in cards(), "it is decided")  # type: ignore[misc]
    screen.check(app, "question")
    app.click("question-option-a")
    app.click("question-submit")
    app.until_reply("Nothing else.")
    app.wait_done()


def opened_rows(app: AppDriver, view: QAbstractItemView) -> Iterator[int]:
    """Select each row of a list, one after another."""
    for row in range(view.model().rowCount()):
        index = view.model().index(row, 0)
        view.setCurrentIndex(index)
        view.clicked.emit(index)
        view.activated.emit(index)
        yield row


def test_hidden_characters_in_an_agents_work_are_escaped(open_app: OpenApp, screen: Screen, tmp_path: Path) -> None:
    folder = tmp_path / turned("folder")
    folder.mkdir()
    (folder / turned("old")).write_text("one\n")
    app = open_app(WORK)
    app.engine(store_names)
    app.window.resize(1360, 860)
    granted(app, screen, folder)
    worked(app, screen)
    app.engine(lambda atelier: atelier.workflows.rename(app.workflow_id, turned("workflow")))
    app.engine(lambda atelier: atelier.workflows.move(app.workflow_id, turned("collection")))
    assert (folder / turned("new")).exists()
    for pane in panes():
        app.action(f"show-{pane.name}")
        screen.check(app, pane.name)
        shown = app.window.rail.panes[pane.name]
        for view in shown.findChildren(QAbstractItemView):
            for row in opened_rows(app, view):
                screen.check(app, f"{pane.name} {view.objectName()} {row}", shown)
    app.find("workflow-folders", FolderButton).open()
    screen.check(app, "menu of folders")
    app.window.findChildren(QWidget, "folders-menu")[0].close()
    app.close()
    app = open_app()
    screen.check(app, "started again")


def test_hidden_characters_in_settings_and_lists_are_escaped(
    open_app: OpenApp, screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def checks(_atelier: object) -> list[object]:
        return []

    monkeypatch.setattr("atelier_desk.engine.maintenance.doctor.checks", checks)
    app = open_app(["Done."])
    app.engine(store_names)
    app.send("Begin")
    app.until_reply("Done.")
    app.wait_done()
    app.engine(lambda atelier: atelier.workflows.rename(app.workflow_id, turned("workflow")))
    screen.check(app, "renamed")
    app.action("command-palette")
    screen.check(app, "palette")
    app.action("search-everywhere")
    app.find("search-everywhere-field", QLineEdit).setText("Begin")
    screen.check(app, "search")
    app.action("projects")
    screen.check(app, "projects")
    app.action("settings")
    settings = app.until(lambda: app.window.findChildren(SettingsWindow), "the settings")[0]
    for page in sections():
        settings.show_page(page.name)
        screen.check(app, page.name, settings)
    settings.close()
    app.action("delete-workflow")
    screen.check(app, "deleted")
