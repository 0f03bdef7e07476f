"""One framework in its own process: does the work read from standard input and reports its cost.

A line in is JSON: ``{"model": "tools-1", "stream": true, "runs": 20, "at_once": 1}``. A line out is JSON with
``cpu_ms`` and ``wall_ms`` per run, ``errors``, and the memory in MB before and at its highest. A framework with a
durable store also accepts ``{"finish": "lines-10"}``: the folder's only run is begun, or continued to its end; the line
out has its ``answer``.

Run: ``python -m tests.bench.peers.framework_process NAME URL [FOLDER]``; without a folder a temporary one.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Protocol

from tests.bench.peers.scripted_server import ANSWER


class Framework(Protocol):
    """What ``create(url, folder)`` or ``create(url, folder, variant)`` of a peer's module returns."""

    async def run(self, model: str, stream: bool) -> str:
        """Do a run and return the answer's text."""
        ...

    async def settle(self) -> None:
        """Wait until no work is left for the runs that have ended: postponed work counts too."""
        ...

    async def aclose(self) -> None: ...


def resident_mb() -> float:
    import psutil

    return psutil.Process().memory_info().rss / 2**20


def expected(model: str) -> str:
    kind, _, count = model.partition("-")
    return "word " * int(count) if kind == "words" else ANSWER


async def one(framework: Framework, model: str, stream: bool, failures: list[str]) -> None:
    try:
        text = await framework.run(model, stream)
    except Exception as error:  # any error counts as an error of the framework
        failures.append(f"{type(error).__name__}: {error}")
        return
    if text.strip() != expected(model).strip():
        failures.append(f"unexpected answer: {text[:80]!r}")


async def measure(framework: Framework, order: dict[str, Any]) -> dict[str, Any]:
    model, stream, runs, at_once = order["model"], order["stream"], order["runs"], order["at_once"]
    failures: list[str] = []
    before = resident_mb()
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(0, runs, at_once):
        if at_once == 1:
            await one(framework, model, stream, failures)
        else:
            await asyncio.gather(*(one(framework, model, stream, failures) for _ in range(at_once)))
    await framework.settle()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return {
        "cpu_ms": cpu / runs * 1000,
        "wall_ms": wall / runs * 1000,
        "errors": len(failures),
        "failure": failures[0] if failures else "",
        "memory_before_mb": before,
        "memory_peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


class DurableFramework(Framework, Protocol):
    async def finish(self, model: str) -> str:
        """Begin the folder's only run, or continue what an earlier process left of it, as the framework does it.

        Returns the answer's text; its tool appends lines to ``effects`` in the folder.
        """
        ...


async def finish(framework: DurableFramework, order: dict[str, Any]) -> dict[str, Any]:
    return {"answer": await framework.finish(order["finish"])}


async def work(name: str, url: str, folder: Path) -> None:
    module, _, variant = name.partition(":")
    framework: Any = await importlib.import_module(f"tests.bench.peers.{module}").create(
        url, folder, *([variant] if variant else [])
    )
    try:
        print(json.dumps({"ready": True}), flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            order = json.loads(line)
            print(json.dumps(await (finish if "finish" in order else measure)(framework, order)), flush=True)
    finally:
        await framework.aclose()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        asyncio.run(work(sys.argv[1], sys.argv[2], Path(sys.argv[3] if len(sys.argv) > 3 else temporary)))
