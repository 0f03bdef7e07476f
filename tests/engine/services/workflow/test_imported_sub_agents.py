"""Sub-agents of an imported workflow: none starts that nobody here was asked about, and none is nested deeper."""

from __future__ import annotations

import json
from typing import Any

import pytest

from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.model_messages import ToolCall
from atelier_desk.engine import Atelier
from tests.engine.conftest import Opener, exported_workflow
from tests.engine.team.conftest import Cast, batch, begin, plan, spawn, worker

STARTS: dict[str, ToolCall] = {
    "one": spawn(),
    "in the background": spawn(wait=False),
    "a batch": batch("b", ("Helper", "One."), ("Helper", "Two.")),
    "a plan": plan("p", {"description": "One."}, {"description": "Two."}, strategy="sequential"),
}


async def exported(atelier: Atelier, **changes: Any) -> dict[str, Any]:
    """A workflow whose lead has started sub-agents, as a file."""
    workflow_id, run_id = await begin(atelier, **changes)
    await atelier.runs.wait(run_id)
    return dict(await exported_workflow(atelier, workflow_id))


def of_type(file: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [each for each in file["events"] if each["body"]["type"] == name]


def cut_after_planning(file: dict[str, Any]) -> None:
    """The lead has planned sub-agents, and none has started."""
    planned = of_type(file, "children_planned")[0]
    (root,) = [run for run in file["runs"] if run["id"] == planned["run_id"]]
    mine = [each for each in file["events"] if each["run_id"] == root["id"] and each["seq"] <= planned["seq"]]
    rows: dict[str, list[object]] = {name: [] for name in ("messages", "executions", "tasks", "approvals", "frames")}
    file |= {"events": mine, "runs": [root | {"last_seq": planned["seq"], "status": "paused"}], **rows}


@pytest.mark.parametrize("call", STARTS.values(), ids=STARTS)
async def test_a_planned_sub_agent_is_not_started(open_atelier: Opener, call: ToolCall) -> None:
    cast = Cast(Lead=[[call], "Done.", "Done.", "Done."], Helper=["One."] * 4, Action_1=["One."] * 2, Action_2=["Two."])
    async with open_atelier(cast) as atelier:
        await atelier.agents.save(worker("Helper"))
        file = await exported(atelier)
        cut_after_planning(file)
        helpers = [cast.models["Helper"], cast.models["Action_1"]]
        asked = [len(each.requests) for each in helpers]
        imported = (await atelier.workflows.import_(json.dumps(file), "rename")).workflow
        run_id = imported.head_run_id or ""
        await atelier.runs.steering.resume(run_id)
        await atelier.runs.wait(run_id)
        assert [len(each.requests) for each in helpers] == asked
        assert [run.id for run in await atelier.repos.runs.list(imported.id)] == [run_id]
        assert "planned where this workflow comes from" in json.dumps(cast.results())


@pytest.mark.parametrize(("said", "limit"), [(99, 2), (1, 1)])
async def test_depth_and_team_are_those_of_the_runs_of_the_file(open_atelier: Opener, said: int, limit: int) -> None:
    cast = Cast(Lead=[[spawn()], "Done."], Helper=["One."])
    async with open_atelier(cast) as atelier:
        file = await exported(atelier)
        away = {"run_id": "3" * 32, "agent_name": "Somebody"}
        handed = {"name": "a.txt", "media_type": "text/plain", "size": 1, "sha256": "0" * 64, "path": "/etc/passwd"}
        for each in of_type(file, "run_started"):
            each["body"] |= {"max_depth": said, "depth": -50, "lineage": [away], "attachments": [handed]}
        await atelier.settings.update(max_depth=2)
        imported = (await atelier.workflows.import_(json.dumps(file), "rename")).workflow
        root, helper = of_type(await exported_workflow(atelier, imported.id), "run_started")
        assert [(each["body"]["depth"], each["body"]["max_depth"]) for each in (root, helper)] == [
            (0, limit),
            (1, limit),
        ]
        assert root["body"]["lineage"] == []
        assert helper["body"]["lineage"] == [{"run_id": root["run_id"], "agent_name": "Lead"}]
        assert [part["path"] for each in (root, helper) for part in each["body"]["attachments"]] == ["", ""]


@pytest.mark.parametrize("parent", [None, "3" * 32])
async def test_a_run_whose_journal_names_another_parent_is_refused(open_atelier: Opener, parent: str | None) -> None:
    cast = Cast(Lead=[[spawn()], "Done."], Helper=["One."])
    async with open_atelier(cast) as atelier:
        file = await exported(atelier)
        of_type(file, "run_started")[1]["body"]["parent_run_id"] = parent
        with pytest.raises(UsageError, match="another parent"):
            await atelier.workflows.import_(json.dumps(file), "rename")
