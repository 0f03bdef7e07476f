"""Imported chats: all versions of their turns, no duplicates, and no harm by a hostile file."""

from __future__ import annotations

import asyncio
import json
import os
import struct
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.errors import AtelierError
from atelier_desk.domain.model_messages import Role
from atelier_desk.engine import Atelier
from atelier_desk.engine.services.workflow import chat_export_parsing, chat_export_reader, chat_to_turns
from atelier_desk.engine.services.workflow.chat_export_reader import is_workflow
from atelier_desk.engine.services.workflow.chat_to_turns import workflow_id
from atelier_desk.llm.scripted_model import ScriptedModel
from tests.engine.conftest import Opener, Recorder, send_and_wait
from tests.engine.services.sample_chat_exports import (
    ROOT,
    bread,
    claude,
    gpt_chat,
    gpt_node,
    librechat,
    open_webui,
    write,
    zipped,
)

AGENT = AgentConfig(name="Tester", provider="test", model="scripted", tools=())


@pytest.fixture
async def atelier(open_atelier: Opener) -> AsyncIterator[Atelier]:
    async with open_atelier() as opened:
        yield opened


async def shown(atelier: Atelier, key: str) -> list[tuple[str, str]]:
    entries = await atelier.workflows.transcript(workflow_id(key), limit=500)
    return [(entry.message.role.value, entry.message.content) for entry in entries]


async def turns_of(atelier: Atelier, key: str) -> int:
    return len(await atelier.repos.runs.list(workflow_id(key)))


SHAPES: list[tuple[str, Any, str, list[tuple[str, str]], int]] = [
    (
        "chatgpt:c1",
        [bread()],
        "Bread",
        [
            ("user", "How long does bread bake?"),
            ("assistant", "Forty minutes."),
            ("user", "At what heat?"),
            ("assistant", "At 230 °C."),
        ],
        3,
    ),
    (
        "claude:cl1",
        [claude()],
        "Letter",
        [
            ("user", "Mend this letter\n\n[letter.txt]\n\n```\nDear Sir\n```"),
            ("assistant", "**New**\n\n```\nHello\n```"),
        ],
        2,
    ),
    ("openwebui:w1", [open_webui()], "Colours", [("user", "A colour?"), ("assistant", "Blue.")], 2),
    ("librechat:lc1", librechat(), "France", [("user", "Capital of France?"), ("assistant", "Paris, of course.")], 2),
]


@pytest.mark.parametrize(("key", "export", "name", "said", "count"), SHAPES, ids=[each[0] for each in SHAPES])
async def test_a_chat_is_imported_with_its_versions(
    atelier: Atelier, tmp_path: Path, key: str, export: Any, name: str, said: list[tuple[str, str]], count: int
) -> None:
    file = write(tmp_path / "export.json", export)
    heard = Recorder(atelier)
    preview = await atelier.chats.preview(file)
    assert [(each.key, each.title, each.new_turns, each.there) for each in preview.chats] == [(key, name, count, "")]
    done = await atelier.chats.import_(file)
    workflow = await atelier.workflows.get(workflow_id(key))
    assert (done.created, done.extended, done.unchanged) == ((workflow.id,), (), 0)
    assert workflow.name == name
    assert heard.events == [], "nobody is told that an agent finished, as of work that was waited for"
    assert workflow.tainted, "what a stranger may have written counts as read from outside"
    assert all(run.tainted and run.status.final for run in await atelier.repos.runs.list(workflow.id))
    assert await shown(atelier, key) == said
    assert await turns_of(atelier, key) == count
    assert await atelier.workflows.branches(workflow.id), "the versions of a turn are offered"


def claude_showing(leaf: str) -> dict[str, Any]:
    """The person stopped the reply ``b3``, which has no text, below the first answer."""
    chat = claude()
    stopped = {**chat["chat_messages"][1], "uuid": "b3", "parent_message_uuid": "b1", "content": []}
    return {**chat, "chat_messages": [*chat["chat_messages"], stopped], "current_leaf_message_uuid": leaf}


def open_webui_showing(leaf: str) -> dict[str, Any]:
    """An answer without text, ``m4``, follows the first one."""
    chat = open_webui()
    history = chat["chat"]["history"]
    history["messages"]["m4"] = {**history["messages"]["m2"], "id": "m4", "parentId": "m2", "content": ""}
    history["currentId"] = leaf
    return chat


@pytest.mark.parametrize(
    ("key", "export", "last"),
    [
        ("chatgpt:c1", bread(current="a2"), "An hour."),
        ("chatgpt:c1", bread(current="a1"), "At 230 °C."),
        ("claude:cl1", claude_showing("b1"), "Dear Madam"),
        ("claude:cl1", claude_showing("b3"), "Dear Madam"),
        ("claude:cl1", claude_showing("nowhere"), "**New**\n\n```\nHello\n```"),
        ("openwebui:w1", open_webui_showing("m2"), "Blue."),
        ("openwebui:w1", open_webui_showing("m4"), "Blue."),
        ("openwebui:w1", open_webui_showing("m3"), "Red."),
    ],
)
async def test_the_branch_that_was_open_in_the_other_program_is_shown(
    atelier: Atelier, tmp_path: Path, key: str, export: Any, last: str
) -> None:
    """To its end, also where its last message is not imported; the newest one if the export does not say."""
    await atelier.chats.import_(write(tmp_path / "export.json", [export]))
    assert (await shown(atelier, key))[-1] == ("assistant", last)


async def test_an_unreadable_file_is_reported_by_its_reason(atelier: Atelier, tmp_path: Path) -> None:
    whole = zipped(tmp_path / "whole.zip", {"conversations.json": json.dumps([bread()])}).read_bytes()
    files = {
        "cut.zip": (whole[: len(whole) // 2], "the end of the ZIP file is missing"),
        "letter.json": (b"Dear Sir or Madam", "letter.json contains neither a workflow nor chats"),
    }
    for name, (content, reason) in files.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(AtelierError) as refused:
            await atelier.chats.preview(tmp_path / name)
        assert reason in str(refused.value), name
    with pytest.raises(AtelierError, match=r"The file .*gone\.json does not exist"):
        await atelier.chats.preview(tmp_path / "gone.json")


async def test_times_are_those_of_the_chat(atelier: Atelier, tmp_path: Path) -> None:
    await atelier.chats.import_(write(tmp_path / "export.json", [bread()]))
    entries = await atelier.workflows.transcript(workflow_id("chatgpt:c1"))
    times = [entry.message.created_at for entry in entries]
    assert times == sorted(times), "a clock that ran backwards does not turn the order"
    assert {time.year for time in times} == {2023}
    assert (await atelier.workflows.get(workflow_id("chatgpt:c1"))).updated_at.year == 2023


async def test_a_chat_of_the_future_is_no_newer_than_its_import(atelier: Atelier, tmp_path: Path) -> None:
    """Else it stays first in the list, and "continue the newest" goes into it."""
    later = [
        gpt_node("u1", "root", "user", "When?", 7.2e9),
        gpt_node("a1", "u1", "assistant", "Later.", 7.2e9 + 1),
        gpt_node("u2", "a1", "user", "And then?", 7.2e9 + 2),
    ]
    file = write(tmp_path / "export.json", [gpt_chat(*later)])
    preview = (await atelier.chats.preview(file)).chats[0]
    assert preview.last is not None
    assert preview.last.year < 2198
    await atelier.chats.import_(file)
    mine = await atelier.workflows.create("mine")
    assert (await atelier.workflows.latest()).id == mine.id
    said = [("user", "When?"), ("assistant", "Later."), ("user", "And then?")]
    assert await shown(atelier, "chatgpt:c1") == said


async def test_a_second_import_duplicates_nothing_and_adds_what_is_new(atelier: Atelier, tmp_path: Path) -> None:
    old = write(tmp_path / "old.json", [bread()])
    await atelier.chats.import_(old)
    before = await shown(atelier, "chatgpt:c1")
    again = await atelier.chats.import_(old)
    assert (again.created, again.extended, again.unchanged) == ((), (), 1)
    assert await shown(atelier, "chatgpt:c1") == before
    more = [
        gpt_node("u3", "a3", "user", "And rye?", 1_700_000_100),
        gpt_node("a4", "u3", "assistant", "Longer.", 1_700_000_110),
    ]
    new = write(tmp_path / "new.json", [bread(*more, current="a4")])
    preview = await atelier.chats.preview(new)
    assert [(each.new_turns, bool(each.there)) for each in preview.chats] == [(1, True)]
    added = await atelier.chats.import_(new)
    assert (added.created, len(added.extended)) == ((), 1)
    assert await shown(atelier, "chatgpt:c1") == [*before, ("user", "And rye?"), ("assistant", "Longer.")]
    assert (await atelier.chats.import_(new)).unchanged == 1


async def test_what_a_person_deleted_or_continued_is_unchanged(atelier: Atelier, tmp_path: Path) -> None:
    file = write(
        tmp_path / "export.json", [bread(), gpt_chat(gpt_node("u", "root", "user", "Hi"), id="c2", title="Other")]
    )
    await atelier.chats.import_(file)
    other = workflow_id("chatgpt:c2")
    await atelier.workflows.delete(other)
    assert (await atelier.chats.import_(file)).unchanged == 2
    assert (await atelier.workflows.get(other)).deleted_at is not None
    assert [each.deleted for each in (await atelier.chats.preview(file)).chats if each.key == "chatgpt:c2"] == [True]
    assert (await atelier.chats.import_(file, ["chatgpt:c2"])).extended == (other,)
    assert (await atelier.workflows.get(other)).deleted_at is None


async def test_a_cut_message_says_how_much_is_missing(
    atelier: Atelier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_export_parsing, "TEXT_MOST", len("A colour"))
    await atelier.chats.import_(write(tmp_path / "export.json", [open_webui()]))
    assert ("user", "A colour\n\n[Truncated: 1 more character in the imported file]") in await shown(
        atelier, "openwebui:w1"
    )


async def test_only_chosen_chats_are_imported(atelier: Atelier, tmp_path: Path) -> None:
    file = write(tmp_path / "export.json", [bread(), claude()])
    done = await atelier.chats.import_(file, ["claude:cl1"])
    assert done.created == (workflow_id("claude:cl1"),)
    assert len(await atelier.workflows.list()) == 1


async def test_a_zip_of_several_files_is_read_without_unpacking(atelier: Atelier, tmp_path: Path) -> None:
    files = {
        "export/conversations-000.json": [bread()],
        "../../conversations-001.json": [gpt_chat(gpt_node("u", "root", "user", "Hi"), id="c2")],
        "user.json": {"id": "me"},
        "chat.html": "<p>",
    }
    around = [(tmp_path, "**/*.json"), (tmp_path.parent, "*.json"), (tmp_path.parent.parent, "*.json")]
    before = [sorted(folder.glob(pattern)) for folder, pattern in around]
    done = await atelier.chats.import_(zipped(tmp_path / "export.zip", files))
    assert len(done.created) == 2
    assert done.skipped == {}
    assert [sorted(folder.glob(pattern)) for folder, pattern in around] == before


async def test_an_import_stopped_in_the_middle_loses_nothing_and_can_be_completed(
    atelier: Atelier, tmp_path: Path
) -> None:
    many = [gpt_chat(gpt_node("u", "root", "user", "x" * 30_000), id=f"c{number}") for number in range(120)]
    file = write(tmp_path / "export.json", many)
    heard: list[tuple[int, int]] = []

    def progress(done: int, total: int) -> None:
        heard.append((done, total))
        if len(heard) == 2:
            task.cancel()

    task = asyncio.ensure_future(atelier.chats.import_(file, progress=progress))
    with pytest.raises(asyncio.CancelledError):
        await task
    there = len(await atelier.workflows.list(limit=None))
    assert 0 < there < 120
    assert heard[0][0] < heard[0][1] == file.stat().st_size
    done = await atelier.chats.import_(file)
    assert len(done.created) + done.unchanged == 120
    assert len(await atelier.workflows.list(limit=None)) == 120


async def test_a_half_written_chat_is_completed(
    atelier: Atelier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("atelier_desk.engine.services.chat_import.TURNS_AT_ONCE", 1)
    append, calls = atelier.journal.append_together, 0

    async def once(*args: Any, **more: Any) -> bool:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise RuntimeError("killed")
        return await append(*args, **more)

    file = write(tmp_path / "export.json", [bread()])
    monkeypatch.setattr(atelier.journal, "append_together", once)
    with pytest.raises(RuntimeError):
        await atelier.chats.import_(file)
    assert await turns_of(atelier, "chatgpt:c1") == 1
    await atelier.chats.import_(file)
    assert await turns_of(atelier, "chatgpt:c1") == 3
    assert (await shown(atelier, "chatgpt:c1"))[-1] == ("assistant", "At 230 °C.")


async def test_the_journal_is_not_read_again_for_each_part_of_a_long_chat(
    atelier: Atelier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("atelier_desk.engine.services.chat_import.TURNS_AT_ONCE", 1)
    of_type, reads = atelier.repos.journal.of_type, 0

    async def counted(*args: Any, **more: Any) -> Any:
        nonlocal reads
        reads += 1
        return await of_type(*args, **more)

    monkeypatch.setattr(atelier.repos.journal, "of_type", counted)
    versions = [gpt_node(f"a{number}", "u", "assistant", "Yes.", 1.7e9 + number) for number in range(30)]
    file = write(tmp_path / "export.json", [gpt_chat(gpt_node("u", "root", "user", "Rye?"), *versions)])
    await atelier.chats.import_(file)
    assert await turns_of(atelier, "chatgpt:c1") == 30
    assert reads == 1, (
        "whether there are tasks takes a look at all events: versions would take longer the more there are"
    )
    id = workflow_id("chatgpt:c1")
    turns = [run.id for run in await atelier.repos.runs.list(id)]
    for turn in turns[:2]:
        await atelier.workflows.select_branch(id, turn)
    before = reads
    await atelier.tasks.create(id, "Buy flour")
    await atelier.workflows.select_branch(id, turns[2])
    assert reads == before + 1, "now there is one, and its branch is looked for"


def _user(id: str, parent: Any, text: Any = "hello", time: Any = 1.7e9) -> dict[str, Any]:
    return gpt_node(id, parent, "user", text, time)


STRANGE: dict[str, tuple[Any, int, int]] = {
    "a message that follows itself": ([gpt_chat(_user("a", "a"))], 1, 1),
    "three in a circle": ([gpt_chat(_user("a", "c"), _user("b", "a"), _user("c", "b"))], 1, 3),
    "nodes without messages in a circle": (
        [{"conversation_id": "c1", "mapping": {"a": {"parent": "b"}, "b": {"parent": "a"}, "u": _user("u", "a")}}], 1, 1
    ),
    "a parent that is missing": ([gpt_chat(_user("a", "gone"), _user("b", "a"))], 1, 2),
    "two roots": ([gpt_chat(_user("a", None), _user("b", None))], 1, 2),
    "messages that are null": (
        [gpt_chat({"id": "n", "message": None, "parent": "root"}, {"id": "m", "message": {"author": None}},
        _user("a", "n"))], 1, 1
    ),
    "a node that is a number": ([{"conversation_id": "c1", "mapping": {"a": 7, "b": None, "u": _user("u", "a")}}], 1,
    1),
    "fields of wrong types": (
        [{"conversation_id": 7, "title": ["x"], "mapping": {"u": _user("u", {"x": 1}, "hi", {"t": 1})},
        "current_node": 3}], 1, 1
    ),
    "times that are none": ([gpt_chat(*(_user(f"u{n}", "root", "x", t) for n,
    t in enumerate([1e300, -1e300, "soon", True, None])))], 1, 5),
    "an answer nobody asked for": ([gpt_chat(gpt_node("a", "root", "assistant", "Hello!"))], 1, 1),
    "half characters": ([{"conversation_id": "\ud800", "title": "\udc00 x",
    "mapping": {"\ud801": _user("\ud801", None, "\ud802")}}], 1, 1),
    "ten thousand versions": ([gpt_chat(*(_user(f"u{n}", "root", f"v{n}") for n in range(10_000)))], 1, 10_000),
    "claude without content": ([{"uuid": "x",
    "chat_messages": [None, 7, {"sender": "human", "text": "hi", "content": "no list"}]}], 1, 1),
    "claude with a circle": (
        [{"uuid": "x", "chat_messages": [{"uuid": i, "sender": "human", "text": i, "parent_message_uuid": p}
            for i, p in ("ab", "ba")]}], 1, 2
    ),
    "open webui without history": ([{"id": "x", "chat": {"messages": [{"role": "user", "content": "hi"}, 5]}}], 1, 1),
    "librechat in one piece": ({"conversationId": "x",
    "messages": [{"messageId": "a", "text": "hi", "parentMessageId": ROOT}]}, 1, 1),
    "an entry that is none": ([1, "x", [[{}]], None, {"hello": 1}, bread()], 1, 3),
    "an entry with too many brackets": (f'[{{"a":{"[" * 50_000}{"]" * 50_000}}}, {json.dumps(bread())}]', 1, 3),
    "an entry that is no JSON": (f"[{{nonsense}}, {json.dumps(bread())}]", 1, 3),
    "cut off in the middle": (json.dumps([bread(), bread()])[:-200], 1, 3),
    "a number of a million digits": (f'[{{"a": {"9" * 1_000_000}}}, {json.dumps(bread())}]', 1, 3),
    "a string of many megabytes": ([gpt_chat(_user("u", "root", "y" * 5_000_000))], 1, 1),
    "escapes at the edges of pieces": ([gpt_chat(_user("u", "root", '\\"{[' * 1_000_000))], 1, 1),
}  # fmt: skip


@pytest.mark.parametrize("what", STRANGE)
async def test_a_strange_file_is_imported_as_far_as_possible(atelier: Atelier, tmp_path: Path, what: str) -> None:
    export, chats, count = STRANGE[what]
    file = write(tmp_path / "export.json", export)
    preview = await atelier.chats.preview(file)
    assert len(preview.chats) == chats
    assert sum(each.new_turns for each in preview.chats) == count
    if count > 1_000:
        return
    done = await atelier.chats.import_(file)
    assert len(done.created) == chats
    assert (await atelier.chats.import_(file)).created == ()
    [id] = done.created
    assert len(await atelier.repos.runs.list(id)) == count
    await atelier.workflows.transcript(id)
    await atelier.workflows.export(id)


def _bomb(path: Path) -> Path:
    return zipped(path, {"conversations.json": b"[" + b" " * 30_000_000 + b"]"})


def _lying(path: Path) -> Path:
    """Its directory declares a small file."""
    zipped(path, {"conversations.json": json.dumps([bread()])})
    data = bytearray(path.read_bytes())
    at = data.rindex(b"PK\x01\x02")
    data[at + 24 : at + 28] = struct.pack("<I", 40)
    path.write_bytes(data)
    return path


def _broken(path: Path) -> Path:
    zipped(path, {"conversations.json": "[]"})
    path.write_bytes(path.read_bytes()[:-30])
    return path


def _folder(path: Path) -> Path:
    path.mkdir()
    return path


REFUSED: dict[str, Callable[[Path], Path]] = {
    "not JSON": lambda path: write(path, "hello"),
    "empty": lambda path: write(path, ""),
    "a zip bomb": _bomb,
    "a zip that lies about its size": _lying,
    "a zip without chats": lambda path: zipped(path, {"a.txt": "x"}),
    "a broken zip": _broken,
    "a folder": _folder,
    "nothing": lambda path: path,
}


@pytest.mark.parametrize("what", REFUSED)
async def test_a_file_that_is_no_export_is_refused_with_a_message(atelier: Atelier, tmp_path: Path, what: str) -> None:
    file = REFUSED[what](tmp_path / "export.zip")
    for work in (atelier.chats.preview, atelier.chats.import_):
        with pytest.raises(AtelierError) as caught:
            await work(file)
        assert "export.zip" in str(caught.value)
    assert await atelier.workflows.list() == []


async def test_only_a_too_large_chat_is_skipped(
    atelier: Atelier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_export_reader, "ENTRY_MOST", 100_000)
    file = write(tmp_path / "export.json", [gpt_chat(_user("u", "root", "z" * 200_000), id="big"), bread()])
    done = await atelier.chats.import_(file)
    assert done.created == (workflow_id("chatgpt:c1"),)
    assert done.skipped == {"too_large": 1}


@pytest.mark.parametrize("chats", [1, 40])
async def test_repeated_questions_do_not_make_a_small_file_large(
    atelier: Atelier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chats: int
) -> None:
    """A long question with many answers is in the turn of each: in one chat, or a little of it in each of many."""
    monkeypatch.setattr(chat_to_turns, "FILE_TEXT_LEAST", 1_000_000)
    long, answers = "q" * 10_000, 600 // chats
    hostile = [
        gpt_chat(
            _user("u", "root", long), *(gpt_node(f"a{n}", "u", "assistant", "Yes.") for n in range(answers)), id=f"x{c}"
        )
        for c in range(chats)
    ]
    file = write(tmp_path / "export.json", [bread(), *hostile, claude()])
    preview = await atelier.chats.preview(file)
    done = await atelier.chats.import_(file)
    assert preview.skipped == done.skipped
    assert 0 < done.skipped["too_large"] <= chats, "the person reads that chats were left out"
    turns = sum([await turns_of(atelier, f"chatgpt:x{number}") for number in range(chats)])
    assert turns * len(long) <= max(1_000_000, 4 * file.stat().st_size)
    assert {"chatgpt:c1", "claude:cl1"} <= {each.key for each in preview.chats}, "other chats are imported"
    assert await turns_of(atelier, "claude:cl1") == 2


async def test_a_too_large_file_is_refused(atelier: Atelier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_export_reader, "FILE_MOST", 1_000)
    with pytest.raises(AtelierError, match="GB"):
        await atelier.chats.preview(write(tmp_path / "export.json", [bread()]))


async def test_an_imported_chat_continues_with_its_complete_conversation(open_atelier: Opener, tmp_path: Path) -> None:
    model = ScriptedModel(["Also forty.", "Fifty."])
    async with open_atelier(model) as atelier:
        await atelier.chats.import_(write(tmp_path / "export.json", [bread()]))
        id = workflow_id("chatgpt:c1")
        run = await send_and_wait(atelier, id, "And rye?", agent=AGENT)
        sent = [message.content for message in model.requests[-1].messages if message.role is not Role.SYSTEM]
        assert sent == ["How long does bread bake?", "Forty minutes.", "At what heat?", "At 230 °C.", "And rye?"]
        assert (await atelier.repos.runs.get(run)).tainted, "what goes on from it has read it"
        imported = (await atelier.workflows.branches(id)).popitem()[0]
        again = await atelier.runs.regenerate(id, imported)
        await atelier.runs.wait(again)
        assert (await shown(atelier, "chatgpt:c1"))[-1] == ("assistant", "Fifty.")
        rows = await atelier.usage.rows()
        assert {row.agent for row in rows} == {"Tester", (await atelier.agents.default()).name}, (
            "what was paid elsewhere is no usage here"
        )
        kept = await shown(atelier, "chatgpt:c1")
        added = [gpt_node("u3", "a3", "user", "And oats?"), gpt_node("a4", "u3", "assistant", "Longer.")]
        await atelier.chats.import_(write(tmp_path / "new.json", [bread(*added, current="a4")]))
        assert await shown(atelier, "chatgpt:c1") == kept, "a person went on here: what they see stays in view"


def test_a_pipe_is_no_workflow_and_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "workflow.json")
    assert not is_workflow(tmp_path / "workflow.json")
