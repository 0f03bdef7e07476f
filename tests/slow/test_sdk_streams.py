"""Streams that come with the SDKs of OpenAI and Anthropic, read as these SDKs read them.

The source archives come from the package index, in the versions of ``constraints.txt``, into the folder that
``ATELIER_SDK_STREAMS`` names or one of their own. Anthropic's streams are files; OpenAI's are made by its tests, which
are run and listened to. Nothing is skipped.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import httpx2
import pytest

from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.model_messages import ChatReply, ReplyDone
from atelier_desk.llm.anthropic.parser import MessageParser
from atelier_desk.llm.errors import ErrorLocation
from atelier_desk.llm.replies.event_stream import EventStreamParser
from atelier_desk.llm.responses.parser import ResponseParser
from tests.llm.streams import ask

ROOT = Path(__file__).resolve().parents[2]
LEAST = {"anthropic": 15, "openai": 90}
"""Streams that the versions of 2026 have; fewer would be another kind of archive."""


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(os.environ.get("ATELIER_SDK_STREAMS") or tmp_path_factory.mktemp("sdks"))
    pins = dict(re.findall(r"^([\w-]+)==(\S+)", (ROOT / "constraints.txt").read_text(), re.MULTILINE))
    wanted = [f"{name}=={pins[name]}" for name in LEAST]
    if not list(folder.glob("*.tar.gz")):
        line = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--no-binary",
            "openai,anthropic",
            "--no-deps",
            "--dest",
            str(folder),
            *wanted,
        ]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"the SDKs cannot be downloaded: {done.stderr[-500:]}"
    for archive in folder.glob("*.tar.gz"):
        if not (folder / archive.name.removesuffix(".tar.gz")).exists():
            with tarfile.open(archive) as opened:
                opened.extractall(folder, filter="data")
    return folder


@pytest.fixture(scope="module")
def recorded(sources: Path) -> Path:
    """What OpenAI's own tests of Responses answer with. Some of them need what is not installed here, and fail; their
    streams count.
    """
    folder = sources / "recorded"
    if not folder.exists():
        folder.mkdir()
        (sdk,) = (each for each in sources.glob("openai-*") if each.is_dir())
        # The SDK's own package of tests is called as ours is.
        environ = {
            **os.environ,
            "ATELIER_RECORDED": str(folder),
            "PYTHONPATH": f"{ROOT / 'tests' / 'support'}{os.pathsep}{sdk}",
        }
        options = ("-p", "sdk_recorder", "-p", "no:cacheprovider", "--noconftest", "--continue-on-collection-errors")
        given = (
            "-q",
            "-o",
            "addopts=",
            "-o",
            "asyncio_mode=auto",
            "-o",
            "filterwarnings=",
            "tests/lib/responses",
            "--timeout",
            "60",
        )
        subprocess.run(
            [sys.executable, "-m", "pytest", *options, *given], cwd=sdk, env=environ, capture_output=True, check=False
        )
    return folder


ENDS = ("response.completed", "response.incomplete", "response.failed")
"""Events that end a reply of Responses."""


def ours(parser: EventStreamParser, content: bytes) -> ChatReply | ProviderError:
    try:
        deltas = [*parser.feed(content), *parser.close()]
    except ProviderError as error:
        return error
    assert isinstance(deltas[-1], ReplyDone)
    return deltas[-1].reply


def answering(content: bytes) -> httpx2.MockTransport:
    return httpx2.MockTransport(
        lambda _request: httpx2.Response(200, content=content, headers={"content-type": "text/event-stream"})
    )


def texts(said: Any) -> list[str]:
    """What a model of OpenAI said, and what it said in refusing."""
    parts = [part for item in said.output or () if item.type == "message" for part in item.content or ()]
    return [
        (part.text if part.type == "output_text" else part.refusal) or ""
        for part in parts
        if part.type in ("output_text", "refusal")
    ]


def calls_of(reply: ChatReply) -> list[tuple[str, Any]]:
    return [(call.name, call.arguments if call.raw is None else call.raw) for call in reply.tool_calls]


def object_of(text: str) -> Any:
    try:
        found = json.loads(text) if text else {}
    except ValueError:
        return text
    return found if isinstance(found, dict) else text


def test_streams_of_anthropic_are_read_as_its_sdk_reads_them(sources: Path) -> None:
    from anthropic import Anthropic, AnthropicError

    files = sorted(
        [
            *sources.glob("anthropic-*/tests/lib/streaming/fixtures/*.txt"),
            *sources.glob("anthropic-*/tests/fixtures/**/*.sse"),
        ]
    )
    assert len(files) >= LEAST["anthropic"]
    for file in files:
        content = file.read_bytes()
        client = Anthropic(api_key="k", http_client=httpx2.Client(transport=answering(content)), max_retries=0)
        try:
            with client.beta.messages.stream(
                model="m", max_tokens=10, messages=[{"role": "user", "content": "x"}]
            ) as stream:
                said = stream.get_final_message()
        except (AnthropicError, ValueError):
            assert isinstance(
                ours(MessageParser(ask(), ErrorLocation("Anthropic")), content), ChatReply | ProviderError
            )
            continue
        reply = ours(MessageParser(ask(), ErrorLocation("Anthropic")), content)
        assert isinstance(reply, ChatReply), f"{file.name}: {reply}"
        assert reply.content == "".join(each.text for each in said.content if each.type == "text"), file.name
        wanted = [(each.name, each.input) for each in said.content if each.type == "tool_use"]
        # Arguments that end in the middle are completed there; here they stay as they came, and are never run.
        assert [each.name for each in reply.tool_calls] == [name for name, _input in wanted], file.name
        for call, (_name, given) in zip(reply.tool_calls, wanted, strict=True):
            assert call.error is not None or call.arguments == given, file.name
        assert reply.reasoning == "".join(each.thinking for each in said.content if each.type == "thinking"), file.name


def test_streams_of_openai_are_read_as_its_sdk_reads_them(recorded: Path) -> None:
    from openai import OpenAI, OpenAIError

    files = sorted(recorded.glob("*.sse"))
    assert len(files) >= LEAST["openai"]
    compared = 0
    for file in files:
        content = file.read_bytes()
        client = OpenAI(api_key="k", http_client=httpx2.Client(transport=answering(content)), max_retries=0)
        reply = ours(ResponseParser(ask(), ErrorLocation("Responses")), content)
        try:
            with client.responses.stream(model="m", input="x") as stream:
                said = stream.get_final_response()
        except (OpenAIError, RuntimeError, ValueError, AttributeError, TypeError, KeyError, AssertionError, IndexError):
            continue  # what the SDK does not read either need not be read; it raised nothing but our own error above
        if isinstance(reply, ProviderError):
            assert said.status in ("failed", "cancelled") or said.error is not None or not said.output, (
                f"{file.name}: {reply}"
            )
            continue
        sent = [
            json.loads(line[5:]) for line in content.decode().splitlines() if line.startswith("data:") and "{" in line
        ]
        ends = [each for each in sent if each.get("type") in ENDS]
        if len(ends) != 1 or ends[0] is not sent[-1]:
            continue  # a reply ends once; what follows is not read
        compared += 1
        wanted = [(each.name, object_of(each.arguments)) for each in said.output or () if each.type == "function_call"]
        # What was sent whole stays, where the last event leaves it out: the reader has seen it.
        items = [each["item"] for each in sent if each.get("type") == "response.output_item.done"]
        whole = [(each["name"], object_of(each["arguments"])) for each in items if each.get("type") == "function_call"]
        assert calls_of(reply) in (wanted, whole), file.name
        told = "".join("".join(texts(said)).split())
        assert "".join(reply.content.split()) == told or not told, file.name
    assert compared >= LEAST["openai"] // 2
