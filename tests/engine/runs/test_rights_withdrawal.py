"""What a person forbids while a run works is not done: the newer, stricter state decides, even for a call being
judged.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from atelier_desk.domain.agent import ApprovalMode, Choices
from atelier_desk.domain.approval import ApprovalFlags, ApprovalPolicy, ApprovalSettings
from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.events.run import RightsNarrowed, ToolCallFinished
from atelier_desk.domain.permission import Action, PermissionRule
from atelier_desk.domain.settings import Settings
from atelier_desk.domain.stream import payloads
from atelier_desk.domain.stream.event import ChunkType
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.engine import Atelier
from atelier_desk.engine.run import call_facts, call_verdict
from atelier_desk.engine.run.projection.event_projection import project
from atelier_desk.engine.run.projection.projection_base import RunTotals
from atelier_desk.engine.run.reducer.handler_registry import evolve
from atelier_desk.policy.approval_strictness_and_grouping import stricter_settings
from atelier_desk.storage.repositories.configuration import SettingsRepository
from atelier_desk.workspace.processes import sandbox_contents
from tests.engine.conftest import Opener, Recorder, completed, create_workflow, send_and_wait, status_after
from tests.engine.runs.withdrawn_rights import (
    TOUCH,
    Change,
    answer,
    begun,
    forbid,
    forbid_here,
    nothing,
    plan,
    redirect,
    take_folder,
    take_up,
)
from tests.engine.team.conftest import bodies
from tests.helpers.runs_without_driver import Script, agent
from tests.helpers.scripted_teams import ask_user, leader, scripts, spawn
from tests.helpers.tool_calls import tool_call

ALLOWED = "run_command(touch seen)"


class Held:
    """Delays the judging of the first call, in its thread, after all facts were collected."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._judged, self._go_on = threading.Event(), threading.Event()
        real = call_facts.facts

        def facts(*given: object, **named: object) -> object:
            found = real(*given, **named)  # type: ignore[arg-type]
            if not self._judged.is_set():
                self._judged.set()
                assert self._go_on.wait(60)
            return found

        monkeypatch.setattr(call_verdict, "facts", facts)

    async def judged(self) -> None:
        assert await asyncio.to_thread(self._judged.wait, 60)

    def resume(self) -> None:
        self._go_on.set()


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Held:
    return Held(monkeypatch)


async def rule_of(atelier: Atelier) -> PermissionRule:
    return next(each for each in await atelier.permissions.rules() if each.text == ALLOWED)


async def plan_of_the_agent(atelier: Atelier, workflow_id: str, _run_id: str) -> None:
    agent_id = (await atelier.workflows.get(workflow_id)).agent_id
    await atelier.agents.save(agent(name="Worker", tools=("run_command",), approval=ApprovalMode.PLAN), agent_id)


async def other_agent(atelier: Atelier, workflow_id: str, _run_id: str) -> None:
    careful = await atelier.agents.save(agent(name="Careful", approval=ApprovalMode.PLAN))
    await atelier.workflows.choose(workflow_id, Choices(), agent_id=careful.id)


async def forbid_a_file(atelier: Atelier, _workflow_id: str, _run_id: str) -> None:
    await atelier.permissions.add(PermissionRule(text="file_ops(seen)", action=Action.DENY))


async def withdraw(atelier: Atelier, _workflow_id: str, _run_id: str) -> None:
    await atelier.permissions.remove((await rule_of(atelier)).id)


async def make_ask(atelier: Atelier, _workflow_id: str, _run_id: str) -> None:
    await atelier.permissions.change((await rule_of(atelier)).id, action=Action.ASK)


async def ask_all(atelier: Atelier, workflow_id: str, _run_id: str) -> None:
    await atelier.permissions.remove((await rule_of(atelier)).id)
    await atelier.workflows.choose(workflow_id, Choices(approval=ApprovalMode.MANUAL))


async def stop(atelier: Atelier, _workflow_id: str, run_id: str) -> None:
    await atelier.runs.cancel(run_id)


async def delete(atelier: Atelier, workflow_id: str, _run_id: str) -> None:
    await atelier.workflows.delete(workflow_id)


async def loosen(atelier: Atelier, workflow_id: str, _run_id: str) -> None:
    await atelier.workflows.choose(workflow_id, Choices(approval=ApprovalMode.AUTO))
    await atelier.permissions.add(PermissionRule(text="run_command(true)", action=Action.ALLOW))


FREE, ASK = ApprovalMode.AUTO, ApprovalMode.SELECTIVE
CHANGES: list[tuple[Change, ApprovalMode, str]] = [
    (nothing, FREE, "done"),
    (loosen, FREE, "done"),
    (plan, FREE, "refused"),
    (plan_of_the_agent, FREE, "refused"),
    (other_agent, FREE, "refused"),
    (forbid, FREE, "refused"),
    (forbid_here, FREE, "refused"),
    (forbid_a_file, FREE, "refused"),
    (take_folder, FREE, "refused"),
    (withdraw, ASK, "asked"),
    (make_ask, FREE, "asked"),
    (ask_all, FREE, "asked"),
    (stop, FREE, "cancelled"),
    (delete, FREE, "cancelled"),
]
"""The person's change while the call is judged, under which profile, and the outcome of the call."""


@pytest.mark.skipif(not sandbox_contents.available(), reason="without a sandbox every command asks")
@pytest.mark.parametrize(("change", "mode", "outcome"), CHANGES, ids=[row[0].__name__ for row in CHANGES])
async def test_a_change_while_a_call_is_judged(
    open_atelier: Opener, tmp_path: Path, held: Held, change: Change, mode: ApprovalMode, outcome: str
) -> None:
    async with open_atelier([[TOUCH], "done"]) as atelier:
        await atelier.permissions.add(PermissionRule(text=ALLOWED, action=Action.ALLOW))
        run_id = await begun(atelier, tmp_path / "work", mode)
        await held.judged()
        workflow_id = (await atelier.repos.runs.get(run_id)).workflow_id
        await change(atelier, workflow_id, run_id)
        held.resume()
        row = await atelier.runs.wait(run_id)
        asked = await atelier.approvals.pending()
        ends = await bodies(atelier, run_id, ToolCallFinished)
        assert (tmp_path / "work" / "seen").exists() is (outcome == "done")
        assert bool(asked) is (outcome == "asked")
        expected = {"asked": RunStatus.AWAITING_APPROVAL, "cancelled": RunStatus.CANCELLED}.get(
            outcome, RunStatus.COMPLETED
        )
        assert row.status is expected
        assert [each.status.value for each in ends] == {
            "done": ["ok"],
            "refused": ["error"],
            "asked": [],
            "cancelled": ["cancelled"],
        }[outcome]
        if asked:
            await atelier.approvals.approve(asked[0].id)
            await atelier.runs.wait(run_id)
            assert (tmp_path / "work" / "seen").exists()


async def test_a_profile_given_for_one_turn_stays_when_nothing_changes(open_atelier: Opener, tmp_path: Path) -> None:
    async with open_atelier([[ask_user("q")], "done"]) as atelier:
        run_id = await begun(atelier, tmp_path / "work", ASK, approval=FREE)
        await forbid(atelier, "", run_id)
        await atelier.runs.wait(run_id)
        state = atelier.runs.state_of(run_id)
        assert state is not None
        assert state.current.approvals.mode is FREE
        assert [rule.text for rule in state.current.approvals.rules] == ["run_command(touch:*)"]


async def test_sub_agents_may_do_no_more_than_their_parent(open_atelier: Opener) -> None:
    models = scripts(Boss=[[spawn("s", "Helper")], "done"], Helper=[[ask_user("q")], [TOUCH], "done"])
    async with open_atelier(models) as atelier:
        workflow = await atelier.workflows.create("team")
        run_id = await send_and_wait(atelier, workflow.id, "go", agent=leader(name="Boss"))
        await plan(atelier, workflow.id, run_id)
        await forbid(atelier, workflow.id, run_id)
        for row in await atelier.repos.runs.list(workflow.id):
            handle = atelier.runs.state_of(row.id)
            assert handle is not None
            assert handle.current.approvals.mode is ApprovalMode.PLAN, row.agent_name
            assert "run_command(touch:*)" in [rule.text for rule in handle.current.approvals.rules], row.agent_name


async def test_an_earlier_approval_does_not_override_a_later_deny(open_atelier: Opener, tmp_path: Path) -> None:
    """The person approves, and before the run continues forbids it."""
    async with open_atelier([[TOUCH], "done"]) as atelier:
        run_id = await begun(atelier, tmp_path / "work", ApprovalMode.MANUAL)
        await atelier.runs.wait(run_id)
        [asked] = await atelier.approvals.pending()
        await atelier.runs.steering.pause(run_id)
        await atelier.approvals.approve(asked.id)
        await forbid(atelier, "", run_id)
        await atelier.runs.steering.resume(run_id)
        await completed(atelier, run_id)
        assert not (tmp_path / "work" / "seen").exists()


async def test_a_resumed_failed_run_is_bound_by_the_current_rules(open_atelier: Opener, tmp_path: Path) -> None:
    async with open_atelier([ProviderError("gone", code="auth"), [TOUCH], "done"]) as atelier:
        run_id = await begun(atelier, tmp_path / "work")
        assert await status_after(atelier, run_id) is RunStatus.ERROR
        await forbid(atelier, "", run_id)
        await atelier.runs.steering.resume(run_id)
        await completed(atelier, run_id)
        assert not (tmp_path / "work" / "seen").exists()


async def test_an_interrupted_call_is_not_repeated_against_a_rule(open_atelier: Opener, tmp_path: Path) -> None:
    read = tool_call("read_file", "r", path=".env")
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / ".env").write_text("KEY=secret")
    killed = False

    def fault(point: str) -> None:
        nonlocal killed
        if point == "before_tool" and not killed:
            killed = True
            raise asyncio.CancelledError

    async with open_atelier([[read], "done"], fault=fault) as atelier:
        stored = await atelier.agents.save(agent(name="Worker", tools=("read_file",)))
        workflow = await atelier.workflows.create("w", stored.id, (str(tmp_path / "work"),))
        seen = Recorder(atelier)
        run_id = await atelier.runs.send(workflow.id, "go")
        await seen.until(ChunkType.TOOL_START)
        await atelier.runs.wait(run_id)
    async with open_atelier(["done"]) as atelier:
        await atelier.permissions.add(PermissionRule(text="read_file(.env)", action=Action.DENY))
        await atelier.runs.steering.resume(run_id)
        await atelier.runs.wait(run_id)
        [end] = await bodies(atelier, run_id, ToolCallFinished)
        assert (end.code, "secret" in end.model_dump_json()) == ("denied", False)


def test_the_conversation_records_what_was_removed_and_when() -> None:
    script = Script()
    allowed = PermissionRule(text="run_command(make)", action=Action.ALLOW)
    before = evolve(script.state, approvals=script.state.approvals.model_copy(update={"rules": (allowed,)}))
    body = RightsNarrowed(
        rules=(
            PermissionRule(text="read_file(.env)", action=Action.DENY),
            PermissionRule(text="git_push", action=Action.ASK),
        ),
        withdrawn=(allowed.id,),
        folders=("/x",),
        untrusted=("/y",),
    )
    script.add(body)
    out = project(script.events[-1], before, script.state, RunTotals())
    [row] = out.messages
    [said] = out.payloads
    assert isinstance(said, payloads.RightsNarrowed)
    assert (row.kind, row.id) == ("rights_narrowed", said.message_id)
    assert said.details == row.details == {
        "denied": ["read_file(.env)"], "asked": ["git_push", "run_command(make)"], "folders": ["/x"],
        "untrusted": ["/y"], "stricter": False
    }  # fmt: skip


def test_the_event_never_grants_anything() -> None:
    script = Script()
    free = RightsNarrowed(
        rules=(PermissionRule(text="*", action=Action.ALLOW),),
        mode=ApprovalMode.AUTO,
        settings=ApprovalSettings(auto_approve_low=True),
    )
    before = script.state.approvals
    after = script.add(free).state.approvals
    assert (after.mode, after.rules, after.flags) == (before.mode, before.rules, before.flags)


def test_of_two_settings_the_stricter_one_counts() -> None:
    held = ApprovalPolicy(risks={"a": "low", "b": "high", "c": "low"})
    chosen = ApprovalSettings(
        flags=ApprovalFlags(tools=True, mcp=False),
        auto_approve_low=False,
        risks={"a": "medium", "d": "high", "e": "low"},
    )
    both = stricter_settings(held, chosen)
    assert both["risks"] == {"a": "medium", "b": "high", "d": "high"}
    flags = both["flags"]
    assert isinstance(flags, ApprovalFlags)
    assert (flags.tools, flags.mcp, both["auto_approve_low"]) == (True, True, False)


BEGINNING = [
    (withdraw, ASK),
    (forbid, FREE),
    (forbid_here, FREE),
    (take_folder, FREE),
    (plan, FREE),
    (plan_of_the_agent, FREE),
]


@pytest.mark.parametrize(("change", "mode"), BEGINNING, ids=[row[0].__name__ for row in BEGINNING])
async def test_a_change_while_a_turn_starts(
    open_atelier: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Change, mode: ApprovalMode
) -> None:
    async with open_atelier([[TOUCH], "done"]) as atelier:
        await atelier.permissions.add(PermissionRule(text=ALLOWED, action=Action.ALLOW))
        reached, resume = asyncio.Event(), asyncio.Event()
        real = atelier.environment.skills.catalogue

        async def catalogue(folders: Sequence[str]) -> object:
            reached.set()
            await resume.wait()
            return await real(folders)

        monkeypatch.setattr(atelier.environment.skills, "catalogue", catalogue)
        beginning = asyncio.create_task(begun(atelier, tmp_path / "work", mode))
        await asyncio.wait_for(reached.wait(), 60)
        workflow_id = (await atelier.workflows.latest()).id
        announced = asyncio.Event()
        stop = atelier.bus.on_changed(lambda _topic, _id: announced.set())
        changing = asyncio.ensure_future(change(atelier, workflow_id, ""))
        await announced.wait()  # it is stored then
        stop()
        resume.set()
        run_id = await beginning
        await changing
        await atelier.runs.wait(run_id)
        assert not (tmp_path / "work" / "seen").exists()


@pytest.mark.skipif(not sandbox_contents.available(), reason="without a sandbox every command asks")
@pytest.mark.parametrize("goes_on", [answer, redirect, take_up])
@pytest.mark.parametrize(
    ("change", "mode"), [(nothing, FREE), *BEGINNING], ids=["nothing", *(row[0].__name__ for row in BEGINNING)]
)
async def test_a_change_while_the_run_is_not_in_memory(
    open_atelier: Opener,
    tmp_path: Path,
    change: Change,
    mode: ApprovalMode,
    goes_on: Callable[[Atelier, str], Awaitable[None]],
) -> None:
    """However it continues: an answer and a message resume a run too, and only its journal records a changed
    profile.
    """
    async with open_atelier([[ask_user("q")]]) as atelier:
        await atelier.permissions.add(PermissionRule(text=ALLOWED, action=Action.ALLOW))
        run_id = await begun(atelier, tmp_path / "work", mode)
        await atelier.runs.wait(run_id)
        workflow_id = (await atelier.repos.runs.get(run_id)).workflow_id
    async with open_atelier([[TOUCH], "done"]) as atelier:
        assert atelier.runs.state_of(run_id) is None
        await change(atelier, workflow_id, run_id)
        await goes_on(atelier, run_id)
        await atelier.runs.wait(run_id)
        assert (tmp_path / "work" / "seen").exists() is (change is nothing)


@pytest.mark.skipif(not sandbox_contents.available(), reason="without a sandbox every command asks")
@pytest.mark.parametrize("change", [nothing, forbid, forbid_here, take_folder, plan])
async def test_a_sub_agent_answered_alone_is_bound_by_its_teams_current_rights(
    open_atelier: Opener, tmp_path: Path, change: Change
) -> None:
    (tmp_path / "work").mkdir()
    boss = leader(name="Boss", tools=("run_command", "UserQuestionTool", "SpawnAgentTool"))
    async with open_atelier(scripts(Boss=[[spawn("s", "Helper")]], Helper=[[ask_user("q")]])) as atelier:
        workflow = await atelier.workflows.create("team", "", (str(tmp_path / "work"),))
        run_id = await send_and_wait(atelier, workflow.id, "go", agent=boss)
    async with open_atelier(scripts(Boss=["done"], Helper=[[TOUCH], "done"])) as atelier:
        await change(atelier, workflow.id, run_id)
        await answer(atelier, run_id)
        await atelier.runs.wait(run_id)
        assert (tmp_path / "work" / "seen").exists() is (change is nothing)


async def test_a_change_loads_no_run_unless_its_profile_changes(open_atelier: Opener, tmp_path: Path) -> None:
    async with open_atelier([[ask_user("q")]]) as atelier:
        run_id = await begun(atelier, tmp_path / "work")
        await atelier.runs.wait(run_id)
        workflow_id = (await atelier.repos.runs.get(run_id)).workflow_id
    async with open_atelier([]) as atelier:
        await forbid(atelier, workflow_id, run_id)
        assert atelier.runs.state_of(run_id) is None
        await plan(atelier, workflow_id, run_id)
        state = atelier.runs.state_of(run_id)
        assert state is not None
        assert state.current.approvals.mode is ApprovalMode.PLAN


async def test_settings_changed_while_they_are_read_are_read_again(
    open_atelier: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_atelier(["one", "two"]) as atelier:
        workflow_id = await create_workflow(atelier)
        old = await atelier.repos.settings.load()
        real, reads = type(atelier.repos.settings).load, list[int]()

        async def load(self: SettingsRepository) -> Settings:
            reads.append(1)
            if len(reads) > 1:
                return await real(self)
            atelier.bus.changed("settings", "max_depth")  # somebody changes them, and this read was too early
            return old

        await atelier.settings.update(max_depth=2)
        monkeypatch.setattr(type(atelier.repos.settings), "load", load)
        run_id = await send_and_wait(atelier, workflow_id, "go", agent=agent())
        assert atelier.runs.state_of(run_id).current.max_depth == 2  # type: ignore[union-attr]
