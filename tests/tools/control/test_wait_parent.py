"""wait_parent needs a parent."""

from __future__ import annotations

from atelier_desk.tools.base import AskParent
from tests.tools.conftest import Calls, MakeCalls


async def test_a_root_run_is_told_to_ask_the_user(calls: Calls) -> None:
    data = await calls("wait_parent", message="What now?")
    assert data["code"] == "no_parent"
    assert "wait_user_response" in data["error"]


async def test_a_sub_agent_asks_its_parent(calls_with: MakeCalls) -> None:
    assert await calls_with(depth=1).outcome("wait_parent", message="What now?") == AskParent("What now?")


async def test_a_blank_question_is_refused(calls_with: MakeCalls) -> None:
    data = await calls_with(depth=1)("wait_parent", message="  ")
    assert data["code"] == "invalid_arguments"
    assert "message: must not be blank" in data["error"]
