"""Reports: a row and a file that belong together."""

from __future__ import annotations

import asyncio
import hashlib
import signal
import threading
from pathlib import Path

import pytest

from atelier_desk.domain.errors import NotFoundError, StorageError, UsageError
from atelier_desk.domain.workflow import Report, Workflow
from atelier_desk.storage.data_folder import atomic_files
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.store import Store
from tests.helpers.error_codes import raises_code
from tests.storage.child_programs import run


async def test_save_read_list_delete(repos: Repositories, workflow: Workflow) -> None:
    stored = await repos.reports.save(Report(workflow_id=workflow.id, name="Été 2026", author="A"), "# Été\n")
    assert stored.size == len("# Été\n".encode())
    assert await repos.reports.get(workflow.id, "Été 2026") == stored
    assert await repos.reports.read(workflow.id, "Été 2026") == "# Été\n"
    assert (repos.datadir.reports / workflow.id / "Été 2026.md").read_text(encoding="utf-8") == "# Été\n"
    await repos.reports.save(Report(workflow_id=workflow.id, name="A first"), "")
    assert [each.name for each in await repos.reports.list(workflow.id)] == ["A first", "Été 2026"]
    await repos.reports.delete(workflow.id, "Été 2026")
    assert [path.name for path in (repos.datadir.reports / workflow.id).iterdir()] == ["A first.md"]


async def test_the_same_name_replaces_and_keeps_its_id(repos: Repositories, workflow: Workflow) -> None:
    first = await repos.reports.save(Report(workflow_id=workflow.id, name="Plan"), "tomatoes")
    second = await repos.reports.save(Report(workflow_id=workflow.id, name="Plan"), "potatoes")
    assert second.id == first.id
    assert await repos.reports.read(workflow.id, "Plan") == "potatoes"
    assert await repos.history.search("tomatoes") == []
    assert len(await repos.history.search("potatoes")) == 1


@pytest.mark.parametrize("name", ["../escape", "/abs", "a/b", "..", ".hidden", "nul"])
async def test_paths_are_refused(repos: Repositories, workflow: Workflow, name: str) -> None:
    with pytest.raises(UsageError):
        await repos.reports.save(Report(workflow_id=workflow.id, name=name), "x")
    assert list(repos.datadir.reports.rglob("*")) == []


async def test_a_missing_report_is_an_error(repos: Repositories, workflow: Workflow) -> None:
    for attempt in (repos.reports.get, repos.reports.read, repos.reports.delete):
        with pytest.raises(NotFoundError):
            await attempt(workflow.id, "missing")
    await repos.reports.save(Report(workflow_id=workflow.id, name="Plan"), "x")
    (repos.datadir.reports / workflow.id / "Plan.md").unlink()
    with pytest.raises(StorageError, match=r"Plan\.md"):
        await repos.reports.read(workflow.id, "Plan")
    await repos.reports.delete(workflow.id, "Plan")


async def test_two_workflows_may_use_one_name(repos: Repositories, workflow: Workflow) -> None:
    other = await repos.workflows.create(Workflow(name="other"))
    await repos.reports.save(Report(workflow_id=workflow.id, name="Plan"), "mine")
    await repos.reports.save(Report(workflow_id=other.id, name="Plan"), "yours")
    assert await repos.reports.read(workflow.id, "Plan") == "mine"


async def test_the_hash_is_in_the_row(repos: Repositories, workflow: Workflow) -> None:
    stored = await repos.reports.save(Report(workflow_id=workflow.id, name="Plan", sha256="no hash of this"), "é")
    assert stored.sha256 == hashlib.sha256("é".encode()).hexdigest()
    assert (await repos.reports.get(workflow.id, "Plan")).sha256 == stored.sha256


async def test_a_modified_file_is_refused_named_and_can_be_accepted(repos: Repositories, workflow: Workflow) -> None:
    stored = await repos.reports.save(Report(workflow_id=workflow.id, name="My plan"), "tomatoes")
    path = repos.reports.path(workflow.id, "My plan")
    path.write_text("tomatoet")
    with raises_code(StorageError, "damaged_file") as caught:
        await repos.reports.read(workflow.id, "My plan")
    assert str(path) in str(caught.value)
    assert f"atelier reports accept {workflow.id} 'My plan'" in str(caught.value)
    assert await repos.reports.read(workflow.id, "My plan", check=False) == "tomatoet"
    accepted = await repos.reports.accept(workflow.id, "My plan")
    assert (accepted.id, accepted.created_at) == (stored.id, stored.created_at)
    assert await repos.reports.read(workflow.id, "My plan") == "tomatoet"
    assert len(await repos.history.search("tomatoet")) == 1
    assert await repos.reports.accept(workflow.id, "My plan") == accepted


async def test_writing_again_repairs_a_modified_file(repos: Repositories, workflow: Workflow) -> None:
    await repos.reports.save(Report(workflow_id=workflow.id, name="Plan"), "one")
    repos.reports.path(workflow.id, "Plan").write_bytes(b"\xff")
    await repos.reports.save(Report(workflow_id=workflow.id, name="Plan"), "two")
    assert await repos.reports.read(workflow.id, "Plan") == "two"


async def test_check_all_names_damaged_and_missing_files(repos: Repositories, workflow: Workflow) -> None:
    for name in ("whole", "changed", "missing"):
        await repos.reports.save(Report(workflow_id=workflow.id, name=name), "text")
    repos.reports.path(workflow.id, "changed").write_text("texT")
    repos.reports.path(workflow.id, "missing").unlink()
    told: list[tuple[int, int]] = []
    count, damaged = await repos.reports.check_all(lambda done, total: told.append((done, total)))
    assert count == 3
    assert {(error.code, error.params["path"]) for error in damaged} == {
        ("damaged_file", repos.reports.path(workflow.id, "changed")),
        ("read_only", repos.reports.path(workflow.id, "missing")),
    }
    assert told[-1] == (3, 3)


async def test_concurrent_readers_see_complete_reports(repos: Repositories, workflow: Workflow) -> None:
    async def write(number: int) -> None:
        await repos.reports.save(Report(workflow_id=workflow.id, name="Plan"), f"text {number}")

    await write(0)
    texts = await asyncio.gather(
        *(repos.reports.read(workflow.id, "Plan") if n % 2 else write(n) for n in range(1, 40))
    )
    assert all(text is None or text.startswith("text ") for text in texts)
    assert (await repos.reports.check_all())[1] == []


async def test_a_cancelled_save_is_completed(
    repos: Repositories, workflow: Workflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    staging, go = threading.Event(), threading.Event()
    stage = atomic_files.stage

    def slow(path: Path, data: bytes) -> None:
        staging.set()
        assert go.wait(30)
        stage(path, data)

    monkeypatch.setattr(atomic_files, "stage", slow)
    saving = asyncio.ensure_future(repos.reports.save(Report(workflow_id=workflow.id, name="Plan"), "text"))
    assert await asyncio.to_thread(staging.wait, 30)
    saving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await saving
    go.set()
    assert await repos.reports.read(workflow.id, "Plan") == "text"


@pytest.mark.parametrize(("point", "text"), [("staged", "old"), ("committed", "new")])
async def test_a_kill_while_a_report_is_written_is_not_damage(datadir: DataDir, point: str, text: str) -> None:
    killed = await asyncio.to_thread(run, "save-report-until", datadir.root, point)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    async with await Store.open(datadir.database) as store:
        repos = Repositories(store, datadir)
        (workflow,) = await repos.workflows.list()
        assert await repos.reports.read(workflow.id, "Plan") == text
        assert (await repos.reports.get(workflow.id, "Plan")).size == len(text)
        await repos.reports.save(Report(workflow_id=workflow.id, name="Plan"), "later")
        assert await repos.reports.read(workflow.id, "Plan") == "later"
        assert [path.name for path in repos.reports.path(workflow.id, "Plan").parent.iterdir()] == ["Plan.md"]
