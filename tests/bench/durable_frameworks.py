"""Durable frameworks, a part of ``bench_agent_frameworks``: what a run costs and stores, and what a kill leaves.

Each framework has its own durable store and syncs it at every step, as ours does: pydantic-ai with DBOS (SQLite),
langgraph with its SQLite checkpointer, openai-agents with its SQLite session.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tests.bench.peers.child_processes import Child, Ended, scripted_server

OURS = "atelier:fsync"
MODULES = {
    "pydantic-ai + DBOS": "pydantic_ai_dbos_peer",
    "langgraph + SQLite": "langgraph_sqlite_peer",
    "openai-agents + session": "openai_agents_session_peer",
    OURS: "atelier_peer:fsync",
}
GOALS = {
    "one tool": {"pydantic-ai + DBOS": 0.7, "langgraph + SQLite": 1.3, "openai-agents + session": 1.3},
    "one tool, streamed": {"pydantic-ai + DBOS": 0.6, "langgraph + SQLite": 1.1, "openai-agents + session": 1.3},
}
"""Ours divided by theirs, CPU time: at most this."""
CALLS = 10
"""Lines that a killed run has to append."""
LONGEST_S = 60
"""How long a run that was cut off may take to its end; one that takes longer did not finish."""


class Work(NamedTuple):
    """A column: the work of each framework, with the number of ``runs`` in each of ``ROUNDS`` rounds."""

    name: str
    model: str
    stream: bool
    runs: int


WORKS = (
    Work("one tool", "tools-1", False, 20),
    Work("one tool, streamed", "tools-1", True, 20),
    Work("ten tools", "tools-10", False, 4),
    Work("ten tools, streamed", "tools-10", True, 4),
    Work("1000 pieces", "words-1000", True, 4),
)
ROUNDS = 7
UNITS = ("cpu_ms", "wall_ms")
KEPT = {"one tool": ("tools-1", 60), "ten tools": ("tools-10", 20)}
"""What is kept of a run is the growth of the folder by so many runs, from a clean end to a clean end."""


@dataclass
class Kills:
    """Results of runs that were killed once and then finished. ``repeated``, ``lost`` and ``unfinished`` should be 0.

    ``told``: the model was informed that the effect of a call is unknown, so that it can check; the effect of that call
    is not lost.
    """

    kills: int = 0
    repeated: int = 0
    lost: int = 0
    unfinished: int = 0
    told: int = 0


@contextmanager
def started(name: str, peers: Path, url: str, *folder: str) -> Iterator[Child]:
    python = Path(sys.executable) if name == OURS else peers
    with closing(Child(python, "tests.bench.peers.framework_process", MODULES[name], url, *folder)) as child:
        child.line()
        yield child


def costs(names: list[str], peers: Path, url: str) -> dict[str, dict[str, dict[str, float]]]:
    """CPU and wall time of a run in ms by framework and work, medians over rounds in which the frameworks alternate."""
    found: dict[str, dict[str, list[dict[str, Any]]]] = {name: {work.name: [] for work in WORKS} for name in names}
    with ExitStack() as stack:
        children = {name: stack.enter_context(started(name, peers, url)) for name in names}
        for child in children.values():
            for work in WORKS:
                child.order(model=work.model, stream=work.stream, runs=2, at_once=1)
        for work in WORKS:
            for _ in range(ROUNDS):
                for name, child in children.items():
                    turn = child.order(model=work.model, stream=work.stream, runs=work.runs, at_once=1)
                    if turn["errors"]:
                        raise SystemExit(f"{name}: {turn['failure']}")
                    found[name][work.name].append(turn)
    return {
        name: {
            work: {unit: statistics.median(turn[unit] for turn in turns) for unit in UNITS}
            for work, turns in works.items()
        }
        for name, works in found.items()
    }


def bytes_stored(name: str, peers: Path, url: str, model: str, runs: int) -> float:
    """By how many bytes a run enlarges the folder."""
    sizes = []
    with tempfile.TemporaryDirectory() as folder:
        for count in (5, runs):
            with started(name, peers, url, folder) as child:
                child.order(model=model, stream=False, runs=count, at_once=1)
            sizes.append(sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file()))
    return (sizes[1] - sizes[0]) / runs


def finished(child: Child) -> list[int] | None:
    """Finish the run: the lines for which the model got no result, or None if it did not finish."""
    timer = threading.Timer(LONGEST_S, child.kill)
    timer.start()
    try:
        without_result: list[int] = json.loads(child.order(finish=f"lines-{CALLS}")["answer"])
        return without_result
    except Ended:
        return None
    finally:
        timer.cancel()


def lines_in(folder: str) -> list[str]:
    effects = Path(folder) / "effects"
    return effects.read_text(encoding="utf-8").splitlines() if effects.exists() else []


def kill_once(name: str, peers: Path, url: str, lines: int, wait_s: float, figures: Kills) -> None:
    """Kill a run ``wait_s`` after it has appended so many lines, let another process finish it, count the results."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        with started(name, peers, url, folder) as child:
            child.send(finish=f"lines-{CALLS}")
            while len(lines_in(folder)) < lines:
                child.check()
                time.sleep(0.001)
            time.sleep(wait_s)
            child.kill()
        with started(name, peers, url, folder) as child:
            unknown = finished(child)
        appended = lines_in(folder)
    missing = {number for number in range(1, CALLS + 1) if f"line {number}." not in appended}
    figures.kills += 1
    figures.repeated += len(appended) > len(set(appended))
    figures.lost += bool(missing.difference(unknown or ()))
    figures.unfinished += unknown is None
    figures.told += bool(unknown)


def step_s(name: str, peers: Path, url: str) -> float:
    """Seconds from one line to the next in a run that is not killed."""
    with tempfile.TemporaryDirectory() as folder, started(name, peers, url, folder) as child:
        start = time.perf_counter()
        if finished(child) != [] or len(lines_in(folder)) != CALLS:
            raise SystemExit(f"{name}: a run that nobody killed went wrong")
        return (time.perf_counter() - start) / (CALLS + 1)


def kills(name: str, peers: Path, url: str, count: int) -> Kills:
    """``count`` kills, spread evenly over the steps of a run, at random moments within a step."""
    figures, rng, longest = Kills(), random.Random(20261128), step_s(name, peers, url)
    for number in range(count):
        kill_once(name, peers, url, number % CALLS, rng.uniform(0, longest), figures)
    return figures


def measure(peers: Path, kill_count: int) -> dict[str, Any]:
    """All figures by framework, each kind printed immediately; ``ratio`` is ours divided by theirs."""
    names = list(MODULES)
    with scripted_server() as url:
        figures: dict[str, Any] = {name: dict(works) for name, works in costs(names, peers, url).items()}
        for name in names:
            if name != OURS:
                figures[name]["ratio"] = {
                    work: {unit: figures[OURS][work][unit] / value for unit, value in units.items()}
                    for work, units in figures[name].items()
                }
        show_costs(figures)
        for name in names:
            for work, (model, runs) in KEPT.items():
                figures[name][work]["bytes"] = bytes_stored(name, peers, url, model, runs)
            print(
                f"{name:26}" + ", ".join(f"{work}: {figures[name][work]['bytes'] / 1000:.1f} kB kept" for work in KEPT),
                flush=True,
            )
        for name in names if kill_count else ():
            figures[name]["kills"] = asdict(kills(name, peers, url, kill_count))
            print(
                f"{name:26}" + ", ".join(f"{count} {what}" for what, count in figures[name]["kills"].items()),
                flush=True,
            )
    return figures


def show_costs(figures: dict[str, Any]) -> None:
    print(
        f"\n{'durable, each step synced':26}"
        + "".join(f"{work.name:>24}" for work in WORKS)
        + "   (CPU, wall ms a run)"
    )
    for name, each in figures.items():
        print(
            f"{name:26}"
            + "".join(f"{each[work.name]['cpu_ms']:12.2f}{each[work.name]['wall_ms']:12.2f}" for work in WORKS)
        )
        if "ratio" in each:
            ratios = (each["ratio"][work.name] for work in WORKS)
            print(
                f"{'  ours divided by it':26}"
                + "".join(f"{ratio['cpu_ms']:12.2f}{ratio['wall_ms']:12.2f}" for ratio in ratios)
            )
            for work, goals in GOALS.items():
                reached = each["ratio"][work]["cpu_ms"]
                print(
                    f"    {work}: {reached:.2f}, goal {goals[name]}{'' if reached <= goals[name] else ': missed'}",
                    flush=True,
                )


def faults_of_ours(figures: dict[str, Any]) -> int:
    """Number of our runs that repeated an effect, lost one or did not finish after a kill."""
    counted = figures.get(OURS, {}).get("kills", {})
    return sum(counted.get(fault, 0) for fault in ("repeated", "lost", "unfinished"))
