"""Rights removed while a team grows are also removed from a sub-agent that starts at that moment."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.agent import ApprovalMode
from atelier_desk.llm.scripted_model import Step
from atelier_desk.workspace.processes import sandbox_contents
from tests.engine.conftest import Opener, send_and_wait
from tests.engine.runs.withdrawn_rights import TOUCH, Change, forbid, forbid_here, nothing, plan, take_folder
from tests.helpers.runs_without_driver import agent
from tests.helpers.scripted_teams import leader, scripts, spawn
from tests.helpers.tool_calls import tool_call

TOOLS = ("run_command", "UserQuestionTool", "SpawnAgentTool")


@pytest.mark.skipif(not sandbox_contents.available(), reason="without a sandbox every command asks")
@pytest.mark.parametrize("change", [nothing, forbid, forbid_here, take_folder, plan])
@pytest.mark.parametrize("deep", [False, True])
async def test_a_sub_agent_whose_start_is_being_committed(
    open_atelier: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Change, deep: bool
) -> None:
    (tmp_path / "work").mkdir()
    last = "Last" if deep else "Helper"
    steps: dict[str, list[Step]] = {"Boss": [[spawn("s", "Helper")], "done"]}
    if deep:
        steps["Helper"] = [[spawn("t", "Last")], "done"]
    steps[last] = [[TOUCH], "done"]
    models = scripts(**steps)
    async with open_atelier(models) as atelier:
        journal = atelier.environment.journal
        reached, go_on = asyncio.Event(), asyncio.Event()
        real = journal._commit

        async def commit(head: Any, batch: Any, what: Any) -> Any:
            if not reached.is_set() and any(row.agent_name == last and row.depth for row in what.runs):
                reached.set()
                await go_on.wait()
            return await real(head, batch, what)

        monkeypatch.setattr(journal, "_commit", commit)
        workflow = await atelier.workflows.create("team", "", (str(tmp_path / "work"),))
        run_id = await atelier.runs.send(workflow.id, "go", agent=leader(name="Boss", tools=TOOLS))
        await asyncio.wait_for(reached.wait(), 60)
        announced = asyncio.Event()
        stop = atelier.bus.on_changed(lambda _topic, _id: announced.set())
        changing = asyncio.ensure_future(change(atelier, workflow.id, run_id))
        if change is not nothing:
            await announced.wait()
        stop()
        go_on.set()
        await changing
        await atelier.runs.wait(run_id)
        assert (tmp_path / "work" / "seen").exists() is (change is nothing)


@pytest.mark.skipif(not sandbox_contents.available(), reason="without a sandbox every command asks")
@pytest.mark.parametrize("stricter", [False, True])
async def test_a_stored_agent_that_became_stricter_after_it_was_planned(
    open_atelier: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stricter: bool
) -> None:
    (tmp_path / "work").mkdir()
    to = list[str]()
    models = scripts(
        Boss=[
            lambda _request: [
                tool_call("DelegateTaskTool", "d", operation="delegate", agent_id=to[0], prompt="Do it.")
            ],
            "done",
        ],
        Helper=[[TOUCH], "done"],
    )
    async with open_atelier(models) as atelier:
        helper = agent(name="Helper", tools=("run_command",), approval=ApprovalMode.AUTO)
        stored = await atelier.agents.save(helper)
        to.append(stored.id)
        teams = atelier.runs.teams
        real = teams.start

        async def start(*given: Any) -> None:
            if stricter:
                await atelier.agents.save(helper.model_copy(update={"approval": ApprovalMode.PLAN}), stored.id)
            await real(*given)

        monkeypatch.setattr(teams, "start", start)
        workflow = await atelier.workflows.create("team", "", (str(tmp_path / "work"),))
        await send_and_wait(atelier, workflow.id, "go", agent=leader(name="Boss", tools=(*TOOLS, "DelegateTaskTool")))
        assert (tmp_path / "work" / "seen").exists() is not stricter
