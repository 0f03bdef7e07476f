"""The grammar on a real llama.cpp server: every call of a model too weak to form one by itself is parsed and
valid.

``ATELIER_PROMPTS`` sets how many of the fifty prompts are run.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from atelier_desk.domain.agent import ToolDialect
from atelier_desk.domain.clock import SystemClock
from atelier_desk.domain.model_messages import ChatMessage, ChatReply, ChatRequest, ReplyDone, Role, ToolSpec
from atelier_desk.domain.provider import STARTER
from atelier_desk.llm.dialects import with_dialect
from atelier_desk.llm.dialects.gbnf_grammar import tools_grammar
from atelier_desk.llm.interfaces import ChatModel
from atelier_desk.llm.local.provider import LocalProvider
from atelier_desk.tools.registry.default_registry import create_default_tool_registry

PROMPTS = Path(__file__).with_name("grammar_prompts.txt").read_text("utf-8").splitlines()


@pytest.fixture
def specs() -> list[ToolSpec]:
    """The tools of a workflow without a folder: when offered all, a model this small calls the same one for every
    prompt.
    """
    registry = create_default_tool_registry()
    known = [registry.get_tool(name) for name in registry.get_all_tool_names()]
    return registry.get_definitions_by_names(
        [tool.name for tool in known if tool is not None and not tool.needs_workspace]
    )


@pytest.fixture
async def model(tmp_path: Path) -> AsyncIterator[ChatModel]:
    provider = LocalProvider(tmp_path / "models", SystemClock())
    yield with_dialect(provider, ToolDialect.XML)
    await provider.aclose()


async def reply_to(model: ChatModel, prompt: str, tools: list[ToolSpec], grammar: str) -> ChatReply:
    request = ChatRequest(
        model=STARTER,
        messages=(ChatMessage(role=Role.SYSTEM, content="Use tools."), ChatMessage(role=Role.USER, content=prompt)),
        tools=tuple(tool.model_copy(update={"description": tool.name, "parameters": {}}) for tool in tools),
        temperature=0.0,
        max_tokens=400,
        grammar=grammar,
    )
    last = [delta async for delta in model.stream(request)][-1]
    assert isinstance(last, ReplyDone)
    return last.reply


@pytest.mark.model
@pytest.mark.timeout(600)
async def test_all_calls_are_parsed_and_valid(model: ChatModel, specs: list[ToolSpec]) -> None:
    assert len(set(PROMPTS)) == 50
    grammar = tools_grammar(specs, require_call=True, max_string=12, max_items=2)
    schemas = {spec.name: spec.variants or (spec.parameters,) for spec in specs}
    used = set()
    for prompt in PROMPTS[: int(os.environ.get("ATELIER_PROMPTS", "50"))]:
        (call,) = (await reply_to(model, prompt, specs, grammar)).tool_calls
        assert (call.error, call.repaired) == (None, False), prompt
        assert any(Draft202012Validator(schema).is_valid(call.arguments) for schema in schemas[call.name]), (
            prompt,
            call,
        )
        used.add(call.name)
    assert len(used) > 1


@pytest.mark.model
async def test_plain_text_is_possible_under_the_grammar(model: ChatModel, specs: list[ToolSpec]) -> None:
    reply = await reply_to(model, "Say good morning.", specs, tools_grammar(specs))
    assert reply.content or reply.tool_calls
    assert all(call.error is None for call in reply.tool_calls[:-1])
