"""Long work tells how far it is, and ends when it is cancelled."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from atelier_desk.storage.copies.progress_and_cancellation import TOTAL, Report, Stopped, copy_tree, part, stoppable


async def test_progress_is_told_on_the_loop_once_for_each_share() -> None:
    told: list[tuple[int, int]] = []

    def work(report: Report) -> str:
        for done in range(100_001):
            report(done, 100_000)
        return "done"

    def tell(done: int, total: int) -> None:
        assert threading.current_thread() is threading.main_thread()
        told.append((done, total))

    assert await stoppable(work, progress=tell) == "done"
    await asyncio.sleep(0)
    assert told == [(share, TOTAL) for share in range(TOTAL + 1)]


async def test_cancelling_ends_the_work_at_its_next_report() -> None:
    ended: list[str] = []

    def work(report: Report) -> None:
        try:
            while True:
                report(1, 2)
        except Stopped:
            ended.append("stopped")
            raise

    def cancel(_done: int, _total: int) -> None:
        job.cancel()

    job = asyncio.ensure_future(stoppable(work, progress=cancel))
    with pytest.raises(asyncio.CancelledError):
        await job
    assert ended == ["stopped"], "the job ends after its work"


def test_a_step_is_a_part_of_the_whole() -> None:
    told: list[tuple[int, int]] = []
    second = part(lambda *share: told.append(share), 0.3, 0.5)
    for done in (0, 5, 10):
        second(done, 10)
    assert told == [(300, TOTAL), (400, TOTAL), (500, TOTAL)]


def test_a_folder_is_copied_and_links_stay_links(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "inner").mkdir(parents=True)
    (source / "inner" / "file").write_bytes(bytes(3_000_000))
    (source / "link").symlink_to("inner/file")
    told: list[tuple[int, int]] = []
    copy_tree(source, tmp_path / "copy", 3_000_000, lambda *share: told.append(share))
    assert (tmp_path / "copy" / "inner" / "file").read_bytes() == bytes(3_000_000)
    assert (tmp_path / "copy" / "link").is_symlink()
    assert told == [(1_048_576, 3_000_000), (2_097_152, 3_000_000), (3_000_000, 3_000_000)]
