"""Results of calls as events: that of a rejected call, as the agent reads it."""

from __future__ import annotations

import pytest

from atelier_desk.domain.approval import ApprovalKind, ApprovalRequest, ApprovalStatus, Decision
from atelier_desk.domain.events.run import ToolCallFinished
from atelier_desk.engine.run.reducer.state import CallState
from atelier_desk.engine.run.tool_result_events import rejected
from tests.helpers.tool_calls import tool_call


@pytest.mark.parametrize(
    ("note", "said"),
    [
        ("Use the other file", "write_file was rejected by the user. Reason: Use the other file. Do not try"),
        ("Why this one?", "write_file was rejected by the user. Reason: Why this one? Do not try"),
        ("", "write_file was rejected by the user. Do not try"),
    ],
)
def test_a_persons_reason_is_a_sentence_of_its_own(note: str, said: str) -> None:
    asked = ApprovalRequest(
        workflow_id="w", run_id="r", call_id="c", kind=ApprovalKind.FILE_OP, tool="write_file", reason="selective"
    )
    call = CallState(tool_call("write_file"), "asked")
    *_started, ended = rejected(call, asked, Decision(status=ApprovalStatus.REJECTED, note=note))
    assert isinstance(ended, ToolCallFinished)
    assert (ended.code, ended.error.startswith(said)) == ("rejected", True)
