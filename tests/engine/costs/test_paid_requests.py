"""Every kind of paid request obeys the monthly limit, whether its price is known or not; and none is counted
twice.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from atelier_desk.domain.errors import AtelierError, LimitError, ProviderError, ToolError
from atelier_desk.domain.events.run import LimitKind, MediaPaid
from atelier_desk.domain.model_messages import ChatReply, ChatRequest, ReplyDone, Usage
from atelier_desk.domain.provider import ModelInfo, ProviderConfig, ProviderDraft
from atelier_desk.domain.settings import MediaSettings, WebSettings
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.engine.journal.journal import run_events
from atelier_desk.llm.secrets import KeyVault
from atelier_desk.storage.writing.sent_request_keys import OWN, SentKey
from atelier_desk.tools.registry.tool_services import ToolServices
from atelier_desk.tools.web.search import SearchInput, SearchWeb
from atelier_desk.web.media_generation import Job, MediaGenerator
from atelier_desk.web.search import Searcher
from tests.engine.conftest import month_cost, stored_status
from tests.engine.costs.paid_requests import (
    AGENT,
    FIRST,
    FIXED,
    PICTURE,
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


def maker(paid: Paid, monkeypatch: pytest.MonkeyPatch) -> MediaGenerator:
    made = MediaGenerator(KeyVault(environ={"K": "sesame-123"}), paid.atelier.clock, paid.atelier.web_pages)
    price = FIXED if paid.known else None
    made.settings = MediaSettings(
        images="http://127.0.0.1:9/v1",
        images_model="painter",
        models="meshy",
        models_key_env="K",
        images_price=price,
        models_price=price,
    )

    async def json(_self: object, method: str, path: str, payload: Any = None, **_more: Any) -> Any:
        if method == "POST":
            paid.sent.append(path)
        if "images" in path:
            return {"data": [{"b64_json": base64.b64encode(PICTURE).decode()}]}
        return (
            {"result": "t-1"}
            if method == "POST"
            else {"status": "SUCCEEDED", "model_urls": {"glb": "http://127.0.0.1/x"}}
        )

    async def fetched(_self: object, *_args: Any) -> bytes:
        return b"glTF"

    monkeypatch.setattr("atelier_desk.llm.network.http_client.HttpClient.json", json)
    monkeypatch.setattr(MediaGenerator, "_fetched", fetched)
    return made


async def image(paid: Paid) -> str:
    with pytest.MonkeyPatch.context() as patched:
        await maker(paid, patched).picture("a cat", "1:1", paid.paying())
    return ""


async def model_3d(paid: Paid) -> str:
    with pytest.MonkeyPatch.context() as patched:
        await maker(paid, patched).model(Job("a cat"), lambda *_: None, paid.paying())
    return ""


def searching(paid: Paid, monkeypatch: pytest.MonkeyPatch) -> WebSettings:
    async def json(_self: object, _method: str, path: str, *_more: Any) -> Any:
        paid.sent.append(path)
        return {"web": {"results": []}}

    monkeypatch.setattr("atelier_desk.llm.network.http_client.HttpClient.json", json)
    return WebSettings(search="brave", price=FIXED if paid.known else None)


async def search(paid: Paid) -> str:
    with pytest.MonkeyPatch.context() as patched:
        searcher = Searcher(paid.atelier.vault, paid.atelier.clock)
        searcher.settings = searching(paid, patched)
        await SearchWeb(ToolServices(searcher=searcher)).run(SearchInput(query="x"), paid.context())
    return ""


async def search_of_a_person(paid: Paid) -> str:
    with pytest.MonkeyPatch.context() as patched:
        await paid.atelier.web.use(searching(paid, patched))
        await paid.atelier.web.search("x")
    return ""


async def trial_of_a_search_service(paid: Paid) -> str:
    with pytest.MonkeyPatch.context() as patched:
        await paid.atelier.web.test(searching(paid, patched))
    return ""


async def embedding(paid: Paid) -> str:
    made = await embedder(paid)
    before = len(paid.server.of("/v1/embeddings"))
    try:
        await made.embed(["a text"])
    finally:
        paid.sent += ["vectors"] * (len(paid.server.of("/v1/embeddings")) - before)
        await made.aclose()
    return ""


async def trial_of_a_model(paid: Paid) -> str:
    async def assumed(_config: ProviderConfig, _model: str) -> ModelInfo:
        return paid.info

    async def try_model(*_server: Any) -> None:
        paid.sent.append("chat")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(paid.atelier.models, "assumed", assumed)
        patched.setattr("atelier_desk.engine.services.model_connection_test.try_model", try_model)
        await paid.atelier.providers.try_draft(
            ProviderDraft(ProviderConfig(name="New", kind="openai", base_url=paid.server.url)), "m"
        )
    return ""


KINDS = {
    each.__name__: each
    for each in (
        reply, title, sampling, description, image, model_3d, search, search_of_a_person,
        trial_of_a_search_service, trial_of_a_model,
        embedding,
    )
}  # fmt: skip


async def tried(paid: Paid, ask: Callable[[Paid], Awaitable[str]]) -> str:
    """The error code of the refusal; empty when the request was sent."""
    try:
        return await ask(paid)
    except (ToolError, LimitError) as refused:
        return refused.code


EACH = [(True, 1_000.0, True), (True, FIRST, False), (False, 0.0, True)]
"""Whether the price is known, the limit of the month, and whether the request is sent: for every kind."""
OTHERS = [(False, 1_000.0, False), (False, FIRST, False), (True, 0.0, True)]
"""The other combinations, which one budget decides for all kinds."""


@pytest.mark.parametrize(
    ("kind", "known", "limit", "sends"),
    [*((kind, *case) for kind in KINDS for case in EACH), *(("reply", *case) for case in OTHERS)],
)
async def test_each_kind_is_checked_against_the_limit(
    opened: Any, kind: str, known: bool, limit: float, sends: bool
) -> None:
    async with opened(known, monthly_cost_limit=limit) as paid:
        before = await month_cost(paid.atelier)
        assert before == pytest.approx(FIRST)
        refused = await tried(paid, KINDS[kind])
        assert (bool(paid.sent), bool(refused)) == (sends, not sends)
        after = await month_cost(paid.atelier)
        assert (after > before) == (sends and known)
        month = paid.atelier.month_budget
        assert month._left() == pytest.approx(limit - after if limit else month._left()), (
            "what is held is freed, what is spent is counted"
        )


@pytest.mark.parametrize("kind", KINDS)
async def test_without_a_price_it_is_sent_once_the_person_allows_it_for_the_month(opened: Any, kind: str) -> None:
    clock = Ticking(START)
    async with opened(False, clock, monthly_cost_limit=1_000.0) as paid:
        assert await tried(paid, KINDS[kind])
        await paid.atelier.usage.allow_unpriced()
        assert not await tried(paid, KINDS[kind])
        assert (await paid.atelier.usage.month()).unpriced
        await clock.advance(timedelta(days=31).total_seconds())
        assert await tried(paid, KINDS[kind]), "the next month asks again"
        await paid.atelier.usage.allow_unpriced()
        await paid.atelier.usage.allow_unpriced(False)
        assert await tried(paid, KINDS[kind])


async def test_a_run_without_a_price_waits_and_continues_when_it_is_allowed(opened: Any) -> None:
    async with opened(False, monthly_cost_limit=1_000.0) as paid:
        run_id = await begin(paid)
        await paid.atelier.runs.wait(run_id)
        assert await stored_status(paid.atelier, run_id) is RunStatus.PAUSED
        await paid.atelier.runs.steering.resume(run_id, raise_limits={LimitKind.UNPRICED: 1.0})
        await paid.atelier.runs.wait(run_id)
        assert await stored_status(paid.atelier, run_id) is RunStatus.COMPLETED
        assert (await paid.atelier.usage.month()).limit == 1_000.0


async def test_a_run_without_a_price_continues_once_the_price_is_known(opened: Any) -> None:
    async with opened(False, monthly_cost_limit=1_000.0) as paid:
        atelier = paid.atelier
        run_id = await begin(paid)
        await atelier.runs.wait(run_id)
        assert await atelier.teams.model_of(run_id) == (AGENT.provider, AGENT.model)
        for known, status in ((False, RunStatus.PAUSED), (True, RunStatus.COMPLETED)):
            paid.known = known
            await atelier.runs.steering.resume(run_id)
            await atelier.runs.wait(run_id)
            assert await stored_status(atelier, run_id) is status
        assert not (await atelier.usage.month()).unpriced


async def test_the_advice_of_the_errors_works(opened: Any) -> None:
    async with opened(False, monthly_cost_limit=1_000.0) as paid:
        with pytest.raises(ToolError) as refused:
            await image(paid)
        assert "Settings" in str(refused.value)
        assert "price" in str(refused.value)
        with pytest.raises(LimitError) as vectors:
            await embedding(paid)
        assert "Server/vectors" in str(vectors.value)


@pytest.mark.parametrize(
    ("code", "counted"), [("auth", 0.0), ("rate_limited", 0.0), ("unreachable", 0.0), ("timeout", FIXED), ("", FIXED)]
)
async def test_a_request_refused_by_a_service_is_refunded(opened: Any, code: str, counted: float) -> None:
    async with opened(monthly_cost_limit=1_000.0) as paid:
        with pytest.raises((ProviderError, asyncio.CancelledError)):
            async with paid.paying()("painter", "m", FIXED, "a picture"):
                assert await month_cost(paid.atelier) == pytest.approx(FIRST + FIXED), "a kill here forgets nothing"
                raise ProviderError("No.", code=code) if code else asyncio.CancelledError
        assert await month_cost(paid.atelier) == pytest.approx(FIRST + counted)
        assert paid.atelier.month_budget._left() == pytest.approx(1_000.0 - FIRST - counted)


async def test_a_cost_below_zero_takes_nothing_back(opened: Any) -> None:
    async with opened(monthly_cost_limit=1_000.0) as paid:
        run_id = await begin(paid)
        await paid.atelier.runs.wait(run_id)
        [handle] = await paid.atelier.runs.team_of(run_id)
        await paid.atelier.journal.append(handle, MediaPaid(call_id="x", usage=Usage(cost=-500.0)))
        assert await month_cost(paid.atelier) == pytest.approx(2 * FIRST)


async def test_many_at_once_never_exceed_the_limit_together(opened: Any) -> None:
    async with opened(monthly_cost_limit=FIRST + 3.5 * FIXED) as paid:

        async def order(paid: Paid) -> str:
            async with paid.paying()("painter", "m", FIXED, "a picture"):
                paid.sent.append("order")
                await asyncio.sleep(0)
            return ""

        done = await asyncio.gather(*(tried(paid, order) for _ in range(8)))
        assert (len(paid.sent), sum(not code for code in done)) == (3, 3)
        assert await month_cost(paid.atelier) == pytest.approx(FIRST + 3 * FIXED)


async def test_a_failed_request_next_to_a_run_releases_its_reservation(opened: Any) -> None:
    async with opened(monthly_cost_limit=1_000.0) as paid:

        async def broken(_request: ChatRequest) -> Any:
            raise ProviderError("No.", code="auth")
            yield

        paid.stream = broken
        for ask in (title, sampling, description):
            with pytest.raises(AtelierError):
                await ask(paid)
        assert paid.atelier.month_budget._left() == pytest.approx(1_000.0 - FIRST)


async def test_the_reservation_for_a_title_stays_when_the_run_sends_its_next_request(opened: Any) -> None:
    async with opened(monthly_cost_limit=1_000.0) as paid:
        gate, asked = asyncio.Event(), asyncio.Event()

        async def slow(request: ChatRequest) -> Any:
            asked.set()
            await gate.wait()
            yield ReplyDone(reply=ChatReply(content="x", usage=Usage(tokens_input=10, tokens_output=1)))

        paid.stream = slow
        waiting = asyncio.create_task(title(paid))
        await asked.wait()
        held = paid.atelier.month_budget._left()
        paid.atelier.month_budget.committed(0.0, [SentKey(paid.run_id, OWN)])
        assert paid.atelier.month_budget._left() == held < 1_000.0 - FIRST
        gate.set()
        await waiting


async def test_embeddings_are_counted_by_the_server_across_restarts_and_in_the_usage(opened: Any) -> None:
    async with opened(monthly_cost_limit=1_000.0) as paid:
        made = await embedder(paid)
        for _ in range(3):
            assert isinstance(await made.embed(["a text of many words " * 20]), np.ndarray)
        await made.aclose()
        spent = FIRST + 3 * 3 * TOKENS / 1_000_000
        assert await month_cost(paid.atelier) == pytest.approx(spent), "the server counts three tokens a request"
        assert paid.atelier.month_budget._left() == pytest.approx(1_000.0 - spent)
        [row] = [each for each in await paid.atelier.usage.rows() if each.provider == "Server"]
        assert (row.workflow, row.total.requests, row.total.usage.tokens_input) == ("Not in a workflow", 3, 9)
        paid.server.script(Failure(401, {"error": {"message": "no"}}))
        made = await embedder(paid)
        with pytest.raises(ProviderError):
            await made.embed(["x"])
        await made.aclose()
        assert await month_cost(paid.atelier) == pytest.approx(spent), "a refused request costs nothing"


async def test_paid_requests_are_events_of_the_run_and_in_its_totals(opened: Any, tmp_path: Path) -> None:
    async with opened() as paid:
        assert not await tried(paid, image)
        orders = [
            event.body
            for event in await run_events(paid.atelier.repos, paid.run_id)
            if isinstance(event.body, MediaPaid)
        ]
        assert [(each.call_id, each.provider, each.model, each.usage.cost) for each in orders] == [
            ("call", "127.0.0.1:9", "painter", FIXED)
        ]
        assert paid.handle.current.usage.cost == pytest.approx(FIRST + FIXED)


@pytest.mark.parametrize("service", ["ddgs", "searxng"])
async def test_free_searches_need_no_price(opened: Any, service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(monthly_cost_limit=FIRST) as paid:

        async def json(_self: object, *_more: Any) -> Any:
            return {"results": []}

        monkeypatch.setattr("atelier_desk.llm.network.http_client.HttpClient.json", json)
        monkeypatch.setattr("atelier_desk.web.search.public_pages", lambda *_: [])
        await paid.atelier.web.use(
            WebSettings.model_validate({"search": service, "address": "https://search.example.org"})
        )
        assert await paid.atelier.web.search("x") == []
        assert [each.workflow for each in await paid.atelier.usage.rows() if each.workflow == "Not in a workflow"] == []


async def test_searches_are_listed_in_the_usage_under_their_service(opened: Any) -> None:
    async with opened() as paid:
        for ask in (search, search_of_a_person, trial_of_a_search_service):
            assert not await tried(paid, ask)
        assert not await tried(paid, model_3d)
        usage = await paid.atelier.usage.rows()
        assert {each.provider for each in usage} == {"test", "Brave Search", "Meshy"}, "none of it is the run's model's"
        rows = [each for each in usage if each.provider == "Brave Search"]
        assert {(each.workflow, each.total.requests, each.total.cost) for each in rows} == {
            ("x", 1, FIXED), ("Not in a workflow", 2, 2 * FIXED),
        }  # fmt: skip
