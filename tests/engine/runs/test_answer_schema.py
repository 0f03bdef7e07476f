"""Agents with an answer schema: requests, results, and messages to people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.engine import Atelier
from atelier_desk.llm.scripted_model import ScriptedModel, Step
from tests.engine.conftest import Opener
from tests.engine.runs.runs_on_fake_servers import SERVERS, run, world
from tests.helpers.agent_file_import import import_agent
from tests.helpers.runs_without_driver import agent
from tests.helpers.scripted_teams import calculate, leader, scripts, spawn
from tests.helpers.servers.scripted_http_server import Reply
from tests.helpers.tool_calls import tool_call

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]}
FITS, WRONG = '{"total": 3}', '{"sum": 3}'


def of(events: list[StreamEvent], kind: ChunkType) -> list[dict[str, Any]]:
    return [dict(event.data) for event in events if event.chunk_type is kind]


async def answered(atelier: Atelier, config: AgentConfig | None = None) -> list[StreamEvent]:
    return [event async for event in atelier.run("go", agent=config or agent(answer_schema=SCHEMA))]


@pytest.mark.parametrize("text", [FITS, f"```json\n{FITS}\n```"])
async def test_the_object_is_in_the_final_event(open_atelier: Opener, text: str) -> None:
    model = ScriptedModel([text])
    async with open_atelier(model) as atelier:
        events = await answered(atelier)
    assert of(events, ChunkType.WORKFLOW_COMPLETE)[0]["answer"] == {"total": 3}
    assert not of(events, ChunkType.NUDGE)
    [request] = model.requests
    assert request.response_schema == SCHEMA
    assert '"required": ["total"]' in request.messages[0].content, "in words too: not every server takes it"


async def test_tools_come_before_the_answer(open_atelier: Opener) -> None:
    model = ScriptedModel([[calculate("a", "1+2")], FITS])
    async with open_atelier(model) as atelier:
        events = await answered(atelier)
    assert of(events, ChunkType.WORKFLOW_COMPLETE)[0]["answer"] == {"total": 3}
    assert [bool(request.tools) for request in model.requests] == [True, True]


async def test_a_mismatch_is_asked_for_again(open_atelier: Opener) -> None:
    model = ScriptedModel([WRONG, FITS])
    async with open_atelier(model) as atelier:
        events = await answered(atelier)
        [workflow] = await atelier.workflows.list()
        kinds = [each.message.kind for each in await atelier.workflows.transcript(workflow.id)]
    assert of(events, ChunkType.NUDGE)[0]["reason"] == "fix_answer"
    assert of(events, ChunkType.WORKFLOW_COMPLETE)[0]["answer"] == {"total": 3}
    assert "'total' is a required property" in model.requests[1].messages[-1].content
    assert not model.requests[1].tools
    assert "nudge" in kinds
    assert "misfit" not in kinds


async def test_a_repeated_mismatch_is_accepted_and_reported(open_atelier: Opener) -> None:
    steps: list[Step] = [WRONG, WRONG]
    async with open_atelier(steps) as atelier:
        events = await answered(atelier)
        [workflow] = await atelier.workflows.list()
        kept = [
            each.message for each in await atelier.workflows.transcript(workflow.id) if each.message.kind == "misfit"
        ]
        text = await atelier.workflows.export(workflow.id, "md")
    [end] = of(events, ChunkType.WORKFLOW_COMPLETE)
    [told] = of(events, ChunkType.MISFIT)
    assert (end["status"], "answer" in end) == ("completed", False)
    assert "'total' is a required property" in told["details"]["problem"]
    assert [(each.id, each.details) for each in kept] == [(told["message_id"], told["details"])]
    assert "The answer does not match its schema" in text


async def test_a_sub_agent_answers_its_parent_in_its_schema(open_atelier: Opener) -> None:
    counter = agent(name="Counter", answer_schema=SCHEMA)
    delegate = tool_call("DelegateTaskTool", "s", operation="delegate", agent_id="Counter", prompt="Count.")
    lead = ScriptedModel([[delegate], "Three."])
    models = scripts(Lead=lead, Counter=[f"```json\n{FITS}\n```"])
    async with open_atelier(models) as atelier:
        await atelier.agents.save(counter)
        events = await answered(atelier, leader(name="Lead"))
    [over] = of(events, ChunkType.SUB_AGENT_COMPLETE)
    assert over["report"] == FITS
    assert lead.requests[0].response_schema is None


async def test_a_temporary_sub_agent_has_no_schema(open_atelier: Opener) -> None:
    models = scripts(Lead=[[spawn("s", "Helper")], FITS], Helper=["In words."])
    async with open_atelier(models) as atelier:
        events = await answered(atelier, leader(name="Lead", answer_schema=SCHEMA))
    assert of(events, ChunkType.SUB_AGENT_COMPLETE)[0]["report"] == "In words."
    assert of(events, ChunkType.WORKFLOW_COMPLETE)[0]["answer"] == {"total": 3}


async def test_an_agents_schema_is_stored_and_in_its_file(open_atelier: Opener) -> None:
    schema = {"type": "object", "properties": {"why": {"type": "string"}, "answer": {"type": "integer"}}}
    async with open_atelier() as atelier:
        kept = await atelier.agents.save(agent(answer_schema=schema))
        text = await atelier.agents.export_json(kept.id)
        again = await import_agent(atelier.agents, text)
        with pytest.raises(UsageError, match='"type": "object"'):
            await atelier.agents.save(agent(name="B", answer_schema={"type": "array"}))
        with pytest.raises(UsageError, match=r"\$\.properties"):
            await import_agent(atelier.agents, text.replace('"type": "string"', '"type": "words"'))
    assert again.config.answer_schema == schema
    properties = again.config.answer_schema["properties"]
    assert isinstance(properties, dict)
    assert list(properties) == ["why", "answer"], "models write the fields in this order"


WHERE = {
    "openai": lambda body: body.get("response_format", {}).get("json_schema", {}).get("schema"),
    "mistral": lambda body: body.get("response_format", {}).get("json_schema", {}).get("schema"),
    "ollama": lambda body: body.get("format"),
    "anthropic": lambda body: body.get("output_config", {}).get("format", {}).get("schema"),
    "google": lambda body: body.get("generationConfig", {}).get("responseJsonSchema"),
    "responses": lambda body: body.get("text", {}).get("format", {}).get("schema"),
}
BESIDE_TOOLS = {"mistral", "anthropic", "google", "responses"}
"""Kinds that accept both at once; an ``openai`` server that is not OpenAI's forces calls into the schema as well."""


@pytest.mark.parametrize("kind", SERVERS)
async def test_every_kind_of_server_gets_the_schema(kind: str, tmp_path: Path) -> None:
    async with world(kind, tmp_path) as (server, atelier):
        server.script(Reply(text="Three."), Reply(text=FITS))
        events = await run(atelier, answer_schema=SCHEMA, tools=("CalculatorTool",), tool_dialect="native")
        sent = [
            WHERE[kind](request.json)
            for request in server.requests
            if request.method == "POST" and is_chat(request.json)
        ]
    assert of(events, ChunkType.WORKFLOW_COMPLETE)[0]["answer"] == {"total": 3}
    assert (sent[0] is not None) == (kind in BESIDE_TOOLS)
    assert sent[-1] is not None, "the second try has no tools: every kind is held to the form"
    assert sent[-1]["properties"] == SCHEMA["properties"]


def is_chat(body: Any) -> bool:
    return isinstance(body, dict) and bool({"messages", "contents", "input"} & set(body))
