"""The rows of runs: found by workflow, team and state."""

from __future__ import annotations

from datetime import timedelta

from atelier_desk.domain.base_model import utc_now
from atelier_desk.domain.workflow import Run, RunStatus, Workflow
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.writing.journal_commit import Commit


async def test_all_runs_of_a_team_are_found_by_its_root(repos: Repositories, workflow: Workflow) -> None:
    now = utc_now()
    rows = [
        Run(id="root", workflow_id=workflow.id, correlation_id="root", created_at=now),
        Run(
            id="child",
            workflow_id=workflow.id,
            parent_run_id="root",
            correlation_id="root",
            created_at=now + timedelta(seconds=1),
        ),
        Run(
            id="below",
            workflow_id=workflow.id,
            parent_run_id="child",
            correlation_id="root",
            created_at=now + timedelta(seconds=2),
        ),
        Run(id="other", workflow_id=workflow.id, correlation_id="other", created_at=now + timedelta(seconds=3)),
    ]
    for row in reversed(rows):
        await repos.runs.save(row)
    assert await repos.runs.teams(["root"]) == rows[:3]
    assert await repos.runs.teams(["other", "root"]) == rows
    assert await repos.runs.teams([]) == []


async def test_runs_are_listed_oldest_first_and_active_ones_found(repos: Repositories, workflow: Workflow) -> None:
    now = utc_now()
    runs = [
        Run(workflow_id=workflow.id, status=status, created_at=now + timedelta(seconds=number))
        for number, status in enumerate(
            [RunStatus.COMPLETED, RunStatus.AWAITING_USER, RunStatus.PROCESSING, RunStatus.ABANDONED]
        )
    ]
    for run in reversed(runs):
        await repos.runs.save(run)
    assert await repos.runs.list(workflow.id) == runs
    assert await repos.runs.alive() == runs[1:3]


async def test_a_team_is_found_by_its_root_and_by_its_parents(repos: Repositories, workflow: Workflow) -> None:
    now = utc_now()
    runs = [
        Run(
            id=name,
            workflow_id=workflow.id,
            parent_run_id=parent,
            correlation_id=root,
            depth=depth,
            created_at=now + timedelta(seconds=at),
        )
        for at, (name, parent, root, depth) in enumerate(
            [
                ("root", None, "root", 0),
                ("a", "root", "root", 1),
                ("b", "root", "root", 1),
                ("aa", "a", "root", 2),
                ("other", None, "other", 0),
                ("x", "other", "other", 1),
            ]
        )
    ]
    await repos.journal.commit(Commit(runs=tuple(reversed(runs))))
    assert [run.id for run in await repos.runs.children("root")] == ["a", "b"]
    assert await repos.runs.children("a") == [runs[3]]
    assert await repos.runs.children("aa") == []
    assert await repos.runs.teams(["root"]) == runs[:4]
    assert await repos.runs.teams(["other", "root"]) == runs
    assert await repos.runs.teams([]) == []
    assert [link.parent_run_id for link in await repos.runs.links(workflow.id)] == [
        None,
        "root",
        "root",
        "a",
        None,
        "other",
    ]


async def test_the_runs_of_deleted_branches_are_found_without_the_others(repos: Repositories) -> None:
    workflow = await repos.workflows.create(Workflow(name="W"))
    other = await repos.workflows.create(Workflow(name="Other"))
    gone = {"gone": workflow.id, "elsewhere": other.id}
    runs = [Run(id=name, workflow_id=workflow_id, deleted_at=utc_now()) for name, workflow_id in gone.items()]
    await repos.journal.commit(Commit(runs=(*runs, Run(id="shown", workflow_id=workflow.id))))
    assert await repos.runs.deleted(workflow.id) == {"gone"}
    assert await repos.runs.deleted("nowhere") == set()
