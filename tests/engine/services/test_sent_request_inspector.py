"""The context inspector shows exactly what the model was sent."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest

from atelier_desk.domain.agent import AgentConfig, Budget, ToolDialect, ToolMode
from atelier_desk.domain.errors import NotFoundError, ProviderError
from atelier_desk.domain.events.run import ModelReplied
from atelier_desk.domain.model_messages import ChatReply, ChatRequest, ImagePart, ToolCall, Usage
from atelier_desk.domain.stream.event import ChunkType
from atelier_desk.domain.workflow import Dispatch
from atelier_desk.engine.gateways.model_gateway import FactoryGateway, OpenModel
from atelier_desk.engine.journal.journal import run_events
from atelier_desk.engine.run.request.prompt_texts import SUMMARY_INSTRUCTIONS
from atelier_desk.llm.dialects import with_dialect
from atelier_desk.llm.scripted_model import ScriptedModel, Step
from tests.engine.conftest import Opener, Recorder, exported_workflow, send_and_wait
from tests.engine.runs.sample_runs import agent, start
from tests.engine.services.inspected_requests import assert_exact, conversation_requests, inspected
from tests.helpers.sample_images import png
from tests.helpers.scripted_teams import calculate
from tests.helpers.tool_calls import tool_call


def by_name(models: dict[str, ScriptedModel]) -> Any:
    """A model for each agent's name."""
    return lambda config: models[config.name]


def spawn(id: str, name: str, prompt: str, **more: Any) -> ToolCall:
    return tool_call("SpawnAgentTool", id, operation="spawn", name=name, prompt=prompt, **more)


async def test_turns_tools_and_images_are_shown_as_sent(open_atelier: Opener) -> None:
    image = ImagePart(media_type="image/png", data=base64.b64encode(png()).decode())
    thought = ChatReply(
        content="", reasoning="hm", tool_calls=(calculate("c3", "1/0"),), usage=Usage(tokens_input=5, tokens_output=1)
    )
    model = ScriptedModel(
        [[calculate("c1", "12*7"), calculate("c2", "2+2")], "It is 84.", thought, "Impossible.", "Bye."]
    )
    async with open_atelier(model) as atelier:
        workflow_id, run_id = await start(atelier, "What is 12*7?")
        await atelier.runs.wait(run_id)
        for text, images in (("And 1/0?", (image,)), ("Bye", ())):
            await send_and_wait(atelier, workflow_id, text, agent=agent(), images=images)
        shown = await inspected(atelier, workflow_id)
        assert len(shown) == 5
        assert_exact(shown, conversation_requests(model))
        parts = {part.kind: part for part in shown[3].parts}
        assert parts["images"].estimate > 0
        assert parts["results"].estimate > 0
        assert shown[3].items[-1].kind == "result"


async def test_a_message_that_arrives_during_a_reply_is_not_in_its_request(open_atelier: Opener) -> None:
    model = ScriptedModel(["first", "second"], gate=asyncio.Event())
    async with open_atelier(model) as atelier:
        seen = Recorder(atelier)
        workflow_id, run_id = await start(atelier, "go")
        await seen.until(ChunkType.TOKEN)
        await atelier.runs.send(workflow_id, "read this later", strategy=Dispatch.SILENT)
        await atelier.runs.send(workflow_id, "and this next")
        assert model.gate is not None
        model.gate.set()
        await atelier.runs.wait(run_id)
        assert_exact(await inspected(atelier, workflow_id), conversation_requests(model))


async def test_a_cut_and_summarised_conversation_shows_what_was_left_out(open_atelier: Opener) -> None:
    long = "word " * 600
    steps: list[Step] = []
    for turn in range(6):
        steps += [[calculate(f"c{turn}", "1+1")], f"{turn} {long}"]

    def answer(request: ChatRequest) -> Step:
        if request.messages[0].content == SUMMARY_INSTRUCTIONS:
            return "They counted words."
        return steps.pop(0)

    model = ScriptedModel([answer] * 40)
    async with open_atelier(model) as atelier:
        atelier.environment.gateway = FactoryGateway(lambda config: model, window=4096)
        workflow = await atelier.workflows.create()
        for turn in range(6):
            await send_and_wait(atelier, workflow.id, f"{turn} {long}", agent=agent(tools=("CalculatorTool",)))
        shown = await inspected(atelier, workflow.id)
        assert len(shown) == 12
        assert_exact(shown, conversation_requests(model))
        left = shown[-1].left_out
        assert any(each.method == "summary" for each in left)
        newest = left[-1]
        assert newest.summary == "They counted words."
        assert newest.can_undo
        assert not newest.undone
        assert newest.tokens_before > newest.tokens_after > 0
        assert any(entry.before.startswith(f"0 {long}".strip()[:40]) for each in left for entry in each.entries)
        assert all(entry.after == "" for entry in newest.entries)
        assert next(item for item in shown[-1].items if item.kind == "summary").origin == newest.origin


async def test_a_cut_result_is_shown_before_and_after_and_an_undone_cut_as_undone(open_atelier: Opener) -> None:
    def write(id: str) -> ToolCall:
        return tool_call("ReportTool", id, operation="read", name="long")

    first = tool_call("ReportTool", "w", operation="write", name="long", content="text " * 600)
    model = ScriptedModel([[first], "written", [write("r1")], [write("r2")], [write("r3")], "read", "again", "whole"])
    async with open_atelier(model) as atelier:
        atelier.environment.gateway = FactoryGateway(lambda config: model, window=2000)
        workflow = await atelier.workflows.create()
        for text in ("write", "read it thrice", "once more"):
            await send_and_wait(atelier, workflow.id, text, agent=agent(tools=("ReportTool",)))
        shown = await inspected(atelier, workflow.id)
        assert_exact(shown, conversation_requests(model))
        cut = next(each for request in shown[-2:] for each in request.left_out if each.method == "cut_results")
        entry = cut.entries[0]
        assert "text text" in entry.before
        assert len(entry.after) < len(entry.before)
        assert "characters were cut" in entry.after
        assert entry.tokens_before > entry.tokens_after > 0
        assert any(item.cut for request in shown for item in request.items)
        assert cut.can_undo
        await atelier.runs.editing.undo_compaction(workflow.id, cut.origin)
        atelier.environment.gateway = FactoryGateway(lambda config: model, window=50_000)
        await send_and_wait(atelier, workflow.id, "and now whole", agent=agent(tools=("ReportTool",)))
        shown = await inspected(atelier, workflow.id)
        assert_exact(shown, conversation_requests(model))
        assert all(
            each.undone and not each.can_undo
            for request in shown
            for each in request.left_out
            if each.origin == cut.origin
        )
        assert entry.before in [message.content for message in shown[-1].messages]


async def test_pins_are_the_current_ones_and_survive_the_next_turn(open_atelier: Opener) -> None:
    model = ScriptedModel(["one", "two"])
    async with open_atelier(model) as atelier:
        workflow_id, run_id = await start(atelier, "remember me")
        await atelier.runs.wait(run_id)
        request = await atelier.inspector.request(run_id, (await atelier.inspector.requests(run_id))[0].seq)
        said = next(item for item in request.items if item.kind == "user")
        assert said.can_pin
        assert not said.pinned
        assert said.origin == f"{run_id}:2"
        await atelier.runs.editing.pin(workflow_id, said.origin, True)
        await send_and_wait(atelier, workflow_id, "next", agent=agent())
        for each in await inspected(atelier, workflow_id):
            assert [item.pinned for item in each.items if item.origin == said.origin] == [True]
            assert not each.items[0].can_pin
        assert_exact(await inspected(atelier, workflow_id), conversation_requests(model))


async def test_the_parts_add_up_to_the_servers_count(open_atelier: Opener) -> None:
    replied = ChatReply(content="Hi.", usage=Usage(tokens_input=1234, tokens_output=2), model="scripted")
    uncounted = ChatReply(content="Hi.", model="scripted")
    model = ScriptedModel([replied, uncounted])
    async with open_atelier(model) as atelier:
        workflow_id, run_id = await start(atelier, "hello")
        await atelier.runs.wait(run_id)
        await send_and_wait(atelier, workflow_id, "again", agent=agent())
        counted, estimated = await inspected(atelier, workflow_id)
        assert counted.tokens == 1234
        assert sum(part.tokens for part in counted.parts) == 1234
        assert abs(sum(part.share for part in counted.parts) - 1) < 1e-9
        kinds = ["system", "folder", "skills", "tools", "memory", "history", "results", "message", "images"]
        assert [part.kind for part in counted.parts] == kinds
        assert estimated.summary.estimated
        assert all(part.tokens == part.estimate for part in estimated.parts)


async def test_results_of_the_memory_tool_are_a_separate_part_in_every_tool_mode(open_atelier: Opener) -> None:
    arguments = {"operation": "list"}
    direct = tool_call("MemoryTool", "m1", **arguments)
    invoked = tool_call("invoke_tool", "m2", tool_name="MemoryTool", arguments=arguments)
    model = ScriptedModel([[direct], "none", [invoked], "none"])
    async with open_atelier(model) as atelier:
        workflow_id, run_id = await start(atelier, "what do you know?", agent=agent(tools=("MemoryTool",)))
        await atelier.runs.wait(run_id)
        config = agent(tools=("MemoryTool",), tool_mode=ToolMode.INVOKE)
        await send_and_wait(atelier, workflow_id, "and now?", agent=config)
        shown = await inspected(atelier, workflow_id)
        assert_exact(shown, conversation_requests(model))
        for request in (shown[1], shown[3]):
            assert request.items[-1].part == "memory"
            assert next(part.estimate for part in request.parts if part.kind == "memory") > 0


class XmlGateway(FactoryGateway):
    """Uses the xml dialect on the scripted model."""

    async def open(self, agent: AgentConfig, language: str) -> OpenModel:
        opened = await super().open(agent, language)
        return OpenModel(
            model=with_dialect(opened.model, ToolDialect.XML),
            plain=opened.plain,
            info=opened.info,
            dialect=ToolDialect.XML,
        )


async def test_with_the_xml_dialect_the_sent_text_is_shown_too(open_atelier: Opener) -> None:
    written = f'<tool_call name="CalculatorTool">{json.dumps({"operation": "eval", "expression": "6*7"})}</tool_call>'
    model = ScriptedModel([written, "42."])
    async with open_atelier(model) as atelier:
        atelier.environment.gateway = XmlGateway(lambda config: model)
        workflow_id, run_id = await start(atelier, "6*7?", agent=agent(tools=("CalculatorTool",)))
        await atelier.runs.wait(run_id)
        shown = await inspected(atelier, workflow_id)
        assert [request.wire for request in shown] == [request.messages for request in model.requests]
        control = ["wait_user_response", "output", "task_complete", "task_abandon"]
        assert [tool.name for tool in shown[0].tools] == ["CalculatorTool", *control]
        assert "tool_result" in (shown[1].wire or ())[-1].content


async def test_sub_agents_requests_are_exact_too(open_atelier: Opener) -> None:
    lead = ScriptedModel(
        [[spawn("s1", "Reader", "Add 1 and 1."), spawn("s2", "Writer", "Write a line.")], "Both are done."]
    )
    models = {
        "Tester": lead,
        "Reader": ScriptedModel([[calculate("c", "1+1")], "It is 2."]),
        "Writer": ScriptedModel([[spawn("deep", "Helper", "Rhyme.")], "A line."]),
        "Helper": ScriptedModel(["Time, rhyme."]),
    }
    async with open_atelier(by_name(models)) as atelier:
        config = agent(tools=("CalculatorTool", "SpawnAgentTool"), approval="auto")
        workflow_id, run_id = await start(atelier, "Work.", agent=config)
        await atelier.runs.wait(run_id)
        shown = await inspected(atelier, workflow_id)
        assert len(shown) == 7
        assert_exact(shown, conversation_requests(*models.values()))
        assert {request.summary.agent_name for request in shown} == set(models)


async def test_a_request_of_an_older_version_is_reconstructed_and_marked(
    open_atelier: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ScriptedModel([[calculate("c1", "1+1")], "2"])
    async with open_atelier(model) as atelier:
        workflow_id, run_id = await start(atelier, "1+1?")
        await atelier.runs.wait(run_id)
        events = await run_events(atelier.repos, run_id)
        old = [
            event.model_copy(update={"body": event.body.model_copy(update={"frame": "", "based_on": 0})})
            if isinstance(event.body, ModelReplied)
            else event
            for event in events
        ]

        async def stored(*_: Any) -> list[Any]:
            return old

        monkeypatch.setattr("atelier_desk.engine.services.sent_request_inspector.run_events", stored)
        for summary, recorded in zip(await atelier.inspector.requests(run_id), model.requests, strict=True):
            assert not summary.exact
            request = await atelier.inspector.request(run_id, summary.seq)
            assert not request.exact
            assert (request.messages, request.tools) == (recorded.messages, recorded.tools)
        assert workflow_id


async def test_a_request_whose_frame_is_missing_is_reconstructed_and_marked(
    open_atelier: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An imported workflow without its sent requests; a section of the agent's no longer exists, either."""
    model = ScriptedModel(["hello"])
    async with open_atelier(model) as atelier:
        config = agent(tools=("CalculatorTool",), sections=("custom_ops",))
        workflow_id, run_id = await start(atelier, "Hi.", agent=config)
        await atelier.runs.wait(run_id)
        file = await exported_workflow(atelier, workflow_id)
        file["frames"] = []
        imported = await atelier.workflows.import_(json.dumps(file), "overwrite")
        (row,) = await atelier.repos.runs.list(imported.workflow.id)
        (summary,) = await atelier.inspector.requests(row.id)
        monkeypatch.setattr(atelier.registry.sections, "has", lambda section: section != "custom_ops")
        request = await atelier.inspector.request(row.id, summary.seq)
        assert not request.exact
        assert (request.messages, request.tools) == (model.requests[0].messages, model.requests[0].tools)


async def test_an_event_that_is_no_reply_is_refused(open_atelier: Opener) -> None:
    async with open_atelier([ProviderError("busy", code="busy")]) as atelier:
        _workflow, run_id = await start(atelier)
        await atelier.runs.wait(run_id)
        assert await atelier.inspector.requests(run_id) == []
        with pytest.raises(NotFoundError):
            await atelier.inspector.request(run_id, 1)
        with pytest.raises(NotFoundError):
            await atelier.inspector.request(run_id, 999)
        with pytest.raises(NotFoundError):
            await atelier.inspector.requests("no such run")


async def test_the_reply_limit_is_what_the_limits_of_the_run_allowed(open_atelier: Opener) -> None:
    model = ScriptedModel([[calculate("c1", "12*7")], "Done."])
    async with open_atelier(model) as atelier:
        workflow_id, run_id = await start(atelier, agent=agent(max_tokens=8000, budget=Budget(max_tokens=8000)))
        await atelier.runs.wait(run_id)
        shown = await inspected(atelier, workflow_id)
    assert [request.limit < 8000 for request in shown] == [True, True]
    assert_exact(shown, model.requests)
