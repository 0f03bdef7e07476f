"""Approval requests: listed, stored completely, found by team, and deleted with their run."""

from __future__ import annotations

from datetime import timedelta

import pytest

from atelier_desk.domain.approval import (
    Ancestor,
    ApprovalKind,
    ApprovalRequest,
    ApprovalScope,
    ApprovalStatus,
    OnTimeout,
)
from atelier_desk.domain.base_model import utc_now
from atelier_desk.domain.errors import NotFoundError
from atelier_desk.domain.workflow import Run, Workflow
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.writing.journal_commit import Commit


async def save(repos: Repositories, *requests: ApprovalRequest) -> None:
    for request in requests:
        await repos.journal.commit(Commit(approvals=(request,)))


async def test_requests_are_listed_oldest_first_and_decided_ones_remain(
    repos: Repositories, workflow: Workflow
) -> None:
    other = await repos.workflows.create(Workflow(name="other"))
    now = utc_now()
    asked = [
        ApprovalRequest(
            workflow_id=home, run_id="r", call_id=str(number), tool="t", created_at=now + timedelta(seconds=number)
        )
        for number, home in enumerate([workflow.id, other.id, workflow.id, workflow.id])
    ]
    await save(repos, *reversed(asked))
    decided = asked[2].model_copy(
        update={"status": ApprovalStatus.REJECTED, "note": "no", "decided_by": "user", "decided_at": now}
    )
    await save(repos, decided)
    assert await repos.approvals.pending() == [asked[0], asked[1], asked[3]]
    assert await repos.approvals.pending(workflow.id) == [asked[0], asked[3]]
    assert await repos.approvals.list(workflow.id) == [asked[0], decided, asked[3]]
    await repos.workflows.soft_delete(other.id)
    assert await repos.approvals.pending() == [asked[0], asked[3]]


async def test_a_request_is_stored_completely(repos: Repositories, workflow: Workflow) -> None:
    request = ApprovalRequest(
        workflow_id=workflow.id,
        run_id="child",
        root_run_id="root",
        call_id="c",
        agent_id="a",
        agent_name="Écrivain",
        lineage=(Ancestor(run_id="root", agent_name="Lead"), Ancestor(run_id="mid", agent_name="Middle")),
        kind=ApprovalKind.SUB_AGENT,
        tool="SpawnAgentTool",
        operation="spawn",
        section="planning_ops",
        effect="spawn",
        risk="medium",
        reason="selective",
        arguments={"prompt": "“look”", "big": 2**70, "none": None},
        edited={},
        details={"tools": ["a", "b"]},
        scope=ApprovalScope.RUN,
        timeout_s=0,
        on_timeout=OnTimeout.ASK_AGAIN,
        round=3,
    )
    await save(repos, request)
    assert await repos.approvals.get(request.id) == request
    with pytest.raises(NotFoundError):
        await repos.approvals.get("missing")


async def test_requests_of_a_team_are_found_by_its_root(repos: Repositories, workflow: Workflow) -> None:
    for root, run in (("one", "one"), ("one", "below"), ("two", "two")):
        await save(repos, ApprovalRequest(workflow_id=workflow.id, run_id=run, root_run_id=root, call_id="c", tool="t"))
    assert [each.run_id for each in await repos.approvals.of_teams(workflow.id, ["one"])] == ["one", "below"]
    assert len(await repos.approvals.of_teams(workflow.id, ["one", "two"])) == 3
    assert await repos.approvals.of_teams("other", ["one"]) == []
    assert await repos.approvals.of_teams(workflow.id, []) == []


async def test_visible_times_are_added(repos: Repositories, workflow: Workflow) -> None:
    request = ApprovalRequest(workflow_id=workflow.id, run_id="r", call_id="c", tool="t")
    await save(repos, request)
    await repos.approvals.add_seen(request.id, 250)
    assert (await repos.approvals.add_seen(request.id, 500)).seen_ms == 750
    with pytest.raises(NotFoundError):
        await repos.approvals.add_seen("missing", 1)


async def test_a_request_is_deleted_with_its_run(repos: Repositories, workflow: Workflow) -> None:
    run = Run(workflow_id=workflow.id)
    request = ApprovalRequest(workflow_id=workflow.id, run_id=run.id, call_id="c", tool="t")
    await repos.journal.commit(Commit(runs=(run,), approvals=(request,)))
    await repos.workflows.purge(workflow.id)
    assert await repos.approvals.pending() == []
