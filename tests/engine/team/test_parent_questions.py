"""A sub-agent asks its parent: who answers, and that nobody waits forever."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from atelier_desk.domain.errors import ConflictError, UsageError
from atelier_desk.domain.events.run import ChildAnswered
from atelier_desk.domain.stream.event import ChunkType
from atelier_desk.domain.workflow import Dispatch
from atelier_desk.llm.scripted_model import ScriptedModel, Step
from tests.engine.conftest import Opener, Recorder, completed, wait_for_event
from tests.engine.team.conftest import (
    Cast,
    Stuck,
    answering,
    ask_parent,
    ask_user,
    batch,
    begin,
    bodies,
    call,
    join,
    spawn,
    team_rows,
    worker,
)


async def test_the_parent_answers_in_its_own_turn(open_atelier: Opener) -> None:
    cast = Cast(
        Lead=[[spawn()], answering("The blue one."), "done"],
        Helper=[[ask_parent(message="Red or blue?")], "Blue, then."],
    )
    async with open_atelier(cast) as atelier:
        seen = Recorder(atelier)
        workflow_id, run_id = await begin(atelier)
        await completed(atelier, run_id)
        child = (await team_rows(atelier, workflow_id))["Helper"]
        question = await seen.until(ChunkType.SUB_AGENT_QUESTION)
        answer = await seen.until(ChunkType.SUB_AGENT_ANSWER)
        assert (question.run_id, question.data["sub_agent_id"], question.data["question"]) == (
            run_id,
            child.id,
            "Red or blue?",
        )
        assert (answer.data["content"], answer.data["by"]) == ("The blue one.", "parent")
        statuses = [
            e.data["status"] for e in seen.events if e.chunk_type is ChunkType.RUN_STATUS and e.run_id == child.id
        ]
        assert statuses == ["processing", "awaiting_parent", "processing", "completed"]
    waiting, report = cast.results()
    assert waiting["status"] == "waiting_for_you"
    assert (report["success"], report["report"]) == (True, "Blue, then.")
    assert cast.result("Helper") == {"success": True, "answer": "The blue one.", "answered_by": "parent"}
    offered = [{tool.name for tool in request.tools} for request in cast.models["Lead"].requests]
    assert ["answer_child" in names for names in offered] == [False, True, False]
    cast.complete()


async def test_the_user_answers_in_place_of_the_parent(open_atelier: Opener) -> None:
    gate = asyncio.Event()
    cast = Cast(Lead=[[spawn()], "Let me think.", "Now I know."], Helper=[[ask_parent()], "Blue, then."])
    async with open_atelier(cast) as atelier:
        seen = Recorder(atelier)
        workflow_id, run_id = await begin(atelier)
        await seen.until(ChunkType.RUN_STATUS, status="awaiting_parent")
        cast.models["Lead"].gate = gate
        child = (await team_rows(atelier, workflow_id))["Helper"]
        for blank in (atelier.runs.answering.answer_child, atelier.runs.steering.message):
            with pytest.raises(UsageError) as refused:
                await blank(child.id, "  ")
            # Nobody can attach an image here.
            assert str(refused.value) == "The message is empty. Write something."
        await atelier.runs.answering.answer_child(child.id, "Blue.")
        with pytest.raises(ConflictError):
            await atelier.runs.answering.answer_child(child.id, "Red.")
        gate.set()
        await completed(atelier, run_id)
        with pytest.raises(ConflictError):
            await atelier.runs.answering.answer_child(run_id, "The root asks nobody.")
    assert cast.result("Helper") == {"success": True, "answer": "Blue.", "answered_by": "user"}
    assert "Blue, then." in cast.last() + str(cast.results())


async def test_a_parent_that_does_not_answer_leaves_the_decision_to_its_child(open_atelier: Opener) -> None:
    cast = Cast(Lead=[[spawn()], "I will not answer.", "Fine."], Helper=[[ask_parent()], "I took red."])
    async with open_atelier(cast) as atelier:
        _, run_id = await begin(atelier)
        await completed(atelier, run_id)
    told = cast.result("Helper")
    assert (told["success"], told["code"]) == (False, "no_answer")
    assert "I took red." in cast.last()
    cast.complete()


async def test_in_a_batch_the_others_continue_and_every_report_arrives(open_atelier: Opener) -> None:
    def by_prompt(request: Any) -> Step:
        if request.messages[-1].content == "Ask.":
            return [ask_parent()]
        return "Answered." if request.messages[-1].role.value == "tool" else "Plain."

    tasks = [("Poet", "Say."), ("Poet", "Ask."), ("Poet", "Say.")]
    cast = Cast(Lead=[[batch("b", *tasks)], answering("Yes."), "done"], Poet=[by_prompt] * 4)
    async with open_atelier(cast) as atelier:
        await atelier.agents.save(worker("Poet"))
        _, run_id = await begin(atelier)
        await completed(atelier, run_id)
    waiting, final = cast.results()
    assert (waiting["status"], len(waiting["results"]), len(waiting["questions"])) == ("waiting_for_you", 2, 1)
    assert [entry["report"] for entry in final["results"]] == ["Plain.", "Answered.", "Plain."]
    assert (final["completed"], final["failed"]) == (3, 0)
    cast.complete()


async def test_two_questions_are_answered_in_one_reply(open_atelier: Opener) -> None:
    def both(request: Any) -> Step:
        asked = cast.result()["questions"]
        assert [entry["question"] for entry in asked] == ["Which?", "Which?"]
        return [
            call("answer_child", f"a{n}", child_id=entry["child_id"], message=f"Number {n}.")
            for n, entry in enumerate(asked)
        ]

    cast = Cast(
        Lead=[[batch("b", ("Poet", "One."), ("Painter", "Two."))], both, "done"],
        Poet=[[ask_parent()], "p"],
        Painter=[[ask_parent()], "q"],
    )
    async with open_atelier(cast) as atelier:
        for name in ("Poet", "Painter"):
            await atelier.agents.save(worker(name))
        _, run_id = await begin(atelier)
        await completed(atelier, run_id)
    assert (cast.result("Poet")["answer"], cast.result("Painter")["answer"]) == ("Number 0.", "Number 1.")
    assert [entry["report"] for entry in cast.result()["results"]] == ["p", "q"]
    cast.complete()


async def test_a_question_from_the_background_reaches_the_parent(open_atelier: Opener) -> None:
    cast = Cast(
        Lead=[[spawn(wait=False)], "Nothing to do.", answering("Blue."), "done"],
        Helper=[[ask_parent()], "Blue, then."],
    )
    cast.models["Helper"].gate = gate = asyncio.Event()
    async with open_atelier(cast) as atelier:
        seen = Recorder(atelier)
        _, run_id = await begin(atelier)
        await seen.until(ChunkType.MESSAGE, content="Nothing to do.")
        gate.set()
        await completed(atelier, run_id)
    assert "Which?" in cast.models["Lead"].requests[2].messages[-1].content
    assert cast.result()["report"] == "Blue, then."
    cast.complete()


async def test_waiting_for_the_one_that_waits_for_the_answer_is_refused(open_atelier: Opener) -> None:
    def wait_for_it(request: Any) -> Step:
        return [join("j", cast.result()["questions"][0]["child_id"])]

    cast = Cast(Lead=[[spawn()], wait_for_it, "I give up.", "done"], Helper=[[ask_parent()], "I decided."])
    async with open_atelier(cast) as atelier:
        _, run_id = await begin(atelier)
        await completed(atelier, run_id)
    refused = cast.results()[1]
    assert (refused["success"], refused["code"]) == (False, "wait_cycle")
    assert "answer_child" in refused["error"]
    assert "Which?" in refused["error"]


async def test_a_question_through_two_generations_reaches_one_parent_at_a_time(open_atelier: Opener) -> None:
    cast = Cast(
        Lead=[[spawn("s", "Middle")], answering("From the top."), "done"],
        Middle=[
            [spawn("t", "Deep")],
            lambda request: [ask_parent("up", "Deep wants to know.")],
            answering_from_middle,
            "middle done",
        ],
        Deep=[[ask_parent("p", "What now?")], "deep done"],
    )
    async with open_atelier(cast) as atelier:
        _, run_id = await begin(atelier)
        await completed(atelier, run_id)
    assert cast.result("Deep")["answer"] == "Passed on: From the top."
    assert cast.result()["report"] == "middle done"
    cast.complete()


def answering_from_middle(request: Any) -> Step:
    results = [json.loads(m.content) for m in request.messages if m.role.value == "tool"]
    child_id = results[0]["questions"][0]["child_id"]
    return [call("answer_child", "down", child_id=child_id, message=f"Passed on: {results[1]['answer']}")]


async def test_a_redirected_sub_agent_no_longer_asks(open_atelier: Opener) -> None:
    """The user interrupts a sub-agent that waits for its parent: the parent must not wait for a question that
    nobody asks.
    """
    stuck = Stuck(("still ", "at it"))
    scripts: list[Any] = [ScriptedModel([[ask_parent()]]), stuck]

    class Turns:
        """A separate model for each request."""

        def stream(self, request: Any) -> Any:
            return scripts.pop(0).stream(request)

    cast = Cast(Lead=[[spawn()], "I cannot answer that.", "In the end."], Helper=Turns())
    lead_gate = asyncio.Event()
    async with open_atelier(cast) as atelier:
        seen = Recorder(atelier)
        workflow_id, run_id = await begin(atelier)
        await seen.until(ChunkType.RUN_STATUS, status="awaiting_parent")
        cast.models["Lead"].gate = lead_gate
        child = (await team_rows(atelier, workflow_id))["Helper"]
        await atelier.runs.steering.message(child.id, "Take the red one.", Dispatch.REDIRECT)
        await wait_for_event(stuck.begun)
        with pytest.raises(ConflictError):
            await atelier.runs.answering.answer_child(child.id, "Too late.")
        lead_gate.set()
        await seen.until(ChunkType.MESSAGE, content="I cannot answer that.")
        assert [event.by for event in await bodies(atelier, run_id, ChildAnswered)] == ["user"]
        await atelier.runs.cancel(child.id)
        await completed(atelier, run_id)
    assert "still at it" in cast.last()


async def test_a_sub_agents_question_to_the_user_names_all_its_ancestors(open_atelier: Opener) -> None:
    cast = Cast(Lead=[[spawn("s", "Middle")], "done"], Middle=[[spawn("t", "Deep")], "m"], Deep=[[ask_user()], "d"])
    async with open_atelier(cast) as atelier:
        seen = Recorder(atelier)
        workflow_id, run_id = await begin(atelier)
        event = await seen.until(ChunkType.USER_QUESTION_START)
        middle = (await team_rows(atelier, workflow_id))["Middle"]
        assert event.data["user_question"]["lineage"] == [
            {"run_id": run_id, "agent_name": "Lead"},
            {"run_id": middle.id, "agent_name": "Middle"},
        ]
        assert event.data["user_question"]["agent_name"] == "Deep"
        assert (await atelier.repos.workflows.get(workflow_id)).status == "waiting"
        # Another workflow is not blocked by it.
        cast.models["Lead"]._steps.append("other work")
        cast.models["Lead"]._steps.reverse()
        _, other = await begin(atelier, "Something else.")
        await completed(atelier, other)
        await atelier.runs.cancel(run_id)
