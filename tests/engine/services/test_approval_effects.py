"""The effect of an approval on the run that waits for it."""

# judges: app/atelier_desk/engine/services/approvals.py
from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.agent import AgentConfig, ApprovalMode
from atelier_desk.domain.approval import ApprovalRequest, ApprovalScope, ApprovalSettings, ApprovalStatus, OnTimeout
from atelier_desk.domain.errors import ConflictError, NotFoundError, ToolError, UsageError
from atelier_desk.domain.model_messages import ToolCall
from atelier_desk.domain.permission import Action, PermissionRule, RuleScope
from atelier_desk.domain.workflow import RunStatus, WorkflowStatus
from atelier_desk.engine import Atelier
from atelier_desk.llm.scripted_model import ScriptedModel, Step
from atelier_desk.presentation.undo_availability_text import undo_text
from atelier_desk.storage.writing.journal_commit import Commit
from atelier_desk.support.i18n import _
from atelier_desk.tools.base import Effect, Risk
from atelier_desk.tools.custom import tool
from tests.engine.conftest import Opener, completed, send_and_wait, status_after
from tests.helpers.tool_calls import tool_call

ran: list[str] = []


@tool(section="core_ops", effect=Effect.WRITE, risk=Risk.MEDIUM)
async def send_letter(to: str, lines: int = 1) -> str:
    """Send a letter."""
    ran.append(f"{to}:{lines}")
    return f"sent to {to}"


AGENT = AgentConfig(
    name="Clerk", provider="test", model="scripted", tools=("send_letter",), approval=ApprovalMode.MANUAL
)


def letter(to: str = "Ann", id: str = "c1") -> list[ToolCall]:
    return [tool_call("send_letter", id, to=to)]


@pytest.fixture
def office(open_atelier: Opener) -> Opener:
    """An open engine with the tool above."""
    ran.clear()

    @asynccontextmanager
    async def opened(steps: Sequence[Step] | ScriptedModel = (), **options: Any) -> AsyncIterator[Atelier]:
        async with open_atelier(steps, **options) as atelier:
            atelier.registry.register(send_letter)
            yield atelier

    return opened


async def requested(atelier: Atelier) -> ApprovalRequest:
    workflow = await atelier.workflows.create("x")
    run_id = await atelier.runs.send(workflow.id, "write to Ann", agent=AGENT)
    assert await status_after(atelier, run_id) is RunStatus.AWAITING_APPROVAL
    [asked] = await atelier.approvals.pending(workflow.id)
    assert ran == []
    return asked


async def test_the_call_runs_with_the_persons_edits(office: Opener) -> None:
    model = ScriptedModel([letter(), "Done."])
    async with office(model) as atelier:
        asked = await requested(atelier)
        assert (asked.tool, asked.risk, asked.reason, asked.arguments) == (
            "send_letter",
            "medium",
            "manual",
            {"to": "Ann"},
        )
        assert (await atelier.workflows.get(asked.workflow_id)).pending_approvals == 1
        with pytest.raises(UsageError, match="lines must be a whole number"):
            await atelier.approvals.approve(asked.id, {"to": "Bob", "lines": "many"})
        decided = await atelier.approvals.approve(asked.id, {"to": "Bob", "lines": 2})
        assert (decided.status, decided.edited, decided.arguments) == (
            ApprovalStatus.APPROVED,
            {"to": "Bob", "lines": 2},
            {"to": "Ann"},
        )
        await completed(atelier, asked.run_id)
        assert ran == ["Bob:2"]
        assert (await atelier.workflows.get(asked.workflow_id)).pending_approvals == 0


async def test_two_decisions_at_once_count_as_one(office: Opener) -> None:
    async with office([letter(), "Done."]) as atelier:
        asked = await requested(atelier)
        results = await asyncio.gather(
            atelier.approvals.approve(asked.id),
            atelier.approvals.reject(asked.id),
            atelier.approvals.approve(asked.id),
            return_exceptions=True,
        )
        assert sum(isinstance(each, ApprovalRequest) for each in results) == 1
        assert sum(isinstance(each, ConflictError) for each in results) == 2
        await atelier.runs.wait(asked.run_id)
        assert len(ran) <= 1


async def test_the_timeout_survives_a_restart_and_is_applied(office: Opener) -> None:
    async with office([letter()]) as atelier:
        await atelier.settings.update(approvals=ApprovalSettings(timeout_s=30))
        asked = await requested(atelier)
        for visible in (20_000, 0):
            assert await atelier.approvals.seen(asked.id, visible) == pytest.approx(10.0)
    model = ScriptedModel(["Then not."])
    async with office(model) as atelier:
        await atelier.runs.recovery.resume_all()
        assert await atelier.approvals.seen(asked.id, 9_000) == pytest.approx(1.0)
        assert await atelier.approvals.seen(asked.id, 1_000) == 0.0
        await completed(atelier, asked.run_id)
        decided = await atelier.approvals.get(asked.id)
        assert (decided.status, decided.decided_by) == (ApprovalStatus.REJECTED, "timeout")
        assert decided.note == "Nobody decided within 30 seconds, so the call was refused."
        assert "nobody decided in time" in model.requests[-1].messages[-1].content


@pytest.mark.parametrize("on_timeout", [OnTimeout.APPROVE, OnTimeout.ASK_AGAIN])
async def test_the_owners_setting_applies_when_nobody_decides(office: Opener, on_timeout: OnTimeout) -> None:
    async with office([letter(), "Done."]) as atelier:
        await atelier.settings.update(approvals=ApprovalSettings(timeout_s=30, on_timeout=on_timeout))
        asked = await requested(atelier)
        assert await atelier.approvals.seen(asked.id, 30_000) == 0.0
        if on_timeout is OnTimeout.ASK_AGAIN:
            again = await atelier.approvals.get(asked.id)
            assert (again.status, again.round, again.seen_ms) == (ApprovalStatus.PENDING, 2, 0)
            assert await atelier.approvals.seen(asked.id, 1_000) == pytest.approx(29.0)
            await atelier.approvals.approve(asked.id)
        elif on_timeout is OnTimeout.APPROVE:
            assert (await atelier.approvals.get(asked.id)).decided_by == "timeout"
        await atelier.runs.wait(asked.run_id)
        assert ran == ["Ann:1"]


async def test_two_screens_that_show_it_ask_again_once(office: Opener) -> None:
    async with office([letter(), "Done."]) as atelier:
        await atelier.settings.update(approvals=ApprovalSettings(timeout_s=30, on_timeout=OnTimeout.ASK_AGAIN))
        asked = await requested(atelier)
        await asyncio.gather(atelier.approvals._ask_again(asked), atelier.approvals._ask_again(asked))
        assert (await atelier.approvals.get(asked.id)).round == 2
        await atelier.approvals.approve(asked.id)
        await atelier.approvals._ask_again(await atelier.approvals.get(asked.id))
        await atelier.runs.wait(asked.run_id)
        assert (await atelier.approvals.get(asked.id)).round == 2


async def test_the_reach_of_an_approval(office: Opener) -> None:
    async with office(
        [letter(), letter("Bob", "c2"), "Done.", letter("Cy"), letter("Di", "c2"), "Done.", letter("Ed"), "Done."]
    ) as atelier:
        asked = await requested(atelier)
        await atelier.approvals.approve(asked.id, scope=ApprovalScope.RUN)
        await completed(atelier, asked.run_id)
        assert ran == ["Ann:1", "Bob:1"]
        ran.clear()
        asked = await requested(atelier)
        await atelier.approvals.approve(asked.id, scope=ApprovalScope.ALWAYS)
        await completed(atelier, asked.run_id)
        assert [rule.text for rule in await atelier.permissions.rules()] == ["send_letter"]
        workflow = await atelier.workflows.create("y")
        run_id = await atelier.runs.send(workflow.id, "write", agent=AGENT)
        await completed(atelier, run_id)
        assert ran == ["Cy:1", "Di:1", "Ed:1"]


async def test_a_revoked_rule_does_not_return_with_a_copy(office: Opener) -> None:
    async with office([letter(), "Done."]) as atelier:
        asked = await requested(atelier)
        await atelier.approvals.approve(asked.id, scope=ApprovalScope.ALWAYS)
        await atelier.runs.wait(asked.run_id)
        [rule] = await atelier.permissions.rules()
        await atelier.permissions.remove(rule.id)
        await atelier.runs.fork(asked.workflow_id, (await atelier.workflows.get(asked.workflow_id)).stream_seq)
        await atelier.workflows.duplicate(asked.workflow_id)
        assert await atelier.permissions.rules() == ()


async def test_a_stopped_run_asks_for_nothing(office: Opener) -> None:
    async with office([letter()]) as atelier:
        asked = await requested(atelier)
        await atelier.runs.cancel(asked.run_id)
        assert (await atelier.approvals.get(asked.id)).status is ApprovalStatus.CANCELLED
        assert await atelier.approvals.pending() == []
        stored = await atelier.workflows.get(asked.workflow_id)
        assert (stored.status, stored.pending_approvals) == (WorkflowStatus.IDLE, 0)
        with pytest.raises(ConflictError, match="cancelled"):
            await atelier.approvals.approve(asked.id)
        assert await atelier.approvals.seen(asked.id, 1_000) is None
        assert ran == []


async def test_the_effect_of_a_call_is_shown_before_its_approval(open_atelier: Opener, tmp_path: Path) -> None:
    folder = tmp_path / "ws"
    folder.mkdir()
    (folder / "a.py").write_text("one = 1\ntwo = 2\n")
    edit = {"path": "a.py", "old_string": "one = 1", "new_string": "one = 11"}
    patch = "*** Begin Patch\n*** Add File: b.py\n+three\n*** Delete File: a.py\n*** End Patch"
    model = ScriptedModel([[tool_call("edit_file", **edit)], "Done."])
    clerk = AgentConfig(name="Clerk", provider="test", model="scripted", tools=("edit_file",))
    async with open_atelier(model) as atelier:
        workflow = await atelier.workflows.create("x", workspace=(str(folder),))
        run_id = await atelier.runs.send(workflow.id, "go", agent=clerk)
        assert await status_after(atelier, run_id) is RunStatus.AWAITING_APPROVAL
        [asked] = await atelier.approvals.pending()
        [change] = await atelier.approvals.preview(asked.id)
        assert (change.action, change.path, change.added, change.removed) == ("changed", "a.py", 1, 1)
        assert "+one = 11" in change.diff
        [added, deleted] = await atelier.approvals.preview(asked.id, {"patch": patch})
        assert (added.action, added.path, deleted.action, deleted.path) == ("created", "b.py", "deleted", "a.py")
        with pytest.raises(ToolError):
            await atelier.approvals.preview(asked.id, {**edit, "old_string": "nowhere"})
        with pytest.raises(ToolError):
            await atelier.approvals.preview(asked.id, {**edit, "path": "../a.py"})
        asked = await atelier.approvals.get(asked.id)
        written = asked.model_copy(
            update={"id": "w", "call_id": "w", "tool": "write_file", "arguments": {"path": "c.txt", "content": "new\n"}}
        )
        await atelier.repos.journal.commit(Commit(approvals=(written,)))
        [created] = await atelier.approvals.preview("w")
        assert (created.action, created.added) == ("created", 1)
        assert sorted(each.name for each in folder.iterdir()) == ["a.py"]
        assert (folder / "a.py").read_text() == "one = 1\ntwo = 2\n"


async def test_a_permanent_approval_of_a_command_applies_only_in_its_folder(
    open_atelier: Opener, tmp_path: Path
) -> None:
    def make(id: str) -> list[ToolCall]:
        return [tool_call("run_command", id, command="true > made.txt", modifies_files=True)]

    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    agent = AgentConfig(name="A", provider="p", model="m", tools=("run_command",), approval=ApprovalMode.SELECTIVE)
    async with open_atelier([make("1"), "done", make("2"), "done", make("3"), "done"]) as atelier:

        async def turn(folder: Path) -> str:
            workflow = await atelier.workflows.create("W", workspace=(str(folder),))
            run_id = await send_and_wait(atelier, workflow.id, "go", agent=agent)
            return run_id

        first = await turn(tmp_path / "here")
        [asked] = await atelier.approvals.pending()
        assert asked.holds == (RuleScope.FOLDER, str(tmp_path / "here"))
        await atelier.approvals.approve(asked.id, scope=ApprovalScope.ALWAYS, rules=[*asked.always])
        await atelier.runs.wait(first)
        kept = await atelier.permissions.rules()
        assert {rule.where for rule in kept} == {asked.holds}
        await turn(tmp_path / "here")
        assert await atelier.approvals.pending() == [], "another workflow of the folder is not asked about"
        await turn(tmp_path / "there")
        [again] = await atelier.approvals.pending()
        assert again.holds == (RuleScope.FOLDER, str(tmp_path / "there"))


async def test_a_permanent_approval_in_a_folder_does_not_follow_a_changed_link(
    open_atelier: Opener, tmp_path: Path
) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "here")
    call = {"command": "make", "modifies_files": True}
    async with open_atelier() as atelier:
        rule = PermissionRule(text="run_command(make)", action=Action.ALLOW, scope=RuleScope.FOLDER, scope_id=str(link))
        [kept] = await atelier.permissions.add(rule)
        assert kept.scope_id == str(tmp_path / "here")
        assert (
            await atelier.permissions.trials.test("run_command", call, workspace=(str(link),))
        ).action is Action.ALLOW
        link.unlink()
        link.symlink_to(tmp_path / "there")
        assert (await atelier.permissions.trials.test("run_command", call, workspace=(str(link),))).action is Action.ASK
        assert (
            await atelier.permissions.trials.test("run_command", call, workspace=(str(tmp_path / "here"),))
        ).action is Action.ALLOW


async def test_a_permanent_approval_of_one_command_does_not_approve_those_waiting_next_to_it(
    open_atelier: Opener, tmp_path: Path
) -> None:
    lines = ("touch one.txt", "touch one.txt", "touch two.txt", "echo $(touch three.txt)")
    calls = [tool_call("run_command", f"c{n}", command=each, modifies_files=True) for n, each in enumerate(lines)]
    agent = AgentConfig(name="A", provider="p", model="m", tools=("run_command",), approval=ApprovalMode.SELECTIVE)
    async with open_atelier([calls, "done"]) as atelier:
        (tmp_path / "work").mkdir()
        workflow = await atelier.workflows.create("W", workspace=(str(tmp_path / "work"),))
        run_id = await send_and_wait(atelier, workflow.id, "go", agent=agent)
        asked = {each.arguments["command"]: each for each in await atelier.approvals.pending()}
        await atelier.approvals.approve(asked[lines[0]].id, scope=ApprovalScope.ALWAYS)
        assert {each.arguments["command"] for each in await atelier.approvals.pending()} == set(lines[2:])
        unreadable = asked[lines[3]].id
        with pytest.raises(UsageError, match="needs approval each time"):
            await atelier.approvals.approve(unreadable, scope=ApprovalScope.ALWAYS)
        await atelier.approvals.approve(asked[lines[2]].id, scope=ApprovalScope.RUN)
        assert [each.id for each in await atelier.approvals.pending()] == [unreadable], "what asks each time still does"
        await atelier.approvals.reject(unreadable)
        await atelier.runs.wait(run_id)
        assert sorted(path.name for path in (tmp_path / "work").iterdir()) == ["one.txt", "two.txt"]


def lettered(*names: str) -> list[ToolCall]:
    return [tool_call("send_letter", f"c{number}", to=name) for number, name in enumerate(names)]


async def several(atelier: Atelier) -> list[ApprovalRequest]:
    """The requests of a run that asks for all of its calls at once."""
    workflow = await atelier.workflows.create("x")
    run_id = await atelier.runs.send(workflow.id, "write", agent=AGENT)
    assert await status_after(atelier, run_id) is RunStatus.AWAITING_APPROVAL
    return await atelier.approvals.pending(workflow.id)


async def test_one_approval_covers_exactly_the_listed_calls(office: Opener) -> None:
    async with office([lettered("Ann", "Bob", "Cy"), "Done."]) as atelier:
        ann, bob, cy = await several(atelier)
        decided = await atelier.approvals.approve_together([ann.id, bob.id])
        assert [(each.status, each.scope, each.decided_by) for each in decided] == [
            (ApprovalStatus.APPROVED, ApprovalScope.ONCE, "user")
        ] * 2
        await atelier.runs.wait(ann.run_id)
        assert [each.id for each in await atelier.approvals.pending()] == [cy.id], (
            "it came while the others were allowed"
        )
        assert "Cy:1" not in ran
        await atelier.approvals.reject(cy.id)
        await completed(atelier, ann.run_id)
        assert sorted(ran) == ["Ann:1", "Bob:1"]


async def test_calls_are_rejected_together_or_not_at_all(office: Opener) -> None:
    model = ScriptedModel([lettered("Ann", "Bob"), "Nobody, then."])
    async with office(model) as atelier:
        ann, bob = await several(atelier)
        with pytest.raises(NotFoundError):
            await atelier.approvals.reject_together([ann.id, "missing"])
        assert [each.id for each in await atelier.approvals.pending()] == [ann.id, bob.id]
        decided = await atelier.approvals.reject_together([ann.id, bob.id])
        assert [each.status for each in decided] == [ApprovalStatus.REJECTED] * 2
        await completed(atelier, ann.run_id)
        assert ran == []
        assert len(model.requests) == 2, "the agent reads both in one request"
        with pytest.raises(ConflictError):
            await atelier.approvals.reject_together([ann.id, bob.id])


async def test_decisions_made_meanwhile_are_unchanged(office: Opener) -> None:
    async with office([lettered("Ann", "Bob"), "Done."]) as atelier:
        ann, bob = await several(atelier)
        await atelier.approvals.reject(ann.id)
        await atelier.approvals.approve_together([ann.id, bob.id])
        await completed(atelier, ann.run_id)
        assert ran == ["Bob:1"]
        with pytest.raises(ConflictError):
            await atelier.approvals.approve_together([ann.id, bob.id])
        for wrong in ([], ["missing"]):
            with pytest.raises((UsageError, NotFoundError)):
                await atelier.approvals.approve_together(wrong)


CALLS: dict[str, tuple[str, dict[str, object]]] = {
    "new": ("write_file", {"path": "new.md", "content": "x"}),
    "old": ("write_file", {"path": "old.md", "content": "x"}),
    "edit": ("edit_file", {"path": "old.md", "old_string": "one", "new_string": "two"}),
    "patch that adds": ("edit_file", {"patch": "*** Begin Patch\n*** Add File: new.md\n+x\n*** End Patch"}),
    "patch that deletes": ("edit_file", {"patch": "*** Begin Patch\n*** Delete File: old.md\n*** End Patch"}),
    "move": ("move_file", {"source": "old.md", "destination": "new.md", "overwrite": True}),
    "move over": ("move_file", {"source": "old.md", "destination": "docs", "overwrite": True}),
    "copy over": ("copy_file", {"source": "old.md", "destination": "docs/old.md", "overwrite": True}),
    "missing": ("move_file", {"source": "nowhere.md", "destination": "old.md", "overwrite": True}),
}


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("new", "Create new.md"),
        ("old", "Replace the content of old.md"),
        ("edit", "Edit old.md"),
        ("patch that adds", "Create new.md"),
        ("patch that deletes", "Delete old.md"),
        ("move", "Move old.md to new.md"),
        ("move over", "Move old.md to docs, replacing the file there"),
        ("copy over", "Copy old.md to docs/old.md, replacing the file there"),
        ("missing", "Move nowhere.md to old.md"),
    ],
)
async def test_an_approval_says_whether_a_file_is_created_or_replaced(
    open_atelier: Opener, tmp_path: Path, call: str, text: str
) -> None:
    folder = tmp_path / "ws"
    (folder / "docs").mkdir(parents=True)
    for path in ("old.md", "docs/old.md"):
        (folder / path).write_text("one\n")
    name, arguments = CALLS[call]
    clerk = AgentConfig(name="Clerk", provider="test", model="scripted", tools=(name,))
    async with open_atelier(ScriptedModel([[tool_call(name, **arguments)]])) as atelier:
        workflow = await atelier.workflows.create("x", workspace=(str(folder),))
        run_id = await atelier.runs.send(workflow.id, "go", agent=clerk)
        assert await status_after(atelier, run_id) is RunStatus.AWAITING_APPROVAL
        [asked] = await atelier.approvals.pending()
        assert asked.presentation.summary.localized(_) == text
        assert undo_text(asked) == "This can be undone for 30 days."
