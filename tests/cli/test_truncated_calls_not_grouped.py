"""Waiting calls are offered together in the terminal when each of their lines can be read in full."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from atelier_desk.cli.approval_decisions import Decisions
from atelier_desk.domain.approval import ApprovalRequest


@pytest.mark.parametrize(("length", "offered"), [(20, 2), (500, 0)])
async def test_a_truncated_line_is_approved_alone(length: int, offered: int) -> None:
    waiting = [
        ApprovalRequest(
            id=id,
            workflow_id="w",
            run_id="r",
            call_id=id,
            tool="mcp_send",
            arguments={"text": "x" * length},
            agent_id="a",
            agent_name="A",
            reason="manual",
            risk="medium",
            always=("mcp_send",),
        )
        for id in ("one", "two")
    ]

    async def pending(_workflow_id: str) -> list[ApprovalRequest]:
        return waiting

    decisions: Any = Decisions.__new__(Decisions)
    decisions._approvals = SimpleNamespace(pending=pending)
    assert len(await decisions._listed(waiting[0])) == offered
