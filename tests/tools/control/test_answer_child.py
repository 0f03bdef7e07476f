"""answer_child: only a waiting sub-agent can be answered."""

from __future__ import annotations

from atelier_desk.domain.sub_agent import ChildState, ChildStatus
from atelier_desk.tools.base import AnswerChild
from tests.tools.conftest import MakeCalls
from tests.tools.teams.conftest import FakeTeam


def asking_team() -> FakeTeam:
    team = FakeTeam()
    team.known = [
        ChildState(id="c1", name="Reader", status=ChildStatus.ASKING, question="All files?"),
        ChildState(id="c2", name="Writer", status=ChildStatus.RUNNING),
    ]
    return team


async def test_a_waiting_sub_agent_is_answered(calls_with: MakeCalls) -> None:
    outcome = await calls_with(team=asking_team()).outcome("answer_child", child_id="c1", message="All of them.")
    assert outcome == AnswerChild("c1", "All of them.")


async def test_one_that_does_not_ask_or_exist_is_refused_with_a_list_of_those_that_do(calls_with: MakeCalls) -> None:
    calls = calls_with(team=asking_team())
    working = await calls("answer_child", child_id="c2", message="Hm.")
    assert working["code"] == "not_asking"
    assert "c1 (Reader)" in working["error"]
    unknown = await calls("answer_child", child_id="c9", message="Hm.")
    assert unknown["code"] == "unknown_child"
    assert "c1 (Reader)" in unknown["error"]


async def test_a_blank_answer_is_refused(calls_with: MakeCalls) -> None:
    data = await calls_with(team=asking_team())("answer_child", child_id="c1", message=" ")
    assert data["code"] == "invalid_arguments"
    assert "blank" in data["error"]


async def test_without_a_team_it_is_refused(calls_with: MakeCalls) -> None:
    assert (await calls_with()("answer_child", child_id="c1", message="Hm."))["code"] == "no_team"
