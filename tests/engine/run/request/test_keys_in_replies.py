"""A server repeats the key that it was sent, in pieces that only Atelier puts together: nothing stored has it."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.agent import AgentConfig, ToolDialect
from atelier_desk.domain.model_messages import ChatDelta, ReasoningDelta, TextDelta
from atelier_desk.domain.provider import ProviderConfig
from atelier_desk.engine import Atelier
from atelier_desk.engine.journal.journal import run_events
from atelier_desk.engine.run.request.reply_processing import ReceivedReply
from atelier_desk.llm.secrets import remember
from tests.engine.conftest import Opener
from tests.helpers.servers.openai import FakeOpenAI
from tests.helpers.servers.scripted_http_server import Call, Reply

KEY = "zq-Split-9f8e7d6c5b4a39281706fedcba"
HEAD, TAIL = KEY[:9], KEY[9:]
ESCAPED = "".join(f"\\u{ord(char):04x}" for char in KEY)
OPEN, CLOSE = '<tool_call name="CalculatorTool">', "</tool_call>"
SUM = '{"expression": "1+1"}'


@pytest.fixture(autouse=True)
def known() -> None:
    remember(KEY)


async def run_with(atelier: Atelier, server: FakeOpenAI, dialect: ToolDialect, reply: Reply) -> str:
    """Everything stored of a run whose first reply is this one."""
    await atelier.providers.save(ProviderConfig(name="hostile", kind="openai", base_url=server.url))
    await atelier.settings.update(name_by_model=False, memories_at_end="off")
    server.script(reply, Reply(text="Done."))
    agent = AgentConfig(
        name="A",
        provider="hostile",
        model="test-model",
        tools=("CalculatorTool",),
        tool_dialect=dialect,
        max_tokens=256,
    )
    run_id = await atelier.runs.send((await atelier.workflows.create("x")).id, "Which key?", agent=agent)
    await atelier.runs.wait(run_id)
    rows = [event.body.model_dump(mode="json") for event in await run_events(atelier.repos, run_id)]
    return json.dumps(rows, ensure_ascii=False)


@pytest.mark.parametrize("pieces", [1, 7, 500])
@pytest.mark.parametrize(
    ("dialect", "reply"),
    [
        (ToolDialect.XML, {"text": f"{HEAD}{OPEN}{SUM}{CLOSE}{TAIL}"}),
        (ToolDialect.XML, {"text": f"{HEAD}{OPEN}{SUM}{CLOSE}{TAIL[:9]}{OPEN}{SUM}{CLOSE}{TAIL[9:]}"}),
        (ToolDialect.XML, {"text": f"{HEAD}<think>Well</think>{TAIL}"}),
        (ToolDialect.NATIVE, {"text": f"{HEAD}<think>Well</think>{TAIL}"}),
        (ToolDialect.NATIVE, {"text": f"{TAIL} is its end", "reasoning": HEAD}),
        (ToolDialect.NATIVE, {"text": f"{HEAD}</think>{TAIL}", "reasoning": "Well"}),
    ],
    ids=lambda each: each["text"] if isinstance(each, dict) else each.value,
)
async def test_a_key_around_what_is_taken_out_of_a_reply_is_not_stored(
    open_atelier: Opener, tmp_path: Path, dialect: ToolDialect, reply: dict[str, Any], pieces: int
) -> None:
    async with FakeOpenAI() as server, open_atelier(model_factory=None) as atelier:
        stored = await run_with(atelier, server, dialect, Reply(**reply, pieces=pieces))
    assert KEY not in stored
    files = [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
    assert not [path for path in files if KEY.encode() in path.read_bytes()]


@pytest.mark.parametrize(
    "arguments",
    [
        f'{{"expression": "{KEY}"}}',
        f'{{"expression": "{ESCAPED}"}}',
        f"{{'expression': '{KEY}'}}",
        f'{{"expression": "{KEY}",}}',
        f'{{expression: "{KEY}"}}',
        f'```json\n{{"expression": "{KEY}"}}\n```',
        json.dumps({"expression": " ".join(KEY)}),
        json.dumps({"expression": list(KEY)}),
        json.dumps({"expression": {"codes": list(KEY.encode())}}),
    ],
)
@pytest.mark.parametrize("pieces", [1, 7, 500])
@pytest.mark.parametrize("dialect", [ToolDialect.NATIVE, ToolDialect.XML])
async def test_a_call_with_the_key_is_not_made_with_other_arguments(
    open_atelier: Opener, dialect: ToolDialect, pieces: int, arguments: str
) -> None:
    """Whether its arguments are JSON or are repaired, and however they are split."""
    reply = (
        Reply(calls=[Call("CalculatorTool", arguments)], pieces=pieces)
        if dialect is ToolDialect.NATIVE
        else Reply(text=f"{OPEN}{arguments}{CLOSE}", pieces=pieces)
    )
    async with FakeOpenAI() as server, open_atelier(model_factory=None) as atelier:
        stored = await run_with(atelier, server, dialect, reply)
    assert KEY not in stored
    assert "so the call was not made" in stored
    assert "The expression" not in stored, "it was not evaluated"


async def test_a_call_with_the_mark_of_a_hidden_key_is_made_if_the_model_wrote_it(open_atelier: Opener) -> None:
    text = f'{OPEN}{{"expression": "1 + [redacted]"}}{CLOSE}'
    async with FakeOpenAI() as server, open_atelier(model_factory=None) as atelier:
        stored = await run_with(atelier, server, ToolDialect.XML, Reply(text=text))
    assert "so the call was not made" not in stored


async def test_an_encoded_key_in_pieces_is_not_in_a_short_reply_that_broke_off() -> None:
    """Such as the caption of a picture; it is read from its pieces."""
    encoded = base64.b64encode(KEY.encode()).decode()

    async def streamed() -> AsyncGenerator[ChatDelta, None]:
        for kind in (ReasoningDelta, TextDelta):
            for start in range(0, len(encoded), 9):
                yield kind(content=encoded[start : start + 9])
        yield TextDelta(content=" " + "x" * 10_000)

    async def check_again() -> None: ...

    received = ReceivedReply(10)
    await received.read(streamed(), check_again)
    assert received.cut is True
    assert encoded not in received.reply.content + received.reply.reasoning
    assert received.reply.reasoning == "[redacted]"
