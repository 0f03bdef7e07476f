"""Reports: a row and a file that belong together."""

from __future__ import annotations

import pytest

from atelier_desk.domain.errors import NotFoundError, StorageError, UsageError
from atelier_desk.domain.workflow import Report, Workflow
from atelier_desk.storage.repositories import Repositories


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
    assert await repos.workflows.search("tomatoes") == []
    assert len(await repos.workflows.search("potatoes")) == 1


@pytest.mark.parametrize("name", ["../escape", "/abs", "a/b", "..", ".hidden", "nul"])
async def test_paths_are_refused(repos: Repositories, workflow: Workflow, name: str) -> None:
    with pytest.raises(UsageError):
        await repos.reports.save(Report(workflow_id=workflow.id, name=name), "x")
    assert list(repos.datadir.reports.rglob("*")) == []


async def test_what_is_missing(repos: Repositories, workflow: Workflow) -> None:
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
