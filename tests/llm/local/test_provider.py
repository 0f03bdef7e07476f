"""The local provider: loading on demand, switching models in order, restarting after a crash; and the real
starter.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from pathlib import Path

import psutil
import pytest

from atelier_desk.domain.clock import SystemClock
from atelier_desk.domain.errors import SETTINGS_CHANGED, ContextOverflowError, NotFoundError, ProviderError
from atelier_desk.domain.model_messages import (
    LOADING,
    ChatDelta,
    ChatMessage,
    ChatReply,
    ChatRequest,
    ImagePart,
    ReplyDone,
    RetryDelta,
    Role,
    TextDelta,
)
from atelier_desk.domain.provider import STARTER
from atelier_desk.llm.local.model_files import ModelStore
from atelier_desk.llm.local.provider import LocalProvider
from atelier_desk.llm.local.server_lifecycle import ServerConfig
from tests.helpers.error_codes import raises_code
from tests.helpers.manual_clock import ManualClock
from tests.llm.local.conftest import gguf_bytes


class FakeServer:
    """A simulated server process."""

    def __init__(self, config: ServerConfig) -> None:
        self.config = config
        self.address, self.api_key = "http://127.0.0.1:9", "key"
        self.alive, self.stopped = True, False

    async def exited_within(self, _seconds: float) -> bool:
        return not self.alive

    async def stop(self) -> None:
        self.alive, self.stopped = False, True


class Bed:
    """A provider with two tiny models, with fake servers and answers that the test decides."""

    def __init__(self, models_dir: Path) -> None:
        for name in ("a", "b"):
            (models_dir / f"{name}.gguf").write_bytes(gguf_bytes(context=4096))
        self.started: list[FakeServer] = []
        self.provider = LocalProvider(
            models_dir, ManualClock(), store=ModelStore(models_dir, starter_path=models_dir / "none"), start=self._start
        )
        self.provider._answer = self._answer  # type: ignore[method-assign]
        self.gates: dict[str, asyncio.Event] = {}
        self.failures: list[ProviderError] = []

    async def _start(self, config: ServerConfig) -> FakeServer:
        self.started.append(FakeServer(config))
        return self.started[-1]

    async def _answer(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        if self.failures:
            self.started[-1].alive = False
            raise self.failures.pop(0)
        yield TextDelta(content=request.model)
        if request.model in self.gates:
            await self.gates[request.model].wait()
        yield ReplyDone(reply=ChatReply(content=request.model))

    async def ask(self, model: str, context_window: int | None = None) -> list[ChatDelta]:
        said = ChatMessage(role=Role.USER, content="hi")
        request = ChatRequest(model=model, messages=(said,), context_window=context_window)
        return [delta async for delta in self.provider.stream(request)]

    @property
    def loads(self) -> list[str]:
        return [server.config.alias for server in self.started]


@pytest.fixture
async def bed(models_dir: Path) -> AsyncIterator[Bed]:
    made = Bed(models_dir)
    yield made
    await made.provider.aclose()


def gone() -> ProviderError:
    return ProviderError("gone", code="unreachable", recoverable=True)


async def test_the_first_request_loads_the_model_and_reports_it(bed: Bed) -> None:
    first = await bed.ask("a")
    second = await bed.ask("a")
    assert isinstance(first[0], RetryDelta)
    assert (first[0].reason, first[0].delay_s) == (LOADING, 0)
    assert [type(delta) for delta in second] == [TextDelta, ReplyDone]
    assert bed.loads == ["a"]


async def test_a_closed_provider_starts_no_server(bed: Bed) -> None:
    """Nobody would stop it: the next request opens another provider."""
    await bed.provider.aclose()
    with raises_code(ProviderError, SETTINGS_CHANGED):
        await bed.ask("a")
    assert not bed.started


async def test_another_model_waits_for_active_requests_and_later_ones_wait_too(bed: Bed) -> None:
    bed.gates["a"] = asyncio.Event()
    running = asyncio.create_task(bed.ask("a"))
    await ManualClock.settle(200)
    while not bed.started:
        await asyncio.sleep(0)
    other = asyncio.create_task(bed.ask("b"))
    await _until(lambda: bed.provider._turn.locked())
    again = asyncio.create_task(bed.ask("a"))
    await ManualClock.settle()
    assert bed.loads == ["a"]
    bed.gates["a"].set()
    await asyncio.gather(running, other, again)
    assert bed.loads == ["a", "b", "a"]
    assert bed.started[0].stopped


async def test_waiting_for_the_model_can_be_cancelled(bed: Bed) -> None:
    bed.gates["a"] = asyncio.Event()
    running = asyncio.create_task(bed.ask("a"))
    await _until(lambda: bed.provider._busy == 1)
    other = asyncio.create_task(bed.ask("b"))
    await _until(lambda: bed.provider._turn.locked())
    other.cancel()
    with pytest.raises(asyncio.CancelledError):
        await other
    bed.gates["a"].set()
    await running
    await bed.ask("a")
    assert bed.loads == ["a"]


async def test_a_larger_context_reloads_and_a_smaller_one_does_not(bed: Bed) -> None:
    await bed.ask("a", context_window=1024)
    await bed.ask("a", context_window=512)
    await bed.ask("a", context_window=100_000)
    assert [server.config.n_ctx for server in bed.started] == [1024, 4096]


async def test_a_server_that_died_while_idle_is_restarted(bed: Bed) -> None:
    await bed.ask("a")
    bed.started[0].alive = False
    assert isinstance((await bed.ask("a"))[-1], ReplyDone)
    assert bed.loads == ["a", "a"]


async def test_a_crash_before_anything_was_shown_is_retried_once(bed: Bed) -> None:
    bed.failures = [gone()]
    deltas = await bed.ask("a")
    assert isinstance(deltas[-1], ReplyDone)
    assert bed.loads == ["a", "a"]


async def test_two_crashes_are_an_error(bed: Bed) -> None:
    bed.failures = [gone(), gone()]
    with raises_code(ProviderError, "unreachable"):
        await bed.ask("a")


async def test_other_errors_are_not_retried(bed: Bed) -> None:
    bed.failures = [ProviderError("no", code="bad_request")]
    with pytest.raises(ProviderError):
        await bed.ask("a")
    assert bed.loads == ["a"]


async def test_images_are_refused_with_a_message(bed: Bed) -> None:
    picture = ImagePart(media_type="image/png", data="aGk=")
    request = ChatRequest(model="a", messages=(ChatMessage(role=Role.USER, content="see", images=(picture,)),))
    with raises_code(ProviderError, "images"):
        _ = [delta async for delta in bed.provider.stream(request)]
    assert bed.loads == []


async def test_an_unknown_model_is_not_found(bed: Bed) -> None:
    with pytest.raises(NotFoundError):
        await bed.ask("c")


async def test_the_connection_test_without_models_reports_that(tmp_path: Path) -> None:
    store = ModelStore(tmp_path, starter_path=tmp_path / "none")
    health = await LocalProvider(tmp_path, ManualClock(), store=store).test()
    assert (health.ok, health.code) == (False, "model_missing")


async def test_the_connection_test_reports_what_is_wrong_with_the_first_file(models_dir: Path) -> None:
    (models_dir / "a.gguf").write_bytes(b"")
    health = await LocalProvider(
        models_dir, ManualClock(), store=ModelStore(models_dir, starter_path=models_dir / "none")
    ).test()
    assert (health.ok, health.code, health.models) == (False, "model_empty", 1)


async def test_a_missing_engine_is_named(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with raises_code(ProviderError, "engine_missing"):
        await bed.ask("a")


async def _until(condition: Callable[[], bool]) -> None:
    """Let the loop run until something is true; file checks run in threads."""
    while not condition():
        await asyncio.sleep(0)


async def reply_to(provider: LocalProvider, request: ChatRequest) -> ChatReply:
    last = [delta async for delta in provider.stream(request)][-1]
    assert isinstance(last, ReplyDone)
    return last.reply


def process_of(provider: LocalProvider) -> psutil.Process:
    assert provider.server is not None
    return psutil.Process(provider.server.pid)


@pytest.mark.model
async def test_the_real_starter_chats_obeys_a_grammar_and_reports_a_too_long_prompt(
    provider: LocalProvider,
) -> None:
    assert [info.name for info in await provider.list_models()] == [STARTER]
    chat = ChatRequest(
        model=STARTER, messages=(ChatMessage(role=Role.USER, content="Say hello."),), max_tokens=16, temperature=0.0
    )
    reply = await reply_to(provider, chat)
    assert reply.content.strip()
    assert reply.usage is not None
    assert reply.usage.tokens_output > 0

    grammar = 'root ::= " yes" | " no"'
    raw = ChatRequest(
        model=STARTER, messages=(), raw_prompt="Is water wet?\nAnswer:", grammar=grammar, max_tokens=8, temperature=0.0
    )
    assert (await reply_to(provider, raw)).content in (" yes", " no")

    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    }
    held = chat.model_copy(update={"response_schema": schema, "max_tokens": 40})
    assert (await reply_to(provider, held)).content.strip().startswith("{")

    with pytest.raises(ContextOverflowError) as caught:
        _ = [delta async for delta in provider.stream(raw.model_copy(update={"raw_prompt": "word " * 6000}))]
    assert caught.value.n_ctx == 4096

    with pytest.raises(ProviderError) as refused:
        _ = [delta async for delta in provider.stream(raw.model_copy(update={"grammar": "root ::= ("}))]
    assert "grammar" in str(refused.value)


@pytest.mark.model
async def test_the_real_server_is_restarted_after_a_kill_and_ends_with_the_provider(
    provider: LocalProvider,
) -> None:
    health = await provider.test()
    assert (health.ok, health.models) == (True, 1)
    first = process_of(provider)
    first.kill()
    chat = ChatRequest(
        model=STARTER, messages=(ChatMessage(role=Role.USER, content="Hi"),), max_tokens=4, temperature=0.0
    )
    assert isinstance([delta async for delta in provider.stream(chat)][-1], ReplyDone)
    second = process_of(provider)
    assert second.pid != first.pid
    await provider.aclose()
    assert not second.is_running()


@pytest.mark.model
async def test_a_cancelled_reply_leaves_the_server_ready_for_the_next(provider: LocalProvider) -> None:
    long = ChatRequest(
        model=STARTER,
        messages=(ChatMessage(role=Role.USER, content="Count to 500."),),
        max_tokens=2000,
        temperature=0.0,
    )
    seen = asyncio.Event()

    async def read() -> None:
        async for delta in provider.stream(long):
            if isinstance(delta, TextDelta):
                seen.set()

    task = asyncio.create_task(read())
    await seen.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    started = SystemClock().monotonic()
    short = long.model_copy(update={"max_tokens": 2})
    assert isinstance([delta async for delta in provider.stream(short)][-1], ReplyDone)
    assert SystemClock().monotonic() - started < 10
