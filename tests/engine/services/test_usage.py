"""Usage over time: the journal's numbers by day, model, agent and workflow, with the same totals as the headers."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.base_model import new_id
from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.events.run import (
    ContextCompacted,
    EventBody,
    MemoryExtractionDone,
    ModelReplied,
    PictureDescribed,
    ReplyCutOff,
    RunStarted,
    TitleGenerated,
)
from atelier_desk.domain.model_messages import ChatReply, Usage
from atelier_desk.domain.usage import UsageBy, UsageRow, UsageSum, as_csv, grouped, summed
from atelier_desk.domain.workflow import Workflow
from atelier_desk.engine import Atelier
from atelier_desk.engine.costs.usage_totals import requests_of, usage_of
from atelier_desk.engine.journal.journal import RunHandle
from atelier_desk.storage.repositories import history_search_and_usage
from atelier_desk.storage.search import full_text_index as index_file
from tests.engine.conftest import Opener, exported_workflow, month_cost
from tests.helpers.error_codes import raises_code
from tests.helpers.manual_clock import ManualClock

DAY_ONE = datetime(2026, 3, 1, 22, 30, tzinfo=UTC)

counts = st.integers(0, 100_000)
usages = st.builds(
    Usage,
    tokens_input=st.integers(1, 100_000),
    tokens_output=counts,
    tokens_cached=counts,
    cost=st.floats(0, 10, allow_nan=False),
    tokens_unpriced=counts,
)
events = st.one_of(
    st.builds(
        ModelReplied,
        reply=st.builds(ChatReply, content=st.just("x"), model=st.sampled_from(["", "m1", "m2"])),
        provider=st.sampled_from(["p", "q"]),
        usage=usages,
        duration_ms=st.integers(0, 60_000),
    ),
    st.builds(ReplyCutOff, content=st.sampled_from(["", "half"]), usage=usages),
    st.builds(MemoryExtractionDone, provider=st.just("q"), model=st.sampled_from(["", "m1"]), usage=usages),
    st.builds(
        PictureDescribed, call_id=st.just("c"), provider=st.just("q"), model=st.sampled_from(["", "m1"]), usage=usages
    ),
    st.builds(TitleGenerated, provider=st.just("q"), model=st.sampled_from(["", "m1"]), usage=usages),
    st.builds(ContextCompacted, method=st.just("digest"), usage=usages),
)
runs = st.tuples(st.sampled_from(["Ada", "Bob"]), st.lists(st.tuples(st.integers(0, 40), events), max_size=5))


async def begin(atelier: Atelier, workflow_id: str, name: str, *bodies: EventBody) -> RunHandle:
    handle = RunHandle(run_id=new_id(), workflow_id=workflow_id)
    agent = AgentConfig(name=name, provider="p", model="chosen")
    await atelier.journal.append(handle, RunStarted(agent=agent, correlation_id=handle.run_id), *bodies)
    return handle


def plain(sums: dict[tuple[Any, ...], UsageSum]) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """The order in which amounts are added is ignored."""
    found = {}
    for key, total in sums.items():
        usage = total.usage.model_dump()
        money = (round(usage.pop("cost"), 6), round(usage.pop("saved"), 6))
        found[key] = (total.requests, total.duration_ms, *usage.values(), *money)
    return found


async def compare_with_the_journal(atelier: Atelier) -> None:
    """Check that the page shows what the events say, one by one, wherever the days begin."""
    repos = atelier.repos
    runs = {
        run.id: run for run in await repos.used.runs(await repos.store.query("SELECT VALUE record::id(id) FROM run"))
    }
    requests = await requests_of(repos, list(runs))
    for zone in (UTC, ZoneInfo("Asia/Kathmandu"), ZoneInfo("America/St_Johns")):
        for days in (0, 1, 3):
            today = atelier.clock.now().astimezone(zone).date()
            expected: dict[tuple[Any, ...], UsageSum] = {}
            for each in requests:
                day = each.time.astimezone(zone).date()
                if not days or (today - day).days < days:
                    key = (day, runs[each.run_id].workflow_id, runs[each.run_id].agent_name, each.provider, each.model)
                    expected[key] = expected.get(key, UsageSum()) + UsageSum(each.usage, 1, each.duration_ms)
            rows = await atelier.usage.rows(days, zone)
            found = {(row.day, row.workflow_id, row.agent, row.provider, row.model): row.total for row in rows}
            assert len(found) == len(rows)
            assert plain(found) == plain(expected)
    since = atelier.clock.now() - timedelta(hours=30)
    once = {
        (each.time, each.duration_ms, each.usage.tokens_input, each.usage.tokens_output): each.usage.cost
        for each in requests
        if each.time >= since
    }
    assert await atelier.usage.cost_since(since) == pytest.approx(sum(once.values()))


async def test_the_totals_match_the_headers_whatever_ran(open_atelier: Opener) -> None:
    clock = ManualClock(DAY_ONE)
    async with open_atelier(clock=clock) as atelier:
        loop = asyncio.get_running_loop()

        async def check(workflows: list[list[tuple[str, list[tuple[int, EventBody]]]]]) -> None:
            made: list[Workflow] = []
            for each in workflows:
                workflow = await atelier.workflows.create("w")
                made.append(workflow)
                for name, said in each:
                    handle = await begin(atelier, workflow.id, name)
                    for hours, body in said:
                        await clock.advance(hours * 3600)
                        await atelier.journal.append(
                            handle,
                            body.model_copy(update={"message_id": new_id()}) if hasattr(body, "message_id") else body,
                        )
            rows = await atelier.usage.rows()
            by_workflow = {group.key: group.total for group in grouped(rows, UsageBy.WORKFLOW)}
            for workflow in made:
                header = (await atelier.workflows.get(workflow.id)).usage
                found = by_workflow.get(workflow.id, UsageSum()).usage
                assert (found.tokens_input, found.tokens_output) == (header.tokens_input, header.tokens_output)
                assert (found.tokens_cached, found.tokens_unpriced) == (header.tokens_cached, header.tokens_unpriced)
                assert abs(found.cost - header.cost) < 1e-6
            await compare_with_the_journal(atelier)
            for by in UsageBy:
                whole = sum((group.total for group in grouped(rows, by)), UsageSum())
                assert (whole.tokens, whole.requests, whole.duration_ms) == (
                    summed(rows).tokens,
                    summed(rows).requests,
                    summed(rows).duration_ms,
                )

        futures: list[Any] = []

        @settings(max_examples=12, deadline=None, database=None)
        @given(st.lists(st.lists(runs, max_size=3), min_size=1, max_size=2))
        def examples(workflows: list[list[tuple[str, list[tuple[int, EventBody]]]]]) -> None:
            futures.append(asyncio.run_coroutine_threadsafe(check(workflows), loop))
            futures[-1].result(60)

        await asyncio.to_thread(examples)
        assert futures


async def test_rows_are_grouped_by_day_model_agent_and_workflow(open_atelier: Opener) -> None:
    clock = ManualClock(DAY_ONE)
    used = Usage(tokens_input=100, tokens_output=20, cost=0.5)
    async with open_atelier(clock=clock) as atelier:
        first, second = await atelier.workflows.create("First"), await atelier.workflows.create("Second")
        reply = ModelReplied(reply=ChatReply(content="x", model="m1"), provider="q", usage=used, duration_ms=700)
        handle = await begin(atelier, first.id, "Ada", reply)
        await clock.advance(3600 * 2)
        await atelier.journal.append(handle, ReplyCutOff(content="half", usage=used))
        await begin(atelier, second.id, "Bob", reply.model_copy(update={"message_id": new_id()}))
        rows = await atelier.usage.rows(zone=UTC)
        told = {
            (row.day.day, row.workflow, row.agent, row.provider, row.model, row.total.requests, row.total.duration_ms)
            for row in rows
        }
        assert told == {
            (1, "First", "Ada", "q", "m1", 1, 700),
            (2, "First", "Ada", "p", "chosen", 1, 0),
            (2, "Second", "Bob", "q", "m1", 1, 700),
        }
        assert [group.key for group in grouped(rows, UsageBy.DAY)] == ["2026-03-01", "2026-03-02"]
        assert [group.key for group in grouped(rows, UsageBy.MODEL)] == ["q/m1", "p/chosen"]
        assert {row.day for row in await atelier.usage.rows(1, UTC)} == {date(2026, 3, 2)}
        await clock.advance(timedelta(days=40).total_seconds())
        assert await atelier.usage.rows(30, UTC) == []
        assert len(await atelier.usage.rows(10**30, UTC)) == 3, "more days than the calendar has"
        assert len(await atelier.usage.rows(0, UTC)) == 3


PAID = Usage(tokens_input=100, cost=0.5)


def _reply() -> ModelReplied:
    return ModelReplied(reply=ChatReply(content="x", model="m1"), provider="q", usage=PAID, duration_ms=700)


async def _figures(atelier: Atelier) -> tuple[int, int, float | None, float, bool]:
    """Return tokens, requests and cost on the usage page, this month's cost, and whether the page leaves out some."""
    total = summed(await atelier.usage.rows())
    month = await month_cost(atelier)
    return total.usage.tokens_input, total.requests, total.cost, month, await atelier.usage.leaves_out()


async def test_what_was_spent_before_a_workflow_was_imported_was_not_spent_here(open_atelier: Opener) -> None:
    """Also when it is a copy of one that is here, replaces it, or comes back after it was deleted for good."""
    clock = ManualClock(DAY_ONE)
    async with open_atelier(clock=clock) as atelier:
        workflow = await atelier.workflows.create("First")
        handle = await begin(atelier, workflow.id, "Ada", _reply())
        await clock.advance(1)
        await atelier.journal.append(handle, ReplyCutOff(content="half", usage=PAID))
        exported = await atelier.workflows.export(workflow.id)
        assert await _figures(atelier) == (200, 2, 1.0, 1.0, False)
        copy = (await atelier.workflows.import_(exported, "rename")).workflow
        assert await _figures(atelier) == (200, 2, 1.0, 1.0, True)
        assert {row.workflow for row in await atelier.usage.rows()} == {"First"}
        assert copy.usage.tokens_input == 200, "its header has all"
        await clock.advance(1)
        await begin(atelier, copy.id, "Ada", _reply())
        assert await _figures(atelier) == (300, 3, 1.5, 1.5, True), "later requests count"
        again = await atelier.workflows.export(copy.id)
        for each in (exported, again, exported):
            await atelier.workflows.import_(each, "overwrite")
            assert await _figures(atelier) == (300, 3, 1.5, 1.5, True)
        for each in (workflow.id, copy.id):
            await atelier.workflows.purge(each)
            assert (await _figures(atelier))[:4] == (300, 3, 1.5, 1.5)
        assert not await atelier.usage.leaves_out()
        await atelier.workflows.import_(exported)
        assert await _figures(atelier) == (300, 3, 1.5, 1.5, True)
        await clock.advance(3 * 86400)
        assert not await atelier.usage.leaves_out(1), "nothing of today"


async def test_a_file_cannot_claim_that_its_requests_were_made_here(atelier: Atelier) -> None:
    workflow = await atelier.workflows.create("First")
    await begin(atelier, workflow.id, "Ada", _reply())
    file = await exported_workflow(atelier, workflow.id)
    for event in file["events"]:
        event["body"]["imported"] = False
        event["time"] = "2999-01-01T00:00:00Z"
    await atelier.workflows.import_(json.dumps(file), "rename")
    assert await _figures(atelier) == (100, 1, 0.5, 0.5, True)


async def test_the_index_made_anew_leaves_out_the_same(open_atelier: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_atelier() as atelier:
        workflow = await atelier.workflows.create("First")
        await begin(atelier, workflow.id, "Ada", _reply())
        copy = await atelier.workflows.import_(await atelier.workflows.export(workflow.id), "rename")
        await begin(atelier, copy.workflow.id, "Ada", _reply())
        before = await _figures(atelier)
    monkeypatch.setattr(index_file, "FORM", index_file.FORM + 1)
    async with open_atelier() as atelier:
        assert await _figures(atelier) == before


def row(total: UsageSum, name: str = "w") -> UsageRow:
    return UsageRow(date(2026, 3, 1), "id", name, "Ada", "p", "m", total)


def test_a_missing_price_is_unknown_and_not_zero() -> None:
    unknown = UsageSum(Usage(tokens_input=5, tokens_unpriced=5), 1)
    free = UsageSum(Usage(tokens_input=5), 1)
    assert unknown.cost is None
    assert free.cost == 0
    assert (free + unknown).cost is None
    assert (unknown + UsageSum(Usage(cost=0.25, tokens_input=1), 1)).cost == 0.25
    lines = as_csv([row(unknown), row(free)]).splitlines()
    assert [line.split(",")[-3] for line in lines] == ["cost_usd", "", "0"]


def test_the_savings_of_the_cache_are_in_the_spreadsheet() -> None:
    usage = Usage(tokens_input=4250, tokens_cached=4000, tokens_stored=200, cost=0.0017, saved=0.0071)
    lines = as_csv(
        [row(UsageSum(usage, 1)), row(UsageSum(Usage(saved=-0.00012), 1)), row(UsageSum(Usage(saved=-1e-12), 1))]
    ).splitlines()
    found = [dict(zip(lines[0].split(","), line.split(","), strict=True)) for line in lines[1:]]
    assert [each["saved_usd"] for each in found] == ["0.0071", "-0.00012", "0"]
    assert (found[0]["tokens_cached"], found[0]["tokens_stored"], found[0]["cost_usd"]) == ("4000", "200", "0.0017")


def test_a_name_in_the_spreadsheet_is_no_formula() -> None:
    assert "'=cmd" in as_csv([row(UsageSum(), "=cmd()")])


async def test_the_totals_are_the_same_when_the_index_is_rebuilt(open_atelier: Opener) -> None:
    clock = ManualClock(DAY_ONE)
    reply = ModelReplied(
        reply=ChatReply(content="x", model="m1"), provider="q", usage=Usage(tokens_input=9, cost=0.5), duration_ms=7
    )
    async with open_atelier(clock=clock) as atelier:
        workflow = await atelier.workflows.create("w")
        for run in range(7):
            handle = await begin(
                atelier, workflow.id, f"Agent {run % 2}", reply.model_copy(update={"message_id": new_id()})
            )
            await clock.advance(9 * 3600)
            await atelier.journal.append(handle, ReplyCutOff(content="half", usage=Usage(tokens_input=run)))
        before = await atelier.usage.rows(zone=UTC)
        assert summed(before).requests == 13, "a request without a token is none"
        index = atelier.datadir.history_index
    index.unlink()
    async with open_atelier(clock=clock) as atelier:
        assert await atelier.usage.rows(zone=UTC) == before
        await compare_with_the_journal(atelier)


async def test_a_workflow_that_grows_before_it_is_indexed_is_read_completely(
    open_atelier: Opener,
) -> None:
    reply = ModelReplied(reply=ChatReply(content="zebra", model="m1"), provider="q", usage=Usage(tokens_input=9))
    async with open_atelier() as atelier:
        workflow = await atelier.workflows.create("w")
        await begin(atelier, workflow.id, "Ada", reply)
        index = atelier.datadir.history_index
    index.unlink(missing_ok=True)
    async with open_atelier() as atelier:
        await begin(atelier, workflow.id, "Ada", reply.model_copy(update={"message_id": new_id()}))
        await atelier.repos.history._index_changes()
        assert summed(await atelier.usage.rows()).usage.tokens_input == 18
        assert len(await atelier.repos.history.search("zebra")) == 2


async def test_usage_of_deleted_runs_counts_once_whatever_the_index_knows(open_atelier: Opener) -> None:
    """As after a kill between the commit that deletes and the index: the file is older than the database."""
    reply = ModelReplied(reply=ChatReply(content="x", model="m1"), provider="q", usage=Usage(tokens_input=9, cost=0.5))
    async with open_atelier() as atelier:
        workflow, other = await atelier.workflows.create("w"), await atelier.workflows.create("other")
        gone = await begin(atelier, workflow.id, "Ada", reply)
        await begin(atelier, other.id, "Ada", reply.model_copy(update={"message_id": new_id()}))
        assert summed(await atelier.usage.rows()).usage.tokens_input == 18
        index = atelier.datadir.history_index
    older = index.read_bytes()
    async with open_atelier() as atelier:
        await atelier.repos.runs.purge([gone.run_id], await usage_of(atelier.repos, [gone.run_id], atelier.clock.now()))
        assert summed(await atelier.usage.rows()).usage.tokens_input == 18
    index.write_bytes(older)
    async with open_atelier() as atelier:
        assert summed(await atelier.usage.rows()).usage.tokens_input == 18
        assert await atelier.usage.cost_since(DAY_ONE - timedelta(days=9_000)) == pytest.approx(1.0)


async def test_the_cost_of_a_month_does_not_wait_for_an_outdated_index(
    open_atelier: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = ManualClock(DAY_ONE)
    async with open_atelier(clock=clock) as atelier:
        for number in range(history_search_and_usage.FEW_UNREAD + 2):
            workflow = await atelier.workflows.create("w")
            usage = Usage(tokens_input=number + 1, cost=0.5)
            reply = ModelReplied(reply=ChatReply(content="x", model="m1"), provider="q", usage=usage)
            await begin(atelier, workflow.id, "Ada", reply)
            await clock.advance(24 * 3600)
        index = atelier.datadir.history_index
        since = clock.now() - timedelta(days=5, hours=1)
        assert await atelier.usage.cost_since(since) == pytest.approx(2.5)
    index.unlink()
    async with open_atelier(clock=clock) as atelier:
        monkeypatch.setattr(atelier.repos.history, "bring_up_to_date", None)  # nobody waits for it
        assert await atelier.usage.cost_since(since) == pytest.approx(2.5)
        monkeypatch.undo()
        await compare_with_the_journal(atelier)


async def test_a_python_without_full_text_search_has_totals(
    open_atelier: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_file, "_has_fts5", lambda _db: False)
    reply = ModelReplied(reply=ChatReply(content="words", model="m1"), provider="q", usage=Usage(tokens_input=9))
    async with open_atelier() as atelier:
        workflow = await atelier.workflows.create("w")
        await begin(atelier, workflow.id, "Ada", reply)
        assert summed(await atelier.usage.rows()).usage.tokens_input == 9
        with raises_code(StorageError, "no_fts5"):
            await atelier.repos.history.search("words")
    monkeypatch.undo()
    async with open_atelier() as atelier:
        assert [hit.kind for hit in await atelier.repos.history.search("words")] == ["message"]
        assert summed(await atelier.usage.rows()).usage.tokens_input == 9
