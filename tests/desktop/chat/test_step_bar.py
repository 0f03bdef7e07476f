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
from atelier_desk.domain.approval import ApprovalSettings
from atelier_desk.domain.events.run import PauseReason, RunPaused, RunResumed
from atelier_desk.domain.workflow import RunMode, RunStatus
from atelier_desk.engine.atelier import Atelier
from atelier_desk.llm.scripted_model import ScriptedModel
from tests.helpers.fake_bridge import FakeBridge
from tests.helpers.runs_without_driver import agent
from tests.helpers.scripted_teams import begin, calculate, scripts, spawn
from tests.helpers.tool_calls import tool_call

SUM = tool_call("CalculatorTool", "c1", operation="eval", expression="6*7")


class StepBarHarness:
    """A bar in the same loop as an engine."""

    def __init__(self, engine: Atelier, model: ScriptedModel) -> None:
        self.engine, self.model = engine, model
        self.bridge = FakeBridge(engine)
        self.bar = StepBar(self.bridge)
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

    async def until_text(self, text: str) -> None:
        """Wait until this step can be taken: while the bar is busy a click is ignored."""
        await self.until(lambda: self.text == text and not self.bar._busy)

    def press(self, name: str) -> None:
        button = self.bar.findChild(QPushButton, name)
        assert button is not None
        button.click()

    @property
    def text(self) -> str:
        return self.bar.accessibleName() if not self.bar.isHidden() else ""


@pytest.fixture
async def harness(qtbot: QtBot, tmp_path: Path) -> AsyncIterator[StepBarHarness]:
    model = ScriptedModel([[SUM], "It is 42."])
    async with Atelier.open(tmp_path, model_factory=lambda _agent: model) as engine:
        made = StepBarHarness(engine, model)
        qtbot.addWidget(made.bar)
        yield made
        made.bar.bridge.ready = False  # a timer that fires now finds no engine


async def test_it_shows_the_next_step_and_runs_it(harness: StepBarHarness) -> None:
    run_id = await harness.send()
    await harness.until_text("Next: Tester calls its model.")
    assert harness.model.requests == []
    harness.press("step-next")
    await harness.until_text("Next: Tester runs “Calculator”.")
    assert len(harness.model.requests) == 1
    harness.press("step-next")
    await harness.until_text("Next: Tester calls its model.")
    harness.press("step-next")
    await harness.until(lambda: harness.bar.isHidden())
    assert (await harness.engine.runs.wait(run_id)).status is RunStatus.COMPLETED
    assert harness.bridge.errors == []


async def test_every_double_click_is_one_step(harness: StepBarHarness) -> None:
    """Also if the click comes between the engine's answer and the next query."""
    run_id = await harness.send()
    for words in ("Next: Tester calls its model.", "Next: Tester runs “Calculator”.", "Next: Tester calls its model."):
        await harness.until_text(words)
        before = len(harness.model.requests)
        for _ in range(2):
            harness.bar.take_step()
        while harness.bar._busy:
            harness.bar.take_step()
            await asyncio.sleep(0)
        assert len(harness.model.requests) <= before + 1
    await harness.until(lambda: harness.bar.isHidden())
    assert (await harness.engine.runs.wait(run_id)).status is RunStatus.COMPLETED
    assert harness.bridge.errors == []


async def test_continue_lets_the_run_finish_by_itself(harness: StepBarHarness) -> None:
    run_id = await harness.send()
    await harness.until(lambda: bool(harness.text))
    harness.press("step-run-on")
    await harness.until(lambda: harness.bar.isHidden())
    assert (await harness.engine.runs.wait(run_id)).status is RunStatus.COMPLETED
    assert len(harness.model.requests) == 2


async def test_step_mode_pauses_a_running_run_and_releases_it(harness: StepBarHarness) -> None:
    harness.model.gate = asyncio.Event()
    run_id = await harness.send(RunMode.AUTO)
    await harness.until(lambda: len(harness.model.requests) == 1)
    harness.bar.set_stepping(True)
    await asyncio.sleep(0)
    harness.model.gate.set()
    await harness.until_text("Next: Tester runs “Calculator”.")
    harness.bar.set_stepping(False)
    await harness.until(lambda: harness.bar.isHidden())
    assert (await harness.engine.runs.wait(run_id)).status is RunStatus.COMPLETED


async def test_a_paused_run_continues_from_here(harness: StepBarHarness) -> None:
    run_id = await harness.send()
    await harness.until(lambda: bool(harness.bar.waiting))
    handle = harness.engine.runs.state_of(run_id)
    assert handle is not None
    await harness.engine.journal.append(
        handle, RunResumed(mode=RunMode.STEPPING, steps=0), RunPaused(reason=PauseReason.USER)
    )
    await harness.until(lambda: "paused" in harness.text)
    assert harness.bar.next.isHidden()
    harness.press("step-run-on")
    await harness.until(lambda: bool(harness.bar.waiting) and not harness.bar._busy)  # it is still in step mode
    harness.press("step-run-on")
    await harness.until(lambda: handle.current.status.final)
    await harness.until(lambda: not harness.text)


async def paused_by_hand(harness: StepBarHarness) -> str:
    """A run that a person paused during its first request; it waits before its tool call."""
    harness.model.gate = asyncio.Event()
    run_id = await harness.send(RunMode.AUTO)
    await harness.until(lambda: len(harness.model.requests) == 1)
    await harness.engine.runs.steering.pause(run_id)
    harness.model.gate.set()
    await harness.until_text("Tester is paused.")
    return run_id


async def test_a_requested_pause_is_shown_during_the_step_and_can_be_withdrawn(harness: StepBarHarness) -> None:
    harness.model.gate = asyncio.Event()
    run_id = await harness.send(RunMode.AUTO)
    await harness.until(lambda: len(harness.model.requests) == 1)
    for _ in range(2):
        harness.bar.pause()
        await harness.until_text("Tester pauses after this step.")
    assert harness.bar.can_continue
    harness.press("step-run-on")
    await harness.until(lambda: harness.bar.isHidden())
    harness.bar.pause()
    await harness.until_text("Tester pauses after this step.")
    harness.model.gate.set()
    await harness.until_text("Tester is paused.")
    harness.press("step-run-on")
    handle = harness.engine.runs.state_of(run_id)
    assert handle is not None
    await harness.until(lambda: handle.current.status is RunStatus.COMPLETED)
    await harness.until(lambda: harness.bar.isHidden())
    assert harness.bridge.errors == []


async def test_a_pause_requested_in_the_last_step_is_not_left_behind(harness: StepBarHarness) -> None:
    harness.model._steps = ["It is 42."]
    harness.model.gate = asyncio.Event()
    await harness.send(RunMode.AUTO)
    await harness.until(lambda: len(harness.model.requests) == 1)
    harness.bar.pause()
    await harness.until_text("Tester pauses after this step.")
    harness.model.gate.set()
    await harness.until(lambda: harness.bar.isHidden())


async def test_turning_step_mode_off_does_not_continue_a_paused_run(harness: StepBarHarness) -> None:
    run_id = await paused_by_hand(harness)
    harness.bar.set_stepping(False)
    assert harness.bar.on.isEnabled(), "it still waits for the person"
    assert (await harness.engine.repos.runs.get(run_id)).status is RunStatus.PAUSED
    harness.press("step-run-on")
    handle = harness.engine.runs.state_of(run_id)
    assert handle is not None
    await harness.until(lambda: handle.current.status is RunStatus.COMPLETED)


async def test_step_mode_for_a_paused_run_offers_its_next_step(harness: StepBarHarness) -> None:
    run_id = await paused_by_hand(harness)
    harness.bar.set_stepping(True)
    await harness.until_text("Next: Tester runs “Calculator”.")
    assert len(harness.model.requests) == 1
    harness.press("step-run-on")
    handle = harness.engine.runs.state_of(run_id)
    assert handle is not None
    await harness.until(lambda: handle.current.status is RunStatus.COMPLETED)


@pytest.mark.parametrize("at_work", [True, False])
async def test_step_mode_holds_the_sub_agents_of_a_running_run(qtbot: QtBot, tmp_path: Path, at_work: bool) -> None:
    """One that works at that moment, and one whose call waits for approval."""
    helper = ScriptedModel([[calculate("c1", "6*7")], "It is 42."], gate=asyncio.Event())
    factory = scripts(Tester=[[spawn("s1", "Helper")], "Done."], Helper=helper)
    async with Atelier.open(tmp_path, model_factory=factory) as engine:
        await engine.settings.update(approvals=ApprovalSettings(auto_approve_low=False))
        harness = StepBarHarness(engine, helper)
        qtbot.addWidget(harness.bar)
        harness.workflow, run_id = await begin(engine, approval="auto" if at_work else "manual")
        harness.bar.set_workflow(harness.workflow)
        assert helper.gate is not None
        if not at_work:
            helper.gate.set()
            await engine.runs.wait(run_id)
            (asked,) = await engine.approvals.pending()  # to start the helper
            await engine.approvals.approve(asked.id)
            await harness.until(lambda: len(helper.requests) == 1)
            await engine.runs.wait(run_id)
            (asked,) = await engine.approvals.pending()
        await harness.until(lambda: len(helper.requests) == 1)
        harness.bar.set_stepping(True)
        await harness.until(lambda: not harness.bar._caught)
        if at_work:
            helper.gate.set()
        else:
            await engine.approvals.approve(asked.id)
        await harness.until_text("Next: Helper runs “Calculator”.")
        harness.bar.set_stepping(False)
        handle = engine.runs.state_of(run_id)
        assert handle is not None
        await harness.until(lambda: handle.current.status is RunStatus.COMPLETED)
        assert harness.bridge.errors == []
        harness.bar.bridge.ready = False


async def test_an_interrupted_run_is_resumed_only_in_the_transcript(harness: StepBarHarness) -> None:
    harness.model.gate = asyncio.Event()
    run_id = await harness.send(RunMode.AUTO)
    await harness.until(lambda: len(harness.model.requests) == 1)
    await harness.engine.runs.live.interrupt(run_id)
    assert (await harness.engine.runs.wait(run_id)).status is RunStatus.INTERRUPTED
    assert await harness.engine.stepping.held(harness.workflow) is None
    await harness.bar._ask(harness.workflow)
    assert harness.bar.isHidden()


async def test_runs_of_other_workflows_are_ignored(harness: StepBarHarness) -> None:
    await harness.send()
    await harness.until(lambda: bool(harness.text))
    other = await harness.engine.workflows.create("Other")
    harness.bar.set_workflow(other.id)
    assert harness.bar.isHidden()
    harness.bar.set_workflow(harness.workflow)
    await harness.until(lambda: bool(harness.text))


def test_pressing_next_while_nothing_waits_does_nothing(qtbot: QtBot) -> None:
    bridge: Any = FakeBridge()
    bar = StepBar(bridge)
    qtbot.addWidget(bar)
    bar.take_step()
    bar.run_on()
    assert bridge.atelier.log == []
