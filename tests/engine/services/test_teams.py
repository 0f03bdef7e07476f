"""Teams as the screens show them: live, finished, and at any moment of their past."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.approval import ApprovalSettings, ApprovalStatus
from atelier_desk.domain.errors import NotFoundError
from atelier_desk.domain.question import QuestionStatus
from atelier_desk.domain.stream.event import ChunkType
from atelier_desk.engine import Atelier
from atelier_desk.engine.services.team.agent_tree_and_timeline_types import AgentNode
from atelier_desk.llm.scripted_model import ScriptedModel
from tests.engine.conftest import Opener, Recorder
from tests.helpers.scripted_teams import ask_parent, ask_user, begin, calculate, leader, scripts, spawn
from tests.helpers.tool_calls import tool_call


async def settled(atelier: Atelier, workflow_id: str) -> None:
    """Wait until no run of the workflow is active."""
    for row in await atelier.repos.runs.list(workflow_id):
        await atelier.runs.wait(row.id)


def family() -> Callable[[AgentConfig], ScriptedModel]:
    """A leader with two sub-agents, one of which has a sub-agent."""
    return scripts(
        Tester=[[spawn("s1", "Reader", "Add."), spawn("s2", "Writer", "Write.")], "Both are done."],
        Reader=[[calculate("c", "1+1")], "It is 2."],
        Writer=[[spawn("deep", "Helper", "Rhyme.")], "A line."],
        Helper=["Time, rhyme."],
    )


async def test_the_tree_of_a_finished_team_is_the_same_live_and_from_the_database(open_atelier: Opener) -> None:
    async with open_atelier(family()) as atelier:
        workflow_id, run_id = await begin(atelier)
        await atelier.runs.wait(run_id)
        live = await atelier.teams.tree(workflow_id)
    async with open_atelier() as atelier:
        cold = await atelier.teams.tree(workflow_id, run_id)
    for tree in (live, cold):
        assert (tree.run_id, tree.status, tree.depth, tree.parent_run_id) == (run_id, "completed", 0, None)
        assert [(node.name, node.depth, node.status, node.report) for node in tree.walk()] == [
            ("Tester", 0, "completed", "Both are done."),
            ("Reader", 1, "completed", "It is 2."),
            ("Writer", 1, "completed", "A line."),
            ("Helper", 2, "completed", "Time, rhyme."),
        ]
        reader, writer = tree.children
        assert (reader.parent_call_id, writer.parent_call_id) == ("s1", "s2")
        assert reader.call_kind == "spawn"
        assert reader.title == "Add."
        assert (reader.tool_calls, reader.total.tool_calls, tree.total.tool_calls) == (
            1,
            1,
            sum(n.tool_calls for n in tree.walk()),
        )
        assert tree.total.usage.tokens_output == 8 * 7
        assert writer.total.usage.tokens_output == 8 * 3
        assert all(node.over and node.counting_since is None and node.ended_at is not None for node in tree.walk())
        assert [node.name for node in tree.path(writer.children[0].run_id)] == ["Tester", "Writer", "Helper"]
        assert tree.path("nobody") == ()
        assert {node.root_run_id for node in tree.walk()} == {run_id}
    assert [node.elapsed_ms for node in live.walk()] == [node.elapsed_ms for node in cold.walk()]


async def test_an_active_team_shows_what_each_member_does(open_atelier: Opener) -> None:
    gate = asyncio.Event()
    factory = scripts(
        Tester=[[spawn("s1", "Reader"), spawn("s2", "Asker")], "Done."],
        Reader=ScriptedModel(["slow"], gate=gate),
        Asker=[[ask_user("q", "Red or blue?")], "Red."],
    )
    async with open_atelier(factory) as atelier:
        seen = Recorder(atelier)
        workflow_id, run_id = await begin(atelier)
        await seen.until(ChunkType.USER_QUESTION_START)
        await seen.until(ChunkType.TOKEN)
        tree = await atelier.teams.tree(workflow_id)
        reader, asker = tree.children
        assert tree.status == "awaiting_children"
        assert (reader.status, reader.counting_since is not None) == ("processing", True)
        assert (asker.status, asker.question) == ("awaiting_user", "Red or blue?")
        assert asker.counting_since is None
        assert not reader.over
        # A process without the run in memory sees the same.
        assert [node.run_id for node in await atelier.teams.lanes(run_id, "s2")] == [asker.run_id]
        assert await atelier.teams.lanes(run_id, "unknown") == []
        gate.set()
        question = (await atelier.questions.pending())[0]
        await atelier.runs.answering.answer_question(question.id, QuestionStatus.ANSWERED, (), "red")
        await seen.until(ChunkType.WORKFLOW_COMPLETE)
        assert [node.status for node in (await atelier.teams.tree(workflow_id)).walk()] == ["completed"] * 3


async def test_a_question_to_the_parent_is_shown_at_the_asking_agent(open_atelier: Opener) -> None:
    factory = scripts(
        Tester=[[spawn("s1", "Asker")], "Done."],
        Asker=[[ask_parent("p", "Which file?")], "Done."],
    )
    async with open_atelier(factory) as atelier:
        seen = Recorder(atelier)
        workflow_id, run_id = await begin(atelier)
        asked = await seen.until(ChunkType.SUB_AGENT_QUESTION)
        assert asked.data["question"] == "Which file?"
        await seen.until(ChunkType.WORKFLOW_COMPLETE)
        snapshot = await atelier.teams.at(workflow_id, run_id, asked.seq)
        assert snapshot.tree is not None
        asker = snapshot.tree.children[0]
        assert (asker.status, asker.question) == ("awaiting_parent", "Which file?")


async def test_planned_and_skipped_sub_agents_are_nodes_without_a_run(open_atelier: Opener) -> None:
    plan = tool_call(
        "plan_actions",
        "plan",
        goal="Two steps",
        strategy="sequential",
        actions=[
            {"description": "first thing", "complexity": "simple"},
            {"description": "second thing", "complexity": "simple"},
        ],
    )
    broken = RuntimeError("the model is gone")

    def model(config: object) -> ScriptedModel:
        return lead if getattr(config, "name", "") == "Tester" else worker

    lead, worker = ScriptedModel([[plan], "It failed."]), ScriptedModel([broken] * 8)
    async with open_atelier(model) as atelier:
        workflow_id, run_id = await begin(atelier)
        await atelier.runs.wait(run_id)
        tree = await atelier.teams.tree(workflow_id)
        first, second = tree.children
        assert (first.stage, second.stage) == (0, 1)
        assert first.status == "error"
        assert first.error
        assert (second.status, second.over, second.started_at) == ("not_run", True, None)
        assert second.parent_call_id == "plan"
        entry = next(e for e in await atelier.workflows.transcript(workflow_id) if e.message.call_ids)
        assert [node.status for node in entry.children["plan"]] == ["error", "not_run"]


async def test_the_main_transcript_has_only_root_runs_and_sub_agents_have_their_own(open_atelier: Opener) -> None:
    gate = asyncio.Event()
    factory = scripts(
        Tester=["Hello.", [spawn("s1", "Reader", "Add."), spawn("s2", "Writer", "Write.")], "Both are done."],
        Reader=ScriptedModel([[calculate("c", "1+1")], "It is 2."], gate=gate),
        Writer=["A line."],
    )
    async with open_atelier(factory) as atelier:
        seen = Recorder(atelier)
        workflow_id, first = await begin(atelier, "Hi")
        await atelier.runs.wait(first)
        # Read before there are sub-agents: the cached branch must not hide later ones.
        assert len(await atelier.workflows.transcript(workflow_id)) == 2
        run_id = await atelier.runs.send(workflow_id, "Work.", agent=leader())
        assert await atelier.workflows.transcript(workflow_id)
        await seen.until(ChunkType.SUB_AGENT_COMPLETE, sub_agent_name="Writer")
        during = await atelier.workflows.transcript(workflow_id)
        assert {entry.message.run_id for entry in during} == {first, run_id}
        card = next(entry for entry in during if entry.message.call_ids == ("s1", "s2"))
        assert [card.children[call][0].status for call in ("s1", "s2")] == ["processing", "completed"]
        gate.set()
        await seen.until(ChunkType.WORKFLOW_COMPLETE, status="completed")
        await atelier.runs.wait(run_id)
        entries = await atelier.workflows.transcript(workflow_id)
        assert [entry.message.content for entry in entries] == ["Hi", "Hello.", "Work.", "", "Both are done."]
        reader = entries[3].children["s1"][0]
        own = await atelier.teams.transcript(reader.run_id)
        assert [entry.message.content for entry in own][:1] == ["Add."]
        assert [entry.message.content for entry in own][-1] == "It is 2."
        assert [call.tool for entry in own for call in entry.calls] == ["CalculatorTool"]
        newest = await atelier.teams.transcript(reader.run_id, limit=1)
        assert newest == own[-1:]
        assert await atelier.teams.transcript(reader.run_id, before=newest[0].message.seq) == own[:-1]


async def test_approvals_are_shown_at_their_call_pending_and_decided(open_atelier: Opener) -> None:
    factory = scripts(Tester=[[calculate("c1", "1+1"), calculate("c2", "2+2")], "Done."])
    async with open_atelier(factory) as atelier:
        seen = Recorder(atelier)
        await atelier.settings.update(approvals=ApprovalSettings(auto_approve_low=False))
        workflow_id, _run = await begin(atelier, approval="manual")
        await seen.until(ChunkType.VALIDATION_REQUIRED, call_id="c2")
        tree = await atelier.teams.tree(workflow_id)
        assert (tree.status, tree.approvals.pending, tree.approvals.approved) == ("awaiting_approval", 2, 0)
        entry = next(e for e in await atelier.workflows.transcript(workflow_id) if e.message.call_ids)
        assert {call: [r.status for r in entry.approvals[call]] for call in entry.approvals} == {
            "c1": [ApprovalStatus.PENDING], "c2": [ApprovalStatus.PENDING],
        }  # fmt: skip
        await atelier.approvals.approve(entry.approvals["c1"][0].id)
        await atelier.approvals.reject(entry.approvals["c2"][0].id, "no")
        await seen.until(ChunkType.WORKFLOW_COMPLETE)
        tree = await atelier.teams.tree(workflow_id)
        assert (tree.approvals.pending, tree.approvals.approved, tree.approvals.rejected) == (0, 1, 1)
        entry = next(e for e in await atelier.workflows.transcript(workflow_id) if e.message.call_ids)
        assert [entry.approvals[call][0].status for call in ("c1", "c2")] == [
            ApprovalStatus.APPROVED,
            ApprovalStatus.REJECTED,
        ]


def shape(node: AgentNode | None) -> object:
    """A tree without what only memory knows."""
    return (
        None
        if node is None
        else (node.run_id, node.status, node.usage, node.report, [shape(child) for child in node.children])
    )


async def test_every_moment_of_a_team_can_be_shown_and_the_last_is_the_current_one(open_atelier: Opener) -> None:
    async with open_atelier(family()) as atelier:
        workflow_id, run_id = await begin(atelier)
        await atelier.runs.wait(run_id)
        await atelier.tasks.create(workflow_id, "by hand")
        last = (await atelier.workflows.get(workflow_id)).stream_seq
        statuses: list[int] = []
        for seq in range(last + 1):
            moment = await atelier.teams.at(workflow_id, run_id, seq)
            statuses.append(len(list(moment.tree.walk())) if moment.tree else 0)
            assert moment.mark is None or moment.mark.seq <= seq
        assert statuses == sorted(statuses)
        assert (statuses[0], statuses[-1]) == (0, 4)
        end = await atelier.teams.at(workflow_id, run_id, 10**9)
        assert shape(end.tree) == shape(await atelier.teams.tree(workflow_id))
        assert [task.name for task in end.tasks] == ["by hand"]
        assert (await atelier.teams.at(workflow_id, run_id, last - 1)).tasks == ()
        shown = [(e.message, e.calls, e.questions) for e in end.entries]
        assert shown == [(e.message, e.calls, e.questions) for e in await atelier.workflows.transcript(workflow_id)]
        for node in (await atelier.teams.tree(workflow_id)).walk():
            if node.run_id != run_id:
                own = await atelier.teams.transcript(node.run_id)
                assert [e.message for e in end.transcripts[node.run_id]] == [e.message for e in own]
        # Going back after showing the end gives what was shown on the way.
        early = await atelier.teams.at(workflow_id, run_id, 5)
        assert shape(early.tree) == shape((await atelier.teams.at(workflow_id, run_id, 5)).tree)
        assert len(early.entries) < len(end.entries)


async def test_a_scrubber_that_asks_faster_than_it_is_answered_reads_the_events_once(
    open_atelier: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_atelier(scripts(Tester=["Hello."])) as atelier:
        workflow_id, run_id = await begin(atelier)
        await settled(atelier, workflow_id)
        read, reads = atelier.repos.journal.of_runs, 0

        async def of_runs(*given: Any, **named: Any) -> Any:
            nonlocal reads
            reads += 1
            return await read(*given, **named)

        monkeypatch.setattr(atelier.repos.journal, "of_runs", of_runs)
        moments = await asyncio.gather(*(atelier.teams.at(workflow_id, run_id, seq) for seq in range(4)))
        assert [moment.seq for moment in moments] == [0, 1, 2, 3]
        assert reads == 1


async def test_the_replay_of_an_active_team_includes_new_events(open_atelier: Opener) -> None:
    factory = scripts(Tester=[[ask_user("q")], "Red it is."])
    async with open_atelier(factory) as atelier:
        workflow_id, run_id = await begin(atelier)
        await settled(atelier, workflow_id)
        before = await atelier.teams.at(workflow_id, run_id, 10**9)
        assert before.tree is not None
        assert before.tree.status == "awaiting_user"
        question = (await atelier.questions.pending())[0]
        await atelier.runs.answering.answer_question(question.id, QuestionStatus.ANSWERED, (), "red")
        await settled(atelier, workflow_id)
        after = await atelier.teams.at(workflow_id, run_id, 10**9)
        assert after.tree is not None
        assert after.tree.status == "completed"
        assert after.entries[-1].message.content == "Red it is."


async def test_the_timeline_shows_what_each_run_did(open_atelier: Opener) -> None:
    async with open_atelier(family()) as atelier:
        workflow_id, run_id = await begin(atelier)
        await atelier.runs.wait(run_id)
        line = await atelier.teams.timeline(run_id)
        assert [run.name for run in line.runs] == ["Tester", "Reader", "Writer", "Helper"]
        assert line.end is not None
        for run in line.runs:
            assert run.end is not None
            assert line.start <= run.start <= run.end <= line.end
            assert all(span.end is not None and run.start <= span.start <= span.end for span in run.spans)
        root, reader = line.runs[:2]
        assert sorted({span.kind for span in root.spans}) == ["model", "tool", "wait"]
        assert [span.label for span in root.spans if span.kind == "wait"] == ["children", "children"]
        assert [(span.kind, span.label) for span in reader.spans] == [
            ("model", "scripted"), ("tool", "CalculatorTool"), ("model", "scripted"),
        ]  # fmt: skip
        requests = {(span.run_id, span.event_seq) for run in line.runs for span in run.spans if span.kind == "model"}
        for span_run, seq in requests:
            assert (await atelier.inspector.request(span_run, seq)).summary.seq == seq
        seqs = [mark.seq for mark in line.marks]
        assert seqs == sorted(set(seqs))
        assert [mark.label for mark in line.marks if mark.kind == "child_started"] == ["Reader", "Writer", "Helper"]
        for mark in line.marks:
            moment = await atelier.teams.at(workflow_id, run_id, mark.seq)
            assert moment.mark == mark


async def test_for_a_sub_agent_only_its_own_part_is_shown(open_atelier: Opener) -> None:
    async with open_atelier(family()) as atelier:
        workflow_id, run_id = await begin(atelier)
        await atelier.runs.wait(run_id)
        writer = (await atelier.teams.tree(workflow_id)).children[1]
        assert (await atelier.teams.tree(workflow_id, writer.run_id)).name == "Writer"
        assert [run.name for run in (await atelier.teams.timeline(writer.run_id)).runs] == ["Writer", "Helper"]
        moment = await atelier.teams.at(workflow_id, writer.run_id, 10**9)
        assert moment.tree is not None
        assert [node.name for node in moment.tree.walk()] == ["Writer", "Helper"]


async def test_an_unknown_run_is_a_clear_error(open_atelier: Opener) -> None:
    async with open_atelier(["Hi."]) as atelier:
        empty = await atelier.workflows.create()
        with pytest.raises(NotFoundError, match="no messages yet"):
            await atelier.teams.tree(empty.id)
        workflow_id, run_id = await begin(atelier)
        await atelier.runs.wait(run_id)
        for call in (
            atelier.teams.tree(empty.id, run_id),
            atelier.teams.tree(workflow_id, "nobody"),
            atelier.teams.at(empty.id, run_id, 1),
            atelier.teams.timeline("nobody"),
            atelier.teams.transcript("nobody"),
            atelier.teams.lanes("nobody", "c"),
        ):
            with pytest.raises(NotFoundError):
                await call
