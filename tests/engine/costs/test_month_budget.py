"""The monthly limit: nothing exceeds it, whoever asks, however many at once, and after a restart; the person is
warned in time.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import permutations
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from atelier_desk.domain.agent import AgentConfig, Budget
from atelier_desk.domain.errors import ConflictError, LimitError, ToolError
from atelier_desk.domain.events.run import LimitKind, PauseReason, TitleGenerated
from atelier_desk.domain.model_messages import ChatReply, ChatRequest, ReplyDone, Usage
from atelier_desk.domain.provider import ModelInfo
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.engine import Atelier
from atelier_desk.engine.gateways.model_gateway import FactoryGateway, OpenModel
from atelier_desk.engine.run.paid_call_limits import CallSpending
from atelier_desk.engine.services.workflow.importing import identities
from atelier_desk.engine.services.workflow.workflow_file import WorkflowFile
from atelier_desk.storage.repositories import usage_totals
from atelier_desk.storage.repositories.usage_totals import UsageRecord
from atelier_desk.storage.row_mapping import record
from atelier_desk.storage.search.request_usage_tables import Request
from atelier_desk.storage.store import Statement
from atelier_desk.storage.writing.sent_request_keys import OWN, SentKey
from tests.engine.conftest import Opener, month_cost, stored_status
from tests.helpers.error_codes import raises_code
from tests.helpers.manual_clock import ManualClock

AGENT = AgentConfig(name="Tester", provider="test", model="priced", tools=(), max_tokens=1_000)
START = datetime(2026, 3, 10, 12, tzinfo=UTC)
APRIL = datetime(2026, 4, 1).astimezone(UTC)
"""When the next month begins here."""
PRICE = 1_000.0
"""US dollars for a million tokens: a reply of 1 000 tokens costs a dollar."""


class Model:
    """Uses all the tokens it may; ``gate`` delays its replies."""

    def __init__(self) -> None:
        self.asked: list[ChatRequest] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def stream(self, request: ChatRequest) -> AsyncIterator[Any]:
        self.asked.append(request)
        await self.gate.wait()
        usage = Usage(tokens_input=0, tokens_output=request.max_tokens)
        yield ReplyDone(reply=ChatReply(content="Done.", usage=usage))


@asynccontextmanager
async def opened(
    open_atelier: Opener, model: Model, clock: ManualClock | None = None, window: int = 0, **settings: Any
) -> AsyncIterator[Atelier]:
    async with open_atelier(clock=clock or ManualClock(START), model_factory=lambda _agent: model) as atelier:
        gateway = atelier.environment.gateway
        inner = FactoryGateway(lambda _agent: model)  # type: ignore[arg-type, return-value]

        async def priced(agent: AgentConfig, language: str) -> OpenModel:
            found = await inner.open(agent, language)
            size = {"context_window": window} if window else {}
            info = found.info.model_copy(update={"price_input": 0.0, "price_output": PRICE, **size})
            return OpenModel(found.model, found.plain, info, found.dialect)

        gateway.open = priced  # type: ignore[method-assign]
        await atelier.settings.update(name_by_model=False, memories_at_end="off", **settings)
        yield atelier


async def ask(atelier: Atelier, agent: AgentConfig = AGENT) -> str:
    workflow = await atelier.workflows.create("x")
    return await atelier.runs.send(workflow.id, "Go", agent=agent)


async def settled(atelier: Atelier, run_id: str) -> RunStatus:
    await atelier.runs.wait(run_id)
    return await stored_status(atelier, run_id)


async def test_replies_are_shortened_to_the_remainder_and_then_refused(open_atelier: Opener) -> None:
    model = Model()
    async with opened(open_atelier, model, monthly_cost_limit=1.5) as atelier:
        for _ in range(2):
            assert await settled(atelier, await ask(atelier)) is RunStatus.COMPLETED
        assert [request.max_tokens for request in model.asked] == [1_000, 500]
        stopped = await ask(atelier)
        assert await settled(atelier, stopped) is RunStatus.PAUSED
        [handle] = await atelier.runs.team_of(stopped)
        limit = handle.current.limit
        assert handle.current.pause is PauseReason.LIMIT
        assert limit is not None
        assert (limit.limit, limit.value, limit.cap) == (LimitKind.MONTH, 1.5, 1.5)
        assert (limit.needed, limit.left) == (0.256, 0.0), "what the smallest reply may cost, and what there is"
        assert len(model.asked) == 2, "nothing is sent that could go beyond it"
        await atelier.runs.steering.resume(stopped, finish=True)
        assert await settled(atelier, stopped) is RunStatus.PAUSED, "a last answer costs something, too"
        await atelier.runs.steering.resume(stopped, raise_limits={LimitKind.MONTH: 1.0})
        assert await settled(atelier, stopped) is RunStatus.COMPLETED
        assert (await atelier.settings.get()).monthly_cost_limit == 2.5
        assert await month_cost(atelier) == pytest.approx(2.5)


@pytest.mark.parametrize("ended", [True, False])
@pytest.mark.parametrize("change", [{LimitKind.MONTH: 1.0}, {LimitKind.UNPRICED: 1.0}])
async def test_a_run_that_cannot_be_continued_raises_no_limit(
    open_atelier: Opener, ended: bool, change: dict[LimitKind, float]
) -> None:
    """As by a second click, or from a second window."""
    model = Model()
    async with opened(open_atelier, model, monthly_cost_limit=1.5) as atelier:
        model.gate.clear()
        run_id = await ask(atelier)
        while not model.asked:
            await asyncio.sleep(0)
        if ended:
            model.gate.set()
            assert await settled(atelier, run_id) is RunStatus.COMPLETED
        with pytest.raises(ConflictError):
            await atelier.runs.steering.resume(run_id, raise_limits=change)
        model.gate.set()
        await settled(atelier, run_id)
        month = await atelier.usage.month()
        assert (month.limit, month.unpriced) == (1.5, False)


@pytest.mark.parametrize(
    ("prices", "missing"),
    [
        ({}, ("input", "output")),
        ({"price_output": 2.0}, ("input",)),
        ({"price_input": 1.0}, ("output",)),
        ({"price_input": 0.0, "price_output": 0.0}, ()),
    ],
)
async def test_the_missing_prices_of_a_runs_model_are_named(
    open_atelier: Opener, monkeypatch: pytest.MonkeyPatch, prices: dict[str, Any], missing: tuple[str, ...]
) -> None:
    async with opened(open_atelier, Model()) as atelier:
        run_id = await ask(atelier)
        await settled(atelier, run_id)

        async def info(_models: object, provider: str, name: str) -> ModelInfo:
            return ModelInfo(provider=provider, name=name, **prices)

        monkeypatch.setattr(type(atelier.teams._context.models), "info", info)
        assert await atelier.teams.missing_prices([run_id, "gone"]) == {run_id: (AGENT.model, missing)}


async def test_two_at_once_never_exceed_the_limit_together(open_atelier: Opener) -> None:
    model = Model()
    model.gate.clear()
    async with opened(open_atelier, model, monthly_cost_limit=1.3) as atelier:
        runs = [await ask(atelier) for _ in range(3)]
        for _ in range(200):
            await asyncio.sleep(0)
            if len(model.asked) == 2:
                break
        model.gate.set()
        states = [await settled(atelier, run) for run in runs]
        assert sorted(states) == sorted([RunStatus.COMPLETED, RunStatus.COMPLETED, RunStatus.PAUSED])
        assert await month_cost(atelier) <= 1.3 + 1e-9


async def test_the_limit_holds_after_a_restart_and_ends_with_the_month(open_atelier: Opener) -> None:
    model, clock = Model(), ManualClock(START)
    async with opened(open_atelier, model, clock, monthly_cost_limit=1.0) as atelier:
        assert await settled(atelier, await ask(atelier)) is RunStatus.COMPLETED
        [workflow] = await atelier.workflows.list()
        await atelier.workflows.duplicate(workflow.id)
        await atelier.workflows.purge(workflow.id)
    async with opened(open_atelier, model, clock) as atelier:
        month = await atelier.usage.month()
        assert (month.month, month.limit) == ("2026-03", 1.0)
        stopped = await ask(atelier)
        assert await settled(atelier, stopped) is RunStatus.PAUSED
        await clock.advance(timedelta(days=31).total_seconds())
        await atelier.runs.steering.resume(stopped)
        assert await settled(atelier, stopped) is RunStatus.COMPLETED
        month = await atelier.usage.month()
        assert month.month == "2026-04"
        assert month.spent == pytest.approx(1.0)


async def test_a_copy_of_a_workflow_costs_nothing(open_atelier: Opener) -> None:
    model, clock = Model(), ManualClock(START)
    async with opened(open_atelier, model, clock, monthly_cost_limit=10.0) as atelier:
        await settled(atelier, await ask(atelier))
        [workflow] = await atelier.workflows.list()
        await clock.advance(3_600)
        await atelier.workflows.duplicate(workflow.id)
        await atelier.runs.fork(workflow.id, at=workflow.stream_seq)
        assert atelier.environment.month.reserve(
            (await atelier.runs.team_of(workflow.head_run_id or ""))[0].current,
            prompt_tokens=0,
            reply_tokens=9_000,
            prices=(0.0, PRICE),
        ) in (8_999, 9_000), "nine of ten dollars are left"
        assert await month_cost(atelier) == pytest.approx(1.0)
    async with opened(open_atelier, model, clock) as atelier:
        assert await month_cost(atelier) == pytest.approx(1.0)


async def test_the_person_is_warned_once_a_month_at_four_fifths(open_atelier: Opener) -> None:
    model, clock = Model(), ManualClock(START)
    told: list[str] = []

    def heard(topic: str, id: str) -> None:
        if topic == "usage":
            told.append(id)

    async with opened(open_atelier, model, clock, monthly_cost_limit=2.4) as atelier:
        atelier.bus.on_changed(heard)
        await settled(atelier, await ask(atelier))
        assert told == []
        await settled(atelier, await ask(atelier))
        for _ in range(200):
            await asyncio.sleep(0.01)
            if told:
                break
        await settled(atelier, await ask(atelier))
        assert told == ["2026-03"]
    async with opened(open_atelier, model, clock) as atelier:
        atelier.bus.on_changed(heard)
        await atelier.usage.month()
        assert told == ["2026-03"], "a restart says it no second time"


async def test_a_raised_limit_has_a_warning_of_its_own(open_atelier: Opener) -> None:
    model, clock = Model(), ManualClock(START)
    warned = asyncio.Queue[str]()
    async with opened(open_atelier, model, clock, monthly_cost_limit=2.4) as atelier:
        atelier.bus.on_changed(lambda topic, id: warned.put_nowait(id) if topic == "usage" else None)
        for _time in range(2):
            await settled(atelier, await ask(atelier))
        assert await asyncio.wait_for(warned.get(), 10) == "2026-03"
        await atelier.usage.raise_limit(1.0)
        await settled(atelier, await ask(atelier))
        assert await asyncio.wait_for(warned.get(), 10) == "2026-03"
        assert warned.empty()


async def test_without_a_limit_nothing_changes(open_atelier: Opener) -> None:
    model = Model()
    async with opened(open_atelier, model) as atelier:
        for _ in range(3):
            assert await settled(atelier, await ask(atelier)) is RunStatus.COMPLETED
        assert [request.max_tokens for request in model.asked] == [1_000] * 3


async def test_a_conversation_summary_uses_no_more_than_the_remainder(open_atelier: Opener) -> None:
    model = Model()
    async with opened(open_atelier, model, window=4_000, monthly_cost_limit=1.3) as atelier:
        workflow = await atelier.workflows.create("x")
        for expected in (RunStatus.COMPLETED, RunStatus.PAUSED):
            run = await atelier.runs.send(workflow.id, "word after word " * 500, agent=AGENT)
            assert await settled(atelier, run) is expected
        assert [request.max_tokens for request in model.asked] == [1_000, 300], (
            "the answer, and the summary for the next turn"
        )
        assert await month_cost(atelier) == pytest.approx(1.3)


async def test_after_a_restart_a_call_that_asks_a_model_finds_the_earlier_costs(open_atelier: Opener) -> None:
    model, clock = Model(), ManualClock(START)
    async with opened(open_atelier, model, clock, monthly_cost_limit=1.0) as atelier:
        spent = await ask(atelier)
        assert await settled(atelier, spent) is RunStatus.COMPLETED
    async with opened(open_atelier, model, clock) as atelier:
        [handle] = await atelier.runs.team_of(spent)
        info = ModelInfo(provider="test", name="sees", price_input=0.0, price_output=PRICE)
        with raises_code(ToolError, "limit"):
            async with CallSpending(atelier.environment, handle, "c1").room(info, 0, 1_000):
                pass


async def test_the_limit_of_a_run_shows_what_the_request_may_cost(open_atelier: Opener) -> None:
    model = Model()
    async with opened(open_atelier, model) as atelier:
        run = await ask(atelier, AGENT.model_copy(update={"budget": Budget(max_cost=0.02)}))
        assert await settled(atelier, run) is RunStatus.PAUSED
        [handle] = await atelier.runs.team_of(run)
        limit = handle.current.limit
        assert limit is not None
        assert (limit.limit, limit.needed, limit.left) == (LimitKind.COST, 0.256, 0.02)
        [node] = (await atelier.teams.at_work()).values()
        assert node.limit_figures == {"value": limit.value, "cap": 0.02, "needed": 0.256, "left": 0.02}


@pytest.mark.parametrize("name", ["title", OWN])
@pytest.mark.parametrize(("started", "in_march"), [(START + timedelta(seconds=9), True), (APRIL, False)])
async def test_a_request_that_a_kill_left_counts_in_the_month_it_was_sent_in(
    open_atelier: Opener, started: datetime, in_march: bool, name: str
) -> None:
    model, clock = Model(), ManualClock(START)
    async with opened(open_atelier, model, clock, monthly_cost_limit=5.0) as atelier:
        run_id = await ask(atelier)
        assert await settled(atelier, run_id) is RunStatus.COMPLETED
        run = await atelier.repos.runs.get(run_id)
        lost = Usage(tokens_output=500, cost=0.5, cost_estimated=0.5, estimated=True)
        for key in (SentKey(run_id, name), SentKey("", "vectors"), SentKey("gone", "title")):
            await atelier.repos.used.send(key, UsageRecord(run.workflow_id, "Tester", "p", "m", START, lost, 1, 0))
    async with opened(open_atelier, model, ManualClock(started)) as atelier:
        month = await atelier.usage.month()
        # The reply is estimated too: a server that counts no prompt is not believed.
        assert (month.spent, month.estimated) == pytest.approx((2.5, 2.5) if in_march else (0.0, 0.0))
        await atelier.month_budget.prepare()
        assert atelier.month_budget._left() == pytest.approx(5.0 - month.spent), "stored and counted alike"
        assert sum(row.total.cost or 0.0 for row in await atelier.usage.rows()) == pytest.approx(2.5), "each once"
        assert (await atelier.repos.runs.get(run_id)).usage.cost == pytest.approx(1.5), "its run has it"
    async with opened(open_atelier, model, ManualClock(started)) as atelier:
        assert await month_cost(atelier) == pytest.approx(month.spent), "another start changes nothing"


async def test_a_request_that_is_answered_in_the_next_month_counts_there_once(open_atelier: Opener) -> None:
    model, clock = Model(), ManualClock(APRIL - timedelta(seconds=5))
    async with opened(open_atelier, model, clock, monthly_cost_limit=5.0) as atelier:
        model.gate.clear()
        run_id = await ask(atelier)
        while not model.asked:
            await asyncio.sleep(0)
        sent = await month_cost(atelier)
        assert sent == pytest.approx(1.0, abs=0.1), "it counts from when it is sent"
        await clock.advance(10)
        assert await month_cost(atelier) == 0.0
        model.gate.set()
        assert await settled(atelier, run_id) is RunStatus.COMPLETED
        month = await atelier.usage.month()
        assert month.month == "2026-04"
        assert month.spent == pytest.approx(1.0)
        await atelier.month_budget.prepare()
        assert atelier.month_budget._left() == pytest.approx(4.0)


async def test_a_limit_that_is_set_while_a_request_is_sent_holds(open_atelier: Opener) -> None:
    model = Model()
    model.gate.clear()
    async with opened(open_atelier, model) as atelier:
        first = await ask(atelier)
        while not model.asked:
            await asyncio.sleep(0)
        await atelier.settings.update(monthly_cost_limit=1.2)
        assert await settled(atelier, await ask(atelier)) is RunStatus.PAUSED
        model.gate.set()
        assert await settled(atelier, first) is RunStatus.COMPLETED


async def test_a_file_from_before_a_request_does_not_take_its_cost_back(open_atelier: Opener) -> None:
    model, clock = Model(), ManualClock(START)
    async with opened(open_atelier, model, clock, monthly_cost_limit=5.0) as atelier:
        workflow = await atelier.workflows.create("x")
        files = [await atelier.workflows.export(workflow.id)]
        for _ in range(2):
            await clock.advance(5)
            await settled(atelier, await atelier.runs.send(workflow.id, "Go", agent=AGENT))
            files.append(await atelier.workflows.export(workflow.id))
        for file in (files[1], files[0], files[2], files[1]):
            await atelier.workflows.import_(file, "overwrite")
            assert await month_cost(atelier) == pytest.approx(2.0)
        for file in files:
            await atelier.workflows.purge(workflow.id)
            await atelier.workflows.import_(file)
            assert await month_cost(atelier) == pytest.approx(2.0)


@pytest.mark.parametrize("at_once", [1, 2, 3])
async def test_requests_beside_events_that_show_nothing_are_all_read(
    open_atelier: Opener, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(open_atelier, Model()) as atelier:
        run_id = await ask(atelier)
        await atelier.runs.wait(run_id)
        [handle] = await atelier.runs.team_of(run_id)
        free, paid = TitleGenerated(title="x"), TitleGenerated(title="x", usage=Usage(cost=1.0))
        for body in (free, free, paid, free, paid):
            await atelier.journal.append(handle, body)
        monkeypatch.setattr(usage_totals, "EVENTS_AT_ONCE", at_once)
        found = await usage_totals.requests_of_workflow(atelier.store, handle.workflow_id)
        costs = {each.seq: each.usage.cost for each in found if isinstance(each, Request)}
        assert sum(costs.values()) == pytest.approx(3.0)


@pytest.mark.parametrize("action", ["overwritten", "created"])
async def test_a_file_that_takes_money_back_lowers_nothing(open_atelier: Opener, action: str) -> None:
    async with opened(open_atelier, Model(), monthly_cost_limit=5.0) as atelier:
        workflow = await atelier.workflows.create("x")
        await settled(atelier, await atelier.runs.send(workflow.id, "Go", agent=AGENT))
        text = await atelier.workflows.export(workflow.id)
        if action == "created":  # another workflow, with copies of the requests in a run that comes first
            ids = [
                workflow.id,
                *(each for row in identities(WorkflowFile.model_validate_json(text)).values() for each in row),
            ]
            for number, each in enumerate(dict.fromkeys(ids)):
                text = text.replace(each, f"{number:024}")
        file = json.loads(text)
        last = file["events"][-1]
        refund = {"type": "media_paid", "call_id": "x", "usage": {"cost": -1.0, "cost_estimated": -1.0}}
        more = {"id": "f" * 24, "seq": last["seq"] + 1, "stream_from": last["stream_from"] + 1, "body": refund}
        file["events"].append({**last, **more})
        file["runs"][0]["last_seq"] += 1
        imported = await atelier.workflows.import_(json.dumps(file), "overwrite")
        assert imported.action == action
        assert await month_cost(atelier) == pytest.approx(1.0)
        await atelier.workflows.purge(imported.workflow.id)
        assert await month_cost(atelier) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("id", "readable"),
    [
        ([], True),
        (["sent"], True),
        (["sent", "run"], True),
        (["sent", "run", "title", "more"], True),
        (["sent", 1, 2], True),
        ("sent", True),
        ("sent", False),
    ],
)
async def test_an_odd_row_of_usage_prevents_neither_a_start_nor_a_request(
    open_atelier: Opener, id: Any, readable: bool
) -> None:
    model, clock = Model(), ManualClock(START)
    async with opened(open_atelier, model, clock, monthly_cost_limit=5.0) as atelier:
        row = {"row": record("spent", id), "cost": '{"cost": 0.5}' if readable else '{"cost": "much"}'}
        content = (
            "workflow_id: '', agent_name: '', provider: 'p', model: 'm', usage: $cost, requests: 1, duration_ms: 0"
        )
        await atelier.store.write(Statement(f"CREATE $row CONTENT {{{content}, time: time::now()}} RETURN NONE", row))
    async with opened(open_atelier, model, clock, monthly_cost_limit=5.0) as atelier:
        assert await month_cost(atelier) == (0.5 if readable else 0.0)
        assert await settled(atelier, await ask(atelier)) is RunStatus.COMPLETED


@pytest.mark.parametrize(
    ("order", "again"),
    [(order, number % 2 == 1) for number, order in enumerate(permutations(("original", "copy", "fork")))],
)
async def test_the_month_is_the_same_whichever_copy_is_deleted_for_good(
    open_atelier: Opener, order: tuple[str, ...], again: bool
) -> None:
    model, clock = Model(), ManualClock(START)
    async with opened(open_atelier, model, clock, monthly_cost_limit=10.0) as atelier:
        await settled(atelier, await ask(atelier))
        [workflow] = await atelier.workflows.list()
        await clock.advance(5)
        copy = await atelier.workflows.duplicate(workflow.id)
        fork = await atelier.runs.fork(workflow.id, at=workflow.stream_seq)
        await settled(atelier, await atelier.runs.send(copy.id, "Go on", agent=AGENT))
        ids = {"original": workflow.id, "copy": copy.id, "fork": fork.id}
        file = await atelier.workflows.export(ids[order[0]])

        async def spent() -> float:
            month = await month_cost(atelier)
            await atelier.month_budget.prepare()
            assert atelier.month_budget._left() == pytest.approx(10.0 - month), "counted as stored"
            return month

        assert await spent() == pytest.approx(2.0)
        for name in order:
            await atelier.workflows.purge(ids[name])
            assert await spent() == pytest.approx(2.0), name
            if again and name == order[1]:
                await atelier.workflows.import_(file)
                assert await spent() == pytest.approx(2.0), "the first comes back"
                await atelier.workflows.import_(file, "rename")
                assert await spent() == pytest.approx(2.0)
    async with opened(open_atelier, model, clock) as atelier:
        assert await month_cost(atelier) == pytest.approx(2.0)


async def test_what_one_run_has_twice_counts_twice_when_it_is_deleted_for_good(open_atelier: Opener) -> None:
    model, clock = Model(), ManualClock(START)
    async with opened(open_atelier, model, clock, monthly_cost_limit=10.0) as atelier:
        run_id = await ask(atelier)
        await settled(atelier, run_id)
        [handle] = await atelier.runs.team_of(run_id)
        spending = CallSpending(atelier.environment, handle, "c1")
        for _ in range(3):
            async with spending.paying("painter", "m", 0.5, "a picture", "Settings"):
                pass
        [workflow] = await atelier.workflows.list()
        await atelier.workflows.duplicate(workflow.id)
        for each in await atelier.workflows.list():
            await atelier.workflows.purge(each.id)
            assert await month_cost(atelier) == pytest.approx(2.5)
        assert sum(row.total.requests for row in await atelier.usage.rows()) == 8, "each workflow has its own"


async def test_a_request_holds_its_cost_as_long_as_it_takes(open_atelier: Opener) -> None:
    model, clock = Model(), ManualClock(START)
    model.gate.clear()
    async with opened(open_atelier, model, clock, monthly_cost_limit=1.2) as atelier:
        atelier.in_force.applied = atelier.in_force.applied.model_copy(update={"inactivity_s": 1e9})
        first = await ask(atelier)
        while not model.asked:
            await asyncio.sleep(0)
        await clock.advance(7_200)
        assert await settled(atelier, await ask(atelier)) is RunStatus.PAUSED
        model.gate.set()
        assert await settled(atelier, first) is RunStatus.COMPLETED
        assert await month_cost(atelier) == pytest.approx(1.0)


async def test_a_commit_frees_what_its_own_request_held(open_atelier: Opener) -> None:
    async with opened(open_atelier, Model(), monthly_cost_limit=10.0) as atelier:
        run_id = await ask(atelier)
        await settled(atelier, run_id)
        [handle] = await atelier.runs.team_of(run_id)
        spending = CallSpending(atelier.environment, handle, "c1")
        async with spending.paying("painter", "small", 0.25, "a picture", "Settings"):
            async with spending.paying("painter", "large", 2.0, "a picture", "Settings"):
                pass
            assert spending._env.month.held_by(run_id) == 0.25, "not that of the request that is not over"
            # A title costs less than each of them, and frees neither.
            await atelier.journal.append(handle, TitleGenerated(title="x", usage=Usage(tokens_output=1, cost=0.1)))
            assert spending._env.month.held_by(run_id) == 0.25


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the system cannot be told another time zone")
@pytest.mark.parametrize("zone", ["Asia/Kolkata", "Asia/Kathmandu", "America/New_York", "Pacific/Kiritimati"])
async def test_what_is_used_outside_runs_counts_in_the_month_of_the_person(
    open_atelier: Opener, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        april = datetime(2026, 4, 1, tzinfo=ZoneInfo(zone)).astimezone(UTC)
        clock = ManualClock(april - timedelta(minutes=1))
        async with opened(open_atelier, Model(), clock, monthly_cost_limit=10.0) as atelier:
            for cost in (0.5, 2.0):
                async with atelier.outside_costs.paying("brave", "web search", cost, ""):
                    pass
                await clock.advance(120)
            month = await atelier.usage.month()
            assert month.month == "2026-04"
            assert month.spent == pytest.approx(2.0)
            await atelier.month_budget.prepare()
            assert atelier.month_budget._left() == pytest.approx(8.0)
    finally:
        monkeypatch.undo()
        time.tzset()


async def test_a_file_from_elsewhere_counts_in_memory_as_it_does_in_the_store(
    open_atelier: Opener, tmp_path: Path
) -> None:
    model, clock = Model(), ManualClock(START)
    async with opened(open_atelier, model, clock) as atelier:
        await settled(atelier, await ask(atelier))
        [workflow] = await atelier.workflows.list()
        file = await atelier.workflows.export(workflow.id)
    (tmp_path / "data").rename(tmp_path / "elsewhere")
    async with opened(open_atelier, model, clock, monthly_cost_limit=10.0) as atelier:
        await clock.advance(1)
        await settled(atelier, await ask(atelier))
        await atelier.workflows.import_(file)
        month = await month_cost(atelier)
        await atelier.month_budget.prepare()
        assert atelier.month_budget._left() == pytest.approx(10.0 - month)


async def test_a_request_left_by_a_run_that_is_over_is_given_to_it_too(open_atelier: Opener) -> None:
    model, clock = Model(), ManualClock(START)
    async with opened(open_atelier, model, clock, monthly_cost_limit=5.0) as atelier:
        run_id = await ask(atelier)
        assert await settled(atelier, run_id) is RunStatus.COMPLETED
        run = await atelier.repos.runs.get(run_id)
        lost = Usage(tokens_output=500, cost=0.5, cost_estimated=0.5, estimated=True)
        left = UsageRecord(run.workflow_id, "Tester", "p", "m", START, lost, 1, 0)
        await atelier.repos.journal.save_partial(run_id, run.workflow_id, "message", "A", "", lost, left)
    async with opened(open_atelier, model, ManualClock(START + timedelta(seconds=9))) as atelier:
        assert await month_cost(atelier) == pytest.approx(1.5)
        assert (await atelier.repos.runs.get(run_id)).usage.cost == pytest.approx(1.5), "its run has it"
        assert await atelier.repos.used.sent() == []


async def test_a_slow_commit_counts_at_once(open_atelier: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    model, clock = Model(), ManualClock(START)
    async with opened(open_atelier, model, clock, monthly_cost_limit=5.0) as atelier:
        journal = atelier.repos.journal
        commit = journal.commit

        async def slow(*commits: Any) -> None:
            await commit(*commits)
            await clock.advance(120)

        monkeypatch.setattr(journal, "commit", slow)
        assert await settled(atelier, await ask(atelier)) is RunStatus.COMPLETED
        await atelier.month_budget.prepare()
        assert await month_cost(atelier) == pytest.approx(1.0)
        assert atelier.month_budget._left() == pytest.approx(4.0)


async def test_beyond_a_lowered_limit_only_what_is_free_is_sent(open_atelier: Opener) -> None:
    async with opened(open_atelier, Model(), monthly_cost_limit=5.0) as atelier:
        assert await settled(atelier, await ask(atelier)) is RunStatus.COMPLETED
        await atelier.settings.update(monthly_cost_limit=0.5)
        assert await settled(atelier, await ask(atelier)) is RunStatus.PAUSED
        async with atelier.outside_costs.paying("own", "", 0.0, ""):
            pass
        with pytest.raises(LimitError):
            async with atelier.outside_costs.paying("brave", "", 0.01, ""):
                pass


async def test_what_is_sent_and_committed_while_the_month_is_read_counts_once(open_atelier: Opener) -> None:
    model, clock = Model(), ManualClock(START)
    async with opened(open_atelier, model, clock, monthly_cost_limit=9.0) as atelier:
        month = atelier.month_budget
        await month.prepare()
        month.reread()
        read, reads = month.cost_since, 0

        async def slow(since: datetime) -> float:
            nonlocal reads
            reads += 1
            if reads == 1:
                async with atelier.outside_costs._counted("x", "x", "", 0.5, Usage(cost=0.5), lambda: Usage(cost=0.25)):
                    pass
            return await read(since)

        async def prepared() -> None:
            """Nobody waits for the month while it is read."""

        month.cost_since = slow
        prepare = month.prepare
        month.prepare = prepared  # type: ignore[method-assign]
        await prepare()
        month.prepare = prepare  # type: ignore[method-assign]
        assert month._left() == pytest.approx(9.0 - 0.25)
        assert reads == 2
