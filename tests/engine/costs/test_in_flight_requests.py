"""A sent request costs, whatever happens to it: silence, a broken stream, a stop, an endless reply; only a refusal
is free.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from atelier_desk.domain.errors import AtelierError, ProviderError, StorageError
from atelier_desk.domain.events.run import LimitKind, ReplyCutOff
from atelier_desk.domain.model_messages import (
    ChatReply,
    ChatRequest,
    ReplyDone,
    RetryDelta,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.engine.attachments.image_descriptions import MAX_TOKENS
from tests.engine.conftest import create_workflow, month_cost, stored_status
from tests.engine.costs.paid_requests import (
    AGENT,
    FIRST,
    FIXED,
    START,
    TOKENS,
    Paid,
    Ticking,
    begin,
    description,
    embedder,
    opened,
    reply,
    sampling,
    title,
)
from tests.helpers.servers.scripted_http_server import Failure

__all__ = ["opened"]
LIMIT = 1_000.0
REPLY = 0.11
"""US dollars of a counted reply: 110 tokens."""


class Endings:
    """How a request may end; ``asked`` is set when the model has it."""

    def __init__(self, paid: Paid, how: str) -> None:
        self.asked = asyncio.Event()
        self.requests = 0
        self._how = how
        paid.stream = self.stream  # type: ignore[method-assign]

    async def stream(self, request: ChatRequest) -> Any:
        self.requests += 1
        if self._how == "a call":
            self.asked.set()
            yield ToolCallDelta(index=0, name="x", arguments="{")
            raise ProviderError("No.", code="overloaded", recoverable=False)
        if self._how == "withdrawn later":
            yield TextDelta(content="A word")
        self.asked.set()
        if self._how.startswith("withdrawn"):
            await asyncio.Event().wait()
        if self._how == "endless":
            for _ in range(1_000):
                yield TextDelta(content="word after word ")
        if self._how == "endless call":
            for _ in range(1_000):
                yield ToolCallDelta(index=0, name="x", arguments="word after word ")
        if self._how == "again":
            yield RetryDelta(attempt=2, delay_s=0.0, reason="truncated", charged=True)
            self.requests += 1
            yield ReplyDone(reply=ChatReply(content="Done.", usage=Usage(tokens_input=100, tokens_output=10)))
        elif not self._how.startswith("endless"):
            raise ProviderError("No.", code=self._how, recoverable=False)


async def spent(paid: Paid) -> float:
    """The cost of the month, checked to be the same in store and memory."""
    notes = [task for task in asyncio.all_tasks() if task.get_name() == "cost of a server's request"]
    await asyncio.gather(*notes)
    month = await month_cost(paid.atelier)
    assert paid.atelier.month_budget._left() == pytest.approx(LIMIT - month), "nothing is held any more"
    return month - FIRST


@pytest.mark.parametrize(
    ("ask", "reply_tokens", "how", "free"),
    [
        (title, 20, "timeout", False),
        (title, 20, "truncated", False),
        (title, 20, "server_error", False),
        (title, 20, "withdrawn", False),
        (title, 20, "withdrawn later", False),
        (title, 20, "a call", False),
        (title, 20, "endless", False),
        (title, 20, "again", False),
        (title, 20, "auth", True),
        (title, 20, "unreachable", True),
        (sampling, 20, "truncated", False),
        (sampling, 20, "endless", False),
        (sampling, 20, "auth", True),
        (description, MAX_TOKENS, "truncated", False),
        (description, MAX_TOKENS, "endless", False),
        (description, MAX_TOKENS, "auth", True),
    ],
)
async def test_a_request_next_to_a_run_counts_as_the_most_it_may_cost(
    opened: Any, ask: Any, reply_tokens: int, how: str, free: bool
) -> None:
    async with opened(monthly_cost_limit=LIMIT) as paid:
        endings = Endings(paid, how)
        task = asyncio.create_task(ask(paid))
        await asyncio.wait_for(endings.asked.wait(), 10)
        if how.startswith("withdrawn"):
            task.cancel()
        with pytest.raises((AtelierError, asyncio.CancelledError)):
            await task
            assert how == "endless", "a reply that is cut is a reply"
            raise asyncio.CancelledError
        assert endings.requests == 1, "room for one was reserved"
        cost = await spent(paid)
        assert cost == 0.0 if free else cost >= reply_tokens * TOKENS / 1_000_000
        assert (await paid.atelier.usage.month()).estimated == pytest.approx(cost), "and is shown as such"


@pytest.mark.parametrize(
    ("how", "free"),
    [
        ("timeout", False),
        ("truncated", False),
        ("server_error", False),
        ("withdrawn", False),
        ("a call", False),
        ("auth", True),
    ],
)
async def test_a_reply_that_breaks_off_counts_as_the_most_it_may_cost(opened: Any, how: str, free: bool) -> None:
    async with opened(monthly_cost_limit=LIMIT) as paid:
        endings = Endings(paid, how)
        run_id = await begin(paid)
        await asyncio.wait_for(endings.asked.wait(), 10)
        if how.startswith("withdrawn"):
            await paid.atelier.runs.cancel(run_id)
        await paid.atelier.runs.wait(run_id)
        cost, most = await spent(paid), AGENT.max_tokens * TOKENS / 1_000_000
        assert cost == 0.0 if free else cost > most
        assert (await paid.atelier.repos.runs.get(run_id)).usage.cost == pytest.approx(cost), "its run has it"


async def test_a_reply_that_is_stopped_counts_what_had_arrived(opened: Any) -> None:
    async with opened(monthly_cost_limit=LIMIT) as paid:
        endings = Endings(paid, "withdrawn later")
        run_id = await begin(paid)
        await asyncio.wait_for(endings.asked.wait(), 10)
        await paid.atelier.runs.cancel(run_id)
        await paid.atelier.runs.wait(run_id)
        cost = await spent(paid)
        assert 0 < cost < AGENT.max_tokens * TOKENS / 1_000_000
        assert (await paid.atelier.repos.runs.get(run_id)).usage.cost == pytest.approx(cost), "its run has it"


@pytest.mark.parametrize("how", ["endless", "endless call"])
async def test_a_reply_that_is_cut_for_its_length_counts_what_had_arrived(opened: Any, how: str) -> None:
    async with opened(monthly_cost_limit=LIMIT) as paid:
        Endings(paid, how)
        run_id = await begin(paid)
        await paid.atelier.runs.wait(run_id)
        assert await spent(paid) > AGENT.max_tokens * TOKENS / 1_000_000


@pytest.mark.parametrize("how", ["again", "truncated"])
async def test_a_stop_while_a_broken_off_reply_is_stored_does_not_count_it_again(
    opened: Any, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    async with opened(monthly_cost_limit=LIMIT) as paid:
        Endings(paid, how)
        journal = paid.atelier.repos.journal
        commit, stops = journal.commit, list[asyncio.Task[Any]]()

        async def stopped_meanwhile(written: Any, **options: Any) -> Any:
            if not stops and any(isinstance(event.body, ReplyCutOff) for event in written.events):
                stops.append(asyncio.create_task(paid.atelier.runs.cancel(run_id)))
                for _turn in range(20):
                    await asyncio.sleep(0)
            return await commit(written, **options)

        monkeypatch.setattr(journal, "commit", stopped_meanwhile)
        run_id = await begin(paid)
        await paid.atelier.runs.wait(run_id)
        await asyncio.gather(*stops)
        most = AGENT.max_tokens * TOKENS / 1_000_000
        assert stops
        assert most < await spent(paid) < 2 * most


async def test_each_attempt_counts_and_is_made_only_within_the_limit(opened: Any) -> None:
    async with opened(monthly_cost_limit=LIMIT) as paid:
        endings = Endings(paid, "again")
        run_id = await begin(paid)
        await paid.atelier.runs.wait(run_id)
        lost = (await spent(paid)) - REPLY
        assert endings.requests == 2
        assert lost > AGENT.max_tokens * TOKENS / 1_000_000
        await paid.atelier.settings.update(monthly_cost_limit=FIRST + lost + REPLY + 1.5 * lost)
        run_id = await paid.atelier.runs.send(await create_workflow(paid.atelier, "z"), "Go", agent=AGENT)
        await paid.atelier.runs.wait(run_id)
        month = await paid.atelier.usage.month()
        assert month.spent <= month.limit
        assert await stored_status(paid.atelier, run_id) is RunStatus.PAUSED, (
            "each time less is left, until it is too little"
        )


@pytest.mark.parametrize(("how", "parts"), [("truncated", 0), ("endless", 0), ("withdrawn", 1)])
async def test_a_summary_counts(opened: Any, how: str, parts: int) -> None:
    async with opened(monthly_cost_limit=LIMIT) as paid:
        paid.window = 4_000
        workflow = await paid.atelier.workflows.create("y")
        await paid.atelier.runs.wait(await paid.atelier.runs.send(workflow.id, "word after word " * 500, agent=AGENT))
        before = await spent(paid)
        answer, endings = Paid.stream, Endings(paid, how)
        summarise = endings.stream

        async def stream(request: ChatRequest) -> Any:
            async for delta in summarise(request) if not endings.requests else answer(paid, request):
                yield delta

        paid.stream = stream
        run_id = await paid.atelier.runs.send(workflow.id, "word after word " * 500, agent=AGENT)
        await asyncio.wait_for(endings.asked.wait(), 10)
        if parts:
            saved = await paid.atelier.repos.journal.partial(run_id)
            assert saved is not None, "a kill here forgets nothing"
            assert saved["usage"].cost > 0
            await paid.atelier.runs.cancel(run_id)
        await paid.atelier.runs.wait(run_id)
        replies = 0.0 if parts else REPLY
        assert (await spent(paid)) > before + replies + 0.1, "the summary read 2 000 tokens"
        assert await paid.atelier.repos.journal.partial(run_id) is None


async def test_a_workflow_that_is_deleted_meanwhile_does_not_take_the_cost_with_it(opened: Any) -> None:
    async with opened(monthly_cost_limit=LIMIT) as paid:
        asked, gate = asyncio.Event(), asyncio.Event()

        async def stream(_request: ChatRequest) -> Any:
            asked.set()
            await gate.wait()
            yield ReplyDone(reply=ChatReply(content="Done.", usage=Usage(tokens_input=100, tokens_output=10)))

        paid.stream = stream
        task = asyncio.create_task(title(paid))
        await asked.wait()
        await paid.atelier.workflows.delete(paid.handle.workflow_id)
        await paid.atelier.workflows.purge(paid.handle.workflow_id)
        gate.set()
        with pytest.raises(AtelierError):
            await task
        assert await spent(paid) > 0.02, "the most that 20 tokens may cost"


async def test_each_attempt_at_vectors_counts(opened: Any) -> None:
    clock = Ticking(START)
    async with opened(clock=clock, monthly_cost_limit=LIMIT) as paid:
        made = await embedder(paid)
        paid.server.script(Failure(408), Failure(429))
        task = asyncio.create_task(made.embed(["a text of many words"]))
        while not task.done():
            await clock.advance(1)
        await task
        await made.aclose()
        assert len(paid.server.of("/v1/embeddings")) == 3
        assert await spent(paid) > 2 * 3 * TOKENS / 1_000_000
        [row] = [each for each in await paid.atelier.usage.rows() if each.provider == "Server"]
        assert row.total.requests == 2, "what timed out may be charged for, a refusal is not"


async def test_an_unfinished_request_stays_reserved_when_others_are_counted(opened: Any) -> None:
    async with opened(monthly_cost_limit=LIMIT) as paid:
        order = ("Server", "pictures", FIXED, "an image", "Settings")
        async with paid.spending.paying(*order):
            async with paid.spending.paying(*order):
                pass
            free = paid.info.model_copy(update={"price_input": 0.0, "price_output": 0.0})
            async with paid.spending.room(free, 10, 10) as (_room, used, _check_again):
                await used("m", Usage(tokens_input=10), 1)
            assert paid.atelier.month_budget.held_by(paid.run_id) == FIXED
        assert await spent(paid) == pytest.approx(2 * FIXED)


async def test_vectors_withdrawn_while_they_are_counted_count(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(monthly_cost_limit=LIMIT) as paid:
        made, used = await embedder(paid), paid.atelier.repos.used
        write, begun, disk = used.count, asyncio.Event(), asyncio.Event()

        async def slow(*record: Any) -> None:
            begun.set()
            await disk.wait()
            await write(*record)

        monkeypatch.setattr(used, "count", slow)
        task = asyncio.create_task(made.embed(["a text"]))
        await asyncio.wait_for(begun.wait(), 10)
        task.cancel()
        asyncio.get_running_loop().call_soon(disk.set)
        with pytest.raises(asyncio.CancelledError):
            await task
        await made.aclose()
        assert await spent(paid) > 0


async def test_a_model_reported_as_free_but_charged_for_needs_a_price(opened: Any) -> None:
    async with opened(monthly_cost_limit=LIMIT) as paid:
        paid.price = 0.0

        async def stream(_request: ChatRequest) -> Any:
            paid.sent.append("chat")
            yield ReplyDone(
                reply=ChatReply(content="Done.", usage=Usage(tokens_input=100, tokens_output=10, cost=LIMIT))
            )

        paid.stream = stream
        for _ in range(3):
            limit = await reply(paid)
        assert (limit, len(paid.sent)) == (LimitKind.UNPRICED, 1), "without a price nothing could be reserved for it"
        assert await title(paid) == "limit"


async def test_a_paid_search_that_is_stopped_while_it_is_counted_counts(opened: Any) -> None:
    async with opened(monthly_cost_limit=LIMIT) as paid:
        used, counting, gate = paid.atelier.repos.used, asyncio.Event(), asyncio.Event()
        count = used.count

        async def slow(*row: Any) -> None:
            counting.set()
            await gate.wait()
            await count(*row)

        async def search() -> None:
            async with paid.atelier.outside_costs.paying("brave", "", 0.25, ""):
                pass

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(used, "count", slow)
            searches = [asyncio.create_task(search()) for _ in range(2)]
            await counting.wait()
            for each in searches:
                each.cancel()
            gate.set()
            ends = await asyncio.gather(*searches, return_exceptions=True)
        assert [type(each) for each in ends] == [asyncio.CancelledError] * 2
        assert await spent(paid) == pytest.approx(0.5)


async def test_a_server_that_counts_no_tokens_of_vectors_is_not_free(opened: Any) -> None:
    async with opened(monthly_cost_limit=LIMIT) as paid:
        paid.server.vector_tokens = 0
        made = await embedder(paid)
        await made.embed(["a text of many words"])
        await made.aclose()
        assert await spent(paid) > 5 * TOKENS / 1_000_000


async def test_a_refusal_that_cannot_be_noted_counts_in_memory_as_it_does_in_the_store(
    opened: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(monthly_cost_limit=LIMIT) as paid:

        async def broken(_key: object) -> None:
            raise StorageError("The disk is full.")

        monkeypatch.setattr(paid.atelier.repos.used, "withdraw", broken)
        with pytest.raises(StorageError):
            async with paid.atelier.outside_costs.paying("brave", "", 0.25, ""):
                raise ProviderError("No.", code="auth")
        assert await spent(paid) == pytest.approx(0.25)


@pytest.mark.parametrize("code", ["truncated", "overloaded"])
async def test_a_broken_off_request_outside_runs_is_shown_as_estimated(opened: Any, code: str) -> None:
    async with opened(monthly_cost_limit=LIMIT) as paid:
        with pytest.raises(ProviderError):
            async with paid.atelier.outside_costs.paying("brave", "", 0.25, ""):
                raise ProviderError("No.", code=code, charged=True)
        assert await spent(paid) == pytest.approx(0.25)
        assert (await paid.atelier.usage.month()).estimated == pytest.approx(0.25)
