"""The common part of all kill tests: start a worker, kill it, record what it acknowledged, resume it, and check
the result.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from atelier_desk.engine import Atelier
from atelier_desk.llm.secrets import KeyVault
from tests.helpers import forked_workers
from tests.helpers.forked_workers import ForkedWorker

KILLS_PER_WORLD = 6
"""After this number of kills at random moments a run may finish, and the next one starts."""


@dataclass
class Figures:
    """Totals over all kills."""

    kills: int = 0
    acknowledged: int = 0
    lost: int = 0
    done_twice: int = 0
    unfinished: int = 0
    interrupted_calls: int = 0
    slowest_open_s: float = 0.0
    """Seconds that workers took to open the folder, from those that print it."""
    points: list[str] = field(default_factory=list)


def reported(figures: Figures, beside: str = "") -> Iterator[None]:
    """The body of a fixture: at the end the figures are printed, and written next to ``ATELIER_CHAOS_JSON``."""
    yield
    text = json.dumps(asdict(figures), indent=1)
    print(f"\n{text}")
    target = os.environ.get("ATELIER_CHAOS_JSON")
    if target:
        path = Path(target)
        path.with_name(f"{path.stem}{beside}{path.suffix}").write_text(text, encoding="utf-8")


@dataclass
class World:
    """A data folder, the worker module that works in it, and everything that a worker acknowledged."""

    folder: Path
    worker: str
    acknowledged: set[int] = field(default_factory=set)
    status: str = ""
    open_s: float = 0.0

    def start(self, *fault: str) -> ForkedWorker:
        """Start the worker; ``fault`` is the point at which it kills itself, and how often it reaches that point
        first.
        """
        return forked_workers.start(self.worker, str(self.folder / "data"), str(self.folder / "effects"), *fault)

    def finish(self, process: ForkedWorker) -> bool:
        """Read all its output; True when it was killed."""
        output, errors = process.communicate()
        for line in output.decode().splitlines():
            self.on_line(line)
        assert process.returncode in (0, -signal.SIGKILL), errors.decode()[-2000:]
        return process.returncode != 0

    def on_line(self, line: str) -> None:
        """Record a line of the worker."""
        kind, _, rest = line.partition(" ")
        if kind == "ack":
            self.acknowledged.add(int(rest.split()[0]))
        elif kind == "status":
            self.status = rest
        elif kind == "seconds":
            self.open_s = float(rest)

    def run_to_the_end(self) -> None:
        for _ in range(3):
            if not self.finish(self.start()):
                break

    def effects(self) -> list[str]:
        """The lines written by the non-idempotent tool."""
        return (self.folder / "effects").read_text(encoding="utf-8").splitlines()

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Atelier]:
        """The stored data, read without a model."""
        vault = KeyVault(environ={})
        async with Atelier.open(
            self.folder / "data", model_factory=lambda _: (_ for _ in ()).throw(AssertionError), vault=vault
        ) as atelier:
            yield atelier

    async def lost(self, atelier: Atelier, workflow_id: str) -> set[int]:
        """The numbers of acknowledged events that are missing."""
        return self.acknowledged - {event.seq async for event in atelier.runs.replay(workflow_id)}


def duplicates(names: Iterable[str]) -> int:
    """The number of events stored more than once."""
    listed = list(names)
    return len(listed) - len(set(listed))


def kill_at(world: World, point: str, count: int, figures: Figures) -> None:
    """Kill the worker when it reaches ``point`` for the ``count``-th time, and then let it finish."""
    assert world.finish(world.start(point, str(count))), f"{point} was not reached {count} times"
    figures.kills += 1
    figures.points.append(f"{point}#{count}")
    world.run_to_the_end()


def kill_at_random(
    folder: Path,
    worker: str,
    kills: int,
    longest_s: float,
    seed: int,
    figures: Figures,
    check: Callable[[World], None],
    *,
    after: bytes = b"open\n",
    like: Path | None = None,
) -> None:
    """Kill workers up to ``longest_s`` seconds after they printed ``after``, until ``kills`` were killed;
    ``check`` each world at its end.

    ``like``: a data folder that is copied for each world.
    """
    rng = random.Random(seed)
    killed = number = 0
    while killed < kills:
        world = World(folder / f"world-{number}", worker)
        world.folder.mkdir()
        if like is not None:
            shutil.copytree(like, world.folder / "data")
        number += 1
        for _ in range(KILLS_PER_WORLD):
            process = world.start()
            line = process.stdout.readline()
            assert line == b"open\n", process.communicate()[1].decode()[-2000:]
            while line and line != after:
                line = process.stdout.readline()
                world.on_line(line.decode().rstrip("\n"))
            deadline = time.monotonic() + rng.uniform(0.0, longest_s)
            while process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.002)
            process.kill()
            if world.finish(process):
                killed += 1
                figures.kills += 1
            figures.slowest_open_s = max(figures.slowest_open_s, world.open_s)
            if world.status:
                break
        world.run_to_the_end()
        check(world)
        if like is not None:
            shutil.rmtree(world.folder)
