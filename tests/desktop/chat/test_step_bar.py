"""The step bar over the real engine: the announced step is the one that runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.step_bar import StepBar
from atelier_desk.domain.events.run import PauseReason, RunPaused, RunResumed
from atelier_desk.domain.model_messages import ToolCall
from atelier_desk.domain.workflow import RunMode, RunStatus
from atelier_desk.engine.atelier import Atelier
from atelier_desk.llm.scripted import ScriptedModel
from tests.support.fake_bridge import FakeBridge
from tests.support.runs import agent

SUM = ToolCall(id="c1", name="CalculatorTool", arguments={"operation": "eval", "expression": "6*7"})


class Desk:
    """A bar in the same loop as an engine."""

    def __init__(self, engine: Atelier, model: ScriptedModel) -> None:
        self.engine, self.model = engine, model
        self.bridge = FakeBridge(engine)
        self.bar = StepBar(self.bridge)  # type: ignore[arg-type]
        engine.bus.subscribe(self.bridge.stream_event.emit)
        self.workflow = ""

    async def send(self, mode: RunMode = RunMode.STEPPING) -> str:
        made = await self.engine.workflows.create("First")
        self.workflow = made.id
        self.bar.set_workflow(made.id)
        return await self.engine.runs.send(made.id, "hello", agent=agent(), mode=mode)

    async def until(self, condition: Callable[[], bool]) -> None:
        for _ in range(2000):
            if condition():
                return
            QCoreApplication.processEvents()
            await asyncio.sleep(0.002)
        raise AssertionError("it never came true")

    def press(self, name: str) -> None:
        button = self.bar.findChild(QPushButton, name)
        assert button is not None
        button.click()

    @property
    def says(self) -> str:
        return self.bar.accessibleName() if not self.bar.isHidden() else ""


@pytest.fixture
async def desk(qtbot: QtBot, tmp_path: Path) -> AsyncIterator[Desk]:
    model = ScriptedModel([[SUM], "It is 42."])
    async with Atelier.open(tmp_path, model_factory=lambda _agent: model) as engine:
        made = Desk(engine, model)
        qtbot.addWidget(made.bar)
        yield made
        made.bar.bridge.ready = False  # a timer that fires now finds no engine


async def test_it_shows_the_next_step_and_runs_it(desk: Desk) -> None:
    run_id = await desk.send()
    await desk.until(lambda: desk.says == "Next: Tester calls its model.")
    assert desk.model.requests == []
    desk.press("step-next")
    await desk.until(lambda: desk.says == "Next: Tester runs Calculator.")
    assert len(desk.model.requests) == 1
    desk.press("step-next")
    await desk.until(lambda: desk.says == "Next: Tester calls its model." and not desk.bar._busy)
    desk.press("step-next")
    await desk.until(lambda: desk.bar.isHidden())
    assert (await desk.engine.runs.wait(run_id)).status is RunStatus.COMPLETED
    assert desk.bridge.errors == []


async def test_every_double_click_is_one_step(desk: Desk) -> None:
    """Also if the click comes between the engine's answer and the next query."""
    run_id = await desk.send()
    for words in ("Next: Tester calls its model.", "Next: Tester runs Calculator.", "Next: Tester calls its model."):
        await desk.until(lambda words=words: desk.says == words and not desk.bar._busy)  # type: ignore[misc]
        before = len(desk.model.requests)
        for _ in range(2):
            desk.bar.take_step()
        while desk.bar._busy:
            desk.bar.take_step()
            await asyncio.sleep(0)
        assert len(desk.model.requests) <= before + 1
    await desk.until(lambda: desk.bar.isHidden())
    assert (await desk.engine.runs.wait(run_id)).status is RunStatus.COMPLETED
    assert desk.bridge.errors == []


async def test_continue_lets_the_run_finish_by_itself(desk: Desk) -> None:
    run_id = await desk.send()
    await desk.until(lambda: bool(desk.says))
    desk.press("step-run-on")
    await desk.until(lambda: desk.bar.isHidden())
    assert (await desk.engine.runs.wait(run_id)).status is RunStatus.COMPLETED
    assert len(desk.model.requests) == 2


async def test_step_mode_pauses_a_running_run_and_releases_it(desk: Desk) -> None:
    desk.model.gate = asyncio.Event()
    run_id = await desk.send(RunMode.AUTO)
    await desk.until(lambda: len(desk.model.requests) == 1)
    desk.bar.set_stepping(True)
    await asyncio.sleep(0)
    desk.model.gate.set()
    await desk.until(lambda: desk.says == "Next: Tester runs Calculator.")
    desk.bar.set_stepping(False)
    await desk.until(lambda: desk.bar.isHidden())
    assert (await desk.engine.runs.wait(run_id)).status is RunStatus.COMPLETED


async def test_a_paused_run_continues_from_here(desk: Desk) -> None:
    run_id = await desk.send()
    await desk.until(lambda: bool(desk.bar.waiting))
    handle = desk.engine.runs.state_of(run_id)
    assert handle is not None
    await desk.engine.journal.append(
        handle, RunResumed(mode=RunMode.STEPPING, steps=0), RunPaused(reason=PauseReason.USER)
    )
    await desk.until(lambda: "paused" in desk.says)
    assert desk.bar.next.isHidden()
    desk.press("step-run-on")
    await desk.until(lambda: handle.current.status.final)
    await desk.until(lambda: not desk.says)


async def test_an_interrupted_run_is_resumed_only_in_the_transcript(desk: Desk) -> None:
    desk.model.gate = asyncio.Event()
    run_id = await desk.send(RunMode.AUTO)
    await desk.until(lambda: len(desk.model.requests) == 1)
    await desk.engine.runs.live.interrupt(run_id)
    assert (await desk.engine.runs.wait(run_id)).status is RunStatus.INTERRUPTED
    assert await desk.engine.stepping.held(desk.workflow) is None
    await desk.bar._ask(desk.workflow)
    assert desk.bar.isHidden()


async def test_runs_of_other_workflows_are_ignored(desk: Desk) -> None:
    await desk.send()
    await desk.until(lambda: bool(desk.says))
    other = await desk.engine.workflows.create("Other")
    desk.bar.set_workflow(other.id)
    assert desk.bar.isHidden()
    desk.bar.set_workflow(desk.workflow)
    await desk.until(lambda: bool(desk.says))


def test_pressing_next_while_nothing_waits_does_nothing(qtbot: QtBot) -> None:
    bridge: Any = FakeBridge()
    bar = StepBar(bridge)
    qtbot.addWidget(bar)
    bar.take_step()
    bar.run_on()
    assert bridge.atelier.log == []
