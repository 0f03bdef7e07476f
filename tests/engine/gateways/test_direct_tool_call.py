"""A call made by a person is a run like any other."""

from __future__ import annotations

import pytest

from atelier_desk.domain.errors import NotFoundError, ProviderError
from atelier_desk.domain.model_messages import ChatMessage, ChatRequest, ReplyDone, Role
from atelier_desk.domain.question import SampledText, Sampling
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.engine.gateways.direct_tool_call import DirectCallModel, direct_agent, direct_message
from atelier_desk.engine.run.mcp_server_requests import sample
from atelier_desk.llm.scripted_model import ScriptedModel
from tests.engine.conftest import Opener, completed, status_after


def request(*messages: tuple[Role, str]) -> ChatRequest:
    return ChatRequest(
        model="call", messages=tuple(ChatMessage(role=role, content=content) for role, content in messages)
    )


async def reply(asked: ChatRequest) -> ReplyDone:
    [done] = [delta async for delta in DirectCallModel().stream(asked)]
    assert isinstance(done, ReplyDone)
    return done


async def test_the_call_is_made_once_and_its_result_returned() -> None:
    message = (Role.USER, direct_message("CalculatorTool", {"operation": "eval", "expression": "1"}))
    [call] = (await reply(request(message))).reply.tool_calls
    assert (call.name, call.arguments["expression"]) == ("CalculatorTool", "1")
    over = (message, (Role.ASSISTANT, ""), (Role.TOOL, "the result"))
    assert (await reply(request(*over))).reply.content == "the result"
    assert (await reply(request(*over, (Role.USER, "Are you done?")))).reply.content == "the result"


async def test_the_newest_call_counts() -> None:
    first, second = direct_message("A", {}), direct_message("B", {})
    asked = request((Role.USER, first), (Role.TOOL, "one"), (Role.ASSISTANT, "one"), (Role.USER, second))
    assert (await reply(asked)).reply.tool_calls[0].name == "B"


@pytest.mark.parametrize("content", ["hello", "[]", '{"tool": 1, "arguments": {}}', '{"tool": "A"}'])
async def test_without_a_call_there_is_nothing_to_do(content: str) -> None:
    with pytest.raises(ProviderError):
        await reply(request((Role.USER, content)))


async def test_other_agents_keep_their_models_and_a_call_survives_a_restart(open_atelier: Opener) -> None:
    message = direct_message("UserQuestionTool", {"operation": "ask", "question": "Colour?", "questionType": "text"})
    async with open_atelier() as atelier:
        workflow = await atelier.workflows.create("x")
        run_id = await atelier.runs.send(workflow.id, message, agent=direct_agent("UserQuestionTool"))
        assert await status_after(atelier, run_id) is RunStatus.AWAITING_USER
    async with open_atelier(ScriptedModel(["hello"])) as atelier:
        [asked] = await atelier.questions.pending()
        await atelier.questions.answer_with(asked.id, text="red")
        await completed(atelier, run_id)
        events = [event async for event in atelier.run("hi")]
        assert events[-1].data["status"] == "completed"


async def test_a_direct_call_has_no_model_for_requests_of_a_server_or_a_title(open_atelier: Opener) -> None:
    message = direct_message("CalculatorTool", {"operation": "eval", "expression": "1"})
    async with open_atelier(model_factory=None) as atelier:
        workflow = await atelier.workflows.create("x")
        run_id = await atelier.runs.send(workflow.id, message, agent=direct_agent("CalculatorTool"))
        await completed(atelier, run_id)
        live = await atelier.runs.live.load(run_id)
        asked = Sampling(messages=(SampledText(role="user", text=message),), max_tokens=20)
        with pytest.raises(NotFoundError):
            await sample(atelier.environment, live.handle, "call_1", "server", asked)
        with pytest.raises(NotFoundError):
            await atelier.runs.titles.suggest(workflow.id)
