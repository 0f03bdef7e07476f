"""Runs whose rights are narrowed while they wait."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from atelier_desk.domain.agent import Agent, ApprovalMode, Choices
from atelier_desk.domain.permission import Action, PermissionRule, RuleScope
from atelier_desk.domain.question import QuestionStatus
from atelier_desk.domain.workflow import Dispatch
from atelier_desk.engine import Atelier
from tests.helpers.runs_without_driver import agent
from tests.helpers.tool_calls import tool_call

TOUCH = tool_call("run_command", command="touch seen", modifies_files=True)

Change = Callable[[Atelier, str, str], Awaitable[object]]


async def begun(
    atelier: Atelier, folder: Path, mode: ApprovalMode = ApprovalMode.AUTO, *, approval: ApprovalMode | None = None
) -> str:
    """A run that makes a command's call; returns its id."""
    folder.mkdir(exist_ok=True)
    stored: Agent = await atelier.agents.save(
        agent(name="Worker", tools=("run_command", "UserQuestionTool"), approval=mode)
    )
    workflow = await atelier.workflows.create("w", stored.id, (str(folder),))
    return await atelier.runs.send(workflow.id, "go", approval=approval)


async def plan(atelier: Atelier, workflow_id: str, _run_id: str) -> None:
    await atelier.workflows.choose(workflow_id, Choices(approval=ApprovalMode.PLAN))


async def forbid(atelier: Atelier, _workflow_id: str, _run_id: str) -> None:
    await atelier.permissions.add(PermissionRule(text="run_command(touch:*)", action=Action.DENY))


async def forbid_here(atelier: Atelier, workflow_id: str, _run_id: str) -> None:
    rule = PermissionRule(text="run_command", action=Action.DENY, scope=RuleScope.WORKFLOW, scope_id=workflow_id)
    await atelier.permissions.add(rule)


async def take_folder(atelier: Atelier, workflow_id: str, _run_id: str) -> None:
    await atelier.workflows.set_workspace(workflow_id, ())


async def nothing(_atelier: Atelier, _workflow_id: str, _run_id: str) -> None:
    return None


async def answer(atelier: Atelier, run_id: str) -> None:
    [asked] = await atelier.repos.questions.pending()
    await atelier.runs.answering.answer_question(asked.id, QuestionStatus.ANSWERED, text="blue")


async def redirect(atelier: Atelier, run_id: str) -> None:
    await atelier.runs.steering.message(run_id, "Do it now.", Dispatch.REDIRECT)


async def take_up(atelier: Atelier, run_id: str) -> None:
    await atelier.runs.steering.pause(run_id)
    await answer(atelier, run_id)
    await atelier.runs.steering.resume(run_id)
