"""A data folder after a year of use: filled by the engine itself, then measured.

A scripted server answers; every run uses the complete engine, with its journal synced at each commit. The folder gets
runs with one tool call, runs with ten, and two workflows with many turns. Measured while it grows: failed requests, the
longest wait for a constantly requested list, outside and inside a move of the database's log, bytes stored and written,
memory. Measured afterwards, in fresh processes: the start after a clean end and after a kill, the first and a later
turn of the longest workflow, and three searches.

``--imported`` makes the folder large in minutes: copies of the workflows with runs are imported until the database has
so many MB, then as many runs as before are made and measured.

Run: ``python -m tests.bench.bench_growth [--quick | --full] [--imported MB] [--folder DIR] [--keep] [--json FILE]``.
The full form takes hours and some 2 GB; it reports its progress once a minute.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from atelier_desk.domain.agent import AgentConfig, ToolDialect
from atelier_desk.domain.provider import ProviderConfig
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.engine import Atelier
from atelier_desk.llm.secrets import KeyVault

ROOT = Path(__file__).resolve().parents[2]
PHASE_LIMIT_S = 24 * 3600
POLL_S = 0.02
PROGRESS_S = 60
WORDS = {"rare": "heron", "usual": "river", "most frequent": "what"}


class Size(NamedTuple):
    """Number of runs with one tool call and with ten, of their workflows, and of turns in two further workflows."""

    one: int
    ten: int
    workflows: int
    turns: int


QUICK = Size(400, 20, 20, 60)
MIDDLE = Size(4_000, 250, 200, 500)
FULL = Size(45_000, 3_000, 2_000, 5_000)


def agent(model: str) -> AgentConfig:
    return AgentConfig(
        name="Bench",
        provider="bench",
        model=model,
        tools=("CalculatorTool",),
        tool_dialect=ToolDialect.NATIVE,
    )


def question(number: int) -> str:
    """Each has a frequent word, one in twenty a less frequent one, one in a thousand a rare one."""
    return (
        f"Question {number}: what is "
        f"6*7{' by the river' * (number % 20 == 0)}{', said the heron' * (number % 1000 == 0)}?"
    )


def bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def bytes_written() -> int:
    """Bytes written by this process since it began; 0 where the system does not report them."""
    process = psutil.Process()
    return int(process.io_counters().write_bytes) if hasattr(process, "io_counters") else 0


class Moves(logging.Handler):
    """Count the moves of the database's log that the store reports."""

    def __init__(self) -> None:
        super().__init__()
        self.count, self.moving = 0, False

    def emit(self, record: logging.LogRecord) -> None:
        self.moving = record.levelno == logging.INFO and "moving" in record.msg
        self.count += self.moving


class Waits:
    """Request the list of workflows constantly, as a window does."""

    def __init__(self, atelier: Atelier, moves: Moves) -> None:
        self._atelier, self._moves = atelier, moves
        self.longest = {"outside a move": 0.0, "in a move": 0.0}
        self.failed = 0

    async def watch(self) -> None:
        while True:
            start, count, moving = time.perf_counter(), self._moves.count, self._moves.moving
            try:
                await self._atelier.repos.workflows.list(limit=50)
            except Exception as error:  # any error: a person would see it
                self.failed += 1
                print(f"failed: {error}", file=sys.stderr)
            name = "in a move" if moving or self._moves.count != count else "outside a move"
            self.longest[name] = max(self.longest[name], time.perf_counter() - start)
            await asyncio.sleep(POLL_S)


async def turn(atelier: Atelier, workflow_id: str, number: int, model: str) -> bool:
    """Do one run; returns whether it ended as expected."""
    run_id = await atelier.runs.send(workflow_id, question(number), agent=agent(model))
    return (await atelier.runs.wait(run_id)).status is RunStatus.COMPLETED


async def run_many(atelier: Atelier, workflows: list[str], count: int, model: str) -> int:
    """Do ``count`` runs, spread over the workflows, two at a time. Returns how many failed."""
    numbers = iter(range(count))
    start = reported_at = time.perf_counter()

    async def work(offset: int) -> int:
        nonlocal reported_at
        mine, failed = workflows[offset::2], 0
        for number in numbers:
            failed += not await turn(atelier, mine[number // 2 % len(mine)], number, model)
            if time.perf_counter() - reported_at > PROGRESS_S:
                reported_at = time.perf_counter()
                report_progress(atelier, f"{model}: {number} of {count} runs in {reported_at - start:.0f} s")
        return failed

    return sum(await asyncio.gather(work(0), work(1)))


def report_progress(atelier: Atelier, step: str) -> None:
    size, memory = bytes_in(atelier.datadir.database), psutil.Process().memory_info().rss
    print(
        f"{step}; {size / 1e6:.0f} MB kept, {bytes_written() / 1e6:.0f} MB written, {memory / 1e6:.0f} MB of memory",
        file=sys.stderr,
        flush=True,
    )


async def import_copies(atelier: Atelier, workflows: list[str], most: int) -> dict[str, Any]:
    """Import copies of the workflows until the database has ``most`` bytes."""
    count, start = 0, time.perf_counter()
    while bytes_in(atelier.datadir.database) < most:
        text = await atelier.workflows.export(workflows[count % len(workflows)])
        count += 1
        await atelier.workflows.import_(text.replace('"name": "workflow', f'"name": "copy {count} of', 1))
    await atelier.store._writer.drain()
    return {"workflows imported": count, "seconds an import": (time.perf_counter() - start) / max(1, count)}


async def grow(atelier: Atelier, size: Size, imported: int) -> dict[str, Any]:
    moves = Moves()
    logger = logging.getLogger("atelier_desk.storage.writing.writer")
    logger.setLevel(logging.INFO)
    logger.addHandler(moves)
    waits = Waits(atelier, moves)
    watching = asyncio.create_task(waits.watch())
    figures: dict[str, Any] = {}
    database = atelier.datadir.database
    written, at_first, failed = bytes_written(), bytes_in(database), 0
    workflows = [(await atelier.workflows.create(name=f"workflow {number}")).id for number in range(size.workflows)]
    kinds = [("one tool", size.one, "tools-1"), ("ten tools", size.ten, "tools-10")]
    for name, count, model in kinds:
        before, start = bytes_in(database), time.perf_counter()
        failed += await run_many(atelier, workflows, count, model)
        await atelier.store._writer.drain()
        figures[f"bytes a run, {name}"] = (bytes_in(database) - before) / count
        figures[f"seconds a run, {name}"] = (time.perf_counter() - start) / count
    if imported:
        figures |= await import_copies(atelier, workflows, imported)
        for name, count, model in kinds:
            start = time.perf_counter()
            failed += await run_many(atelier, workflows, count, model)
            figures[f"seconds a run beside the copies, {name}"] = (time.perf_counter() - start) / count
    long = [(await atelier.workflows.create(name="long")).id for _ in range(2)]
    failed += await run_many(atelier, long, 2 * size.turns, "words-5")
    start = time.perf_counter()
    failed += not await turn(atelier, long[0], 1, "words-5")
    figures["seconds, a warm turn of the long workflow"] = time.perf_counter() - start
    watching.cancel()
    stored = bytes_in(database) - at_first
    figures |= {f"seconds, longest wait {name}": waited for name, waited in waits.longest.items()}
    figures |= {
        "requests that failed": waits.failed,
        "runs that failed": failed,
        "moves of the log": moves.count,
        "MB kept": stored / 1e6,
        "written by kept": (bytes_written() - written) / stored,
        "MB of memory at the end": psutil.Process().memory_info().rss / 1e6,
        "long": long[0],
    }
    return figures


async def measure_use(atelier: Atelier, long: str) -> dict[str, Any]:
    """Measure the first turn after a start, and the searches."""
    start = time.perf_counter()
    await turn(atelier, long, 1, "words-5")
    figures = {"seconds, the first turn after a start": time.perf_counter() - start}
    await atelier.repos.history.search("nothing")
    for name, word in WORDS.items():
        start = time.perf_counter()
        await atelier.repos.history.search(word, 50)
        figures[f"seconds, search: {name}"] = time.perf_counter() - start
    return figures | {"MB of memory after them": psutil.Process().memory_info().rss / 1e6}


async def phase(name: str, folder: Path, url: str, size: Size, long: str, imported: int) -> None:
    """One process of the bench; prints its figures."""
    start = time.perf_counter()
    async with Atelier.open(folder, vault=KeyVault(environ={})) as atelier:
        figures: dict[str, Any] = {"seconds to open": time.perf_counter() - start}
        await atelier.providers.save(ProviderConfig(name="bench", kind="openai", base_url=url))
        atelier.runs.live.slots.limit = 4
        if name == "grow":
            figures |= await grow(atelier, size, imported)
        elif name == "use":
            figures |= await measure_use(atelier, long)
        elif name == "die":
            workflow = (await atelier.workflows.create()).id
            for number in range(50):
                await turn(atelier, workflow, number, "tools-1")
            os.kill(os.getpid(), signal.SIGKILL)
    print(json.dumps(figures), flush=True)


def run_phase(name: str, folder: Path, url: str, size: Size, long: str = "", imported: int = 0) -> dict[str, Any]:
    command = [
        sys.executable,
        "-m",
        "tests.bench.bench_growth",
        "--phase",
        name,
        "--folder",
        str(folder),
        "--url",
        url,
        "--long",
        long,
    ]
    command += ["--size", *map(str, size), "--imported", str(imported // 1_000_000)]
    process = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, timeout=PHASE_LIMIT_S, check=False)
    if name == "die":
        return {}
    if process.returncode:
        raise SystemExit(f"{name} ended with status {process.returncode}")
    figures: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
    print(f"{name}: {json.dumps(figures)}", file=sys.stderr, flush=True)
    return figures


def measure(folder: Path, url: str, size: Size, imported: int) -> dict[str, Any]:
    """All figures of a folder that is empty at first."""
    figures = run_phase("grow", folder, url, size, imported=imported)
    long = figures.pop("long")
    del figures["seconds to open"]
    used = run_phase("use", folder, url, size, long)
    figures["seconds to open after a clean end"] = used.pop("seconds to open")
    figures |= used
    run_phase("die", folder, url, size)
    figures["seconds to open after a kill"] = run_phase("open", folder, url, size)["seconds to open"]
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK}")
    parser.add_argument("--full", action="store_true", help=f"{FULL}; without either {MIDDLE}")
    parser.add_argument("--folder", type=Path, help="a folder on the disk to measure (default: a temporary one)")
    parser.add_argument("--keep", action="store_true", help="leave the data folder where it is")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    for hidden in ("--phase", "--url", "--long"):
        parser.add_argument(hidden, default="", help=argparse.SUPPRESS)
    parser.add_argument(
        "--imported", type=int, default=0, metavar="MB", help="import copies until the database has so many MB"
    )
    parser.add_argument("--size", type=int, nargs=4, help="runs with one tool, with ten, workflows, turns of two more")
    options = parser.parse_args()
    size = Size(*options.size) if options.size else QUICK if options.quick else FULL if options.full else MIDDLE
    if options.phase:
        asyncio.run(phase(options.phase, options.folder, options.url, size, options.long, options.imported * 1_000_000))
        return
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.peers.scripted_server"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    folder = Path(tempfile.mkdtemp(dir=options.folder))
    try:
        url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        figures = measure(folder, url, size, options.imported * 1_000_000)
    finally:
        server.kill()
        server.wait()
        if options.keep:
            print(f"The data folder is {folder}", file=sys.stderr)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    for name, value in figures.items():
        print(f"{name:45} {value:12.3f}")
    if options.json:
        options.json.write_text(json.dumps({"size": size._asdict(), **figures}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
