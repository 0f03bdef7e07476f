"""Calls and the verdicts on them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from atelier_desk.domain.agent import ApprovalMode
from atelier_desk.domain.approval import ApprovalPolicy
from atelier_desk.domain.permission import Action, PermissionRule
from atelier_desk.engine.run.call_verdict import (
    Judge,
    JudgedCall,
)
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.tools.base import Call
from atelier_desk.tools.registry.default_registry import create_default_tool_registry
from tests.engine.run.judged_run_states import started, state

REGISTRY = create_default_tool_registry()


def run_in(folder: Path, *said: tuple[Action, str], mode: ApprovalMode = ApprovalMode.SELECTIVE) -> RunState:
    held = tuple(PermissionRule(text=text, action=action) for action, text in said)
    return replace(state(mode, workspace=(str(folder),)), approvals=ApprovalPolicy(mode=mode, rules=held))


def call_of(name: str, **arguments: Any) -> Call:
    tool = REGISTRY.get_tool(name)
    assert tool is not None
    return REGISTRY.prepare(tool, arguments).described


def judged(
    run: RunState, name: str, judge: Judge | None = None, tainted: tuple[str, ...] = (), **arguments: Any
) -> JudgedCall:
    tool, described = REGISTRY.get_tool(name), call_of(name, **arguments)
    assert tool is not None
    intent = started(arguments, described.risk.value, name).model_copy(
        update={"section": tool.section, "effect": described.effect.value}
    )
    return (judge or Judge()).judged(run, intent, described, repaired=False, tainted=tainted)
