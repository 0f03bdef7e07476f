"""The window's stalls while a team works and while its run is replayed.

Run with ``python -m tests.bench.bench_team_window`` (``--quick`` for a short one). The real program with the engine on
its own thread works in its own process; the parent starts it and prints. Scripted models stream, so that nothing waits
for a network.

* eight streams: a lead gives each of eight writers a task, and all of them stream at once
* many agents: three batches of fourteen workers, each with tool calls and tasks: with lead and writers 51 agents
* replay: that run from its first event at the fastest speed; then its slider is dragged from one end to the other and
  back

For each, between two ticks of a 16 ms timer in the UI thread: the processor time of that thread (goal p99 ≤ 20 ms, max
≤ 50 ms), which other programs on the machine do not change, and the elapsed time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.bench.bench_desktop import percentile, reply_text, report
from tests.helpers.tool_calls import tool_call

RATE = 100
"""Tokens a second of each writer; a token has four characters."""
WRITERS = 8
BATCHES, WORKERS = 3, 14
STEPS = 3
"""Calls of each worker before it reports."""
WAIT_S = 150
"""Seconds after which a team that does not end ends the measurement."""
CHILD_S = 240
"""Seconds the whole measurement may take with ``--quick``; else four times as many."""
GOALS = (20.0, 50.0)
"""Milliseconds of the UI thread's own work between two ticks: 99th percentile, most."""
PHASES = {
    "stream": "eight stream",
    "work": "many work",
    "open": "replay opens",
    "play": "replay at 16×",
    "scrub": "slider drawn",
}


class TeamModels:
    """Models of lead, writers and workers.

    Each answers only by the content of the request, so that agents of the same name can ask at once.
    """

    def __init__(self, seconds: float) -> None:
        self._text = reply_text(round(seconds * RATE * 4))

    def factory(self, config: Any) -> Any:
        from atelier_desk.llm.scripted_model import ScriptedModel

        role = {"Writer": self._writer, "Worker": self._worker}.get(config.name, self._lead)

        class Model:
            async def stream(self, request: Any) -> AsyncIterator[Any]:
                done = sum(message.role == "tool" for message in request.messages)
                reply, rate = role(done)
                script = ScriptedModel([reply], chunk=4, delay_s=1 / rate)
                async for delta in script.stream(request):
                    yield delta

        return Model()

    @staticmethod
    def _batch(done: int, name: str, count: int) -> Any:
        tasks = [
            {"agent_id": name, "prompt": f"Look at part {number} of the **whole** and say what matters."}
            for number in range(count)
        ]
        return _calls(f"batch-{done}", "ParallelTasksTool", operation="execute_batch", tasks=tasks)

    def _lead(self, done: int) -> tuple[Any, float]:
        if done > BATCHES:
            return reply_text(1200, seed=5), 1000
        return (self._batch(done, "Worker", WORKERS) if done else self._batch(0, "Writer", WRITERS)), 1000

    def _writer(self, done: int) -> tuple[Any, float]:
        return (
            (self._text, RATE)
            if done
            else (_calls("first", "CalculatorTool", operation="eval", expression="6 * 7"), RATE)
        )

    @staticmethod
    def _worker(done: int) -> tuple[Any, float]:
        if done >= STEPS:
            return reply_text(300, seed=done), 400
        if done == 1:
            return _calls("task", "TodoTool", operation="create", name="Look at the part"), 400
        return _calls(f"step-{done}", "CalculatorTool", operation="eval", expression=f"{done} + 1"), 400


def _calls(key: str, tool: str, /, **arguments: Any) -> Any:
    from atelier_desk.domain.model_messages import ChatReply, Usage

    usage = Usage(tokens_input=900, tokens_output=40)
    return ChatReply(content="I look at it.", tool_calls=(tool_call(tool, key, **arguments),), usage=usage)


def _agent(name: str) -> Any:
    from atelier_desk.domain.agent import AgentConfig, ApprovalMode

    tools = ("CalculatorTool", "TodoTool", "ParallelTasksTool")
    return AgentConfig(name=name, provider="local", model="scripted", tools=tools, approval=ApprovalMode.AUTO)


class Ticker:
    """Measures the UI thread between the ticks of a 16 ms timer."""

    def __init__(self, program: Any) -> None:
        from PySide6.QtCore import Qt, QTimer

        self.gaps: list[float] = []
        self.busy: list[float] = []
        self._last = self._worked = 0.0
        self._timer = QTimer(program)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._tick)

    def _tick(self) -> None:
        now, worked = time.perf_counter(), time.thread_time()
        if self._last:
            self.gaps.append((now - self._last) * 1000)
            self.busy.append((worked - self._worked) * 1000)
        self._last, self._worked = now, worked

    def start(self) -> None:
        self.gaps, self.busy, self._last = [], [], 0.0
        self._timer.start(16)

    def stop(self) -> dict[str, list[float]]:
        self._timer.stop()
        return {"gaps": self.gaps, "busy": self.busy}


class Probe:
    """Drives the window from inside and measures."""

    def __init__(self, program: Any, seconds: float) -> None:
        self.program, self.seconds = program, seconds
        self.ticker = Ticker(program)
        self.found: dict[str, dict[str, list[float]]] = {}
        self._over = asyncio.Event()
        self._reported = asyncio.Event()
        program.bridge.stream_event.connect(self._on_stream)

    def _on_stream(self, event: Any) -> None:
        kind = event.chunk_type.value
        if kind == "workflow_complete" and not event.depth:
            self._over.set()
        elif kind == "tool_end" and not event.depth:
            self._reported.set()

    async def run(self) -> None:
        workflow_id = await self._team()
        marks = await self._replay(workflow_id)
        panel = self.program.window.chat
        report(phases=self.found, agents=len(panel.team.state.members), events=marks)
        os._exit(0)

    async def _team(self) -> str:
        bridge, window = self.program.bridge, self.program.window
        for name in ("Writer", "Worker"):
            await bridge.engine.agents.save(_agent(name))
        workflow = await bridge.engine.workflows.create("A team")
        window.chat.open_workflow(workflow.id)
        await asyncio.sleep(0.7)
        self.ticker.start()
        await bridge.engine.runs.send(workflow.id, "Look at everything.", agent=_agent("Lead"))
        await asyncio.wait_for(self._reported.wait(), WAIT_S)
        self.found["stream"] = self.ticker.stop()
        self.ticker.start()
        await asyncio.wait_for(self._over.wait(), WAIT_S)
        await asyncio.sleep(0.5)
        self.found["work"] = self.ticker.stop()
        return str(workflow.id)

    async def _replay(self, workflow_id: str) -> int:
        from atelier_desk.desktop.replay.player import SPEEDS

        conductor = self.program.window.conductor
        self.ticker.start()
        conductor.open_replay()
        async with asyncio.timeout(WAIT_S):
            while conductor.replay is None or conductor.replay.snapshot is None:
                await asyncio.sleep(0.05)
        await asyncio.sleep(0.3)
        self.found["open"] = self.ticker.stop()
        view = conductor.replay
        view.player.set_speed(SPEEDS[-1])
        view.player.seek(0)
        await asyncio.sleep(0.5)
        self.ticker.start()
        view.player.play()
        await asyncio.sleep(1.5 * self.seconds)
        view.player.pause()
        self.found["play"] = self.ticker.stop()
        last = view.player.last
        self.ticker.start()
        moves = round(self.seconds / 0.016)
        for move in range(moves):
            view.scrubber.setValue(round(last * (1 - abs(1 - 2 * move / moves))))
            await asyncio.sleep(0.016)
        await asyncio.sleep(0.3)
        self.found["scrub"] = self.ticker.stop()
        return len(view.marks)


def child(folder: Path, seconds: float) -> None:
    """The real program with scripted models."""
    from atelier_desk.desktop import app as desktop

    models = TeamModels(seconds)

    @asynccontextmanager
    async def opener(data_dir: Path | None) -> AsyncIterator[Any]:
        from atelier_desk.engine.atelier import Atelier

        async with Atelier.open(data_dir, model_factory=models.factory) as atelier:
            await atelier.settings.update(first_start_done=True)
            yield atelier

    original = desktop.Program._on_opened

    async def then_measure(program: desktop.Program) -> None:
        try:
            await original(program)
            await asyncio.sleep(0.7)
            await Probe(program, seconds).run()
        except BaseException:
            traceback.print_exc()
            os._exit(1)

    desktop.Program._on_opened = then_measure  # type: ignore[method-assign, assignment]
    desktop.main(folder, [], opener=opener)


def measure(folder: Path, quick: bool) -> dict[str, Any]:
    """Run the child and read its figures; it is killed when it takes too long."""
    command = [sys.executable, "-m", "tests.bench.bench_team_window", "--child", "--folder", str(folder)]
    command += ["--quick"] if quick else []
    limit = CHILD_S if quick else 4 * CHILD_S
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired as late:
        raise SystemExit(f"the window did not finish within {limit} s:\n{(late.stderr or b'')[-4000:]!r}") from None
    lines = [line for line in done.stdout.splitlines() if line.startswith("FIGURES ")]
    if not lines:
        raise SystemExit(f"the window gave no figures:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    figures: dict[str, Any] = json.loads(lines[-1].removeprefix("FIGURES "))
    return figures


def compare(quick: bool, target: Path | None) -> None:
    """Measure and print the table."""
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(Path(folder), quick)
    rows: list[tuple[str, float, float | None]] = []
    for key, name in PHASES.items():
        gaps, busy = figures["phases"][key]["gaps"], figures["phases"][key]["busy"]
        rows += [
            (f"{name}: own work, p99", percentile(busy, 0.99), GOALS[0]),
            (f"{name}: own work, max", max(busy), GOALS[1]),
        ]
        rows += [
            (f"{name}: frame gap, p99", percentile(gaps, 0.99), None),
            (f"{name}: frame gap, max", max(gaps), None),
        ]
    for name, value, goal in rows:
        print(f"{name:<32} {value:>7.1f} ms  {f'goal {goal:.0f}' if goal is not None else ''}")
    print(f"{figures['agents']} agents, {figures['events']} events to replay")
    if target is not None:
        named = [{"name": name, "value": round(value, 3), "unit": "ms", "goal": goal} for name, value, goal in rows]
        counted = {"agents": figures["agents"], "events": figures["events"]}
        target.write_text(json.dumps({"bench": "team_window", "rows": named, **counted}, indent=1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="shorter texts and a shorter replay")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    # the usual size: in a narrow window the panes would be hidden
    screen = Path(__file__).parents[1] / "helpers" / "screen.json"
    os.environ.setdefault("QT_QPA_PLATFORM", f"offscreen:configfile={screen}")
    if arguments.child:
        child(arguments.folder, 3 if arguments.quick else 12)
    else:
        compare(arguments.quick, arguments.json)


if __name__ == "__main__":
    main()
