"""Rows changed behind the program's back: each is named, and no correct row is."""

from __future__ import annotations

from typing import Any

import pytest

from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.events.run import RunEvent, TaskChanged, UserMessage
from atelier_desk.domain.system_prompt_and_tools import PromptFrame
from atelier_desk.domain.task import Task
from atelier_desk.domain.workflow import QUEUED, Message, MessageRole, Run, ToolExecution, Workflow
from atelier_desk.storage import damage_report, damaged_row_search, row_mapping, tables
from atelier_desk.storage.damaged_row_search import damaged_anywhere, damaged_in
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.row_mapping import Table, record
from atelier_desk.storage.store import Statement
from atelier_desk.storage.writing.journal_commit import Commit
from tests.helpers.error_codes import raises_code

W = "w"


def event(run: str, seq: int) -> RunEvent:
    body = UserMessage(content=f"{run} says {seq}", message_id=f"m-{run}{seq}")
    return RunEvent(id=f"{run}{seq}", workflow_id=W, run_id=run, seq=seq, stream_from=seq, body=body)


def said(run: str, seq: int, **changes: Any) -> Message:
    fields = {"id": f"m-{run}{seq}", "content": f"{run} says {seq}", **changes}
    return Message(workflow_id=W, run_id=run, seq=seq, role=MessageRole.USER, **fields)


def call(run: str, result: str) -> ToolExecution:
    return ToolExecution(id=f"{run}:c", workflow_id=W, run_id=run, call_id="c", tool="Read", result=result)


def task(key: str, stream: int) -> RunEvent:
    return RunEvent(
        id=key, workflow_id=W, stream_from=stream, body=TaskChanged(action="create", task=Task(workflow_id=W, name=key))
    )


@pytest.fixture
async def kept(repos: Repositories) -> Repositories:
    """Two runs with three messages each, one call, a prompt, and three tasks created by a person."""
    await repos.workflows.create(Workflow(id=W, name="w"))
    for run in ("a", "b"):
        for seq in (1, 2, 3):
            row = Run(id=run, workflow_id=W, last_seq=seq)
            calls = (call(run, "half"),) if seq == 1 else (call(run, "whole"),) if seq == 2 else ()
            waiting = (said(run, 9, id=f"wait-{run}", kind=QUEUED),) if seq == 2 else ()
            messages = (said(run, seq), *waiting)
            await repos.journal.commit(
                Commit(events=(event(run, seq),), runs=(row,), messages=messages, executions=calls)
            )
    for number in (4, 5, 6):
        await repos.journal.commit(Commit(events=(task(f"t{number}", number),)))
    await repos.frames.save(PromptFrame(id="f", workflow_id=W, system="You are helpful.", tools=()))
    return repos


def changed(row: str, text: str, **params: Any) -> list[Statement]:
    table, _colon, key = row.partition("|")
    return [Statement(text, {"row": record(table, key), **params})]


def swapped(table: str, one: str, two: str, column: str) -> list[Statement]:
    rows = {"one": record(table, one), "two": record(table, two)}
    block = f"{{ LET $first = (SELECT VALUE {column} FROM $one)[0]; LET $second = (SELECT VALUE {column} FROM $two)[0];"
    return [Statement(f"{block} UPDATE $one SET {column} = $second; UPDATE $two SET {column} = $first; }}", rows)]


ATTACKS: dict[str, tuple[list[Statement], set[tuple[str, str, str, int]]]] = {
    "an event's text": (
        changed("run_event|a2", "UPDATE $row SET body = 'lies'"),
        {("run_event", "a2", "changed", 2)},
    ),
    "two events' texts": (
        swapped("run_event", "a1", "a2", "body"),
        {("run_event", "a1", "changed", 1), ("run_event", "a2", "changed", 2)},
    ),
    "the last event": (changed("run_event|a3", "DELETE $row"), {("run_event", "", "missing", 3)}),
    "an event in the middle": (changed("run_event|a2", "DELETE $row"), {("run_event", "", "missing", 2)}),
    "the first event": (changed("run_event|a1", "DELETE $row"), {("run_event", "", "missing", 1)}),
    "an event twice": (
        changed("run_event|a3", "INSERT INTO run_event (SELECT *, 'x' AS id, 4 AS seq FROM $row)"),
        {("run_event", "x", "changed", 4)},
    ),
    "an event's hash": (changed("run_event|a2", "UPDATE $row SET hash = NONE"), {("run_event", "a2", "changed", 2)}),
    "a run's last hash": (
        changed("run|a", "UPDATE $row SET last_hash = $hash", hash=b"12345678"),
        {("run_event", "", "missing", 4)},
    ),
    "a run without its last hash": (changed("run|a", "UPDATE $row SET last_hash = NONE"), {("run", "a", "changed", 0)}),
    "a run's row": (changed("run|a", "DELETE $row"), {("run", "a", "missing", 0)}),
    "a message's text": (
        changed("message|m-a2", "UPDATE $row SET content = 'lies'"),
        {("message", "m-a2", "changed", 2)},
    ),
    "two messages' results": (
        swapped("message", "m-a1", "m-a2", "seq"),
        {("message", "m-a1", "changed", 2), ("message", "m-a2", "changed", 1)},
    ),
    "a message": (changed("message|m-a2", "DELETE $row"), {("message", "m-a2", "missing", 0)}),
    "a message twice": (
        changed("message|m-a2", "INSERT INTO message (SELECT *, 'x' AS id FROM $row)"),
        {("message", "x", "changed", 2)},
    ),
    "a message without its hash": (
        changed("message|m-a2", "UPDATE $row SET hash = NONE, content = 'lies'"),
        {("message", "m-a2", "changed", 2)},
    ),
    "a call's result": (
        changed("tool_execution|a:c", "UPDATE $row SET result = '\"lies\"'"),
        {("tool_execution", "a:c", "changed", 0)},
    ),
    "a call": (changed("tool_execution|a:c", "DELETE $row"), {("tool_execution", "a:c", "missing", 0)}),
    "a prompt": (
        changed("prompt_frame|f", "UPDATE $row SET system = 'Do harm.'"),
        {("prompt_frame", "f", "changed", 0)},
    ),
    "a task's event": (changed("run_event|t5", "DELETE $row"), {("run_event", "", "missing", 0)}),
    "the last task's event": (changed("run_event|t6", "DELETE $row"), {("run_event", "", "missing", 0)}),
    "a task's event's text": (
        changed("run_event|t5", "UPDATE $row SET time = time::now()"),
        {("run_event", "t5", "changed", 0)},
    ),
}


@pytest.mark.parametrize("name", ATTACKS)
async def test_a_row_changed_behind_the_program_is_named(kept: Repositories, name: str) -> None:
    assert await damaged_in(kept.store, W) == []
    attack, expected = ATTACKS[name]
    await kept.store.write(*attack)
    found = await damaged_in(kept.store, W)
    assert {(each.table, each.row, each.problem, each.seq) for each in found} == expected
    assert all(each.error().localized(lambda text, **values: text.format(**values)) for each in found)
    assert await damaged_anywhere(kept.store) == found


async def test_an_event_moved_to_another_run_is_named(kept: Repositories) -> None:
    await kept.store.write(
        Statement("DELETE run_event:b2", {}),
        Statement("UPDATE $row SET run = $run", {"row": record("run_event", "a2"), "run": record("run", "b")}),
    )
    found = {(each.run, each.row, each.problem) for each in await damaged_in(kept.store, W)}
    assert ("a", "", "missing") in found
    assert ("b", "a2", "changed") in found


@pytest.mark.parametrize(
    "name", ["an event's text", "two events' texts", "the last event", "an event in the middle", "an event's hash"]
)
async def test_a_damaged_run_is_not_read_and_the_other_is(kept: Repositories, name: str) -> None:
    await kept.store.write(*ATTACKS[name][0])
    for read in (kept.journal.events("a"), kept.journal.journals(["a", "b"])):
        with raises_code(StorageError, "damaged_row", match=r"run a: event .* restore a backup"):
            await read
    assert [each.seq for each in await kept.journal.events("b")] == [1, 2, 3]


async def test_changes_by_the_program_are_not_reported(kept: Repositories) -> None:
    journal = kept.journal
    await journal.commit(Commit(pins={"m-a1": True}, of=W))
    kept.store.last_hashes.clear()  # as after a start
    moved = said("b", 4, id="wait-a")
    await journal.commit(
        Commit(events=(event("b", 4),), runs=(Run(id="b", workflow_id=W, last_seq=4),), messages=(moved,))
    )
    await journal.commit(Commit(runs=(Run(id="a", workflow_id=W, last_seq=3, title="named"),)))
    await kept.runs.save((await kept.runs.get("a")).model_copy(update={"title": "again"}))
    await kept.workflows.update(W, name="renamed")
    with pytest.raises(StorageError):
        await journal.commit(Commit(events=(event("a", 3),)))
    await journal.commit(Commit(events=(event("a", 4), event("a", 5)), runs=(Run(id="a", workflow_id=W, last_seq=5),)))
    await journal.commit(Commit(deleted_messages=("wait-b",), of=W))
    assert await damaged_anywhere(kept.store) == []
    await kept.runs.purge(["b"])
    assert await kept.store.query("SELECT id FROM run_event WHERE run = run:b") == []
    assert await damaged_anywhere(kept.store) == []
    await journal.commit(Commit(events=(event("b", 1),), runs=(Run(id="b", workflow_id=W, last_seq=1),)))
    assert await damaged_anywhere(kept.store) == []


async def test_rows_older_than_the_hashes_are_accepted(kept: Repositories) -> None:
    await kept.store.write(
        Statement("UPDATE run_event SET hash = NONE, prev_hash = NONE, wrote = NONE", {}),
        Statement("UPDATE message SET hash = NONE", {}),
        Statement("UPDATE tool_execution SET hash = NONE", {}),
        Statement("UPDATE run SET last_hash = NONE", {}),
        Statement("UPDATE workflow SET last_hash = NONE", {}),
    )
    kept.store.last_hashes.clear()
    assert await damaged_in(kept.store, W) == []
    await kept.journal.commit(
        Commit(events=(event("a", 4),), runs=(Run(id="a", workflow_id=W, last_seq=4),), messages=(said("a", 4),))
    )
    assert await damaged_in(kept.store, W) == []
    assert [each.seq for each in await kept.journal.events("a")] == [1, 2, 3, 4]
    await kept.store.write(Statement("UPDATE message:⟨m-a4⟩ SET content = 'lies'", {}))
    assert [each.row for each in await damaged_in(kept.store, W)] == ["m-a4"]


async def test_all_pages_are_read_even_with_many_equal_sort_keys(
    kept: Repositories, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(damaged_row_search, "PAGE", 2)
    events = tuple(event("c", seq).model_copy(update={"stream_from": 7}) for seq in range(1, 10))
    messages = tuple(said("c", 7, id=f"c{number}") for number in range(9))
    await kept.journal.commit(Commit(events=events, runs=(Run(id="c", workflow_id=W, last_seq=9),), messages=messages))
    assert await damaged_in(kept.store, W) == []
    await kept.store.write(Statement("DELETE message:c8", {}), Statement("DELETE run_event:c9", {}))
    assert {each.row for each in await damaged_in(kept.store, W)} == {""}


async def test_events_of_one_position_are_checked_in_the_order_of_their_numbers(
    kept: Repositories, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(damaged_row_search, "PAGE", 2)
    events = tuple(event("c", seq).model_copy(update={"id": f"c{9 - seq}", "stream_from": 7}) for seq in range(1, 9))
    messages = tuple(said("c", seq) for seq in range(1, 9))
    await kept.journal.commit(Commit(events=events, runs=(Run(id="c", workflow_id=W, last_seq=8),), messages=messages))
    assert await damaged_in(kept.store, W) == []


@pytest.mark.parametrize("column", ["stream_from", "seq"])
async def test_an_event_whose_position_is_a_text_is_named(
    kept: Repositories, monkeypatch: pytest.MonkeyPatch, column: str
) -> None:
    monkeypatch.setattr(damaged_row_search, "PAGE", 2)
    await kept.store.write(
        Statement(f"DEFINE FIELD OVERWRITE {column} ON run_event TYPE any", {}),
        Statement(f"UPDATE $row SET {column} = 'damaged'", {"row": record("run_event", "a2")}),
    )
    found = {(each.run, each.row, each.problem) for each in await damaged_in(kept.store, W)}
    assert ("a", "a2", "changed") in found
    assert {run for run, _row, _problem in found} == {"a"}
    assert found == {(each.run, each.row, each.problem) for each in await damaged_anywhere(kept.store)}


async def test_a_damaged_message_is_marked_among_the_others(kept: Repositories) -> None:
    await kept.store.write(*ATTACKS["a message's text"][0], *ATTACKS["a call's result"][0])
    shown = await kept.messages.page(W, run_ids=["a"])
    assert [each.content for each in shown if each.role is MessageRole.USER] == ["a says 1", "a says 3"]
    [notice] = [each for each in shown if each.role is MessageRole.NOTICE]
    assert "damaged" in notice.content
    [one] = await kept.executions.for_runs(["a"])
    assert one.status == "error"
    assert "damaged" in one.error
    assert one.result is None
    with pytest.raises(StorageError, match="message m-a2 is damaged"):
        await kept.messages.get("m-a2")
    assert all("lies" not in hit.excerpt for hit in await kept.history.search("says"))


async def test_a_table_that_a_later_version_adds_need_not_be_there(
    kept: Repositories, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder is inspected before it is migrated."""
    # Forgotten again afterwards: a table registers itself.
    monkeypatch.setitem(row_mapping.HASHED_TABLES, "later", tables.TASKS)
    monkeypatch.setitem(damage_report.WHERE, ("later", damage_report.CHANGED), "")
    Table("later", Task, links={"workflow_id": "workflow"}, hashed="The row {row} is damaged.")
    assert await damaged_row_search.damaged_rows(kept.store.query_all) == []
