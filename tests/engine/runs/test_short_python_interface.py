"""The short Python interface: a prompt, functions as tools, an answer; and a data folder that is deleted
afterwards.
"""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from atelier_desk import Answer, Atelier, tool
from atelier_desk.domain.agent import AgentConfig, ToolMode
from atelier_desk.domain.errors import AtelierError, ConflictError, NotFoundError, ProviderError, UsageError
from atelier_desk.domain.model_messages import ChatReply, ChatRequest, FinishReason, Role, ToolCall
from atelier_desk.domain.stream.event import ChunkType
from atelier_desk.domain.workflow import MessageRole
from atelier_desk.llm.scripted_model import ScriptedModel, Step
from atelier_desk.llm.secrets import KeyVault
from tests.engine.conftest import Opener, WordEmbedder, create_workflow, status_after
from tests.helpers.error_codes import raises_code
from tests.helpers.runs_without_driver import agent
from tests.helpers.tool_calls import tool_call


def word_count(text: str, minimum: int = 1) -> dict[str, int]:
    """Counts the words of a text."""
    return {"words": len([word for word in text.split() if len(word) >= minimum])}


def calling(name: str, **arguments: Any) -> list[ToolCall]:
    return [tool_call(name, "c1", **arguments)]


async def test_a_plain_function_is_a_tool_of_only_this_run(open_atelier: Opener) -> None:
    model = ScriptedModel([calling("word_count", text="one two"), "Two words.", "Hello."])
    async with open_atelier(model) as atelier:
        answer = await atelier.ask("How many words?", agent=agent(tools=()), tools=[word_count])
        assert isinstance(answer, Answer)
        assert (str(answer), answer.status) == ("Two words.", "completed")
        (call,) = answer.calls
        assert (call.tool, call.arguments, call.success) == ("word_count", {"text": "one two"}, True)
        assert call.result == {"success": True, "words": 2}
        assert call.agent == "Tester"
        row = await atelier.repos.runs.get(answer.run_id)
        assert (answer.usage.tokens_input, answer.usage.tokens_output) == (
            row.usage.tokens_input,
            row.usage.tokens_output,
        )
        assert answer.usage.tokens_output == 16
        assert [spec.name for spec in model.requests[0].tools if spec.name == "word_count"] == ["word_count"]
        assert not atelier.registry.has("word_count")
        await atelier.ask("Hello", agent=agent(tools=()))
        assert not [spec for spec in model.requests[-1].tools if spec.name == "word_count"]


async def test_the_stream_accepts_functions_besides_the_agents_own_tools(open_atelier: Opener) -> None:
    @tool(name="shout", category="agent", section="core_ops", effect="read", risk="low")
    async def loud(text: str) -> str:
        """Writes in capitals."""
        return text.upper()

    model = ScriptedModel([calling("shout", text="hey"), "HEY"])
    async with open_atelier(model) as atelier:
        await atelier.agents.save(agent(name="Poet", tools=("CalculatorTool",)))
        events = [event async for event in atelier.run("Shout", agent="Poet", tools=[loud, "TodoTool"])]
        (start,) = [event.data for event in events if event.chunk_type is ChunkType.TOOL_START]
        assert (start["tool"], start["section"], start["effect"], start["risk"]) == ("shout", "core_ops", "read", "low")
        (end,) = [event.data for event in events if event.chunk_type is ChunkType.TOOL_END]
        assert end["result"] == {"success": True, "result": "HEY"}
        offered = {spec.name for spec in model.requests[0].tools}
        assert {"CalculatorTool", "TodoTool", "shout"} <= offered
        assert (await atelier.agents.by_name("Poet")).config.tools == ("CalculatorTool",)


async def test_two_runs_may_use_functions_of_the_same_name_at_once(open_atelier: Opener) -> None:
    both = asyncio.Barrier(2)

    def of(owner: str) -> Any:
        async def whose() -> str:
            """Says whose it is."""
            await both.wait()
            return owner

        return whose

    def step(request: ChatRequest) -> Step:
        return request.messages[-1].content if request.messages[-1].role is Role.TOOL else calling("whose")

    async with open_atelier(ScriptedModel([step] * 4)) as atelier:
        answers = await asyncio.gather(
            *(atelier.ask("Whose?", agent=agent(tools=()), tools=[of(name)]) for name in ("Ada", "Bob"))
        )
        assert [answer.calls[0].result["result"] for answer in answers] == ["Ada", "Bob"]
        assert not atelier.registry.has("whose")


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ([lambda text: text], UsageError, "lambda"),
        ([print], UsageError, "args"),
        ([3], UsageError, "3 is neither a function"),
        (["NoSuchTool"], NotFoundError, "NoSuchTool"),
        ([tool(word_count, name="TodoTool")], ConflictError, "TodoTool"),
        ([tool(word_count, section="nowhere")], NotFoundError, "core_ops"),
    ],
)
async def test_an_unusable_function_is_refused_before_anything_is_created(
    given: list[Any], error: type[Exception], text: str, atelier: Atelier
) -> None:
    with pytest.raises(error, match=text):
        await atelier.ask("Hello", agent=agent(tools=()), tools=given)
    assert await atelier.workflows.list() == []


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"category": "nice"}, "category.*'nice'.*workflow"),
        ({"effect": "magic"}, "effect.*read"),
        ({"risk": "none"}, "risk.*low, medium, high"),
    ],
)
def test_the_error_names_what_can_be_a_tool(options: dict[str, Any], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        tool(word_count, **options)


async def test_stop_returns_at_once_from_a_hanging_function_and_drops_its_result(open_atelier: Opener) -> None:
    began, release, cancelled = asyncio.Event(), threading.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def stuck() -> str:
        """Hangs in a thread."""
        loop.call_soon_threadsafe(began.set)
        release.wait(60)
        return "too late"

    async def waits() -> str:
        """Waits on the loop."""
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return "never"

    async with open_atelier(ScriptedModel([calling("stuck"), calling("waits")])) as atelier:
        for function in (stuck, waits):
            began.clear()
            asking = asyncio.create_task(atelier.ask("Go", agent=agent(tools=()), tools=[function]))
            await began.wait()
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            row = (await atelier.repos.runs.list((await atelier.workflows.list())[0].id))[0]
            assert row.status.value == "cancelled"
            (call,) = await atelier.repos.executions.for_runs([row.id])
            assert call.status == "cancelled"
        release.set()
        assert cancelled.is_set()


async def test_a_waiting_run_reports_it_and_keeps_its_functions_until_its_end(open_atelier: Opener) -> None:
    asks = calling("UserQuestionTool", operation="ask", question="Colour?", questionType="text")
    model = ScriptedModel([asks, calling("word_count", text="deep blue"), "Two."])
    async with open_atelier(model) as atelier:
        answer = await atelier.ask("Ask me", agent=agent(tools=("UserQuestionTool",)), tools=[word_count])
        assert answer.status == "waiting"
        assert atelier.registry.has("word_count")
        (asked,) = await atelier.questions.pending(answer.workflow_id)
        await atelier.questions.answer_with(asked.id, text="deep blue")
        assert (await status_after(atelier, answer.run_id)).value == "completed"
        assert not atelier.registry.has("word_count")


async def test_a_failing_run_raises_with_its_code(open_atelier: Opener) -> None:
    refused = ProviderError("The key was refused.", code="auth")
    async with open_atelier(ScriptedModel([refused])) as atelier:
        with raises_code(AtelierError, "auth", match="The key was refused"):
            await atelier.ask("Hello", agent=agent(tools=()))


@pytest.mark.parametrize("then", ["resume", "start", "start with functions"])
async def test_a_failed_run_keeps_its_functions_until_the_next_one_starts(open_atelier: Opener, then: str) -> None:
    refused = ProviderError("The key was refused.", code="auth")
    async with open_atelier(ScriptedModel([refused, calling("word_count", text="deep blue"), "Two."])) as atelier:
        workflow_id = await create_workflow(atelier)
        tools = agent(tools=())
        with pytest.raises(AtelierError, match="The key was refused"):
            await atelier.ask("Count", agent=tools, workflow_id=workflow_id, tools=[word_count])
        [failed] = await atelier.repos.runs.list(workflow_id)
        assert atelier.registry.has("word_count")
        if then == "resume":
            events = [event async for event in atelier.follow(failed.id)]
        elif then == "start":
            events = [event async for event in atelier.run("Count", agent=tools, workflow_id=workflow_id)]
        else:
            again = tool(word_count, risk="low")
            events = [
                event async for event in atelier.run("Count", agent=tools, workflow_id=workflow_id, tools=[again])
            ]
        ends = [event.data["success"] for event in events if event.chunk_type is ChunkType.TOOL_END]
        assert any(ends) is (then != "start")
        assert not atelier.registry.has("word_count")


@pytest.mark.parametrize(
    ("summary", "result", "text"),
    [
        ("All done.", "84", "All done.\n\n84"),
        ("All done.", "", "All done."),
        ("84", "It is **84**.", "It is **84**."),
        ("It is **84**.", "84", "It is **84**."),
    ],
)
async def test_a_result_given_by_the_finishing_tool_is_the_answer(
    open_atelier: Opener, summary: str, result: str, text: str
) -> None:
    async with open_atelier(ScriptedModel([calling("task_complete", summary=summary, result=result)])) as atelier:
        given = await atelier.ask("12*7?", agent=agent(tools=(), tool_mode=ToolMode.INVOKE))
        assert given.text == text
        said = [
            m.content
            for m in await atelier.repos.messages.page(given.workflow_id)
            if m.role is not MessageRole.USER and m.content
        ]
        assert said == [text]


async def test_a_temporary_atelier_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    model = ScriptedModel(["Hello."])
    async with Atelier.open(temporary=True, model_factory=lambda config: model, embedder=WordEmbedder()) as atelier:
        root = atelier.datadir.root
        assert root.is_relative_to(folder)
        assert root.stat().st_mode & 0o777 == 0o700
        answer = await atelier.ask("Hi", agent=AgentConfig(name="Once", provider="p", model="m"))
        assert answer.text == "Hello."
        assert await atelier.repos.runs.get(answer.run_id)
        assert not atelier.vault.persistent
    assert list(folder.iterdir()) == []
    with pytest.raises(RuntimeError, match="mine"):
        async with Atelier.open(temporary=True, embedder=WordEmbedder()):
            raise RuntimeError("mine")
    assert list(folder.iterdir()) == []
    with pytest.raises(UsageError, match="data_dir"):
        async with Atelier.open(tmp_path / "x", temporary=True):
            pass


def test_a_session_vault_never_touches_the_keyring() -> None:
    vault = KeyVault(session=True)
    assert not vault.persistent
    assert vault.set("p", "sk-only-here-1234") is False
    assert vault.get("p") == "sk-only-here-1234"


async def test_an_incomplete_answer_is_marked(open_atelier: Opener) -> None:
    model = ScriptedModel(
        [ChatReply(content="One, two,", finish_reason=FinishReason.LENGTH), ChatReply(content=""), "All."]
    )
    async with open_atelier(model) as atelier:
        answers = [await atelier.ask("Count", agent=agent(tools=())) for _ in range(3)]
    assert [answer.finish_reason for answer in answers] == [FinishReason.LENGTH, FinishReason.EMPTY, None]
    assert {answer.status for answer in answers} == {"completed"}


async def test_the_answer_of_an_agent_with_a_schema_is_also_data(open_atelier: Opener) -> None:
    config = agent(answer_schema={"type": "object", "required": ["total"]})
    async with open_atelier(ScriptedModel(['```json\n{"total": 3}\n```', "Three.", "Three!"])) as atelier:
        assert (await atelier.ask("Count", agent=config)).data == {"total": 3}
        missed = await atelier.ask("Count", agent=config)
    assert (missed.data, missed.text, missed.status) == (None, "Three!", "completed")
