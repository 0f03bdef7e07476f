"""Cost of a workflow as it grows: the first turn after a start, and a later one, at 10, 1 000 and 5 000 turns.

The turns before the measured ones are made through the journal, with the events and rows that the engine would write,
including summaries; the measured turns use the complete engine, in a process of its own, without syncs, and a scripted
model server in another. Times are processor time of the process, including the database; ``of_10`` is their ratio to
those of the workflow with the fewest turns, in the same folder.

With ``--short`` the messages are short, and all of them fit into the model's window: each request has every turn.

Run: ``python -m tests.bench.bench_long_workflow [--short] [--quick] [--turns N ...] [--json FILE]``; the quick form has
10, 200 and 1 000 turns and takes half a minute.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from atelier_desk.domain.agent import AgentConfig, ToolDialect
from atelier_desk.domain.base_model import new_id
from atelier_desk.domain.events.run import ContextCompacted, ModelReplied, RunFinished, RunStarted, UserMessage
from atelier_desk.domain.model_messages import ChatReply, FinishReason, Usage
from atelier_desk.domain.provider import ProviderConfig
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.engine import Atelier
from atelier_desk.engine.journal.journal import Journal, RunHandle
from atelier_desk.engine.run.reducer.conversation_entries import NO_HISTORY
from atelier_desk.engine.run.reducer.state import inherited_context
from atelier_desk.llm.secrets import KeyVault
from atelier_desk.support.garbage_collection import THRESHOLDS

ROOT = Path(__file__).resolve().parents[2]
TURNS = (10, 1_000, 5_000)
QUICK = (10, 200, 1_000)
WARM = 11
"""Warm turns, of which the median counts."""
SENT = 200
"""Entries of a conversation from which on the older half is put into a summary."""
WINDOW = 400_000
"""Tokens of the model's window: 5 000 short turns are estimated as 80 000."""
AGENT = AgentConfig(
    name="Bench",
    provider="bench",
    model="words-5",
    tools=("CalculatorTool",),
    tool_dialect=ToolDialect.NATIVE,
)


def question(number: int, short: bool) -> str:
    if short:
        return f"Question {number}"
    return (
        f"Question {number}: what is the way from the river to the town, and how long does it take on foot in the rain?"
    )


def answer(number: int, short: bool) -> str:
    if short:
        return f"Answer {number}"
    return f"Answer {number}. " + "Follow the river to the bridge, then the road. " * 4


async def fill(atelier: Atelier, turns: int, short: bool) -> str:
    """A workflow with this many turns; returns its id."""
    workflow_id = (await atelier.workflows.create(name=f"{turns} turns")).id
    journal = Journal(atelier.repos, atelier.bus, atelier.repos.store.clock)
    history = NO_HISTORY
    previous = None
    for number in range(turns):
        handle = RunHandle(run_id=new_id(), workflow_id=workflow_id, history=history)
        start = RunStarted(agent=AGENT, previous_run_id=previous, correlation_id=handle.run_id)
        usage = Usage(tokens_input=900, tokens_output=60)
        reply = ChatReply(content=answer(number, short), usage=usage, finish_reason=FinishReason.STOP)
        state = await journal.append(handle, start, UserMessage(content=question(number, short)))
        if not short and len(state.conversation) > SENT:
            old = tuple(entry.seq for entry in state.conversation[: SENT // 2])
            await journal.append(
                handle, ContextCompacted(method="summary", dropped=old, summary="They spoke of the way to the town.")
            )
        finished = RunFinished(status=RunStatus.COMPLETED)
        state = await journal.append(handle, ModelReplied(message_id=new_id(), reply=reply, usage=usage), finished)
        history, previous = inherited_context(state), handle.run_id
    journal.forget(workflow_id)
    return workflow_id


async def turn(atelier: Atelier, workflow_id: str) -> float:
    """Processor seconds of one turn."""
    began_at = time.process_time()
    run_id = await atelier.runs.send(workflow_id, question(0, short=True), agent=AGENT)
    row = await atelier.runs.wait(run_id)
    assert row.status is RunStatus.COMPLETED, row.error
    return time.process_time() - began_at


@asynccontextmanager
async def opened(folder: Path, url: str) -> AsyncIterator[Atelier]:
    async with Atelier.open(folder, vault=KeyVault(environ={}), fsync=False) as atelier:
        await atelier.providers.save(ProviderConfig(name="bench", kind="openai", base_url=url))
        await atelier.models.edit("bench", AGENT.model, context_window=WINDOW)
        yield atelier


async def grow(folder: Path, url: str, turns: list[int], short: bool) -> list[str]:
    async with opened(folder, url) as atelier:
        return [await fill(atelier, count, short) for count in turns]


async def measure(folder: Path, url: str, small: str, workflow_id: str) -> dict[str, float]:
    """Measure in a process that was just started.

    An uncounted turn of the small workflow comes first, to load the modules.
    """
    async with opened(folder, url) as atelier:
        await turn(atelier, small)
        began_at = time.perf_counter()
        first = await turn(atelier, workflow_id)
        figures = {"first": first, "first_wall": time.perf_counter() - began_at}
        figures["warm"] = statistics.median([await turn(atelier, workflow_id) for _ in range(WARM)])
    return figures


def phase(folder: Path, url: str, *values: str) -> Any:
    command = [
        sys.executable,
        "-m",
        "tests.bench.bench_long_workflow",
        "--folder",
        str(folder),
        "--phase",
        url,
        *values,
    ]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True, timeout=3600)
    return json.loads(done.stdout.splitlines()[-1])


@contextmanager
def model_server() -> Iterator[str]:
    """The address of a scripted model server."""
    command = [sys.executable, "-m", "tests.bench.peers.scripted_server"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        finally:
            server.kill()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="short messages, all of which are sent each time")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} instead of {TURNS} turns")
    parser.add_argument("--turns", type=int, nargs="+", help="these numbers of turns")
    parser.add_argument("--folder", type=Path, help="a folder on the disk to measure (default: a temporary one)")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--phase", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.phase:
        gc.set_threshold(*THRESHOLDS)  # like the program
        url, name, *values = options.phase
        work = (
            grow(options.folder, url, list(map(int, values)), name == "grow_short")
            if name != "use"
            else measure(options.folder, url, *values)
        )
        print(json.dumps(asyncio.run(work)), flush=True)
        return
    turns = options.turns or (QUICK if options.quick else TURNS)
    with tempfile.TemporaryDirectory(dir=options.folder) as name, model_server() as url:
        folder, began_at = Path(name) / "data", datetime.now()
        workflows = phase(folder, url, "grow_short" if options.short else "grow", "10", *map(str, turns))
        print(f"grown in {(datetime.now() - began_at).total_seconds():.0f} s", file=sys.stderr)
        figures = {}
        for count, workflow_id in zip(turns, workflows[1:], strict=True):
            found = {
                "after_growth": phase(folder, url, "use", workflows[0], workflow_id),
                **phase(folder, url, "use", workflows[0], workflow_id),
            }
            before = found.pop("after_growth")
            figures[count] = {"first_ever": before["first"], **found}
    least = figures[turns[0]]
    print(
        f"{'turns':>6} {'first ever':>11} {'first':>9} {'of_10':>7} {'warm':>9} {'of_10':>7}   (ms of processor time)"
    )
    for count, found in figures.items():
        ratios = {name: found[name] / least[name] for name in ("first", "warm")}
        print(
            f"{count:6} {found['first_ever'] * 1000:11.1f} {found['first'] * 1000:9.1f} {ratios['first']:7.2f} "
            f"{found['warm'] * 1000:9.1f} {ratios['warm']:7.2f}"
        )
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
