"""The guided model as a chat model: with a scripted model for every path, and with the real starter model for the
important ones.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from atelier_desk.domain.clock import SystemClock
from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.model_messages import (
    ChatDelta,
    ChatMessage,
    ChatReply,
    ChatRequest,
    FinishReason,
    ReplyDone,
    Role,
    TextDelta,
    Usage,
)
from atelier_desk.domain.provider import STARTER
from atelier_desk.llm.embedders.builtin import BuiltinEmbedder
from atelier_desk.llm.guided import GuidedModel
from atelier_desk.llm.interfaces import ChatModel
from atelier_desk.llm.local.provider import LocalProvider
from atelier_desk.llm.scripted_model import ScriptedModel, Step
from tests.helpers.error_codes import raises_code
from tests.llm.guided.tool_specs import specs

AUNT = "I need to phone my aunt on Monday"
UNSURE = "so what do I have to do about my tasks"
"""The nearest examples of this message belong to two actions."""
ALL = ("CalculatorTool", "TodoTool", "MemoryTool", "UserQuestionTool")


class Conversation:
    """Talks to a guided model and simulates the tools."""

    def __init__(self, model: ChatModel, tools: Sequence[str] = ALL, name: str = "starter") -> None:
        self.model = model
        self.tools = specs(*tools)
        self.name = name
        self.messages: list[ChatMessage] = []
        self.deltas: list[ChatDelta] = []

    async def say(self, text: str) -> ChatReply:
        self.messages.append(ChatMessage(role=Role.USER, content=text))
        return await self.turn()

    async def result(self, **data: object) -> ChatReply:
        call = self.messages[-1].tool_calls[-1]
        content, success = json.dumps(data), data["success"]
        assert isinstance(success, bool)
        self.messages.append(
            ChatMessage(role=Role.TOOL, content=content, tool_call_id=call.id, name=call.name, success=success)
        )
        return await self.turn()

    async def turn(self) -> ChatReply:
        request = ChatRequest(model=self.name, messages=tuple(self.messages), tools=self.tools, temperature=0.0)
        self.deltas = [delta async for delta in self.model.stream(request)]
        assert isinstance(self.deltas[-1], ReplyDone)
        reply = self.deltas[-1].reply
        assert reply.content == "".join(delta.content for delta in self.deltas if isinstance(delta, TextDelta))
        self.messages.append(ChatMessage(role=Role.ASSISTANT, content=reply.content, tool_calls=reply.tool_calls))
        return reply


def scripted(*steps: Step, tools: Sequence[str] = ALL, language: str = "en") -> tuple[ScriptedModel, Conversation]:
    model = ScriptedModel(list(steps))
    return model, Conversation(GuidedModel(model, None, language=language), tools)


async def test_plain_requests_need_no_model() -> None:
    model, talk = scripted()
    reply = await talk.say("Add a task: buy ink, high priority")
    assert reply.finish_reason is FinishReason.TOOL_CALLS
    assert reply.tool_calls[0].name == "TodoTool"
    assert reply.tool_calls[0].arguments == {"operation": "create", "name": "buy ink", "priority": 2}
    assert (await talk.result(success=True, task_id="1")).content == "I added the task “buy ink”."
    assert model.requests == []


@pytest.mark.parametrize(
    ("text", "tool", "arguments"),
    [
        ("list my tasks", "TodoTool", {"operation": "list"}),
        (
            "remember that I prefer tea",
            "MemoryTool",
            {"operation": "add", "type": "user_pref", "content": "I prefer tea"},
        ),
        (
            "retiens que la clé est ici",
            "MemoryTool",
            {"operation": "add", "type": "knowledge", "content": "la clé est ici"},
        ),
        ("what is 6*7?", "CalculatorTool", {"operation": "eval", "expression": "6*7"}),
    ],
)
async def test_each_plain_request_makes_its_call(text: str, tool: str, arguments: dict[str, object]) -> None:
    _, talk = scripted()
    call = (await talk.say(text)).tool_calls[0]
    assert (call.name, call.arguments) == (tool, arguments)


async def test_numbers_in_attachments_are_not_calculated() -> None:
    _, talk = scripted()
    reply = await talk.say('What is 12*7?\n\n<attached_file name="sizes.txt">\n20 x 11 = ?\n</attached_file>')
    assert reply.tool_calls[0].arguments["expression"] == "12*7"


async def test_calls_of_one_run_have_unique_ids() -> None:
    _, talk = scripted()
    first = (await talk.say("list my tasks")).tool_calls[0]
    await talk.result(success=True, tasks=[])
    second = (await talk.say("list my tasks")).tool_calls[0]
    assert first.id != second.id


async def test_an_unmatched_request_is_classified_by_the_model_under_a_grammar() -> None:
    model, talk = scripted(ChatReply(content=" list", usage=Usage(tokens_input=50, tokens_output=2)))
    reply = await talk.say(UNSURE)
    assert reply.tool_calls[0].arguments == {"operation": "list"}
    assert reply.usage is not None
    assert reply.usage.tokens_input == 50
    request = model.requests[0]
    assert request.raw_prompt is not None
    assert request.raw_prompt.endswith("\nAction:")
    assert request.grammar is not None
    assert '" list"' in request.grammar
    assert request.messages == ()
    assert request.temperature == 0.0


async def test_a_choice_outside_the_grammar_counts_as_the_nearest_example() -> None:
    _, talk = scripted(" nonsense")
    reply = await talk.say(UNSURE)
    assert reply.tool_calls[0].arguments == {"operation": "list"}


async def test_the_argument_is_chosen_from_the_messages_own_words() -> None:
    model, talk = scripted(" phone my aunt")
    await talk.say(AUNT)
    grammar = model.requests[0].grammar
    assert grammar is not None
    spans = [span.strip('" ') for span in grammar.removeprefix("root ::= ").split(" | ")]
    assert "phone my aunt" in spans
    assert all(span in AUNT for span in spans)


async def test_a_write_that_was_not_requested_is_confirmed_first() -> None:
    _, talk = scripted(" phone my aunt on Monday")
    question = (await talk.say(AUNT)).tool_calls[0]
    assert question.name == "UserQuestionTool"
    assert question.arguments["questionType"] == "checkbox"
    assert "phone my aunt on Monday" in question.arguments["question"]
    write = (await talk.result(success=True, selectedOptions=["1"], textResponse="")).tool_calls[0]
    assert (write.name, write.arguments) == ("TodoTool", {"operation": "create", "name": "phone my aunt on Monday"})
    assert "phone my aunt" in (await talk.result(success=True, task_id="1")).content


@pytest.mark.parametrize(
    "answer", [{"success": True, "selectedOptions": ["2"]}, {"success": False, "code": "skipped", "error": "skipped"}]
)
async def test_a_declined_write_is_not_done(answer: dict[str, object]) -> None:
    _, talk = scripted(" phone my aunt on Monday")
    await talk.say(AUNT)
    reply = await talk.result(**answer)
    assert reply.tool_calls == ()
    assert "did not" in reply.content


async def test_without_a_question_tool_the_write_happens_at_once() -> None:
    _, talk = scripted(" phone my aunt on Monday", tools=("TodoTool",))
    assert (await talk.say(AUNT)).tool_calls[0].name == "TodoTool"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mark buy ink as done", "Done: “buy ink”."),
        ("I have finished buying the ink", "Done: “buy ink”."),
        ("complete the task buy ink", "Done: “buy ink”."),
        ("coche buy ink comme fait", "C’est fait\u00a0: «\u00a0buy ink\u00a0»."),
        ("j'ai terminé la tâche buy ink", "C’est fait\u00a0: «\u00a0buy ink\u00a0»."),
    ],
)
async def test_a_task_is_completed_after_it_was_found_in_the_list(text: str, said: str) -> None:
    _, talk = scripted()
    assert (await talk.say(text)).tool_calls[0].arguments == {"operation": "list"}
    tasks = [
        {"id": "0", "name": "buy ink", "status": "completed"},
        {"id": "1", "name": "call Ann", "status": "pending"},
        {"id": "2", "name": "buy ink", "status": "pending"},
    ]
    call = (await talk.result(success=True, tasks=tasks)).tool_calls[0]
    assert call.arguments == {"operation": "complete", "task_id": "2"}
    assert (await talk.result(success=True, task={"id": "2", "name": "buy ink"})).content == said


async def test_a_missing_task_is_not_completed() -> None:
    _, talk = scripted()
    await talk.say("mark sell the boat as done")
    reply = await talk.result(success=True, tasks=[{"id": "1", "name": "call Ann", "status": "pending"}])
    assert reply.tool_calls == ()
    assert "sell the boat" in reply.content


async def test_only_enabled_tools_are_called() -> None:
    _, talk = scripted("I can only talk.", tools=())
    assert (await talk.say("add a task: buy ink")).tool_calls == ()


@pytest.mark.parametrize(
    ("text", "part"),
    [("Hello!", "Hello"), ("merci beaucoup", "plaisir"), ("who are you?", "starter model"), ("aide", "calculer")],
)
async def test_small_talk_gets_canned_replies(text: str, part: str) -> None:
    model, talk = scripted()
    assert part in (await talk.say(text)).content
    assert model.requests == []


async def test_other_talk_is_answered_by_the_model_in_english_and_a_notice_in_french() -> None:
    model, talk = scripted("Rain is nice.", tools=())
    assert (await talk.say("what do you think of the rain?")).content == "Rain is nice."
    assert model.requests[0].tools == ()
    assert model.requests[0].raw_prompt is None
    assert model.requests[0].max_tokens <= 160
    _, talk = scripted(tools=())
    assert "modèle intégré" in (await talk.say("que penses-tu de la pluie ?")).content


async def test_a_result_is_answered_in_the_language_of_the_request() -> None:
    _, talk = scripted()
    await talk.say("calcule 3*4")
    assert (await talk.result(success=True, result=12.5, expression="3*4")).content == "3 × 4 = 12,5"


async def test_notes_from_the_program_do_not_count_as_the_users_words() -> None:
    _, talk = scripted()
    await talk.say("add a task: buy ink")
    await talk.result(success=True, task_id="1")
    talk.messages.append(ChatMessage(role=Role.USER, content="[Note from the program]\nlist my tasks"))
    assert "buy ink" in (await talk.turn()).content


async def test_a_request_without_a_user_message_is_an_error() -> None:
    _, talk = scripted()
    with raises_code(ProviderError, "no_message"):
        await talk.turn()


async def test_only_a_part_of_a_very_long_message_is_examined() -> None:
    _, talk = scripted("I see.", tools=())
    assert (await talk.say("word " * 20_000)).content == "I see."


async def test_an_error_of_the_model_is_passed_on() -> None:
    _, talk = scripted(ProviderError("gone", code="unreachable"))
    with pytest.raises(ProviderError):
        await talk.say(UNSURE)


@pytest.mark.model
async def test_the_real_starter_uses_the_calculator_and_gives_the_result_in_both_languages(tmp_path: Path) -> None:
    provider = LocalProvider(tmp_path, SystemClock())
    embedder = BuiltinEmbedder()
    try:
        for text in ("What is 12*7? Use the calculator.", "Combien font 12*7 ? Utilise la calculatrice."):
            talk = Conversation(GuidedModel(provider, embedder), name=STARTER)
            call = (await talk.say(text)).tool_calls[0]
            assert (call.name, call.arguments) == ("CalculatorTool", {"operation": "eval", "expression": "12*7"})
            assert "84" in (await talk.result(success=True, result=84, expression="12*7")).content
        talk = Conversation(GuidedModel(provider, embedder), name=STARTER)
        reply = await talk.say(AUNT)
        assert reply.tool_calls[0].name == "UserQuestionTool"
        assert "aunt" in reply.tool_calls[0].arguments["question"]
        assert reply.usage is not None
        assert reply.usage.tokens_input > 0
        talk = Conversation(GuidedModel(provider, embedder), name=STARTER)
        reply = await talk.say("I went for a walk and it was lovely")
        assert reply.content or reply.tool_calls
    finally:
        await provider.aclose()
        await embedder.aclose()
