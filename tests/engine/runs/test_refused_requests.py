"""Requests that a server refuses: tools, images, lengths; what is sent instead and remembered."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.model_messages import ImagePart
from atelier_desk.domain.stream.event import ChunkType
from atelier_desk.engine import Atelier
from atelier_desk.llm.secrets import KeyVault
from atelier_desk.llm.token_and_cost_estimates import estimate
from atelier_desk.presentation.run_notices import continue_text, retry_text, unfinished_text
from tests.engine.runs.runs_on_fake_servers import SERVERS, agent, is_chat, last_message, of, rows, run, run_on, world
from tests.helpers.manual_clock import ManualClock
from tests.helpers.sample_images import png
from tests.helpers.servers.scripted_http_server import Call, Failure, Reply

REFUSALS = {
    "openai": {
        "error": {"message": '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'}
    },
    "mistral": {
        "object": "error",
        "message": "Function calling is not enabled for this model",
        "type": "invalid_request",
    },
    "ollama": {"error": "registry.ollama.ai/library/test-model does not support tools"},
    "anthropic": {
        "type": "error",
        "error": {"type": "invalid_request_error", "message": "tools: Extra inputs are not permitted"},
    },
    "google": {
        "error": {
            "code": 400,
            "message": "Function calling is not enabled for models/test-model",
            "status": "INVALID_ARGUMENT",
        }
    },
    "responses": {
        "error": {"message": "Unknown parameter: 'tools'.", "type": "invalid_request_error", "param": "tools"}
    },
}
WRITTEN = '<tool_call name="CalculatorTool">{"operation": "eval", "expression": "12*7"}</tool_call>'


@pytest.mark.parametrize("kind", SERVERS)
async def test_refused_tools_are_sent_as_text_and_that_is_remembered(kind: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"tools": ("CalculatorTool",), "tool_dialect": "native"}
    async with world(kind, tmp_path) as (server, atelier):
        server.script(Failure(400, REFUSALS[kind]), Reply(text=WRITTEN), Reply(text="It is 84."))
        events = await run(atelier, **options)
        assert (events[-1].data["status"], last_message(events)["content"]) == ("completed", "It is 84.")
        assert of(events, ChunkType.TOOL_END)[0]["result"]["result"] == 84
        (retry,) = of(events, ChunkType.RETRY)
        assert retry["reason"] == "tools_refused"
        assert retry["details"]["message"] in str(REFUSALS[kind])
        assert [row.details["reason"] for row in await rows(atelier, events) if row.kind == "retry"] == [
            "tools_refused"
        ]
        chats = [request.json for request in server.requests if is_chat(request)]
        assert [bool(chat.get("tools")) for chat in chats] == [True, False, False]
        known = await atelier.models.info("server", "test-model")
        assert (known.supports_tools, known.source) == (False, "learned")
        server.script(Reply(text="Hello."))
        assert (await run(atelier, **options))[-1].data["status"] == "completed"
        assert not server.requests[-1].json.get("tools")
    async with Atelier.open(tmp_path / "data", fsync=False, vault=KeyVault(environ={})) as atelier:
        assert (await atelier.models.info("server", "test-model")).supports_tools is False


COUNTED = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
HERMES = (
    '<tool_call>\n{"name": "CalculatorTool", "arguments": {"operation": "eval", "expression": "12*7"}}\n</tool_call>'
)


async def test_an_unknown_model_gets_native_tools_and_its_calls_are_remembered_without_adjusting_it(
    tmp_path: Path,
) -> None:
    async with world("openai", tmp_path) as (server, atelier):
        before = await atelier.models.info("server", "test-model")
        assert before.supports_tools is None
        server.script(
            Reply(calls=(Call("CalculatorTool", {"operation": "eval", "expression": "12*7"}),)), Reply(text="It is 84.")
        )
        events = await run(atelier, tools=("CalculatorTool",))
        assert of(events, ChunkType.TOOL_END)[0]["result"]["result"] == 84
        assert all(request.json.get("tools") for request in server.requests if is_chat(request))
        known = await atelier.models.info("server", "test-model")
        assert known == before.model_copy(update={"supports_tools": True})
        listed = {info.name: info.source for info in await atelier.providers.models("server")}
        assert listed["test-model"] != "learned"


async def without_tools(tmp_path: Path) -> int:
    """Tokens of the request without its definitions, by our estimate."""
    async with world("openai", tmp_path / "measured") as (server, atelier):
        await atelier.models.edit("server", "test-model", supports_tools=True)
        server.script(Reply(text="Hello."))
        await run(atelier, tools=MANY)
        chat = next(request.json for request in server.requests if is_chat(request))
        return estimate(str(chat["messages"]))


MANY = ("CalculatorTool", "section:file_ops", "section:web_ops", "section:memory_ops")


@pytest.mark.parametrize("how", ["written", "ignored"])
async def test_a_model_that_does_not_support_native_tools_gets_them_as_text(how: str, tmp_path: Path) -> None:
    """A server without a parser passes on the model's text; one whose template has no tools omits them."""
    counted = {**COUNTED, "prompt_tokens": await without_tools(tmp_path)}
    first = Reply(text=HERMES) if how == "written" else Reply(text="I have no tools.", usage=counted)
    async with world("openai", tmp_path) as (server, atelier):
        server.script(first, Reply(text=WRITTEN), Reply(text="It is 84."))
        events = await run(atelier, tools=MANY)
        assert (events[-1].data["status"], last_message(events)["content"]) == ("completed", "It is 84.")
        assert of(events, ChunkType.TOOL_END)[0]["result"]["result"] == 84
        chats = [request.json for request in server.requests if is_chat(request)]
        assert [bool(chat.get("tools")) for chat in chats] == [True, False, False]
        assert (await atelier.models.info("server", "test-model")).supports_tools is False
        (retry,) = of(events, ChunkType.RETRY)
        assert retry["reason"] == "tools_refused"
        total = (await atelier.workflows.list())[0].usage
        assert total.tokens_output >= 3 * 7, "the reply that was given up was paid for"


@pytest.mark.parametrize(
    ("text", "usage"),
    [
        ("Hello.", COUNTED),
        ("Write <tool_call> tags.", COUNTED),
        ("x", None),
        ("x", {**COUNTED, "prompt_tokens": 90_000}),
    ],
)
async def test_an_answer_without_calls_is_an_answer(text: str, usage: dict[str, int] | None, tmp_path: Path) -> None:
    async with world("openai", tmp_path) as (server, atelier):
        server.script(*[Reply(text=text, usage=usage)] * 2)
        await run(atelier, tools=MANY)
        events = await run(atelier, tools=MANY)
        assert (events[-1].data["status"], of(events, ChunkType.RETRY)) == ("completed", [])
        assert (await atelier.models.info("server", "test-model")).supports_tools is None


@pytest.mark.parametrize(("chosen", "sent"), [(True, [True]), (False, [False])])
async def test_the_tool_call_format_chosen_for_the_model_is_used(
    chosen: bool, sent: list[bool], tmp_path: Path
) -> None:
    async with world("openai", tmp_path) as (server, atelier):
        await atelier.models.edit("server", "test-model", supports_tools=chosen)
        server.script(Reply(text="Hello."))
        await run(atelier, tools=("CalculatorTool",))
        assert [bool(request.json.get("tools")) for request in server.requests if is_chat(request)] == sent


ONLY_SOME = "Invalid content type. {} is only supported by certain models."
# Ollama reports in advance which of its models accept images.
BLIND = {
    "openai": {"error": {"message": ONLY_SOME.format("image_url"), "type": "invalid_request_error"}},
    "mistral": {
        "object": "error",
        "message": "Image input is not enabled for this model",
        "type": "invalid_request_error",
    },
    "anthropic": {
        "type": "error",
        "error": {"type": "invalid_request_error", "message": "This model does not support image input."},
    },
    "google": {
        "error": {
            "code": 400,
            "message": "Image input modality is not enabled for models/m",
            "status": "INVALID_ARGUMENT",
        }
    },
    "responses": {"error": {"message": ONLY_SOME.format("input_image"), "type": "invalid_request_error"}},
}
PICTURE = ImagePart(media_type="image/png", data=base64.b64encode(png()).decode())


@pytest.mark.parametrize("kind", BLIND)
async def test_a_model_that_refuses_images_is_told_and_that_is_remembered(kind: str, tmp_path: Path) -> None:
    async with world(kind, tmp_path) as (server, atelier):
        server.script(Failure(400, BLIND[kind]), Reply(text="I see none."))
        events = await run(atelier, images=(PICTURE,))
        assert (events[-1].data["status"], last_message(events)["content"]) == ("completed", "I see none.")
        (retry,) = of(events, ChunkType.RETRY)
        assert retry["reason"] == "pictures_refused"
        first, second = [str(request.json) for request in server.requests if is_chat(request)]
        assert PICTURE.data in first
        assert PICTURE.data not in second
        assert "cannot see pictures" in second
        known = await atelier.models.info("server", "test-model")
        assert (known.supports_vision, known.source) == (False, "learned")
        server.script(Reply(text="Still none."))
        assert (await run(atelier, images=(PICTURE,)))[-1].data["status"] == "completed"
        assert PICTURE.data not in str(server.requests[-1].json)


@pytest.mark.parametrize("kind", SERVERS)
async def test_a_temperature_is_sent_only_when_a_person_set_it(kind: str, tmp_path: Path) -> None:
    async with world(kind, tmp_path) as (server, atelier):
        server.script(*[Reply(text="Well.")] * 2)
        await run(atelier)
        await run(atelier, temperature=0.3, enable_thinking=False)
        first, second = [str(request.json) for request in server.requests if is_chat(request)]
        assert "temperature" not in first
        assert "temperature': 0.3" in second


async def test_a_looping_model_is_stopped_unless_disabled(tmp_path: Path) -> None:
    passage = "Let me look into the file once more, and then go on. "
    async with world("openai", tmp_path) as (server, atelier):
        server.script(Reply(text="Well. " + passage * 100), Reply(text="The rest."), Reply(text=passage * 100))
        events = await run(atelier)
        said = last_message(events)
        assert (events[-1].data["status"], said["finish_reason"]) == ("completed", "repetition")
        assert 11 <= said["content"].count(passage.strip()) <= 12, "what was written stays"
        title, text = unfinished_text(said["finish_reason"], content=True, thought=False)
        assert (title, "Settings" in text) == ("The model repeated itself", True)
        words = continue_text(said["finish_reason"])
        after = [event async for event in atelier.run(words, agent=agent(), workflow_id=events[0].workflow_id)]
        assert last_message(after)["content"] == "The rest."
        await atelier.settings.set("stop_repetition", False)
        whole = last_message(await run(atelier))
        assert (whole["content"], whole.get("finish_reason")) == (passage * 100, "stop")


# Refusals of an image in each server's own words; the program does not know them in advance.
ONE_PICTURE = {
    "Anthropic": (
        400,
        "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 7031644 bytes > 5242880 bytes",
    ),
    "Anthropic, side": (400, "At least one of the image dimensions exceed max allowed size: 8000 pixels"),
    "OpenAI": (400, "You uploaded an unsupported image. Please make sure your image is below 20 MB in size"),
    "Groq": (400, "Failed to process image: image too large: maximum pixels allowed is 33177600"),
    "a proxy": (413, "Request Entity Too Large"),
    "xAI": (412, "Image is too large. Max size 10 MiB"),
    "anybody": (422, "Unprocessable"),
}


@pytest.mark.parametrize("words", ONE_PICTURE)
async def test_a_refused_image_is_omitted_and_never_sent_to_that_model_again(words: str, tmp_path: Path) -> None:
    status, said = ONE_PICTURE[words]
    named = PICTURE.model_copy(update={"name": "plan.png"})
    async with world("openai", tmp_path) as (server, atelier):
        server.script(
            Failure(status, {"error": {"message": said}}), Reply(text="I see none."), Reply(text="Still none.")
        )
        events = await run(atelier, images=(named,))
        assert (events[-1].data["status"], last_message(events)["content"]) == ("completed", "I see none.")
        (retry,) = of(events, ChunkType.RETRY)
        assert (retry["reason"], retry["details"]["pictures"]) == ("pictures_left_out", ["plan.png"])
        assert "plan.png" in retry_text(retry["reason"], retry["details"])[0]
        after = [event async for event in atelier.run("and now?", agent=agent(), workflow_id=events[0].workflow_id)]
        assert after[-1].data["status"] == "completed"
        chats = [str(request.json) for request in server.requests if is_chat(request)]
        assert [PICTURE.data in chat for chat in chats] == [True, False, False]
        assert all("'plan.png'" in chat and "did not accept" in chat for chat in chats[1:]), "the model knows of it"
        assert (await atelier.models.info("server", "test-model")).supports_vision is None, "other pictures may be sent"


async def test_a_refusal_for_another_reason_leaves_the_image_in_the_workflow(tmp_path: Path) -> None:
    other = Failure(400, {"error": {"message": "No."}})
    async with world("openai", tmp_path) as (server, atelier):
        server.script(other, other, Reply(text="I see it."))
        events = await run(atelier, images=(PICTURE,))
        assert of(events, ChunkType.ERROR)[0]["code"] == "bad_request"
        after = [event async for event in atelier.run("again", agent=agent(), workflow_id=events[0].workflow_id)]
        assert after[-1].data["status"] == "completed"
        chats = [str(request.json) for request in server.requests if is_chat(request)]
        assert [PICTURE.data in chat for chat in chats] == [True, False, True], "one more request at most"


async def test_a_long_request_refused_without_a_reason_is_tried_once_shortened(tmp_path: Path) -> None:
    other = Failure(400, {"error": {"message": "No."}})
    async with world("openai", tmp_path) as (server, atelier):
        server.script(other, Reply(text="Shorter."), other, other)
        events = await run(atelier, "some words of a long text " * 3_000)
        assert (events[-1].data["status"], last_message(events)["content"]) == ("completed", "Shorter.")
        sizes = [len(str(request.json)) for request in server.requests if is_chat(request)]
        assert sizes[1] < 0.9 * sizes[0]
        again = await run(atelier, "some words of a long text " * 3_000)
        assert of(again, ChunkType.ERROR)[0]["code"] == "bad_request", (
            "what the server said, and one more request at most"
        )
        short = len([request for request in server.requests if is_chat(request)])
        server.script(other)
        await run(atelier, "short")
        assert len([request for request in server.requests if is_chat(request)]) == short + 1


async def test_refused_tools_are_reported_besides_attempts_of_the_provider(tmp_path: Path, clock: ManualClock) -> None:
    busy = Failure(503, {"error": "busy"})
    async with world("openai", tmp_path, clock=clock) as (server, atelier):
        server.script(busy, Failure(400, REFUSALS["openai"]), busy, Reply(text="Done."))
        events = await run_on(clock, atelier, tools=("CalculatorTool",), tool_dialect="native")
        assert events[-1].data["status"] == "completed"
        reasons = [row.details["reason"] for row in await rows(atelier, events) if row.kind == "retry"]
    assert sorted(reasons) == ["overloaded", "tools_refused"]


async def test_a_server_that_refuses_again_fails_once(tmp_path: Path) -> None:
    async with world("openai", tmp_path) as (server, atelier):
        server.script(Failure(400, REFUSALS["openai"]), Failure(400, REFUSALS["openai"]))
        events = await run(atelier, tools=("CalculatorTool",), tool_dialect="native")
        assert of(events, ChunkType.ERROR)[0]["code"] == "bad_request"
        assert len(of(events, ChunkType.RETRY)) == 1
