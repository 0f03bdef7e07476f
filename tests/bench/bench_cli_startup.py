"""Cost of a listing command: processor time of each, compared with only importing pydantic, httpx and surrealdb.

A listing opens the database, and surrealdb, which it cannot avoid, is most of the baseline. Each measurement is a
process of its own; baseline and command alternate, so that other programs on the machine affect both; the median of all
measurements counts. By default Python caches its compiled files, in a folder of the benchmark's own; with
``--no-bytecode`` every start compiles Atelier's own source again (never that of the libraries).

Run: ``python -m tests.bench.bench_cli_startup [--quick] [--runs N] [--no-bytecode] [--json FILE]``. Not for Windows:
it reads ``getrusage``.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

BASELINE = ("-c", "import pydantic, httpx, surrealdb")
NOUNS = (
    "workflows",
    "agents",
    "tools",
    "models",
    "providers",
    "memory",
    "questions",
    "tasks",
    "permissions",
    "commands",
)
COMMANDS = (*((noun, "list") for noun in NOUNS), ("providers", "presets"), ("doctor",))
RUNS, QUICK_RUNS = 9, 3


def processor_s(arguments: tuple[str, ...], environ: dict[str, str]) -> float:
    """Seconds of processor time, user and system, that Python needs for these arguments."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], env=environ, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(runs: int, environ: dict[str, str]) -> dict[str, Any]:
    """By command: its median processor time, that of the baseline, and their ratio."""
    figures = {}
    for words in COMMANDS:
        command = ("-m", "atelier_desk", *words)
        for warm in (BASELINE, command):
            processor_s(warm, environ)
        pairs = [(processor_s(BASELINE, environ), processor_s(command, environ)) for _ in range(runs)]
        baseline, times = (statistics.median(column) for column in zip(*pairs, strict=True))
        figures[" ".join(words)] = {
            "baseline_s": round(baseline, 3),
            "command_s": round(times, 3),
            "ratio": round(times / baseline, 2),
        }
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_RUNS} runs instead of {RUNS}")
    parser.add_argument("--runs", type=int, default=0, help="how often each is measured")
    parser.add_argument("--no-bytecode", action="store_true", help="compile Atelier's own source at each start")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    runs = options.runs or (QUICK_RUNS if options.quick else RUNS)
    with tempfile.TemporaryDirectory() as folder:
        environ = {**os.environ, "ATELIER_DATA_DIR": str(Path(folder) / "data")}
        environ.pop("PYTHONDONTWRITEBYTECODE", None)
        if options.no_bytecode:
            environ["PYTHONDONTWRITEBYTECODE"] = "1"
        else:
            environ["PYTHONPYCACHEPREFIX"] = str(Path(folder) / "compiled")
        figures = measure(runs, environ)
    for command, figure in figures.items():
        print(
            f"{command:<18}{figure['command_s']:>8.3f} s  baseline {figure['baseline_s']:.3f} s  "
            f"{figure['ratio']:.2f} ×"
        )
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=1), "utf-8")


if __name__ == "__main__":
    main()
