"""Cost of a run, and how fast it stops.

Measured: importing the engine (CPU seconds and memory, in a fresh process), a run with one tool call (CPU ms, with its
journal, with and without syncing each commit) against the same two requests by bare httpx to the same loopback server,
a streamed delta, and the time from ``cancel`` until the server sees the connection close and the run is recorded as
cancelled.

Run: ``python -m tests.bench.bench_run [--quick] [--json FILE]``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from atelier_desk.domain.agent import AgentConfig, ToolDialect
from atelier_desk.domain.provider import ProviderConfig
from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.engine import Atelier
from atelier_desk.llm.secrets import KeyVault
from tests.helpers.servers.openai import FakeOpenAI
from tests.helpers.servers.scripted_http_server import Call, Reply

MEMORY = "import psutil; print(time.process_time() - t, psutil.Process().memory_info().rss / 2**20)"
IMPORT = f"import time; t = time.process_time(); from atelier_desk.engine import Atelier; {MEMORY}"
BARE = f"import time; t = time.process_time(); {MEMORY}"
AGENT = AgentConfig(
    name="Bench", provider="bench", model="test-model", tools=("CalculatorTool",), tool_dialect=ToolDialect.NATIVE
)
CALCULATE = Call("CalculatorTool", {"operation": "eval", "expression": "6*7"})


def fresh(code: str, runs: int) -> tuple[float, float]:
    """Medians of CPU seconds and peak memory in MB over fresh processes."""
    figures = [
        tuple(
            float(value)
            for value in subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True
            ).stdout.split()
        )
        for _ in range(runs)
    ]
    return statistics.median(cpu for cpu, _ in figures), statistics.median(memory for _, memory in figures)


async def bare_requests(server: FakeOpenAI, runs: int) -> float:
    """CPU ms of one pair of streamed requests by httpx alone."""
    import httpx

    async with httpx.AsyncClient() as client:
        start = time.process_time()
        for _ in range(runs):
            server.script(Reply(calls=[CALCULATE]), Reply(text="It is 42."))
            for _ in range(2):
                body = {"model": "m", "messages": [{"role": "user", "content": "x"}], "stream": True}
                async with client.stream("POST", f"{server.url}/chat/completions", json=body) as response:
                    async for line in response.aiter_lines():
                        if line.startswith("data: {"):
                            json.loads(line[6:])
        return (time.process_time() - start) / runs * 1000


async def complete_runs(atelier: Atelier, server: FakeOpenAI, runs: int) -> float:
    """CPU ms of one run with one tool call; the server is included, as in the baseline."""
    start = time.process_time()
    for _ in range(runs):
        server.script(Reply(calls=[CALCULATE]), Reply(text="It is 42."))
        async for _event in atelier.run("What is 6*7?", agent=AGENT):
            pass
    return (time.process_time() - start) / runs * 1000


async def deltas(atelier: Atelier, server: FakeOpenAI, count: int) -> float:
    """CPU ms of one streamed delta, including the server: long replies less short ones."""
    costs = []
    for length in (count, 1):
        server.script(Reply(text="word " * length, pieces=5))
        start = time.process_time()
        async for _event in atelier.run("Talk.", agent=AGENT):
            pass
        costs.append((time.process_time() - start) * 1000)
    return (costs[0] - costs[1]) / count


async def cancellations(atelier: Atelier, server: FakeOpenAI, count: int) -> list[tuple[float, float]]:
    """For each: ms until the server saw the connection close, and until the run was committed as cancelled."""
    found = []
    for _ in range(count):
        server.disconnected.clear()
        server.script(Reply(text="word " * 50, hold_after=3, gate=asyncio.Event()))
        workflow = await atelier.workflows.create()
        token = asyncio.Event()

        def on_event(event: StreamEvent, token: asyncio.Event = token) -> None:
            if event.chunk_type is ChunkType.TOKEN:
                token.set()

        unsubscribe = atelier.bus.subscribe(on_event, workflow.id)
        run_id = await atelier.runs.send(workflow.id, "Talk.", agent=AGENT)
        await token.wait()
        start = asyncio.get_running_loop().time()
        await atelier.runs.cancel(run_id)
        recorded = asyncio.get_running_loop().time() - start
        await server.disconnected.wait()
        found.append(((server.disconnected_at - start) * 1000, recorded * 1000))
        unsubscribe()
    return found


async def measure(quick: bool) -> dict[str, Any]:
    runs, cancels, count = (20, 10, 500) if quick else (200, 50, 5000)
    figures: dict[str, Any] = {}
    cpu, memory = fresh(IMPORT, 3 if quick else 7)
    figures["import_cpu_s"] = cpu
    figures["import_memory_mb"] = memory
    figures["bare_python_memory_mb"] = fresh(BARE, 3)[1]
    for fsync in (True, False):
        name = "fsync" if fsync else "no_fsync"
        with tempfile.TemporaryDirectory() as folder:
            async with (
                FakeOpenAI() as server,
                Atelier.open(Path(folder), fsync=fsync, vault=KeyVault(environ={})) as atelier,
            ):
                config = ProviderConfig(name="bench", kind="openai", base_url=server.url)
                await atelier.providers.save(config)
                await complete_runs(atelier, server, 3)
                baseline = await bare_requests(server, runs)
                cost = await complete_runs(atelier, server, runs)
                figures[f"run_cpu_ms_{name}"] = cost
                figures[f"bare_httpx_cpu_ms_{name}"] = baseline
                figures[f"run_ratio_{name}"] = cost / baseline
                figures[f"delta_cpu_ms_{name}"] = await deltas(atelier, server, count)
                stops = await cancellations(atelier, server, cancels)
                figures[f"cancel_request_closed_ms_p50_{name}"] = statistics.median(closed for closed, _ in stops)
                figures[f"cancel_request_closed_ms_max_{name}"] = max(closed for closed, _ in stops)
                figures[f"cancel_recorded_ms_p50_{name}"] = statistics.median(recorded for _, recorded in stops)
                figures[f"cancel_recorded_ms_max_{name}"] = max(recorded for _, recorded in stops)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    figures = asyncio.run(measure(options.quick))
    for name, value in figures.items():
        print(f"{name:40} {value:10.3f}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
