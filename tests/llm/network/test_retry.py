"""Retries happen only while nothing was shown, wait as announced, and end."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.model_messages import RetryDelta, RetryDue, TextDelta
from atelier_desk.llm.error_conversion import ErrorLocation, provider_error
from atelier_desk.llm.network.retry import RetryPolicy, call_with_retries, retryable
from tests.helpers.error_codes import raises_code
from tests.helpers.manual_clock import ManualClock
from tests.helpers.servers.openai import FakeOpenAI
from tests.helpers.servers.scripted_http_server import Failure, Reply
from tests.llm.provider_requests import ask, collect, joined, provider, retries, run, send


@pytest.fixture
def chat(openai_server: FakeOpenAI, clock: ManualClock) -> Any:
    return provider("openai", openai_server.url, clock)


LOADING = Failure(503, {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}})


async def test_delays_grow(openai_server: FakeOpenAI, chat: Any, clock: ManualClock) -> None:
    openai_server.script(
        LOADING, Failure(500, {"error": "x"}), Failure(502, "<html>"), Failure(504, ""), Reply(text="ok")
    )
    deltas = await run(clock, chat.stream(ask()))
    assert joined(deltas)[0] == "ok"
    assert retries(deltas) == [
        (2, 0.5, "loading"),
        (3, 0.5, "server_error"),
        (4, 1.0, "server_error"),
        (5, 2.0, "server_error"),
    ]


async def test_the_number_of_attempts_is_limited(openai_server: FakeOpenAI, chat: Any, clock: ManualClock) -> None:
    openai_server.script(*[Failure(503, {"error": "busy"})] * 5)
    with raises_code(ProviderError, "overloaded"):
        await run(clock, chat.stream(ask()))
    assert len(openai_server.requests) == 5


async def test_a_model_that_is_loading_is_waited_for_longer(
    openai_server: FakeOpenAI, chat: Any, clock: ManualClock
) -> None:
    openai_server.script(*[LOADING] * 30, Reply(text="ok"))
    deltas = await run(clock, chat.stream(ask()))
    assert joined(deltas)[0] == "ok"
    assert {reason for _attempt, _delay, reason in retries(deltas)} == {"loading"}
    openai_server.script(*[LOADING] * 40)
    with pytest.raises(ProviderError) as caught:
        await run(clock, chat.stream(ask()))
    assert (caught.value.code, len(openai_server.requests)) == ("loading", 71)


async def test_a_caller_with_its_own_retries_still_waits_for_a_loading_model(
    openai_server: FakeOpenAI, chat: Any, clock: ManualClock
) -> None:
    request = ask().model_copy(update={"retry": False})
    openai_server.script(*[LOADING] * 8, Reply(text="ok"))
    assert joined(await run(clock, chat.stream(request)))[0] == "ok"
    openai_server.script(LOADING, LOADING, Failure(500, {"error": "x"}))
    with pytest.raises(ProviderError) as caught:
        await run(clock, chat.stream(request))
    assert (caught.value.code, len(openai_server.requests)) == ("server_error", 12)


async def test_waiting_for_a_loading_model_uses_no_other_attempts(
    openai_server: FakeOpenAI, chat: Any, clock: ManualClock
) -> None:
    openai_server.script(*[LOADING] * 8, *[Failure(500, {"error": "x"})] * 4, Reply(text="ok"))
    assert joined(await run(clock, chat.stream(ask())))[0] == "ok"


async def test_a_conflict_is_retried(openai_server: FakeOpenAI, chat: Any, clock: ManualClock) -> None:
    openai_server.script(Failure(409, {"error": {"message": "lock timeout"}}), Reply(text="ok"))
    assert joined(await run(clock, chat.stream(ask())))[0] == "ok"


@pytest.mark.parametrize(
    ("headers", "delay"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after": "Thu, 01 Jan 2026 00:00:30 GMT"}, 30.0),
        ({}, 0.5),
    ],
)
async def test_retry_after_is_respected(
    openai_server: FakeOpenAI, chat: Any, clock: ManualClock, headers: dict[str, str], delay: float
) -> None:
    openai_server.script(Failure(429, {"message": "slow down"}, headers), Reply(text="ok"))
    assert retries(await run(clock, chat.stream(ask()))) == [(2, delay, "rate_limited")]


async def test_a_too_long_delay_is_an_error_at_once(openai_server: FakeOpenAI, chat: Any) -> None:
    openai_server.script(Failure(429, {"message": "tomorrow"}, {"retry-after": "3600"}))
    with pytest.raises(ProviderError) as caught:
        await send(chat)
    assert (caught.value.code, caught.value.retry_after_s) == ("rate_limited", 3600.0)


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 422])
async def test_refusals_are_not_retried(openai_server: FakeOpenAI, chat: Any, status: int) -> None:
    openai_server.script(Failure(status, {"error": "no"}))
    with pytest.raises(ProviderError):
        await send(chat)
    assert len(openai_server.requests) == 1


async def test_a_dropped_connection_is_retried(openai_server: FakeOpenAI, chat: Any, clock: ManualClock) -> None:
    openai_server.script(Failure(drop=True), Reply(text="ok"))
    assert retries(await run(clock, chat.stream(ask()))) == [(2, 0.5, "unreachable")]


async def test_a_stream_cut_before_anything_was_shown_is_retried(
    openai_server: FakeOpenAI, chat: Any, clock: ManualClock
) -> None:
    openai_server.script(Reply(text="Hello", cut_after=1), Reply(text="Hello"))
    deltas = await run(clock, chat.stream(ask()))
    assert retries(deltas) == [(2, 0.5, "truncated")]
    assert joined(deltas)[0] == "Hello"


async def test_nothing_is_retried_once_something_was_shown(openai_server: FakeOpenAI, chat: Any) -> None:
    openai_server.script(Reply(text="Hello", cut_after=2), Reply(text="never asked for"))
    shown = []
    with pytest.raises(ProviderError):
        async for delta in chat.stream(ask()):
            shown.append(delta)
    assert shown == [TextDelta(content="Hello")]
    assert len(openai_server.requests) == 1


async def test_an_unreachable_server(clock: ManualClock) -> None:
    async with FakeOpenAI() as gone:
        url = gone.url
    chat = provider("openai", url, clock)
    found: list[RetryDelta] = []
    with raises_code(ProviderError, "unreachable"):
        async for delta in chat.stream(ask()):
            if isinstance(delta, RetryDue):
                continue
            assert isinstance(delta, RetryDelta)
            found.append(delta)
            await asyncio.gather(clock.settle(), _advance(clock, delta))
    assert [delta.attempt for delta in found] == [2, 3, 4, 5]


async def _advance(clock: ManualClock, delta: RetryDelta) -> None:
    """Move the clock as soon as the retry sleeps."""

    async def later() -> None:
        while not clock.sleepers:
            await asyncio.sleep(0)
        await clock.advance(delta.delay_s)

    task = asyncio.create_task(later())
    _running.add(task)
    task.add_done_callback(_running.discard)


_running: set[asyncio.Task[None]] = set()


async def test_a_delay_can_be_cancelled(openai_server: FakeOpenAI, chat: Any, clock: ManualClock) -> None:
    openai_server.script(LOADING, Reply(text="never"))
    task = asyncio.create_task(collect(chat.stream(ask())))
    while not clock.sleepers or len(openai_server.requests) == 0:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(openai_server.requests) == 1


def test_jitter_only_shortens_our_delays_and_only_lengthens_the_servers() -> None:
    policy = RetryPolicy(base_s=1.0, cap_s=4.0)
    error = provider_error(ErrorLocation("s"), "overloaded", "x")
    assert [policy.delay(error, attempt, lambda: 0.0) for attempt in (2, 3, 4, 5, 6)] == [1.0, 2.0, 4.0, 4.0, None]
    assert policy.delay(error, 2, lambda: 0.999) == pytest.approx(0.5, abs=0.01)
    error.retry_after_s = 10.0
    assert policy.delay(error, 2, lambda: 1.0) == pytest.approx(11.0)


def test_which_errors_are_retried() -> None:
    where = ErrorLocation("s")
    assert not retryable(provider_error(where, "timeout", "120 s")), "the person waited long enough"
    assert retryable(provider_error(where, "timeout", "x", status=504))
    assert not retryable(provider_error(where, "auth", "x"))


async def test_calls_are_retried_too(clock: ManualClock) -> None:
    outcomes: list[Any] = [provider_error(ErrorLocation("s"), "overloaded", "x"), 5]

    async def call() -> int:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return int(outcome)

    task = asyncio.create_task(call_with_retries(call, clock=clock, policy=RetryPolicy(), rng=lambda: 0.0))
    await clock.settle()
    await clock.advance(0.5)
    assert await task == 5


@pytest.mark.parametrize(
    ("failure", "charged"),
    [
        # The request arrived, and the service may have worked on it.
        (Failure(drop=True), True),
        (Reply(text="Hello", cut_after=1), True),
        (Failure(500, {"error": "x"}), True),
        (Failure(502, "<html>"), True),
        (Failure(504, ""), True),
        (Failure(408), True),
        # It was refused.
        (Failure(429), False),
        (Failure(409), False),
        (Failure(503, {"error": "busy"}), False),
        (LOADING, False),
    ],
)
async def test_an_attempt_that_may_be_charged_for_is_announced(
    openai_server: FakeOpenAI, chat: Any, clock: ManualClock, failure: Any, charged: bool
) -> None:
    openai_server.script(failure, Reply(text="ok"))
    deltas = await run(clock, chat.stream(ask()))
    assert [delta.charged for delta in deltas if isinstance(delta, RetryDelta)] == [charged]


@pytest.mark.parametrize("status", [301, 400, 401, 402, 403, 404, 413, 422])
async def test_a_refusal_is_not_charged_for(openai_server: FakeOpenAI, chat: Any, status: int) -> None:
    openai_server.script(Failure(status, {"error": "no"}))
    with pytest.raises(ProviderError) as refused:
        await send(chat)
    assert not refused.value.charged


async def test_a_server_that_is_not_reached_charges_nothing(clock: ManualClock) -> None:
    async with FakeOpenAI() as gone:
        url = gone.url
    with pytest.raises(ProviderError) as unreachable:
        await send(provider("openai", url, clock), retry=False)
    assert (unreachable.value.code, unreachable.value.charged) == ("unreachable", False)
