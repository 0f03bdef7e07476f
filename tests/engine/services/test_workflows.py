"""Workflows with a real database: titles, deletion, transcripts, branches, moving."""

from __future__ import annotations

import pytest

from atelier_desk.domain import limits
from atelier_desk.domain.errors import LimitError, NotFoundError, UsageError
from atelier_desk.domain.workflow import MessageRole, RunStatus, Workflow
from atelier_desk.engine import Atelier
from atelier_desk.engine.services.workflow.transcript import TranscriptEntry
from atelier_desk.llm.scripted_model import ScriptedModel
from atelier_desk.storage.writing.journal_commit import Commit
from tests.engine.conftest import Opener, create_workflow, stored_status
from tests.engine.services.sample_workflow import AGENT, STEPS, calculate, full_workflow, turn
from tests.helpers.manual_clock import ManualClock
from tests.helpers.tool_calls import tool_call


async def test_a_new_workflow_is_titled_after_its_first_message_once(open_atelier: Opener) -> None:
    async with open_atelier(["Done.", "Done."]) as atelier:
        workflow = await atelier.workflows.create()
        assert workflow.name == "New workflow"
        await turn(atelier, workflow.id, "## Plan the week\nplease")
        assert (await atelier.workflows.get(workflow.id)).name == "Plan the week"
        await turn(atelier, workflow.id, "Something else")
        assert (await atelier.workflows.get(workflow.id)).name == "Plan the week"


async def test_a_title_given_while_the_first_run_starts_stays(open_atelier: Opener) -> None:
    async with open_atelier(["Done."]) as atelier:
        workflow = await atelier.workflows.create()
        store = atelier.repos.journal.commit

        async def renamed_before(commit: Commit) -> None:
            atelier.repos.journal.commit = store  # type: ignore[method-assign]
            await atelier.workflows.rename(workflow.id, "Mine")
            await store(commit)

        atelier.repos.journal.commit = renamed_before  # type: ignore[method-assign]
        await turn(atelier, workflow.id, "Plan the week")
        assert (await atelier.workflows.get(workflow.id)).name == "Mine"


async def test_a_given_title_stays(open_atelier: Opener) -> None:
    async with open_atelier(["Done."]) as atelier:
        workflow = await atelier.workflows.create("Mine")
        await turn(atelier, workflow.id, "Plan the week")
        assert (await atelier.workflows.get(workflow.id)).name == "Mine"


async def test_invalid_titles_are_refused_with_what_is_allowed(atelier: Atelier) -> None:
    workflow = await atelier.workflows.create("x")
    with pytest.raises(UsageError, match="blank"):
        await atelier.workflows.rename(workflow.id, "  \n ")
    with pytest.raises(LimitError, match=r"257.*256"):
        await atelier.workflows.rename(workflow.id, "x" * 257)
    with pytest.raises(NotFoundError):
        await atelier.workflows.rename("missing", "y")
    with pytest.raises(NotFoundError):
        await atelier.workflows.create("x", agent_id="missing")
    with pytest.raises(LimitError):
        await atelier.workflows.list(limit=0)
    with pytest.raises(LimitError):
        await atelier.workflows.list(limit=None, offset=-1)
    with pytest.raises(UsageError):
        await atelier.workflows.set_workspace(workflow.id, ("relative",))


async def test_lists_show_pinned_workflows_first_and_search_by_title(open_atelier: Opener, clock: ManualClock) -> None:
    async with open_atelier(clock=clock) as atelier:
        first = await atelier.workflows.create("Alpha")
        await clock.advance(1)
        second = await atelier.workflows.create("Beta")
        assert [each.id for each in await atelier.workflows.list()] == [second.id, first.id]
        await atelier.workflows.set_pinned(first.id, True)
        assert [each.id for each in await atelier.workflows.list()] == [first.id, second.id]
        assert [each.id for each in await atelier.workflows.list("BET")] == [second.id]


async def test_every_change_is_announced(atelier: Atelier) -> None:
    heard: list[tuple[str, str]] = []
    atelier.bus.on_changed(lambda topic, id: heard.append((topic, id)))
    workflow = await atelier.workflows.create("x")
    await atelier.workflows.rename(workflow.id, "y")
    await atelier.workflows.set_pinned(workflow.id, True)
    await atelier.workflows.delete(workflow.id)
    await atelier.workflows.undo_delete(workflow.id)
    await atelier.workflows.purge(workflow.id)
    assert heard == [("workflow", workflow.id)] * 6


async def test_a_deleted_workflow_can_be_restored_until_it_is_purged(open_atelier: Opener, clock: ManualClock) -> None:
    async with open_atelier(clock=clock) as atelier:
        workflow = await atelier.workflows.create("x")
        await atelier.workflows.delete(workflow.id)
        assert await atelier.workflows.list() == []
        assert await atelier.workflows.purge_expired() == 0
        await atelier.workflows.undo_delete(workflow.id)
        assert len(await atelier.workflows.list()) == 1
        await atelier.workflows.delete(workflow.id)
        await clock.advance((limits.DELETED_DAYS - 1) * 86_400)
        assert await atelier.workflows.purge_expired() == 0
        await clock.advance(86_401)
        assert await atelier.workflows.purge_expired() == 1
        with pytest.raises(NotFoundError):
            await atelier.workflows.get(workflow.id)


async def test_workflows_deleted_long_ago_are_purged_behind_newer_rows(
    open_atelier: Opener, clock: ManualClock
) -> None:
    async with open_atelier(clock=clock) as atelier:
        old = await atelier.workflows.create("old")
        await atelier.workflows.delete(old.id)
        await clock.advance(limits.DELETED_DAYS * 86_400 + 1)
        for _number in range(3):
            newer = await atelier.workflows.create("newer")
            await atelier.workflows.delete(newer.id)
        assert await atelier.workflows.purge_expired(1) == 1
        with pytest.raises(NotFoundError):
            await atelier.workflows.get(old.id)


async def test_a_copy_gets_a_unique_title(monkeypatch: pytest.MonkeyPatch, atelier: Atelier) -> None:
    first = await atelier.workflows.create("Plan")
    text = await atelier.workflows.export(first.id)

    async def no_list(**only: object) -> list[Workflow]:
        raise AssertionError("an import reads no workflow but its own")

    monkeypatch.setattr(atelier.repos.workflows, "list", no_list)
    names = [(await atelier.workflows.import_(text)).workflow.name for _time in range(2)]
    assert len({"Plan", *names}) == 3


async def test_purging_deletes_every_row_and_the_report_files(open_atelier: Opener) -> None:
    async with open_atelier(ScriptedModel(STEPS)) as atelier:
        before = await atelier.store.counts()
        workflow_id = await full_workflow(atelier)
        path = await atelier.reports.path(workflow_id, "Findings")
        assert path.read_text("utf-8").startswith("# Findings")
        await atelier.workflows.purge(workflow_id)
        # Only what its requests cost and the time of the newest change of memories remain.
        assert await atelier.store.counts() == before | {"spent": 2, "setting": before["setting"] + 1}
        assert not path.exists()


async def test_deleting_stops_the_run(open_atelier: Opener) -> None:
    import asyncio

    gate = asyncio.Event()
    async with open_atelier(ScriptedModel(["never finished"], gate=gate)) as atelier:
        workflow = await atelier.workflows.create("x")
        run_id = await atelier.runs.send(workflow.id, "go", agent=AGENT)
        await atelier.workflows.delete(workflow.id)
        assert await stored_status(atelier, run_id) is RunStatus.CANCELLED


async def test_a_transcript_pages_backwards_with_calls_and_questions(open_atelier: Opener) -> None:
    ask = tool_call("UserQuestionTool", "q1", operation="ask", question="Colour?", questionType="text")
    async with open_atelier(ScriptedModel([[calculate("c1")], "42", [ask], "fine"])) as atelier:
        workflow = await atelier.workflows.create("x")
        await turn(atelier, workflow.id, "first")
        await turn(atelier, workflow.id, "second")
        [asked] = await atelier.questions.pending(workflow.id)
        await atelier.questions.answer_with(asked.id, text="red")
        await atelier.runs.wait(asked.run_id)
        whole = await atelier.workflows.transcript(workflow.id)
        said = [
            (entry.message.role, entry.message.content)
            for entry in whole
            if entry.message.role is not MessageRole.NOTICE
        ]
        assert said[0] == (MessageRole.USER, "first")
        assert said[-1] == (MessageRole.ASSISTANT, "fine")
        calling = [entry for entry in whole if entry.calls]
        assert [entry.calls[0].tool for entry in calling] == ["CalculatorTool", "UserQuestionTool"]
        assert calling[0].calls[0].result["result"] == 42
        assert [asked.text_response for asked in calling[1].questions] == ["red"]
        paged: list[TranscriptEntry] = []
        before = None
        while batch := await atelier.workflows.transcript(workflow.id, before=before, limit=2):
            paged = [*batch, *paged]
            before = batch[0].message.seq
        assert [entry.message.id for entry in paged] == [entry.message.id for entry in whole]


async def test_branches_remain_and_can_be_chosen(open_atelier: Opener) -> None:
    async with open_atelier(ScriptedModel(["one", "two", "one again"])) as atelier:
        workflow = await atelier.workflows.create("x")
        first = await turn(atelier, workflow.id, "a")
        await turn(atelier, workflow.id, "b")
        again = await atelier.runs.edit_and_resend(workflow.id, first, "a, better")
        await atelier.runs.wait(again)
        shown = [entry.message.content for entry in await atelier.workflows.transcript(workflow.id)]
        assert shown == ["a, better", "one again"]
        branch = (await atelier.workflows.branches(workflow.id))[again]
        assert (branch.index, branch.count) == (1, 2)
        await atelier.workflows.select_branch(workflow.id, first)
        entries = await atelier.workflows.transcript(workflow.id)
        assert [entry.message.content for entry in entries] == ["a", "one", "b", "two"]
        assert entries[0].branch is not None
        assert entries[0].branch.runs == (first, again)
        with pytest.raises(NotFoundError):
            await atelier.workflows.select_branch(workflow.id, "missing")


async def test_a_turn_added_later_is_in_the_cached_lineage(open_atelier: Opener) -> None:
    async with open_atelier(ScriptedModel(["one", "two", "two again", "three"])) as atelier:
        workflow = await atelier.workflows.create("x")
        await turn(atelier, workflow.id, "a")
        assert len(await atelier.workflows.transcript(workflow.id)) == 2
        second = await turn(atelier, workflow.id, "b")
        assert len(await atelier.workflows.transcript(workflow.id)) == 4
        again = await atelier.runs.regenerate(workflow.id, second)
        await atelier.runs.wait(again)
        await turn(atelier, workflow.id, "c")
        shown = [entry.message.content for entry in await atelier.workflows.transcript(workflow.id)]
        assert shown == ["a", "one", "b", "two again", "c", "three"]


async def test_search_finds_messages_tool_calls_reports_and_memories(open_atelier: Opener) -> None:
    async with open_atelier(ScriptedModel([[calculate("c1", "987*2")], "That is a hippopotamus."])) as atelier:
        workflow = await atelier.workflows.create("Zoo")
        await turn(atelier, workflow.id, "Which animal?")
        await atelier.memories.add("The hippopotamus is called Hugo", workflow_id=workflow.id)
        kinds = {hit.kind for hit in await atelier.workflows.search("hippopotamus")}
        assert {"message", "memory"} <= kinds
        assert await atelier.workflows.search("   ") == []
        await atelier.workflows.delete(workflow.id)
        assert [hit for hit in await atelier.workflows.search("hippopotamus") if hit.kind == "message"] == []


async def test_markdown_reads_like_the_conversation(open_atelier: Opener) -> None:
    async with open_atelier(ScriptedModel(STEPS)) as atelier:
        workflow_id = await full_workflow(atelier)
        text = await atelier.workflows.export(workflow_id, "md")
        assert text.startswith("# Everything\n")
        assert "What is 6*7?" in text
        assert "CalculatorTool" in text
        assert "It is 42." in text
        assert "- [ ] First (to do)" in text
        with pytest.raises(UsageError, match="json, md"):
            await atelier.workflows.export(workflow_id, "pdf")


async def test_folder_archive_and_unread_mark_survive_a_restart_and_an_export(open_atelier: Opener) -> None:
    async with open_atelier() as atelier:
        filed, plain, away = [await create_workflow(atelier, name) for name in ("Filed", "Plain", "Away")]
        assert (await atelier.workflows.move(filed, "Nat\ud800ure")).collection == "Nat\ufffdure", "as pasted"
        await atelier.workflows.move(filed, " Nature ")
        await atelier.workflows.set_archived(away, True)
        await atelier.workflows.set_unread(plain, True)
        with pytest.raises(LimitError, match="at most 64"):
            await atelier.workflows.move(filed, "x" * 65)
        exported = await atelier.workflows.export(filed)
    async with open_atelier() as atelier:
        listing = await atelier.workflows.listing()
        assert [each.id for each in listing.recent] == [plain]
        assert [(each.id, each.collection) for each in listing.filed] == [(filed, "Nature")]
        assert (listing.archived, listing.archived_count) == ((), 1)
        assert [each.id for each in (await atelier.workflows.listing(archive=True)).archived] == [away]
        assert (await atelier.workflows.get(plain)).unread
        assert (await atelier.workflows.import_(exported)).workflow.collection == "Nature"
        assert (await atelier.workflows.move(filed, "")).collection == ""
        assert [each.id for each in (await atelier.workflows.listing()).filed] != [filed]
