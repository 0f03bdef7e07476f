"""The streams that the SDKs of OpenAI and Anthropic keep for their own tests, read as they read them. What cannot be run is a failure.

The source archives of the installed versions come from the package index with pip, or lie in the folder ``ATELIER_SDK_ARCHIVES``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx2
import pytest

from atelier_desk.domain.chat import ChatReply, FinishReason, ReplyDone
from atelier_desk.domain.errors import ProviderError
from atelier_desk.llm.anthropic.parser import MessageParser
from atelier_desk.llm.errors import Where
from atelier_desk.llm.responses.parser import ResponseParser
from tests.llm.streams import ask

ANTHROPIC = ("tests/lib/streaming/fixtures/", "tests/fixtures/fable-fallback/")
SCENARIOS = "tests/lib/responses/fixtures/websocket_scenarios.json"
LEAST = {"anthropic": 19, "openai": 7}
"""Streams there are at least: an archive without them would be a test of nothing."""


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(os.environ.get("ATELIER_SDK_ARCHIVES") or tmp_path_factory.mktemp("archives"))
    wanted = [f"{name}=={version(name)}" for name in LEAST if not (folder / f"{name}-{version(name)}.tar.gz").exists()]
    if wanted:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", ",".join(LEAST), "--dest", str(folder), *wanted]
        done = subprocess.run(command, capture_output=True, check=False)
        assert not done.returncode, f"{wanted} cannot be fetched: {done.stderr.decode()[-500:]}"
    return folder


def members(folder: Path, name: str, *begins: str) -> Iterator[tuple[str, bytes]]:
    """Files of an archive with the beginnings of their paths. Nothing is unpacked."""
    with tarfile.open(folder / f"{name}-{version(name)}.tar.gz") as archive:
        for member in archive:
            path = member.name.partition("/")[2]
            if member.isfile() and path.startswith(begins) and (file := archive.extractfile(member)) is not None:
                yield path, file.read()


def ours(parser: Any, stream: bytes) -> ChatReply | str:
    """Our reply, or the code of the error."""
    try:
        deltas = [*parser.feed(stream), *parser.close()]
    except ProviderError as error:
        return error.code
    last = deltas[-1]
    assert isinstance(last, ReplyDone)
    return last.reply


def answering(stream: bytes) -> httpx2.Client:
    headers = {"content-type": "text/event-stream"}
    return httpx2.Client(transport=httpx2.MockTransport(lambda request: httpx2.Response(200, headers=headers, content=stream)))


def calls_of(reply: ChatReply) -> list[tuple[str, str, Any]]:
    return [(call.id, call.name, call.arguments) for call in reply.tool_calls]


def test_anthropics_streams(archives: Path) -> None:
    import anthropic

    seen = 0
    for path, stream in members(archives, "anthropic", *ANTHROPIC):
        if not path.endswith((".txt", ".sse")):
            continue
        seen += 1
        client = anthropic.Anthropic(api_key="none", max_retries=0, http_client=answering(stream))
        reply = ours(MessageParser(ask(), Where("Anthropic")), stream)
        said: list[dict[str, Any]] = [{"role": "user", "content": "Hi"}]
        try:
            with client.beta.messages.stream(model="claude-test", max_tokens=100, messages=said) as streamed:  # type: ignore[arg-type]
                message = streamed.get_final_message()
        except ValueError:
            # Arguments that are no JSON: the SDK gives up, and here the model is told.
            assert isinstance(reply, ChatReply), path
            assert any(call.error for call in reply.tool_calls), path
            continue
        assert isinstance(reply, ChatReply), f"{path}: {reply}"
        blocks = message.content
        assert reply.content == "".join(block.text for block in blocks if block.type == "text"), path
        uses = [(block.id, block.name, block.input) for block in blocks if block.type == "tool_use"]
        if message.stop_reason == "max_tokens" and any(call.error for call in reply.tool_calls):
            # The SDK fills in what was cut off; here such a call is never made.
            assert [(call.id, call.name) for call in reply.tool_calls] == [(id, name) for id, name, _input in uses], path
        else:
            assert calls_of(reply) == uses, path
        thought = "\n\n".join(block.thinking for block in blocks if block.type == "thinking")
        assert reply.reasoning == thought, path
        assert (reply.finish_reason is FinishReason.LENGTH) is (message.stop_reason in ("max_tokens", "model_context_window_exceeded")), (
            path
        )
    assert seen >= LEAST["anthropic"]


def test_openais_streams(archives: Path) -> None:
    import openai

    ((_path, text),) = members(archives, "openai", SCENARIOS)
    seen = 0
    for scenario in json.loads(text)["scenarios"]:
        for number, turn in enumerate(scenario["turns"]):
            seen += 1
            place = f"{scenario['id']} {number}"
            frames = [frame if isinstance(frame, str) else json.dumps(frame) for frame in turn["frames"]]  # one is broken JSON
            stream = "".join(f"data: {frame}\n\n" for frame in frames).encode()
            reply = ours(ResponseParser(ask(), Where("OpenAI")), stream)
            client = openai.OpenAI(api_key="none", max_retries=0, http_client=answering(stream))
            try:
                events = list(client.responses.create(model="test", input="Hi", stream=True))
            except (openai.OpenAIError, ValueError):
                events = []
            last = next((each.response for each in events if each.type in ("response.completed", "response.incomplete")), None)
            if last is None:
                assert isinstance(reply, str), f"{place}: what did not come to its end is no whole reply"
                continue
            assert isinstance(reply, ChatReply), f"{place}: {reply}"
            assert reply.content == last.output_text, place
            uses = [(each.call_id, each.name, json.loads(each.arguments)) for each in last.output if each.type == "function_call"]
            assert calls_of(reply) == uses, place
            assert reply.finish_reason.whole is (last.status == "completed"), place
    assert seen >= LEAST["openai"]
