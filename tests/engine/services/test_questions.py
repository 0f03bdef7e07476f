"""The question queue: answers, rules, and the time a question was really visible."""

from __future__ import annotations

import json
from typing import Any

import pytest

from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.errors import ConflictError, LimitError, NotFoundError, UsageError
from atelier_desk.domain.model_messages import ToolCall
from atelier_desk.domain.question import QuestionAnswer, QuestionStatus, UserQuestion
from atelier_desk.engine import Atelier
from atelier_desk.llm.scripted_model import ScriptedModel
from tests.engine.conftest import Opener, completed, exported_workflow, send_and_wait
from tests.helpers.error_codes import raises_code
from tests.helpers.tool_calls import tool_call

AGENT = AgentConfig(name="Asker", provider="test", model="scripted", tools=("UserQuestionTool",), question_timeout_s=10)
OPTIONS = [{"id": "r", "label": "Red"}, {"id": "g", "label": "Green"}]


def ask(kind: str, **more: Any) -> list[ToolCall]:
    arguments = {"operation": "ask", "question": "Colour?", "questionType": kind, **more}
    if kind != "text":
        arguments["options"] = OPTIONS
    return [tool_call("UserQuestionTool", "q1", **arguments)]


async def asked_in(atelier: Atelier) -> UserQuestion:
    workflow = await atelier.workflows.create("x")
    await send_and_wait(atelier, workflow.id, "ask me", agent=AGENT)
    [asked] = await atelier.questions.pending(workflow.id)
    return asked


async def test_an_answer_just_before_the_timeout_wins(open_atelier: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_atelier(ScriptedModel([ask("checkbox"), "ok"])) as atelier:
        asked = await asked_in(atelier)
        add_seen = atelier.repos.questions.add_seen

        async def answered_meanwhile(question_id: str, ms: int) -> Any:
            await atelier.questions.answer_with(question_id, ["r"])
            return await add_seen(question_id, ms)

        monkeypatch.setattr(atelier.repos.questions, "add_seen", answered_meanwhile)
        assert await atelier.questions.seen(asked.id, 10_000) is None
        assert (await atelier.questions.get(asked.id)).status is QuestionStatus.ANSWERED


@pytest.mark.parametrize("given", [["r"], ["Red"], ["red"], ["1"], [" r ", "1", ""]])
async def test_options_are_chosen_by_id_label_or_number(open_atelier: Opener, given: list[str]) -> None:
    async with open_atelier(ScriptedModel([ask("checkbox"), "ok"])) as atelier:
        asked = await asked_in(atelier)
        answered = await atelier.questions.answer_with(asked.id, given)
        assert (answered.status, answered.selected_options) == (QuestionStatus.ANSWERED, ("r",))
        await completed(atelier, asked.run_id)


@pytest.mark.parametrize(
    ("kind", "more", "options", "text", "code"),
    [
        ("checkbox", {}, [], "", "option"),
        ("checkbox", {}, ["blue"], "", "unknown_option"),
        ("checkbox", {}, ["r"], "because", "no_text"),
        ("text", {}, [], "  ", "text"),
        ("text", {}, ["r"], "x", "unknown_option"),
        ("mixed", {}, [], "because", "option"),
        ("mixed", {"textRequired": True}, ["r"], "", "text"),
    ],
)
async def test_invalid_answers_are_explained(
    open_atelier: Opener, kind: str, more: dict[str, Any], options: list[str], text: str, code: str
) -> None:
    async with open_atelier(ScriptedModel([ask(kind, **more)])) as atelier:
        asked = await asked_in(atelier)
        with raises_code(UsageError, code) as caught:
            await atelier.questions.answer_with(asked.id, options, text)
        assert str(caught.value)
        assert (await atelier.questions.get(asked.id)).status is QuestionStatus.PENDING


async def test_an_answer_counts_once(open_atelier: Opener) -> None:
    async with open_atelier(ScriptedModel([ask("text"), "ok"])) as atelier:
        asked = await asked_in(atelier)
        await atelier.questions.answer(asked.id, QuestionAnswer(text_response="blue"))
        with pytest.raises(ConflictError):
            await atelier.questions.skip(asked.id)
        with pytest.raises(LimitError):
            await atelier.questions.answer_with((await asked_again(atelier, asked)).id, text="x" * 10_001)


async def asked_again(atelier: Atelier, asked: UserQuestion) -> UserQuestion:
    """The question set back to pending, to test the checks that precede the status."""
    again = asked.model_copy(update={"id": "again"})
    await atelier.repos.questions.save(again)
    return again


async def test_skipping_tells_the_agent(open_atelier: Opener) -> None:
    model = ScriptedModel([ask("text"), "ok"])
    async with open_atelier(model) as atelier:
        asked = await asked_in(atelier)
        assert (await atelier.questions.skip(asked.id)).status is QuestionStatus.SKIPPED
        await atelier.runs.wait(asked.run_id)
        assert "skipped" in model.requests[-1].messages[-1].content


async def test_only_visible_time_uses_up_the_timeout(open_atelier: Opener) -> None:
    async with open_atelier(ScriptedModel([ask("text"), "ok"])) as atelier:
        asked = await asked_in(atelier)
        assert await atelier.questions.seen(asked.id, 4000) == pytest.approx(6.0)
        assert await atelier.questions.seen(asked.id, 0) == pytest.approx(6.0)
    async with open_atelier(ScriptedModel(["ok"])) as atelier:
        assert await atelier.questions.seen(asked.id, 5000) == pytest.approx(1.0)
        assert await atelier.questions.seen(asked.id, 1000) == 0.0
        assert (await atelier.questions.get(asked.id)).status is QuestionStatus.TIMEOUT
        assert await atelier.questions.seen(asked.id, 1000) is None
        await completed(atelier, asked.run_id)


async def test_sleep_of_the_machine_does_not_use_up_the_timeout(open_atelier: Opener) -> None:
    agent = AGENT.model_copy(update={"question_timeout_s": 100.0})
    async with open_atelier(ScriptedModel([ask("text")])) as atelier:
        workflow = await atelier.workflows.create("x")
        await send_and_wait(atelier, workflow.id, "ask", agent=agent)
        [asked] = await atelier.questions.pending()
        assert await atelier.questions.seen(asked.id, 8 * 3600 * 1000) == pytest.approx(40.0)
        with pytest.raises(LimitError):
            await atelier.questions.seen(asked.id, -1)
        with pytest.raises(NotFoundError):
            await atelier.questions.seen("missing", 1)


async def test_without_a_timeout_it_waits_forever(open_atelier: Opener) -> None:
    agent = AGENT.model_copy(update={"question_timeout_s": 0.0})
    async with open_atelier(ScriptedModel([ask("text")])) as atelier:
        workflow = await atelier.workflows.create("x")
        await send_and_wait(atelier, workflow.id, "ask", agent=agent)
        [asked] = await atelier.questions.pending()
        for _ in range(20):
            assert await atelier.questions.seen(asked.id, 60_000) is None
        assert (await atelier.questions.get(asked.id)).status is QuestionStatus.PENDING


async def test_a_time_limit_in_an_imported_file_ends_no_wait(open_atelier: Opener) -> None:
    async with open_atelier(ScriptedModel([ask("checkbox"), "ok"])) as atelier:
        asked = await asked_in(atelier)
        file = await exported_workflow(atelier, asked.workflow_id)
        for question in file["questions"]:
            question |= {"timeout_s": 0.001, "seen_ms": 10**9}
        copy = (await atelier.workflows.import_(json.dumps(file), "rename")).workflow
        [shown] = await atelier.questions.pending(copy.id)
        assert await atelier.questions.seen(shown.id, 10_000) is None
        assert (await atelier.questions.get(shown.id)).status is QuestionStatus.PENDING
