"""Each id that a file may forge: it reaches no other workflow, and no run that cannot be continued, stopped or deleted.

| id in the file | what it could reach | what is checked |
|---|---|---|
| previous run of a journal | the conversation of another workflow, in requests | equals that of the row |
| parent run, team | sub-agents and team of another workflow | equal those of the row |
| planned or started sub-agent | a run of another workflow, or one above it | its row names this run as its parent |
| question, task of an event | inbox and tasks of another workflow | belongs to the file's workflow |
| system message of a reply | that of another workflow, shown and copied | is in the file, else dropped |
| approval of an event | a call that nobody here was shown | made again (`test_imported_approval_requests.py`) |
| agent | what a rule allows to a person's agent | rules of agents are not in an imported run |
| file of a message or call | files of another workflow | `test_imported_tool_files_and_rights.py` |
| paths, folders of skills | files of this machine | dropped |
| project of a tool's state | another project | only those that the run's folders let it see |
| provider, model | a request that costs | the run is paused: a person continues it |
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from atelier_desk.domain.errors import UsageError
from tests.engine.conftest import Opener
from tests.engine.services.workflow.test_imported_sub_agents import cut_after_planning, exported, of_type
from tests.engine.team.conftest import Cast, spawn

File = dict[str, Any]
THEIRS = "3" * 32
"""Replaced by a run of another workflow."""


def root_of(file: File) -> File:
    return next(dict(run) for run in file["runs"] if run["parent_run_id"] is None)


def previous_run(file: File) -> None:
    of_type(file, "run_started")[0]["body"]["previous_run_id"] = THEIRS


def previous_run_of_a_sub_agent(file: File) -> None:
    of_type(file, "run_started")[1]["body"]["previous_run_id"] = THEIRS


def parent_run(file: File) -> None:
    of_type(file, "run_started")[0]["body"]["parent_run_id"] = THEIRS


def team(file: File) -> None:
    of_type(file, "run_started")[0]["body"]["correlation_id"] = THEIRS


def team_of_a_sub_agent(file: File) -> None:
    of_type(file, "run_started")[1]["body"]["correlation_id"] = THEIRS


def row_of_another_team(file: File) -> None:
    for run in file["runs"]:
        run["correlation_id"] = THEIRS


def cut_after_start(file: File) -> None:
    """The lead's sub-agent has started, and its run is not in the file."""
    root, begun = root_of(file), of_type(file, "child_started")[0]
    mine = [each for each in file["events"] if each["run_id"] == root["id"] and each["seq"] <= begun["seq"]]
    rows: dict[str, list[object]] = {name: [] for name in ("messages", "executions", "tasks", "approvals", "frames")}
    file |= {"events": mine, "runs": [root | {"last_seq": begun["seq"], "status": "paused"}], **rows}


def as_sub_agent(file: File, run_id: str) -> None:
    of_type(file, "children_planned")[0]["body"]["children"][0]["id"] = run_id
    of_type(file, "child_started")[0]["body"]["child_id"] = run_id


def sub_agent_of_another_workflow(file: File) -> None:
    cut_after_start(file)
    as_sub_agent(file, THEIRS)


def sub_agent_without_a_run(file: File) -> None:
    cut_after_start(file)


def itself_as_sub_agent(file: File) -> None:
    cut_after_start(file)
    as_sub_agent(file, file["runs"][0]["id"])


def itself_as_planned(file: File) -> None:
    cut_after_planning(file)
    of_type(file, "children_planned")[0]["body"]["children"][0]["id"] = file["runs"][0]["id"]


def planned_by_two(file: File) -> None:
    """The sub-agent's journal plans itself, too."""
    (planned,), child = of_type(file, "children_planned"), of_type(file, "run_started")[1]["run_id"]
    (run,) = [each for each in file["runs"] if each["id"] == child]
    run["last_seq"] += 1
    event = planned | {"id": "4" * 32, "run_id": child, "seq": run["last_seq"]}
    file["events"].append(event)


def question(file: File) -> None:
    root = root_of(file)
    spec = {"question_type": "text", "question": "Which?"}
    asked = {"id": "5" * 32, "workflow_id": THEIRS, "run_id": root["id"], "spec": spec}
    body = {"type": "question_asked", "question": asked | {"call_id": "c"}}
    last = next(event for event in reversed(file["events"]) if event["run_id"] == root["id"])
    file["events"].append(last | {"id": "6" * 32, "seq": root["last_seq"] + 1, "body": body})
    for run in file["runs"]:
        run["last_seq"] += run["id"] == root["id"]


FORGED: list[Callable[[File], None]] = [
    previous_run,
    previous_run_of_a_sub_agent,
    parent_run,
    team,
    team_of_a_sub_agent,
    row_of_another_team,
    sub_agent_of_another_workflow,
    sub_agent_without_a_run,
    itself_as_sub_agent,
    itself_as_planned,
    planned_by_two,
    question,
]


@pytest.mark.parametrize("forge", FORGED, ids=lambda forge: forge.__name__)
@pytest.mark.parametrize("way", ["rename", "overwrite"])
async def test_a_file_that_names_a_run_of_others_is_refused(
    open_atelier: Opener, forge: Callable[[File], None], way: str
) -> None:
    cast = Cast(Lead=[[spawn()], "Done."] * 2, Helper=["One."] * 2)
    async with open_atelier(model_factory=cast) as atelier:
        theirs = root_of(await exported(atelier))["id"]
        file = await exported(atelier)
        forge(file)
        count = await atelier.store.counts()
        with pytest.raises(UsageError, match="damaged"):
            await atelier.workflows.import_(json.dumps(file).replace(THEIRS, theirs), way)
        assert await atelier.store.counts() == count


async def test_the_system_message_of_another_workflow_is_neither_shown_nor_copied(open_atelier: Opener) -> None:
    cast = Cast(Lead=[[spawn()], "Done."] * 2, Helper=["One."] * 2)
    async with open_atelier(model_factory=cast) as atelier:
        theirs = of_type(await exported(atelier), "model_replied")[0]["body"]["frame"]
        assert theirs
        file = await exported(atelier)
        first, *others = of_type(file, "model_replied")
        first["body"]["frame"] = theirs
        imported = (await atelier.workflows.import_(json.dumps(file), "rename")).workflow
        frames = [
            each["body"]["frame"]
            for each in of_type(json.loads(await atelier.workflows.export(imported.id)), "model_replied")
        ]
        assert frames[0] == ""
        assert all(frames[1:])
        assert len(frames) == 1 + len(others)


@pytest.mark.parametrize("end", ["resume", "cancel", "purge"])
async def test_sub_agents_planned_twice_are_ended_once(open_atelier: Opener, end: str) -> None:
    """In one plan: the run continues, stops and is deleted as usual, and none of them starts."""
    cast = Cast(Lead=[[spawn()], "Done.", "Done."], Helper=["One."])
    async with open_atelier(model_factory=cast) as atelier:
        file = await exported(atelier)
        cut_after_planning(file)
        body = of_type(file, "children_planned")[0]["body"]
        body["children"] *= 3
        asked = len(cast.models["Helper"].requests)
        imported = (await atelier.workflows.import_(json.dumps(file), "rename")).workflow
        ended = of_type(json.loads(await atelier.workflows.export(imported.id)), "child_finished")
        assert [each["body"]["status"] for each in ended] == ["not_run"]
        run_id = imported.head_run_id or ""
        if end == "purge":
            await atelier.workflows.purge(imported.id)
            assert not await atelier.repos.runs.list(imported.id)
        elif end == "cancel":
            await atelier.runs.cancel(run_id)
        else:
            await atelier.runs.steering.resume(run_id)
            await atelier.runs.wait(run_id)
            assert (await atelier.repos.runs.get(run_id)).status == "completed"
        assert len(cast.models["Helper"].requests) == asked
