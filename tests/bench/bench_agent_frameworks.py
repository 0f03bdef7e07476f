"""Cost of a run here and in other agent frameworks, alternately in one session, against one scripted server.

pydantic-ai, openai-agents and langgraph have their own environment (``make peers`` creates it). Each framework is a
process, and so are Atelier and the server, whose work counts for nobody. CPU time is that of all threads of the
process. Ours is the complete engine on disk with its journal; work it postpones until after a run is waited for and
counted.

* a run with one tool call, streamed and not; ten calls and the answer; a streamed delta (a reply of 1000 words less one
  of 1); 100 runs at once, their errors, and by how much memory rises
* importing the framework: CPU seconds and memory of a fresh process

Without --quick, the same frameworks with durable stores follow (``durable_frameworks``): what a run costs and
stores, and what kills leave.

Run: ``python -m tests.bench.bench_agent_frameworks [--quick | --durable] [--kills N] [--json FILE] [--peers PYTHON]``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from tests.bench import durable_frameworks
from tests.bench.peers.child_processes import PEERS, ROOT, Child, scripted_server

OURS = ("atelier:no_fsync", "atelier:fsync")
MODULES = {
    "pydantic-ai": (
        "pydantic_ai_peer",
        "from pydantic_ai import Agent; from pydantic_ai.models.openai import OpenAIChatModel",
    ),
    "openai-agents": ("openai_agents_peer", "from agents import Agent, Runner, OpenAIChatCompletionsModel"),
    "langgraph": (
        "langgraph_peer",
        "from langgraph.prebuilt import create_react_agent; from langchain_openai import ChatOpenAI",
    ),
    "atelier:no_fsync": ("atelier_peer:no_fsync", "from atelier_desk.engine import Atelier"),
    "atelier:fsync": ("atelier_peer:fsync", "from atelier_desk.engine import Atelier"),
}
WORDS = 1000
"""Words of the long reply."""
AT_ONCE = 100


class Work(NamedTuple):
    """A column: the work of each framework, with the number of ``runs`` per round in the full and the quick form."""

    name: str
    model: str
    stream: bool
    runs: int
    quick: int
    at_once: int = 1


WORKS = (
    Work("one tool", "tools-1", False, 40, 15),
    Work("one tool, streamed", "tools-1", True, 40, 15),
    Work("ten turns", "tools-10", False, 6, 2),
    Work("long reply", f"words-{WORDS}", True, 3, 1),
    Work("short reply", "words-1", True, 20, 10),
    Work("100 at once", "tools-1", False, 200, 100, AT_ONCE),
)


def python_of(name: str, peers: Path) -> Path:
    return Path(sys.executable) if name in OURS else peers


def imported(names: list[str], peers: Path, runs: int) -> dict[str, dict[str, float]]:
    """CPU seconds and memory in MB of importing each, medians over fresh processes that alternate."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for _ in range(runs):
        for name in names:
            code = (
                f"import time; t = time.process_time(); {MODULES[name][1]}; t = time.process_time() - t; "
                "import psutil; print(t, psutil.Process().memory_info().rss / 2**20)"
            )
            command = [str(python_of(name, peers)), "-W", "ignore", "-c", code]
            out = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
            cpu, memory = out.stdout.split()[-2:]
            found[name].append((float(cpu), float(memory)))
    return {
        name: {
            "import_cpu_s": statistics.median(cpu for cpu, _ in pairs),
            "import_memory_mb": statistics.median(mb for _, mb in pairs),
        }
        for name, pairs in found.items()
    }


def turns(children: dict[str, Child], rounds: int, quick: bool) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """All work by every framework, alternately, so that other load on the machine affects all alike."""
    found: dict[str, dict[str, list[dict[str, Any]]]] = {name: {work.name: [] for work in WORKS} for name in children}
    for child in children.values():
        for work in WORKS:
            child.order(model=work.model, stream=work.stream, runs=2, at_once=1)
    for work in WORKS:
        for _ in range(rounds):
            for name, child in children.items():
                runs = work.quick if quick else work.runs
                found[name][work.name].append(
                    child.order(model=work.model, stream=work.stream, runs=runs, at_once=work.at_once)
                )
    return found


def figures_of(found: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    def cpu(work: str) -> float:
        return statistics.median(turn["cpu_ms"] for turn in found[work])

    crowd = found["100 at once"]
    failures = [turn["failure"] for measured in found.values() for turn in measured if turn["failure"]]
    return {
        "one_tool_cpu_ms": cpu("one tool"),
        "one_tool_streamed_cpu_ms": cpu("one tool, streamed"),
        "ten_turns_cpu_ms": cpu("ten turns"),
        "delta_cpu_ms": (cpu("long reply") - cpu("short reply")) / (WORDS - 1),
        "at_once_cpu_ms": cpu("100 at once"),
        "at_once_errors": sum(turn["errors"] for turn in crowd),
        "at_once_growth_mb": max(turn["memory_peak_mb"] for turn in crowd) - crowd[0]["memory_before_mb"],
        "errors": sum(turn["errors"] for measured in found.values() for turn in measured),
        "failure": failures[0] if failures else "",
    }


def measure(names: list[str], peers: Path, quick: bool) -> dict[str, dict[str, Any]]:
    figures: dict[str, dict[str, Any]] = {
        name: dict(each) for name, each in imported(names, peers, 1 if quick else 5).items()
    }
    with ExitStack() as stack:
        url = stack.enter_context(scripted_server())
        children: dict[str, Child] = {}
        for name in names:
            children[name] = Child(python_of(name, peers), "tests.bench.peers.framework_process", MODULES[name][0], url)
            stack.callback(children[name].close)
            children[name].line()
        for name, found in turns(children, 3 if quick else 7, quick).items():
            figures[name].update(figures_of(found))
    return figures


COLUMNS = {
    "one_tool_cpu_ms": "one tool",
    "one_tool_streamed_cpu_ms": "streamed",
    "ten_turns_cpu_ms": "ten turns",
    "delta_cpu_ms": "a delta",
    "at_once_cpu_ms": "100 at once",
    "at_once_growth_mb": "growth MB",
    "import_cpu_s": "import s",
    "import_memory_mb": "import MB",
    "errors": "errors",
}


def add_ratios(figures: dict[str, dict[str, Any]]) -> None:
    """Add ours divided by the best peer's."""
    others = [each for name, each in figures.items() if name not in OURS]
    for name in OURS:
        if name in figures and others:
            figures[name]["ratio_to_best"] = {
                column: figures[name][column] / max(1e-9, min(each[column] for each in others))
                for column in COLUMNS
                if column != "errors"
            }


def show(figures: dict[str, dict[str, Any]]) -> None:
    print(" " * 26 + "".join(f"{title:>12}" for title in COLUMNS.values()) + "   (CPU ms a run unless named)")
    for name, each in figures.items():
        print(f"{name:26}" + "".join(f"{each[column]:12.3f}" for column in COLUMNS))
        if "ratio_to_best" in each:
            print(
                f"{'  ratio to the best peer':26}"
                + "".join(f"{each['ratio_to_best'].get(column, 0):12.2f}" for column in COLUMNS)
            )
        if each["failure"]:
            print(f"  {each['failure']}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--durable", action="store_true", help="the frameworks with durable stores alone")
    parser.add_argument(
        "--kills", type=int, default=10, metavar="N", help="kill each durable framework so many times (default 10)"
    )
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument(
        "--peers", type=Path, default=PEERS, help="the Python of the environment with the other frameworks"
    )
    parser.add_argument("--only", nargs="*", choices=list(MODULES), help="these alone")
    options = parser.parse_args()
    names = options.only or list(MODULES)
    if any(name not in OURS for name in names) and not options.peers.exists():
        raise SystemExit(f"{options.peers} does not exist: `make peers` makes it")
    figures: dict[str, Any] = {}
    if not options.durable:
        figures = measure(names, options.peers, options.quick)
        add_ratios(figures)
        show(figures)
    failed = any(figures[name]["errors"] for name in OURS if name in figures)
    if options.durable or not (options.quick or options.only):
        figures["durable"] = durable_frameworks.measure(options.peers, options.kills)
        failed = failed or durable_frameworks.faults_of_ours(figures["durable"]) > 0
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    if failed:
        raise SystemExit("a run of ours failed")


if __name__ == "__main__":
    main()
