"""Moving a workflow with files created by its tools between data folders; and what a foreign file must not do."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import pytest

from atelier_desk.domain import limits
from atelier_desk.domain.agent import AgentConfig, ApprovalMode, Budget, Choices
from atelier_desk.domain.approval import ApprovalPolicy, ApprovalSettings
from atelier_desk.domain.errors import ConflictError, UsageError
from atelier_desk.domain.permission import snapshot
from atelier_desk.domain.result_parts import ArtefactPart
from atelier_desk.domain.usage import summed
from atelier_desk.engine import Atelier
from atelier_desk.engine.services.workflow import importing
from atelier_desk.llm.scripted_model import ScriptedModel
from atelier_desk.storage.data_folder.atomic_files import sha256
from atelier_desk.tools.base import Input, NewArtefact, Tool, ToolContext, ToolResult
from atelier_desk.tools.registry.sections import CORE
from tests.engine.conftest import Opener, create_workflow, exported_workflow, send_and_wait
from tests.helpers.tool_calls import tool_call

AGENT = AgentConfig(name="Tester", provider="test", model="scripted", tools=("Plotter",))
PLAN, SKETCH = b"\x00the plan", b"a sketch"


class Nothing(Input):
    pass


class Plotter(Tool):
    name: ClassVar[str] = "Plotter"
    section: ClassVar[str] = CORE
    description: ClassVar[str] = "Plots."
    input: ClassVar[Any] = Nothing

    async def run(self, input: Any, context: ToolContext) -> ToolResult:
        parts = (
            NewArtefact("../plan.bin", PLAN, "application/x-plan"),
            NewArtefact("sketch.txt", SKETCH, "text/plain"),
        )
        return ToolResult({"success": True}, parts=parts)


async def plotted(atelier: Atelier, workspace: tuple[str, ...] = ()) -> str:
    """A workflow whose only call created two files."""
    atelier.registry.register(Plotter())
    workflow = await atelier.workflows.create("Plotted", workspace=workspace)
    await send_and_wait(atelier, workflow.id, "Plot.", agent=AGENT)
    return workflow.id


def model() -> ScriptedModel:
    return ScriptedModel([[tool_call("Plotter", "c1")], "Done."])


async def parts(atelier: Atelier, workflow_id: str) -> list[ArtefactPart]:
    entries = await atelier.workflows.transcript(workflow_id)
    return [part for entry in entries for call in entry.calls for part in call.parts if isinstance(part, ArtefactPart)]


async def contents(atelier: Atelier, workflow_id: str) -> list[bytes]:
    return [await atelier.repos.artefacts.read(workflow_id, part) for part in await parts(atelier, workflow_id)]


def kept(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "data" / "attachments").rglob("*") if path.is_file())


@pytest.mark.parametrize("rule", ["created", "rename", "overwrite"])
async def test_the_files_are_moved_too(open_atelier: Opener, tmp_path: Path, rule: str) -> None:
    async with open_atelier(model()) as atelier:
        workflow_id = await plotted(atelier)
        text = await atelier.workflows.export(workflow_id)
        assert await atelier.workflows.left_out_files(workflow_id) == []
        if rule == "created":
            await atelier.workflows.purge(workflow_id)
            assert kept(tmp_path) == []
        imported = await atelier.workflows.import_(text, "rename" if rule == "created" else rule)
        assert await contents(atelier, imported.workflow.id) == [PLAN, SKETCH]
        assert (await exported_workflow(atelier, imported.workflow.id))["artefacts"] == json.loads(text)["artefacts"]
        assert set(kept(tmp_path)) == {sha256(PLAN), sha256(SKETCH)}
        assert list(tmp_path.rglob("*plan*")) == []


async def test_a_copy_has_the_files_whatever_their_size(open_atelier: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_atelier(model()) as atelier:
        workflow_id = await plotted(atelier)
        monkeypatch.setattr(limits, "IMPORT_FILE", 1)
        copy = await atelier.workflows.duplicate(workflow_id)
        await atelier.workflows.purge(workflow_id)
        assert await contents(atelier, copy.id) == [PLAN, SKETCH]


async def test_an_export_stays_small_enough_to_be_imported(
    open_atelier: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_atelier(model()) as atelier:
        workflow_id = await plotted(atelier)
        whole = await atelier.workflows.export(workflow_id)
        monkeypatch.setattr(limits, "IMPORT_FILE", len(whole) - 30)
        text = await atelier.workflows.export(workflow_id)
        assert [base64.b64decode(each["data"]) for each in json.loads(text)["artefacts"]] == [SKETCH]
        assert await atelier.workflows.left_out_files(workflow_id) == ["../plan.bin"]
        imported = await atelier.workflows.import_(text)
        monkeypatch.setattr(limits, "IMPORT_FILE", len(text) + 200)  # it is now marked as imported
        assert await atelier.workflows.left_out_files(imported.workflow.id) == ["../plan.bin"]


def other_bytes(file: Any) -> None:
    file["artefacts"][0]["data"] = base64.b64encode(b"something else").decode()


def path_for_hash(file: Any) -> None:
    file["artefacts"][0]["sha256"] = "../../../escaped"


def unnamed(file: Any) -> None:
    file["artefacts"].append({"sha256": sha256(b"x"), "data": base64.b64encode(b"x").decode()})


def twice(file: Any) -> None:
    file["artefacts"].append(file["artefacts"][0])


def no_base64(file: Any) -> None:
    file["artefacts"][0]["data"] = "a"


def named_path(file: Any) -> None:
    """The journal, too, names a path as the file's hash."""
    told = json.loads(
        json.dumps(file).replace(file["artefacts"][0]["sha256"], "../" + file["artefacts"][0]["sha256"][3:])
    )
    file.update(told)


@pytest.mark.parametrize("change", [other_bytes, path_for_hash, unnamed, twice, no_base64, named_path])
async def test_files_that_no_call_created_are_refused(
    open_atelier: Opener, tmp_path: Path, change: Callable[[Any], None]
) -> None:
    async with open_atelier(model()) as atelier:
        workflow_id = await plotted(atelier)
        file = await exported_workflow(atelier, workflow_id)
        await atelier.workflows.purge(workflow_id)
        before = set(tmp_path.rglob("*"))
        change(file)
        with pytest.raises(UsageError):
            await atelier.workflows.import_(json.dumps(file))
        assert await atelier.workflows.list() == []
        assert kept(tmp_path) == []
        assert {path for path in set(tmp_path.rglob("*")) - before if "escaped" in path.name} == set()


async def test_an_import_refused_by_the_database_leaves_no_file(open_atelier: Opener, tmp_path: Path) -> None:
    async with open_atelier(model()) as atelier:
        workflow_id = await plotted(atelier)
        text = await atelier.workflows.export(workflow_id)
        other = await create_workflow(atelier, "Other")
        folders = {path.name for path in (tmp_path / "data" / "attachments").iterdir()}
        with pytest.raises(UsageError):
            await atelier.workflows.import_(text.replace(workflow_id, other), "overwrite")
        assert {path.name for path in (tmp_path / "data" / "attachments").iterdir()} == folders


async def test_a_file_grants_no_folder(open_atelier: Opener, tmp_path: Path) -> None:
    async with open_atelier(model()) as atelier:
        workflow_id = await plotted(atelier, (str(tmp_path),))
        text = await atelier.workflows.export(workflow_id)
        assert (await atelier.workflows.duplicate(workflow_id)).workspace == (str(tmp_path),)
        imported = await atelier.workflows.import_(text)
        assert (imported.workflow.workspace, imported.workspace) == ((), (str(tmp_path),))
        started = (await exported_workflow(atelier, imported.workflow.id))["events"][0]["body"]
        assert (started["type"], started["workspace"]) == ("run_started", [])


async def test_a_file_lets_no_agent_work_without_approval(open_atelier: Opener) -> None:
    unasked = AGENT.model_copy(update={"approval": ApprovalMode.AUTO})
    async with open_atelier(model()) as atelier:
        atelier.registry.register(Plotter())
        workflow = await atelier.workflows.create(
            "Plotted", choices=Choices(approval=ApprovalMode.AUTO, instructions="Be brief.")
        )
        await send_and_wait(atelier, workflow.id, "Plot.", agent=unasked)
        text = await atelier.workflows.export(workflow.id)
        assert json.loads(text)["events"][0]["body"]["agent"]["approval"] == "auto"
        own = ApprovalSettings(always_confirm_high=True)
        await atelier.settings.update(approvals=own)
        imported = (await atelier.workflows.import_(text)).workflow
        assert imported.choices == Choices(instructions="Be brief.")
        stored = (await exported_workflow(atelier, imported.id))["events"]
        agents = [event["body"]["agent"] for event in stored if event["body"].get("agent")]
        assert agents
        assert {agent["approval"] for agent in agents} == {"selective"}
        assert stored[0]["body"]["approvals"] == ApprovalPolicy(**own.__dict__, snapshot=snapshot(())).model_dump(
            mode="json"
        )


async def test_a_file_grants_no_calls_and_raises_no_limit(open_atelier: Opener) -> None:
    async with open_atelier(model()) as atelier:
        workflow_id = await plotted(atelier)
        capped = await atelier.agents.save(
            AGENT.model_copy(update={"name": "Capped", "budget": Budget(max_cost=1.0, max_tokens=100)})
        )
        caps = Budget(max_cost=50.0, max_tokens=60, max_tool_calls=7)
        await atelier.workflows.choose(
            workflow_id, Choices(approval=ApprovalMode.AUTO, budget=caps), agent_id=capped.id
        )
        file = await exported_workflow(atelier, workflow_id)
        started = file["events"][0]["body"]
        started["agent"]["approval"] = started["approvals"]["mode"] = "auto"
        started["approvals"] |= {
            "rules": [{"id": "1" * 32, "text": "Plotter", "action": "allow"}],
            "risks": {"Plotter": "low"},
        }
        imported = (await atelier.workflows.import_(json.dumps(file))).workflow
        assert imported.choices == Choices(budget=Budget(max_tokens=60, max_tool_calls=7))
        kept = (await exported_workflow(atelier, imported.id))["events"][0]["body"]
        assert kept["agent"]["approval"] == "selective"
        assert kept["approvals"] == ApprovalPolicy(snapshot=snapshot(())).model_dump(mode="json")


async def test_an_approved_call_that_has_not_started_needs_a_new_approval(
    open_atelier: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_atelier([*model()._steps, "Imported."]) as atelier:
        atelier.registry.register(Plotter())
        await atelier.settings.update(approvals=ApprovalSettings(auto_approve_low=False))
        workflow = await atelier.workflows.create("Plotted")
        await send_and_wait(
            atelier, workflow.id, "Plot.", agent=AGENT.model_copy(update={"approval": ApprovalMode.MANUAL})
        )
        (asked,) = await atelier.approvals.pending(workflow.id)
        # as after a kill: approved, and nothing follows
        monkeypatch.setattr(atelier.runs.live, "drive", lambda live: None)
        await atelier.approvals.approve(asked.id)
        text = await atelier.workflows.export(workflow.id)
        monkeypatch.undo()
        assert [event["body"]["type"] for event in json.loads(text)["events"]][-1] == "approval_decided"
        imported = (await atelier.workflows.import_(text)).workflow
        assert imported.pending_approvals == 1
        (again,) = await atelier.approvals.pending(imported.id)
        assert (again.status.value, again.decided_by, again.round) == ("pending", "", 2)
        copy = await atelier.repos.runs.get(imported.head_run_id or "")
        with suppress(ConflictError):  # it waits for the person, and does nothing
            await atelier.runs.steering.resume(copy.id)
        await atelier.runs.wait(copy.id)
        assert not await atelier.repos.executions.for_runs([copy.id])
        await atelier.approvals.approve(again.id)
        await atelier.runs.wait(copy.id)
        assert [call.status for call in await atelier.repos.executions.for_runs([copy.id])] == ["ok"]
        events = [event async for event in atelier.runs.replay(imported.id)]
        assert [event.seq for event in events if event.durable] == list(range(1, len(events) + 1))


async def test_a_run_that_follows_itself_is_refused(open_atelier: Opener) -> None:
    async with open_atelier(["One.", "Two."]) as atelier:
        workflow_id = await create_workflow(atelier, "Turns")
        ids = []
        for text in ("1", "2"):
            ids.append(await atelier.runs.send(workflow_id, text, agent=AGENT.model_copy(update={"tools": ()})))
            await atelier.runs.wait(ids[-1])
        whole = await atelier.workflows.export(workflow_id)
        for field, value in (("previous_run_id", ids[1]), ("parent_run_id", ids[1]), ("previous_run_id", ids[0])):
            file = json.loads(whole)
            for row in [run for run in file["runs"] if run["id"] == ids[0]]:
                row[field] = value
            with pytest.raises(UsageError, match="follows itself"):
                await atelier.workflows.import_(json.dumps(file))


async def test_usage_is_computed_from_the_journal_of_a_file(open_atelier: Opener) -> None:
    async with open_atelier(["One.", "Two.", "Three."]) as atelier:
        workflow_id = await create_workflow(atelier, "Turns")
        ids = []
        for text in ("1", "2"):
            ids.append(await atelier.runs.send(workflow_id, text, agent=AGENT.model_copy(update={"tools": ()})))
            await atelier.runs.wait(ids[-1])
        again = await atelier.runs.regenerate(workflow_id, ids[1])
        await atelier.runs.wait(again)
        await atelier.workflows.delete_branch(workflow_id, ids[1])
        file = await exported_workflow(atelier, workflow_id)
        file["workflow"]["usage"]["cost"] = 1e6
        imported = (await atelier.workflows.import_(json.dumps(file))).workflow
        copy = await atelier.workflows.duplicate(workflow_id)
        rows = await atelier.usage.rows()
        used = summed(row for row in rows if row.workflow_id == copy.id).usage
        assert used.tokens_input > 0
        assert copy.usage == imported.usage == used
        assert imported.id not in {row.workflow_id for row in rows}, "it was not used here"


async def test_an_import_can_be_stopped_until_it_is_stored(
    open_atelier: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_atelier(model()) as atelier:
        workflow_id = await plotted(atelier)
        text = await atelier.workflows.export(workflow_id)
        await atelier.workflows.purge(workflow_id)
        steps: list[str] = []
        go_on, begun = threading.Event(), asyncio.Event()
        loop, check = asyncio.get_running_loop(), importing.check

        def slow(file: Any) -> None:
            loop.call_soon_threadsafe(begun.set)
            go_on.wait(20)
            check(file)

        monkeypatch.setattr(importing, "check", slow)
        work = asyncio.create_task(atelier.workflows.import_(text, progress=steps.append))
        await begun.wait()
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        go_on.set()
        assert (steps, await atelier.workflows.list()) == (["checking"], [])
        monkeypatch.setattr(importing, "check", check)
        await atelier.workflows.import_(text, progress=steps.append)
        assert steps == ["checking", "checking", "storing"]
