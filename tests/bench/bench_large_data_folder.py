"""What a person waits for with a large data folder: upgrade, start, list, first search, backup, restore, deletion.

Works on a copy of the folder, which may be of the version before. Each line has the elapsed and the processor time of
this process and its helpers, the most memory of each, and the longest time without progress. While a backup is made, a
draft is stored twenty times a second: the longest of these waits is shown.

Run: ``python -m tests.bench.bench_large_data_folder [FOLDER] [--purge N] [--quick] [--json FILE]``. ``bench_growth
--imported 800 --keep`` makes a folder. The copy is made beside it and needs room for the folder five times. Without a
folder the steps are run on the small sample of the version before.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psutil

from atelier_desk.engine import Atelier
from atelier_desk.engine.services.data_folder_and_backups import restore_backup
from atelier_desk.llm.secrets import KeyVault
from tests.storage.samples.unpack_sample import unpack

SAMPLE_S = 0.1
DRAFT_S = 0.05


class Steps:
    """Figures by step; ``told`` is a progress callback."""

    def __init__(self) -> None:
        self.figures: dict[str, dict[str, float]] = {}
        self._me = psutil.Process()
        self._peak = {"own": 0, "helper": 0}
        self._told_at = self._silence = 0.0
        threading.Thread(target=self._watch, daemon=True).start()
        self._begin()

    def told(self, *_share: object) -> None:
        now = time.perf_counter()
        self._silence, self._told_at = max(self._silence, now - self._told_at), now

    def end(self, name: str, **more: float) -> None:
        self.told()
        figures = {
            "s": time.perf_counter() - self._began,
            "cpu_s": self._processor_s() - self._used,
            "own_mb": self._peak["own"] / 1e6,
            "helper_mb": self._peak["helper"] / 1e6,
            "silence_s": self._silence,
            **more,
        }
        self.figures[name] = figures
        shown = "  ".join(f"{key} {value:.1f}" for key, value in figures.items())
        print(f"{name:28} {shown}", file=sys.stderr, flush=True)
        self._begin()

    def _begin(self) -> None:
        self._began = self._told_at = time.perf_counter()
        self._used, self._silence = self._processor_s(), 0.0
        self._peak.update(own=0, helper=0)

    def _processor_s(self) -> float:
        times = self._me.cpu_times()
        return float(times.user + times.system + times.children_user + times.children_system)

    def _watch(self) -> None:
        while True:
            with contextlib.suppress(psutil.Error):
                self._peak["own"] = max(self._peak["own"], self._me.memory_info().rss)
                for child in self._me.children(recursive=True):
                    self._peak["helper"] = max(self._peak["helper"], child.memory_info().rss)
            time.sleep(SAMPLE_S)


@contextlib.asynccontextmanager
async def opened(folder: Path, steps: Steps) -> AsyncIterator[Atelier]:
    at = "start"

    def upgrading(step: str, percent: int) -> None:
        nonlocal at
        steps.told()
        if not percent:
            steps.end(at)
            at = step

    async with Atelier.open(folder, vault=KeyVault(environ={}), upgrading=upgrading) as atelier:
        steps.end(at)
        yield atelier


async def store_drafts(atelier: Atelier, workflow_id: str, longest: list[float]) -> None:
    number = 0
    while True:
        number, began = number + 1, time.perf_counter()
        await atelier.workflows.set_draft(workflow_id, f"draft {number}")
        longest[0] = max(longest[0], time.perf_counter() - began)
        await asyncio.sleep(DRAFT_S)


async def search(atelier: Atelier, steps: Steps, text: str) -> int:
    searching = asyncio.ensure_future(atelier.workflows.search(text))
    last: object = None
    while not (await asyncio.wait({searching}, timeout=SAMPLE_S))[0]:
        if (reading := await atelier.usage.reading()) != last:
            last = reading
            steps.told()
    return len(searching.result())


async def measure(folder: Path, purged: int) -> dict[str, dict[str, float]]:
    steps, backup = Steps(), folder / "backups" / "bench.zip"
    async with opened(folder, steps) as atelier:
        workflows = [each.id for each in await atelier.workflows.list(limit=None)]
        steps.end("list all", workflows=len(workflows))
        await atelier.workflows.opened(workflows[0])
        steps.end("open a workflow")
        for name in ("first search", "search again"):
            steps.end(name, hits=await search(atelier, steps, "heron"))
        longest = [0.0]
        drafts = asyncio.create_task(store_drafts(atelier, workflows[0], longest))
        info = await atelier.data.backup_create(backup, steps.told)
        drafts.cancel()
        steps.end("backup", size_mb=info.size / 1e6, longest_write_s=longest[0])
    async with opened(folder, steps) as atelier:
        for each in workflows:
            await atelier.workflows.delete(each)
            steps.told()
        steps.end("delete all")
        for each in workflows[:purged]:
            await atelier.workflows.purge(each)
            steps.told()
        steps.end("purge", workflows=min(purged, len(workflows)))
    steps.end("close")
    await restore_backup(backup, folder, steps.told)
    steps.end("restore")
    async with opened(folder, steps) as atelier:
        assert len(await atelier.workflows.list(limit=None)) == len(workflows)
    return steps.figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="a data folder, which stays as it is")
    parser.add_argument("--quick", action="store_true", help="accepted like those of the others; without effect")
    parser.add_argument("--purge", type=int, default=50, metavar="N", help="delete so many workflows permanently")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder and options.folder.absolute().parent) as place:
        copy = Path(place) / "data"
        if options.folder is None:
            unpack(13, Path(place))
        else:
            shutil.copytree(options.folder, copy, symlinks=True, ignore=shutil.ignore_patterns("history-index*"))
        figures: dict[str, Any] = asyncio.run(measure(copy, options.purge))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
