"""Each diagnostic check in its good and its bad state."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.errors import ProviderError, StorageError
from atelier_desk.domain.provider import ProviderConfig
from atelier_desk.domain.settings import EmbedderSettings, Settings
from atelier_desk.engine import Atelier
from atelier_desk.engine.maintenance import doctor, system_checks
from atelier_desk.engine.maintenance.doctor import checks
from atelier_desk.engine.maintenance.system_checks import Check
from atelier_desk.llm.local.model_files import MANIFEST, UNREADABLE, ModelStore
from atelier_desk.llm.local.provider import LocalProvider
from atelier_desk.storage.copies import bounded_memory_reading
from atelier_desk.storage.database_engine import Engine
from atelier_desk.support.hashing import sha256_of
from atelier_desk.workspace.checkpoints.undoable_file_operations import Author
from atelier_desk.workspace.path_resolution import place
from tests.chaos.bit_flips import flip
from tests.engine.conftest import Opener, WordEmbedder, create_workflow
from tests.helpers.servers.openai import FakeOpenAI
from tests.helpers.tool_calls import tool_call
from tests.llm.local.conftest import gguf_bytes


@pytest.fixture(autouse=True)
def _no_qt_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The import of Qt is tested once, in its own test."""

    async def found(deep: bool) -> Check:
        return Check(name="qt", title="Qt", status="ok", message="there")

    monkeypatch.setattr(system_checks, "qt", found)


def by_name(found: list[Check]) -> dict[str, Check]:
    return {check.name: check for check in found}


async def test_a_healthy_machine(open_atelier: Opener) -> None:
    async with FakeOpenAI() as server, open_atelier() as atelier:
        await atelier.providers.save(ProviderConfig(name="lab", kind="openai", base_url=server.url))
        found = by_name(await checks(atelier))
        for name in ("database", "embedder", "disk", "data_folder", "provider:lab"):
            assert found[name].status == "ok", found[name]
        assert found["keyring"].status == "warn"
        assert "--api-key-env" in found["keyring"].fix


async def test_what_was_read_is_given_back_on_the_way(open_atelier: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = 0
    reopen = Engine.reopen

    async def counted(engine: Engine, **options: Any) -> None:
        nonlocal opened
        opened += 1
        await reopen(engine, **options)

    async with open_atelier() as atelier:
        await atelier.store.set_fsync(True)  # moves the log into the tables
        monkeypatch.setattr(Engine, "reopen", counted)
        monkeypatch.setattr(bounded_memory_reading, "CACHED_BYTES", atelier.store.size // 3)
        for check, often in (
            (doctor._database(atelier, None, False), range(1, 7)),
            (doctor._attachments(atelier, None), [1]),
        ):
            opened = 0
            assert (await check).status == "ok"
            assert opened in often


async def test_progress_names_each_check(open_atelier: Opener) -> None:
    async with open_atelier() as atelier:
        begun: list[str] = []
        found = await checks(atelier, begin=begun.append)
    assert begun == [
        "GUI toolkit (Qt)",
        "Database",
        "Configuration",
        "Reports",
        "Attachments",
        "Undo data",
        "Your own tools",
        "Downloaded models",
        "Keyring",
        "Embedder",
        "Providers",
    ]
    assert {"Database", "Embedder"} <= {check.title for check in found}


async def test_an_unreachable_server_is_a_warning_with_advice(open_atelier: Opener) -> None:
    async with FakeOpenAI() as server:
        url = server.url
    async with open_atelier() as atelier:
        await atelier.providers.save(ProviderConfig(name="lab", kind="openai", base_url=url))
        check = by_name(await checks(atelier))["provider:lab"]
        assert (check.status, bool(check.message)) == ("warn", True)
        assert "providers test lab" in check.fix


class Broken(WordEmbedder):
    def __init__(self, error: Exception) -> None:
        self._error = error

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        raise self._error


@pytest.mark.parametrize("error", [ProviderError("it is not installed"), RuntimeError("odd")])
async def test_a_broken_part_fails_only_its_own_check(open_atelier: Opener, error: Exception) -> None:
    async with open_atelier(embedder=Broken(error)) as atelier:
        found = by_name(await checks(atelier, deep=True))
        assert found["embedder"].status == "fail"
        assert str(error) in found["embedder"].message
        assert found["database"].status == "ok"


async def test_expensive_parts_are_only_located_unless_everything_is_tested(open_atelier: Opener) -> None:
    async with open_atelier(embedder=Broken(RuntimeError("loaded"))) as atelier:
        provider = await atelier.providers.provider("local")
        assert isinstance(provider, LocalProvider)
        for deep in (False, True):
            found = by_name(await checks(atelier, deep=deep))
            assert found["embedder"].status == ("fail" if deep else "ok")
            assert (provider.server is not None) == deep
            assert found["provider:local"].status == "ok"
            assert ("installed" in found["provider:local"].message) == (not deep)


@pytest.mark.parametrize(
    ("chosen", "status", "words"),
    [
        (EmbedderSettings(kind="none"), "warn", "their words only"),
        (EmbedderSettings(kind="openai", provider="gone", model="m"), "warn", "gone"),
    ],
)
async def test_in_a_reading_process_the_embedder_is_that_of_the_settings(
    open_atelier: Opener, chosen: EmbedderSettings, status: str, words: str
) -> None:
    async with open_atelier() as atelier:
        await atelier.repos.settings.save(Settings(embedder=chosen))
    async with open_atelier(start=False) as atelier:
        found = by_name(await checks(atelier))["embedder"]
        assert (found.status, bool(found.fix)) == (status, True)
        assert words in found.message


async def test_a_full_disk(monkeypatch: pytest.MonkeyPatch, atelier: Atelier) -> None:
    for free, status in ((10 * 1024**2, "fail"), (500 * 1024**2, "warn"), (5 * 1024**3, "ok")):
        monkeypatch.setattr(shutil, "disk_usage", lambda folder, free=free: type("Usage", (), {"free": free}))
        assert by_name(await checks(atelier))["disk"].status == status


async def test_a_folder_readable_by_others_is_a_warning(atelier: Atelier) -> None:
    atelier.datadir.root.chmod(0o755)
    check = by_name(await checks(atelier))["data_folder"]
    assert (check.status, check.fix) == ("warn", f"chmod 700 {atelier.datadir.root}")


async def test_an_unwritable_folder_fails(tmp_path: Path) -> None:
    found = by_name(await checks(root=tmp_path / "missing", problem=StorageError("it is locked", code="locked")))
    assert found["data_folder"].status == "fail"
    assert (found["database"].status, found["database"].message) == ("fail", "it is locked")
    assert "keyring" not in found


async def test_every_row_and_report_is_read_and_damage_named(atelier: Atelier) -> None:
    workflow = await atelier.workflows.create("w")
    for name in ("whole", "changed"):
        await atelier.reports.write(workflow.id, name, "text")
    told: list[tuple[int, int]] = []
    found = by_name(await checks(atelier, progress=lambda done, total: told.append((done, total))))
    assert found["reports"].status == "ok"
    assert "2 reports" in found["reports"].message
    rows = sum((await atelier.store.counts()).values())
    assert (rows, rows) in told
    assert f"{rows} database entries" in found["database"].message
    path = await atelier.reports.path(workflow.id, "changed")
    path.write_text("texT")
    found = by_name(await checks(atelier))
    assert found["reports"].status == "fail"
    assert str(path) in found["reports"].message
    assert "atelier reports accept" in found["reports"].fix


async def test_a_changed_custom_tool_is_a_warning(atelier: Atelier) -> None:
    assert by_name(await checks(atelier))["own_tools"].status == "ok"
    file = atelier.datadir.tools / "mine.py"
    file.write_text("x = 1")
    await atelier.own_tools.confirm("mine.py", (await atelier.own_tools.read("mine.py")).sha256)
    file.write_text("x = 3")
    check = by_name(await checks(atelier))["own_tools"]
    assert (check.status, "mine.py" in check.message, "tools own confirm" in check.fix) == ("warn", True, True)


async def test_unreadable_undo_data_is_a_warning_with_its_size(tmp_path: Path, atelier: Atelier) -> None:
    assert by_name(await checks(atelier))["checkpoints"].status == "ok"
    files = atelier.workspace_files
    for workflow in ("unknown", await create_workflow(atelier)):
        assert by_name(await checks(atelier))["checkpoints"].status == "ok", "what is unknown goes by itself"
        (tmp_path / "folder").mkdir()
        (tmp_path / "folder/file").write_text("x" * 2000)
        change = files.delete(Author(workflow), place("folder", (tmp_path,)))
        if workflow != "unknown":
            files.store.record(change).write_bytes(b"?")
    check = by_name(await checks(atelier))["checkpoints"]
    assert check.status == "warn"
    assert "1 record of changes cannot be read" in check.message
    assert "2\u202fkB" in check.message
    assert "1 set of undo data belongs to a workflow that is not in this database" in check.message
    assert "atelier files leftovers" in check.fix


async def test_changes_without_their_undo_data_are_a_warning(open_atelier: Opener, tmp_path: Path) -> None:
    call = tool_call("write_file", "c1", path="a.txt", content="new")
    async with open_atelier([[call], "done"]) as atelier:
        await atelier.settings.set("approvals.flags.file_ops", False)
        (tmp_path / "ws").mkdir()
        mine = await atelier.workflows.create(workspace=(str(tmp_path / "ws"),))
        async for _event in atelier.run("go", workflow_id=mine.id):
            pass
        assert by_name(await checks(atelier))["checkpoints"].status == "ok"
        shutil.rmtree(atelier.datadir.checkpoints)
        check = by_name(await checks(atelier))["checkpoints"]
        assert (check.status, "Undo is no longer possible for 1 change" in check.message) == ("warn", True)


async def test_a_damaged_model_file_fails_although_its_time_is_unchanged(atelier: Atelier) -> None:
    path = atelier.datadir.models / "tiny.gguf"
    path.write_bytes(gguf_bytes())
    ModelStore(atelier.datadir.models).record_download(path, sha256_of(path))
    assert by_name(await checks(atelier))["models"].status == "ok"
    flip(path, (path.stat().st_size - 9) * 8)
    check = by_name(await checks(atelier))["models"]
    assert check.status == "fail"
    assert str(path) in check.message


async def test_an_unreadable_list_of_downloaded_models_is_named(atelier: Atelier) -> None:
    (atelier.datadir.models / MANIFEST).write_text("{broken")
    check = by_name(await checks(atelier))["models"]
    assert (check.status, MANIFEST in check.message, UNREADABLE in check.fix) == ("warn", True, True)
