"""The conversation that a run inherits: with snapshots the same as computed from all events, and read in part for
a long workflow.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.attachment import Attachment
from atelier_desk.domain.base_model import new_id
from atelier_desk.domain.events.run import (
    CompactionUndone,
    ContextCompacted,
    EntryPinned,
    EventBody,
    ImagesRejected,
    Injected,
    ModelReplied,
    RunFinished,
    RunStarted,
    UserMessage,
)
from atelier_desk.domain.model_messages import ChatReply, FinishReason, ImagePart
from atelier_desk.domain.opaque_provider_data import ProviderData
from atelier_desk.domain.workflow import Dispatch, RunStatus
from atelier_desk.engine import Atelier
from atelier_desk.engine.journal import conversation_snapshots
from atelier_desk.engine.journal.conversation_before_run import Conversations, load
from atelier_desk.engine.journal.journal import RunHandle, run_events
from atelier_desk.engine.run.reducer.conversation_entries import (
    NO_HISTORY,
    ContextEntry,
    EntryKind,
    History,
    attachments_of,
    complete,
    without_replaced,
)
from atelier_desk.engine.run.reducer.handler_registry import evolve
from atelier_desk.engine.run.reducer.reduce import fold
from atelier_desk.engine.run.reducer.state import RunState, inherited_context
from atelier_desk.engine.run.request.context_fitting import plan
from atelier_desk.storage.row_mapping import record
from atelier_desk.storage.store import Statement
from tests.engine.conftest import Opener, create_workflow, send_and_wait
from tests.helpers.runs_without_driver import Script, advance, agent, call, finished, reply, started


@pytest.fixture(autouse=True)
def early(monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot every few turns."""
    monkeypatch.setattr(conversation_snapshots, "LEAST", 4)


def file(name: str) -> Attachment:
    digest = name.encode().hex().ljust(64, "0")[:64]
    return Attachment(
        name=name, media_type="text/plain", size=4, sha256=digest, text_sha256=digest, text=name, characters=len(name)
    )


def assert_sent_as_if_counted_anew(state: RunState) -> None:
    """What turns keep of their conversation changes no request, to whatever model it goes."""
    fresh = evolve(
        state, history=History(map(replace, state.history)), entries=tuple(replace(entry) for entry in state.entries)
    )
    for model in (state.agent.model, "other"):
        switched = state.agent.model_copy(update={"model": model})
        for sees, blind in ((True, False), (False, False), (False, True)):
            kept, anew = (
                plan(evolve(each, agent=switched), system="s", tools=(), window=50_000, sees=sees, blind=blind)
                for each in (state, fresh)
            )
            assert kept == anew


class Story:
    """A workflow built through its journal, and what each turn must inherit, computed from all events."""

    def __init__(self, atelier: Atelier, workflow_id: str) -> None:
        self.atelier, self.workflow_id = atelier, workflow_id
        self.head: str | None = None
        self.turns: list[str] = []

    async def full_history(self, run_id: str | None) -> History:
        """The conversation after a run, computed the slow way."""
        if run_id is None:
            return NO_HISTORY
        row = await self.atelier.repos.runs.get(run_id)
        state = fold(await run_events(self.atelier.repos, run_id), await self.full_history(row.previous_run_id))
        assert state is not None
        return inherited_context(state)

    async def say(
        self, *more: EventBody, then: Callable[[RunState], Sequence[EventBody]] = lambda state: (), **message: Any
    ) -> str:
        """Add one turn; ``then`` adds further events before the reply."""
        handle = RunHandle(run_id=new_id(), workflow_id=self.workflow_id, history=await self.full_history(self.head))
        journal, number = self.atelier.journal, len(self.turns)
        started = RunStarted(agent=agent(), previous_run_id=self.head, correlation_id=handle.run_id)
        state = await journal.append(
            handle, started, UserMessage(content=f"question {number}", message_id=new_id(), **message), *more
        )
        assert_sent_as_if_counted_anew(state)
        for body in then(state):
            state = await journal.append(handle, body)
            assert_sent_as_if_counted_anew(state)
        data = ProviderData.pack("local", "scripted", {"reasoning_content": "hm"}) if number % 3 == 1 else None
        reply = ChatReply(
            content=f"answer {number}", reasoning="hm", finish_reason=FinishReason.STOP, provider_data=data
        )
        await journal.append(
            handle, ModelReplied(message_id=new_id(), reply=reply), RunFinished(status=RunStatus.COMPLETED)
        )
        self.head = handle.run_id
        self.turns.append(handle.run_id)
        return handle.run_id


async def restarted(atelier: Atelier, run_id: str | None) -> conversation_snapshots.InheritedState:
    """What a newly started process reads; it writes a snapshot when one is due."""
    conversations = Conversations(atelier.repos)
    before = await conversations.before(run_id)
    await conversations.close()
    return before


async def story(atelier: Atelier, turns: int = 0) -> Story:
    made = Story(atelier, await create_workflow(atelier))
    for number in range(turns):
        await made.say(attachments=(file(f"file {number}"),))
    return made


def summary(state: RunState) -> list[EventBody]:
    numbered = list(zip(state.numbers, state.conversation, strict=True))
    gone = tuple(number for number, entry in numbered[: len(numbered) // 2] if not entry.held)
    return [ContextCompacted(method="summary", dropped=gone, summary="In short.")]


def cut(state: RunState) -> list[EventBody]:
    return [ContextCompacted(method="cut_message", dropped=state.numbers[:1], kept=4)]


def undone(state: RunState) -> list[EventBody]:
    found = [entry for entry in state.conversation if entry.kind is EntryKind.SUMMARY or entry.cut]
    return (
        [CompactionUndone(origin=found[-1].origin if found[-1].kind is EntryKind.SUMMARY else found[-1].cut_by)]
        if found
        else []
    )


def pinned(state: RunState) -> list[EventBody]:
    entry = state.conversation[len(state.conversation) // 3]
    return [EntryPinned(origin=entry.origin, pinned=not entry.pinned, message_id=entry.message_id)]


def refused(state: RunState) -> list[EventBody]:
    numbered = zip(state.numbers, state.conversation, strict=True)
    shown = [number for number, entry in numbered if entry.shown_images]
    return [ImagesRejected(reason="no", entries=(shown[0],))] if shown else []


PICTURE = (ImagePart(media_type="image/png", data="AAAA", name="a.png"),)


@pytest.mark.parametrize("seed", [1, 3])
async def test_with_snapshots_a_conversation_equals_that_from_all_events(
    open_atelier: Opener, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    dice, used = random.Random(seed), []
    decode = conversation_snapshots.decode

    def noted(*arguments: Any) -> Any:
        found = decode(*arguments)
        used.append(found is not None)
        return found

    monkeypatch.setattr(conversation_snapshots, "decode", noted)
    async with open_atelier() as atelier:
        told = await story(atelier)
        for number in range(18):
            act = dice.choice([summary, summary, cut, undone, pinned, refused, None, None])
            message: dict[str, Any] = dice.choice([{}, {"attachments": (file(f"file {number}"),)}, {"images": PICTURE}])
            more = dice.choice(
                [(), (), (UserMessage(content="by the way", strategy=Dispatch.SILENT, message_id=new_id()),)]
            )
            await told.say(*more, then=act or (lambda state: ()), **message)
            if dice.random() < 0.1:
                told.head = dice.choice(told.turns[-3:])  # another branch from there on
            before, expected = await restarted(atelier, told.head), await told.full_history(told.head)
            assert without_replaced(before.history) == without_replaced(expected)
            assert (await Conversations(atelier.repos).before(told.head, whole=True)).history == expected
            assert attachments_of(before.history) == attachments_of(expected)
            assert attachments_of(before.history.with_more) == attachments_of(expected)
    assert any(used)


async def test_after_a_start_a_long_workflow_is_not_read_again(
    open_atelier: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_atelier(["hello"]) as atelier:
        told = await story(atelier, 13)
        await restarted(atelier, told.head)
        await told.say()
        read: list[str] = []
        journals = atelier.repos.journal.journals

        async def noted(run_ids: Sequence[str]) -> Any:
            read.extend(run_ids)
            return await journals(run_ids)

        monkeypatch.setattr(atelier.repos.journal, "journals", noted)
        run_id = await send_and_wait(atelier, told.workflow_id, "and now?", agent=agent())
        assert len(read) <= 1
        state = atelier.runs.state_of(run_id)
        assert state is not None
        assert state.history == await told.full_history(told.head)


async def test_outside_content_of_a_branch_counts_in_all_and_is_looked_up_once(
    open_atelier: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_atelier(["hello"] * 3) as atelier:
        told = await story(atelier, 2)
        asked: list[str] = []
        tainted = atelier.repos.runs.tainted

        async def noted(workflow_id: str) -> list[str]:
            asked.append(workflow_id)
            return await tainted(workflow_id)

        monkeypatch.setattr(atelier.repos.runs, "tainted", noted)

        async def next_turn() -> tuple[str, ...]:
            run_id = await send_and_wait(atelier, told.workflow_id, "and now?", agent=agent())
            return (await atelier.repos.runs.get(run_id)).tainted

        assert await next_turn() == ()
        head = (await atelier.repos.workflows.get(told.workflow_id)).head_run_id
        told.head = told.turns[0]
        outside = file("page").model_copy(update={"source": "mcp"})
        await told.say(attachments=(outside,))
        await atelier.journal.show_branch(told.workflow_id, head)
        assert await next_turn() == ("page",)
        assert asked == [told.workflow_id]


def damaged(folder: Path) -> None:
    for path in folder.iterdir():
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)


def empty(folder: Path) -> None:
    for path in folder.iterdir():
        path.write_bytes(b"")


@pytest.mark.parametrize(
    "spoil", [damaged, empty, "missing", "made by another program", "an event more", "a row that changed"]
)
async def test_a_snapshot_of_another_version_or_program_is_ignored(
    monkeypatch: pytest.MonkeyPatch, spoil: Any, atelier: Atelier
) -> None:
    told = await story(atelier, 6)
    await told.say(then=summary)
    await restarted(atelier, told.head)
    folder = atelier.datadir.snapshots / told.workflow_id
    assert list(folder.iterdir())
    if callable(spoil):
        spoil(folder)
    elif spoil == "missing":
        await atelier.repos.snapshots.remove(told.workflow_id)
    elif spoil == "made by another program":
        monkeypatch.setattr(conversation_snapshots, "MADE_BY", "0 another")
    elif spoil == "an event more":
        handle = await load(atelier.repos, Conversations(atelier.repos), told.turns[3])
        origin = handle.current.entries[0].origin
        await atelier.journal.append(handle, EntryPinned(origin=origin, pinned=True, message_id=""))
    else:
        changed = {"row": record("run", told.turns[3])}
        await atelier.store.write(Statement("UPDATE $row SET last_hash = <bytes>'another' RETURN NONE", changed))
    turns = await atelier.repos.runs.turns(told.workflow_id, told.turns[-1])
    kept = await atelier.repos.snapshots.read(told.workflow_id)
    assert not any(conversation_snapshots.decode(data, turns) for data in kept)
    if spoil != "a row that changed":  # which is reported as what it is: damage
        assert (await restarted(atelier, told.head)).history == await told.full_history(told.head)


def test_a_change_in_the_computation_needs_a_new_snapshot_version() -> None:
    """Earlier snapshots would be used wrongly: raise ``conversation_snapshots.FORM``, then put the new digest here."""
    first = Script(message=None, run_id="a").add(
        UserMessage(content="one", attachments=(file("page"),), images=PICTURE)
    )
    first.add(
        reply("", call("c")),
        started("c"),
        finished("c", text="long " * 200),
        Injected(reason="", content="a note"),
        reply("done"),
    )
    first.add(*cut(first.state), *pinned(first.state), RunFinished(status=RunStatus.COMPLETED))
    second = Script(message=None, run_id="b", previous_run_id="a").add(UserMessage(content="two"))
    state = fold(second.events, inherited_context(first.state))
    assert state is not None
    for body in (
        *summary(state),
        *refused(state),
        reply("well"),
        UserMessage(content="aside", strategy=Dispatch.SILENT),
    ):
        state = advance(state, body)
    made = conversation_snapshots._entries.dump_json(without_replaced(inherited_context(state)), exclude_defaults=True)
    made = re.sub(rb'"message_id":"\w*",?', b"", made)
    assert (conversation_snapshots.FORM, hashlib.sha256(made).hexdigest()[:16]) == (2, "287b29c7bd7a4534")


async def test_turns_share_the_entries_of_earlier_ones(atelier: Atelier) -> None:
    """What is computed of an entry for a request is computed once."""
    told = await story(atelier, 3)
    conversations = Conversations(atelier.repos)
    first = (await conversations.before(told.turns[1])).history
    second = (await conversations.before(told.turns[2])).history
    assert len(second) > len(first)
    assert all(old is same for old, same in zip(first, second, strict=False))
    assert all(entry.message is entry.message for entry in second)
    changed = replace(second[0], text="edited")
    assert (changed.message.content, changed.tokens) == ("edited", ContextEntry(0, EntryKind.USER, "edited").tokens)


async def test_no_snapshot_is_written_of_turns_that_changed_meanwhile(atelier: Atelier) -> None:
    told = await story(atelier, 6)
    before = await Conversations(atelier.repos).before(told.head)
    handle = await load(atelier.repos, Conversations(atelier.repos), told.turns[2])
    await atelier.journal.append(
        handle, EntryPinned(origin=handle.current.entries[0].origin, pinned=True, message_id="")
    )
    assert (
        conversation_snapshots.encode(before, await atelier.repos.runs.turns(told.workflow_id, told.turns[-1])) is None
    )


async def test_a_turn_with_lost_events_does_not_prevent_later_snapshots(atelier: Atelier) -> None:
    told = await story(atelier, 6)
    lost = record("run", told.turns[2])
    text = (
        "UPDATE $row SET status = 'cancelled', error = 'Its record is damaged.' RETURN NONE; DELETE run_event "
        "WHERE run = $row"
    )
    await atelier.store.write(*(Statement(each, {"row": lost}) for each in text.split("; ")))
    before = await Conversations(atelier.repos).before(told.head)
    turns = await atelier.repos.runs.turns(told.workflow_id, told.turns[-1])
    assert turns[2].unread
    data = conversation_snapshots.encode(before, turns)
    assert data is not None
    assert conversation_snapshots.decode(data, turns) == (
        len(turns),
        replace(before, history=History(without_replaced(before.history)), since=0),
    )


async def test_values_that_json_cannot_express_prevent_a_snapshot(atelier: Atelier) -> None:
    told = await story(atelier, 4)
    before = await Conversations(atelier.repos).before(told.head)
    turns = await atelier.repos.runs.turns(told.workflow_id, told.turns[-1])
    assert conversation_snapshots.encode(before, turns) is not None
    odd = ContextEntry(seq=-1, kind=EntryKind.USER, text="\ud800")
    assert (
        conversation_snapshots.encode(
            conversation_snapshots.InheritedState(History((odd,)), folded=before.folded), turns
        )
        is None
    )


async def test_a_summary_from_a_snapshot_is_undone_completely(open_atelier: Opener) -> None:
    async with open_atelier(["hello", "again"]) as atelier:
        told = await story(atelier, 5)
        await told.say(then=summary)
        await told.say()
        await restarted(atelier, told.head)
        await told.say()
        before = await restarted(atelier, told.head)
        assert not complete(before.history)
        # The agent can still read what the summary replaced.
        assert [each.name for each in attachments_of(before.history).values()] == [
            f"file {number}" for number in range(5)
        ]
        run_id = await send_and_wait(atelier, told.workflow_id, "and now?", agent=agent())
        handle = atelier.runs.state_of(run_id)
        assert handle is not None
        origin = next(entry.origin for entry in handle.current.conversation if entry.kind is EntryKind.SUMMARY)
        await atelier.runs.editing.undo_compaction(told.workflow_id, origin)
        asked = [f"question {number}" for number in range(8)]
        assert [entry.text for entry in handle.current.conversation if entry.kind is EntryKind.USER] == [
            *_framed(asked),
            "and now?",
        ]
        assert (await restarted(atelier, run_id)).history == await told.full_history(run_id)
        assert complete((await restarted(atelier, run_id)).history)


def _framed(asked: list[str]) -> list[str]:
    """The questions with the attachments of the first five, as a model reads them."""
    return [
        f'{text}\n\n<attached_file name="file {number}">\nfile {number}\n</attached_file>' if number < 5 else text
        for number, text in enumerate(asked)
    ]


@pytest.mark.parametrize("what", ["the workflow", "a branch", "all that an import replaced"])
async def test_deleted_content_is_in_no_snapshot(what: str, atelier: Atelier) -> None:
    told = await story(atelier, 6)
    await restarted(atelier, told.head)
    folder = atelier.datadir.snapshots / told.workflow_id
    assert list(folder.iterdir())
    if what == "the workflow":
        await atelier.workflows.delete(told.workflow_id)
        await atelier.workflows.purge(told.workflow_id)
    elif what == "a branch":
        await atelier.workflows.delete_branch(told.workflow_id, told.turns[3])
        await atelier.journal.purge_branches(told.workflow_id, atelier.clock.now())
    else:
        text = await atelier.workflows.export(told.workflow_id)
        await atelier.workflows.import_(text, on_conflict="overwrite")
    assert not folder.exists()


async def test_an_import_over_a_workflow_replaces_its_runs_in_memory(open_atelier: Opener) -> None:
    async with open_atelier(["the old answer", "a later one", "the newest"]) as atelier:
        workflow_id = await create_workflow(atelier)
        await send_and_wait(atelier, workflow_id, "first", agent=agent())
        text = await atelier.workflows.export(workflow_id)
        second = await send_and_wait(atelier, workflow_id, "second", agent=agent())
        await atelier.workflows.import_(text, on_conflict="overwrite")
        assert atelier.runs.state_of(second) is None
        third = await send_and_wait(atelier, workflow_id, "third", agent=agent())
        handle = atelier.runs.state_of(third)
        assert handle is not None
        assert [entry.text for entry in handle.current.conversation if entry.kind is EntryKind.USER] == [
            "first",
            "third",
        ]
