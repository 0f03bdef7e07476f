"""wait_parent needs a parent."""

from __future__ import annotations

from tests.tools.conftest import Calls, MakeCalls


async def test_a_root_run_is_told_to_ask_the_user(calls: Calls) -> None:
    data = await calls("wait_parent", message="What now?")
    assert data["code"] == "no_parent"
    assert "wait_user_response" in data["error"]


async def test_a_parent_that_takes_no_questions_is_said_so(calls_with: MakeCalls) -> None:
    data = await calls_with(depth=1)("wait_parent", message="What now?")
    assert data["code"] == "no_parent"
    assert "Decide yourself" in data["error"]
