"""States of runs whose calls are judged."""

from __future__ import annotations

from atelier_desk.domain.agent import AgentConfig, ApprovalMode
from atelier_desk.domain.approval import ApprovalKind, ApprovalPolicy
from atelier_desk.domain.call_presentation_and_subjects import Subjects
from atelier_desk.domain.events.run import ToolCallStarted
from atelier_desk.domain.permission import Action, PermissionRule
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.tools.base import Call, Effect, Risk


def started(arguments: dict[str, str] | None = None, risk: str = "medium", tool: str = "write_file") -> ToolCallStarted:
    return ToolCallStarted(
        call_id="c", tool=tool, arguments=arguments or {}, section="file_ops", effect="write", risk=risk
    )


def state(mode: ApprovalMode, *allowed: str, workspace: tuple[str, ...] = ()) -> RunState:
    policy = ApprovalPolicy(mode=mode, rules=tuple(PermissionRule(text=tool, action=Action.ALLOW) for tool in allowed))
    return RunState(
        run_id="r",
        workflow_id="w",
        agent=AgentConfig(name="A", provider="p", model="m"),
        approvals=policy,
        workspace=workspace,
    )


def write(path: str, effect: Effect = Effect.WRITE) -> Call:
    return Call(effect, Risk.MEDIUM, ApprovalKind.FILE_OP, subjects=Subjects(paths=(path,)))
