"""What an open database has read is given back on the way, not kept until the end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.storage import damaged_row_search, migration_registry
from atelier_desk.storage.copies import bounded_memory_reading
from atelier_desk.storage.copies.jsonl_export_import import export_jsonl
from atelier_desk.storage.database_engine import Engine
from atelier_desk.storage.store import Store
from tests.storage.samples.unpack_sample import unpack


async def export(store: Store, tmp_path: Path) -> None:
    seen: list[int] = []
    written = await export_jsonl(store, tmp_path / "export", progress=seen.append)
    assert seen[-1] == sum(written.counts.values())


async def check(store: Store, _tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    assert await damaged_row_search.damaged_anywhere(store, lambda *share: seen.append(share)) == []
    assert seen[-1][0] == seen[-1][1]


@pytest.mark.parametrize("read", [export, check])
async def test_an_open_database_is_opened_anew_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[[Store, Path], Awaitable[None]]
) -> None:
    opened = 0
    reopen = Engine.reopen

    async def counted(engine: Engine, **options: Any) -> None:
        nonlocal opened
        opened += 1
        await reopen(engine, **options)

    folder = unpack(migration_registry.latest(), tmp_path / "sample") / "data"
    async with await Store.open(folder / "database") as store:
        monkeypatch.setattr(Engine, "reopen", counted)
        monkeypatch.setattr(bounded_memory_reading, "CACHED_BYTES", store.size // 3)
        await read(store, tmp_path)
        assert 1 <= opened <= 6
        assert await store.query("RETURN [1]") == [1]
