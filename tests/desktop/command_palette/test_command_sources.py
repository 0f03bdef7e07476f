"""What the command palette of the main window finds, and what choosing it does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QAbstractItemModel, Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.compose.prompt_variables_form import PromptForm
from atelier_desk.desktop.command_palette.palette import Command
from atelier_desk.domain.agent import Agent, AgentConfig
from atelier_desk.domain.prompt import Prompt
from atelier_desk.domain.provider import ModelInfo
from atelier_desk.domain.workflow import Workflow
from tests.helpers.fake_bridge import settle
from tests.helpers.list_texts import titles
from tests.helpers.main_window_with_fake_engine import Program


def has_one_row(rows: QAbstractItemModel) -> bool:
    return rows.rowCount() == 1


async def wait_for(done: Callable[[], bool]) -> None:
    """Wait for work of another thread."""
    async with asyncio.timeout(20):
        while not done():
            await asyncio.sleep(0.01)
    await settle()


async def test_a_palette_opened_before_the_models_are_loaded_finds_them_afterwards(program: Program) -> None:
    window = program.window
    await program.start()
    window.actions_["command-palette"].trigger()
    palette = window._palette
    assert palette is not None

    def found() -> list[str]:
        return titles(palette.list)

    QTest.keyClicks(palette.field, "llama")
    assert "Model: llama-3" not in found()
    program.engine.set("models", "list", [ModelInfo(provider="p", name="llama-3")])
    await window.chat.choices.load()
    await wait_for(lambda: "Model: llama-3" in found())
    assert palette.field.text() == "llama"
    palette.hide()


async def test_the_palette_reaches_workflows_agents_models_and_settings(program: Program) -> None:
    models = [
        ModelInfo(provider="Groq", name="llama", context_window=131_072),
        ModelInfo(provider="p", name="e", embedding=True),
    ]
    agents = [Agent(id=name, config=AgentConfig(name=name, provider="p", model="m")) for name in ("Ada", "Bert")]
    program.engine.set("models", "list", models)
    program.engine.set("agents", "list", agents)
    program.engine.set("agents", "default", agents[0])
    await program.start(workflow="w1")
    window = program.window
    window.actions_["command-palette"].trigger()
    palette = window._palette
    assert palette is not None
    await wait_for(lambda: bool(window.settings_pages))
    texts = set(titles(palette.list))
    assert {"First", "Agent: Bert", "Model: llama", "Providers", "Shortcuts", "Dark theme", "French"} <= texts
    assert "Model: e" not in texts
    QTest.keyClicks(palette.field, "bert")
    QTest.keyClick(palette.field, Qt.Key.Key_Return)
    await settle(30)
    assert window.chat.choices.agent is not None
    assert window.chat.choices.agent.id == "Bert"
    window.actions_["command-palette"].trigger()
    QTest.keyClicks(palette.field, "llama")
    QTest.keyClick(palette.field, Qt.Key.Key_Return)
    await settle(30)
    assert window.chat.choices.model == ("Groq", "llama")
    window.actions_["command-palette"].trigger()
    QTest.keyClicks(palette.field, "shortcuts")
    QTest.keyClick(palette.field, Qt.Key.Key_Return)
    await settle(30)
    assert window._settings_window is not None
    assert window._settings_window.current == "shortcuts"
    assert window.layout_state()["commands"].split("\n") == ["page:shortcuts", "model:Groq/llama", "agent:Bert"]
    window._settings_window.close()


async def test_the_palette_finds_archived_workflows(program: Program) -> None:
    await program.start(workflow="w1")
    away = Workflow(id="old", name="Harbour plans", archived=True)
    program.engine.set("workflows", "list", lambda *_, archived=None, **__: [away] if archived else [])
    window = program.window
    window.actions_["command-palette"].trigger()
    palette = window._palette
    assert palette is not None
    QTest.keyClicks(palette.field, "harbour")
    await wait_for(lambda: palette.list.rows.rowCount() == 1)
    assert (
        palette.list.rows.index(0, 0)
        .data(Qt.ItemDataRole.AccessibleTextRole)
        .startswith("Harbour plans, Archived workflow · ")
    )
    QTest.keyClick(palette.field, Qt.Key.Key_Return)
    await settle(30)
    assert window.chat.workflow_id == "old"


async def test_the_palette_inserts_a_prompt_into_the_message(program: Program) -> None:
    await program.start(workflow="w1")
    prompts = [
        Prompt(name="weekly", description="Sums the week up", content="Sum up."),
        Prompt(name="greet", content="Greet {{who}}."),
    ]
    program.engine.set("prompts", "list", prompts)
    window, field = program.window, program.window.chat.composer.field
    field.setPlainText("Please: ")
    field.moveCursor(QTextCursor.MoveOperation.End)
    for searched, found in (("week up", "Prompt: weekly, Sums the week up"), ("greet", "Prompt: greet")):
        window.actions_["command-palette"].trigger()
        palette = window._palette
        assert palette is not None
        palette.field.clear()
        QTest.keyClicks(palette.field, searched)
        rows = palette.list.rows
        await wait_for(partial(has_one_row, rows))
        assert palette.list.rows.index(0, 0).data(Qt.ItemDataRole.AccessibleTextRole).startswith(found)
        QTest.keyClick(palette.field, Qt.Key.Key_Return)
        await settle(30)
    form = window.chat.calling.dialog
    assert isinstance(form, PromptForm)
    form.fields[0].set_text("Ann")
    form._press()
    assert field.toPlainText() == "Please: Sum up.Greet Ann."


async def test_a_palette_opened_during_start_offers_only_possible_actions(program: Program, qtbot: QtBot) -> None:
    window = program.window
    window.actions_["command-palette"].trigger()
    palette = window._palette
    assert palette is not None
    QTest.keyClicks(palette.field, "replay")

    def replay() -> Command:
        rows = palette.list.rows
        found: list[Command] = [palette.list.value(rows.index(row, 0)) for row in palette.list.lines()]
        return next(each for each in found if each.key == "replay-run")

    assert not replay().enabled
    assert replay().hint == "Not available now"
    await program.start(workflow="w1")
    qtbot.waitUntil(lambda: replay().enabled)
    assert palette.field.text() == "replay"
    palette.hide()
