"""The reducer: the effect of each event on a run, and that the events determine its state completely."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain.agent import Budget, SearchScope
from atelier_desk.domain.approval import ApprovalKind, ApprovalRequest
from atelier_desk.domain.attachment import Attachment
from atelier_desk.domain.events.run import (
    ApprovalRequested,
    CallStatus,
    ContextCompacted,
    EntryPinned,
    ImagesRejected,
    Injected,
    LimitKind,
    LimitReached,
    LoopDetected,
    ModelReplied,
    ModelRetried,
    PauseReason,
    QuestionAnswered,
    QuestionAsked,
    QueueChanged,
    QueuedSent,
    ReplyCutOff,
    RunEvent,
    RunFailed,
    RunFinished,
    RunPaused,
    RunResumed,
    TaskChanged,
    ToolsRefused,
    UserMessage,
    WindowLearned,
    event_body_adapter,
)
from atelier_desk.domain.question import QuestionStatus
from atelier_desk.domain.skill import SkillUse
from atelier_desk.domain.task import Task, TaskStatus
from atelier_desk.domain.workflow import Dispatch, RunMode, RunStatus
from atelier_desk.engine.run.reducer.conversation_entries import ContextEntry, EntryKind
from atelier_desk.engine.run.reducer.reduce import ARE_YOU_DONE, CUT_OFF, FINISH_NOW, fold, reduce
from atelier_desk.engine.run.reducer.state import Ending, inherited_context
from atelier_desk.engine.run.request.compaction import shortened
from atelier_desk.presentation.run_notices import FIX_ANSWER
from tests.engine.run.reducer.sample_question import question
from tests.helpers.runs_without_driver import Script, advance, agent, call, finished, interpret, reply, started
from tests.helpers.tool_calls import tool_call


def kinds(script: Script) -> list[str]:
    return [entry.kind.value for entry in script.state.entries]


def test_a_run_begins_with_its_start_and_numbers_have_no_gap() -> None:
    script = Script()
    with pytest.raises(ValueError, match="does not begin"):
        fold(script.events[1:])
    with pytest.raises(ValueError, match="does not follow"):
        reduce(script.state, script.events[-1])
    script.add(reply("one"), reply("two"))
    with pytest.raises(ValueError, match="event 4 does not follow 2"):
        fold([*script.events[:2], *script.events[3:]])


def test_reply_with_calls_plans_them_and_results_ask_the_model_again() -> None:
    script = Script().add(reply("", call("a"), call("b")))
    assert [c.status for c in script.state.calls] == ["planned", "planned"]
    assert not script.state.needs_model
    script.add(started("a"), finished("a"))
    assert [c.status for c in script.state.calls] == ["done", "planned"]
    assert not script.state.needs_model
    script.add(started("b"), finished("b"))
    assert script.state.needs_model
    assert script.state.tool_calls == 2
    assert kinds(script) == ["user", "reply", "result", "result"]


def test_a_second_result_for_the_same_call_is_ignored() -> None:
    script = Script().add(reply("", call("a")), started("a"), finished("a", text="first"), finished("a", text="second"))
    assert [entry.text for entry in script.state.entries if entry.kind is EntryKind.RESULT] == ["first"]


def test_queued_message_waits_for_the_answer_and_then_becomes_the_next_turn() -> None:
    script = Script().add(UserMessage(content="second", strategy=Dispatch.QUEUE))
    assert kinds(script) == ["user"]
    script.add(reply("first answer"))
    assert kinds(script) == ["user", "reply", "user"]
    assert script.state.needs_model
    assert script.state.queued == ()
    assert script.state.iterations == 0


def test_queued_message_waits_while_calls_are_open() -> None:
    script = Script().add(reply("", call("a")), UserMessage(content="second"), started("a"), finished("a"))
    assert kinds(script) == ["user", "reply", "result"]
    script.add(reply("done"))
    assert kinds(script)[-1] == "user"


def test_silent_message_is_read_later_and_triggers_nothing() -> None:
    script = Script().add(reply("", call("a")), UserMessage(content="by the way", strategy=Dispatch.SILENT))
    assert "by the way" not in [entry.text for entry in script.state.entries]
    script.add(started("a"), finished("a"))
    assert script.state.entries[-1].text == "by the way"
    script.add(reply("done"), UserMessage(content="note", strategy=Dispatch.SILENT))
    assert not script.state.needs_model
    assert script.state.entries[-1].text == "note"


def test_interrupting_message_enters_at_once() -> None:
    script = Script().add(UserMessage(content="no, this", strategy=Dispatch.REDIRECT))
    assert kinds(script) == ["user", "user"]
    assert script.state.needs_model


def test_working_time_excludes_waiting_and_the_gap_before_a_resume() -> None:
    script = Script(seconds=1).add(reply("", call("c1", "UserQuestionTool")), started("c1"))
    working = script.state.elapsed_ms
    assert working == 3000
    script.add(QuestionAsked(question=question()))
    script.add(QuestionAnswered(question_id="q1", call_id="c1", status=QuestionStatus.ANSWERED), seconds=600)
    assert script.state.elapsed_ms == working + 1000
    script.add(finished("c1"))
    before = script.state.elapsed_ms
    script.add(RunResumed(), seconds=3600)
    assert script.state.elapsed_ms == before


def test_a_clock_set_back_does_not_reduce_the_working_time() -> None:
    script = Script(seconds=2).add(reply("", call("a")), started("a"))
    worked = script.state.elapsed_ms
    script.add(finished("a"), seconds=-3600)
    assert script.state.elapsed_ms == worked == 6000
    script.add(reply("done"))
    assert script.state.elapsed_ms == worked + 2000


def test_calls_that_share_a_state_each_add_to_it() -> None:
    script = Script().add(
        reply("", call("a", "read_file"), call("b", "edit_file")), started("a", "read_file"), started("b", "edit_file")
    )
    script.add(finished("a", "read_file", state={"a.txt": "hash of a"}, state_of="files"))
    script.add(finished("b", "edit_file", state={"b.txt": "hash of b"}, state_of="files"))
    assert script.state.tool_state == {"files": {"a.txt": "hash of a", "b.txt": "hash of b"}}


def test_question_holds_the_run_until_the_last_is_answered() -> None:
    script = Script().add(
        reply("", call("c1"), call("c2")), started("c1"), QuestionAsked(question=question("c1", "q1"))
    )
    script.add(started("c2"), QuestionAsked(question=question("c2", "q2")))
    assert script.state.status is RunStatus.AWAITING_USER
    script.add(QuestionAnswered(question_id="q1", call_id="c1", status=QuestionStatus.SKIPPED), finished("c1"))
    assert script.state.status is RunStatus.AWAITING_USER
    assert [each.id for each in script.state.questions] == ["q2"]
    answered = QuestionAnswered(question_id="q2", call_id="c2", status=QuestionStatus.ANSWERED)
    assert script.add(answered, finished("c2")).state.status is RunStatus.PROCESSING
    assert script.state.questions == ()


def test_usage_and_iterations_add_up() -> None:
    script = Script().add(reply("", call("a"), cost=0.25), started("a"), finished("a"), reply("done", cost=0.5))
    assert script.state.usage.cost == 0.75
    assert script.state.usage.tokens_input == 20
    assert script.state.iterations == 2


def test_task_complete_ends_the_run_with_its_summary() -> None:
    done = finished(
        "a", "task_complete", end="completed", end_summary="all built", result={"success": True, "result": "42"}
    )
    script = Script().add(reply("", call("a", "task_complete")), started("a", "task_complete"), done)
    assert script.state.ending is not None
    assert (script.state.ending.summary, script.state.ending.result) == ("all built", "42")
    assert not script.state.needs_model


def test_limit_pauses_and_a_resume_raises_it() -> None:
    script = Script(config=agent(budget=Budget(max_tool_calls=1)))
    script.add(LimitReached(limit=LimitKind.TOOL_CALLS, value=1, cap=1), RunPaused(reason=PauseReason.LIMIT))
    assert script.state.status is RunStatus.PAUSED
    resumed = RunResumed(raise_limits={LimitKind.TOOL_CALLS: 5})
    assert script.add(resumed).state.status is RunStatus.PROCESSING
    assert script.state.raised_limits == {LimitKind.TOOL_CALLS: 5}
    assert script.state.limit is None


def test_failed_run_can_be_tried_again() -> None:
    script = Script().add(RunFailed(code="unreachable", message="no server"))
    assert script.state.status is RunStatus.ERROR
    assert script.add(RunResumed()).state.status is RunStatus.PROCESSING
    assert script.state.needs_model


def test_finish_note_allows_one_last_answer() -> None:
    script = Script().add(Injected(reason=FINISH_NOW, content="finish"))
    assert script.state.final_only
    script.add(reply("that is it"))
    assert not script.state.final_only


def test_own_tasks_are_tracked_and_others_are_not() -> None:
    own = Task(id="t1", workflow_id="w", run_id="r", name="mine")
    script = Script().add(
        TaskChanged(action="create", task=own), TaskChanged(action="create", task=own.model_copy(update={"run_id": ""}))
    )
    assert script.state.tasks == ()
    working = TaskChanged(action="update", task=own.model_copy(update={"status": TaskStatus.IN_PROGRESS}))
    assert [mark.status for mark in script.add(working).state.tasks] == ["in_progress"]
    script.add(TaskChanged(action="delete", task=own))
    assert script.state.tasks == ()


def test_compaction_cuts_results_or_replaces_them_with_a_summary() -> None:
    script = Script().add(reply("", call("a")), started("a"), finished("a", text="x" * 5000), reply("done"))
    cut = script.state.entries[2].seq
    script.add(ContextCompacted(method="cut_results", dropped=(cut,)))
    assert len(script.state.entries[2].text) < 600
    assert script.state.entries[2].cut
    seqs = tuple(entry.seq for entry in script.state.entries[:3])
    script.add(ContextCompacted(method="summary", dropped=seqs, summary="short story"))
    assert [entry.kind for entry in script.state.conversation] == [EntryKind.SUMMARY, EntryKind.REPLY]


def test_history_is_compacted_by_its_negative_numbers() -> None:
    old = Script().add(reply("old answer"))
    history = inherited_context(old.state)
    events = Script(message="new").events
    events.append(
        RunEvent(
            workflow_id="w",
            run_id="r",
            seq=3,
            body=ContextCompacted(method="digest", dropped=(-2, -1), summary="before"),
        )
    )
    before, state = fold(events[:-1], history), fold(events, history)
    assert before is not None
    assert state is not None
    assert before.numbers == (-2, -1, 2)
    assert [entry.text for entry in state.conversation] == ["before", "new"]
    assert state.numbers == (3, 2)


def test_learned_window_counts_overflows_until_a_reply() -> None:
    script = Script().add(WindowLearned(context_window=2048))
    assert (script.state.window, script.state.overflows) == (2048, 1)
    script.add(reply("fits"))
    assert (script.state.window, script.state.overflows) == (2048, 0)


@given(st.text(max_size=3000))
def test_shortened_never_grows_and_keeps_both_ends(text: str) -> None:
    short = shortened(text)
    assert len(short) <= max(len(text), 640)
    assert short[:100] == text[:100]
    assert short[-100:] == text[-100:]


calls = st.builds(
    lambda number, name, value: tool_call(name, f"c{number}", expression=value),
    st.integers(0, 10_000),
    st.sampled_from(["CalculatorTool", "TodoTool"]),
    st.sampled_from(["1+1", "2*3", "7-5"]),
)
replies = st.lists(
    st.builds(reply, st.text(max_size=20))
    | st.builds(lambda cs: reply("", *cs), st.lists(calls, min_size=1, max_size=3, unique_by=lambda c: c.id))
)


def complete_run(script_replies: list[ModelReplied]) -> Script:
    script = Script(config=agent(max_tool_iterations=8))
    numbered = []
    for turn, each in enumerate(script_replies):
        renamed = tuple(c.model_copy(update={"id": f"t{turn}-{c.id}"}) for c in each.reply.tool_calls)
        numbered.append(each.model_copy(update={"reply": each.reply.model_copy(update={"tool_calls": renamed})}))
    interpret(script, [*numbered, *(reply("enough") for _ in range(20))])
    return script


@given(replies, st.data())
def test_reducing_any_prefix_and_continuing_gives_the_same_run(
    script_replies: list[ModelReplied], data: st.DataObject
) -> None:
    script = complete_run(script_replies)
    at = data.draw(st.integers(1, len(script.events)))
    prefix = fold(script.events[:at])
    assert fold(script.events[at:], state=prefix) == script.state


@given(replies)
def test_stored_events_reduce_to_the_same_run(script_replies: list[ModelReplied]) -> None:
    script = complete_run(script_replies)
    again = [
        event.model_copy(update={"body": event_body_adapter.validate_json(event_body_adapter.dump_json(event.body))})
        for event in script.events
    ]
    assert fold(again) == script.state


@given(replies)
def test_every_run_ends_or_waits_and_nothing_is_left_open(script_replies: list[ModelReplied]) -> None:
    state = complete_run(script_replies).state
    assert state.status.final or state.pause is not None
    if state.status is RunStatus.COMPLETED:
        assert state.open_calls == ()


def test_inherited_conversation_excludes_engine_notes() -> None:
    script = Script().add(Injected(reason="loop_warning", content="stop it"), reply("fine"))
    assert [entry.kind for entry in inherited_context(script.state)] == [EntryKind.USER, EntryKind.REPLY]
    assert isinstance(inherited_context(script.state)[0], ContextEntry)


def test_finished_run_keeps_its_result() -> None:
    state = advance(Script().add(reply("answer")).state, RunFinished(status=RunStatus.COMPLETED, result="answer"))
    assert (state.status, state.result) == (RunStatus.COMPLETED, "answer")


def test_cancelled_call_does_not_feed_the_loop_guard() -> None:
    script = Script().add(reply("", call("a")), started("a"), finished("a", status=CallStatus.CANCELLED))
    assert script.state.recent == ()


def test_another_agent_takes_over_with_a_message_that_names_it() -> None:
    other = agent(name="Other", model="large")
    script = Script(agent_id="first").add(reply("done"), UserMessage(content="you?", agent=other, agent_id="second"))
    assert (script.state.agent, script.state.agent_id) == (other, "second")
    script.add(reply("yes"), UserMessage(content="go on"))
    assert (script.state.agent, script.state.agent_id) == (other, "second")


def test_a_root_run_is_its_own_team_and_a_sub_agent_belongs_to_its_roots() -> None:
    assert Script().state.correlation_id == "r"
    assert Script(parent_run_id="root", correlation_id="root").state.correlation_id == "root"


def test_the_time_before_a_kill_was_noticed_is_not_working_time() -> None:
    for found in (
        RunPaused(reason=PauseReason.INTERRUPTED, ended="killed"),
        ReplyCutOff(content="half", reason="killed"),
    ):
        script = Script()
        worked = script.state.elapsed_ms
        script.add(found, seconds=3600)
        assert script.state.elapsed_ms == worked
    for worked_until in (
        RunPaused(reason=PauseReason.INTERRUPTED, ended="program"),
        ReplyCutOff(content="half", reason="stopped"),
    ):
        script = Script()
        worked = script.state.elapsed_ms
        script.add(worked_until, seconds=2.001)
        assert script.state.elapsed_ms == worked + 2001


def cut(text: str, reason: str = "stopped") -> ReplyCutOff:
    return ReplyCutOff(content=text, reason=reason, in_conversation=True)


def test_what_a_stopped_reply_had_said_enters_the_conversation_at_the_end() -> None:
    script = Script().add(cut("half of it "), RunFinished(status=RunStatus.CANCELLED))
    assert [entry.text for entry in script.state.entries] == ["hello", f"half of it\n\n{CUT_OFF}"]
    assert inherited_context(script.state) == script.state.entries
    pinned = script.add(EntryPinned(origin="r:3", pinned=True)).state.entries[-1]
    assert (pinned.kind, pinned.pinned, pinned.calls) == (EntryKind.REPLY, True, ())


def test_a_request_that_is_repeated_does_not_contain_what_its_reply_had_said() -> None:
    script = Script().add(cut("half", "interrupted"), RunResumed())
    assert kinds(script) == ["user"]
    script.add(cut("half again", "error"), ModelRetried(attempt=2, delay_s=1, reason="busy", again=True))
    assert kinds(script) == ["user"]
    script.add(reply("all of it"), UserMessage(content="thanks"))
    assert [entry.text for entry in script.state.entries] == ["hello", "all of it", "thanks"]


def test_a_message_follows_what_the_interrupted_reply_had_said() -> None:
    script = Script().add(cut("half", "superseded"), UserMessage(content="no", strategy=Dispatch.REDIRECT))
    assert [entry.text for entry in script.state.entries] == ["hello", f"half\n\n{CUT_OFF}", "no"]
    failed = Script().add(cut("half", "error"), RunFailed(code="truncated", message="no"))
    assert [entry.text for entry in inherited_context(failed.state)] == ["hello", f"half\n\n{CUT_OFF}"]


@pytest.mark.parametrize(
    "body",
    [cut(" \n"), ReplyCutOff(reasoning="hm", in_conversation=True), ReplyCutOff(content="of an older version")],
)
def test_a_cut_off_reply_without_text_and_those_of_older_versions_are_left_out(body: ReplyCutOff) -> None:
    script = Script().add(body, RunFinished(status=RunStatus.CANCELLED))
    assert [entry.text for entry in inherited_context(script.state)] == ["hello"]


def test_calls_written_as_text_are_no_reply() -> None:
    script = Script().add(cut("<tool_call>"), ToolsRefused(reason="none here"))
    assert kinds(script.add(UserMessage(content="so?", strategy=Dispatch.REDIRECT))) == ["user", "user"]


def test_consecutive_attempts_are_distinguished_from_the_first() -> None:
    script = Script()
    for body in (
        ModelRetried(attempt=2, delay_s=1, reason="busy", again=True),
        ToolsRefused(reason="none here"),
        ImagesRejected(reason="none here"),
    ):
        script.add(body)
        assert script.state.retried_since == 2
    assert (script.state.retries, script.state.tools_refused, script.state.pictures_refused) == (1, True, True)
    script.add(ModelRetried(attempt=3, delay_s=1, reason="busy"))
    assert script.state.retries == 1, "the provider's own attempts are not the run's"
    script.add(reply("at last"))
    assert (script.state.retries, script.state.retried_since) == (0, 7)


def test_a_retry_by_a_person_resets_the_attempts() -> None:
    script = Script().add(
        ModelRetried(attempt=2, delay_s=1, reason="busy", again=True), RunFailed(code="overloaded", message="busy")
    )
    script.add(RunResumed())
    assert (script.state.retries, script.state.error) == (0, "")
    script.add(
        ModelRetried(attempt=2, delay_s=1, reason="busy", again=True), RunPaused(reason=PauseReason.USER), RunResumed()
    )
    assert script.state.retries == 1


def test_a_message_starts_a_new_turn() -> None:
    script = Script().add(
        reply("no"),
        Injected(reason=FIX_ANSWER, content="not so"),
        UserMessage(content="wait", strategy=Dispatch.REDIRECT),
    )
    state = script.state
    assert (state.iterations, state.ending, state.form_asked, state.form_only, state.asked_done) == (
        0,
        None,
        False,
        False,
        False,
    )
    asked = Script().add(reply("no"), Injected(reason=FIX_ANSWER, content="not so")).state
    assert (asked.form_asked, asked.form_only, asked.needs_model, asked.final_only) == (True, True, True, False)
    assert [
        each
        for each in Script().add(Injected(reason="loop_warning", content="x")).state.entries
        if each.kind is EntryKind.NOTE
    ]
    assert Script().add(reply("?"), Injected(reason=ARE_YOU_DONE, content="?")).state.asked_done
    other = Script().add(Injected(reason="loop_warning", content="x")).state
    assert (other.asked_done, other.form_asked, other.form_only, other.final_only) == (False, False, False, False)


def test_steps_are_used_up_by_replies_and_calls() -> None:
    script = Script(mode=RunMode.STEPPING)
    assert script.state.steps == 0
    script.add(RunPaused(reason=PauseReason.STEP), RunResumed(steps=3), reply("", call("a")))
    assert script.state.steps == 2
    script.add(started("a"), finished("a"))
    assert script.state.steps == 1
    script.add(reply("", call("b")), started("b"))
    assert script.state.steps == 0
    resumed = script.add(finished("b"), RunResumed(mode=RunMode.AUTO, steps=5)).state
    assert (resumed.mode, resumed.steps) == (RunMode.AUTO, None)
    assert Script().add(RunResumed()).state.steps is None


def test_found_tools_stay_listed_until_all_are_listed() -> None:
    def answer(**fields: Any) -> ModelReplied:
        return reply("ok").model_copy(update=fields)

    script = Script().add(answer(searched_tools=9, search_scope=SearchScope.SERVERS))
    assert script.state.searched is SearchScope.SERVERS
    script.add(answer(with_tools=False))
    assert script.state.searched is SearchScope.SERVERS, "a last answer without tools says nothing of them"
    script.add(answer())
    assert script.state.searched is None


def test_an_entry_names_its_origin() -> None:
    script = Script().add(reply("", call("a")))
    script.add(
        UserMessage(content="one", strategy=Dispatch.SILENT), UserMessage(content="two", strategy=Dispatch.SILENT)
    )
    script.add(started("a"), finished("a", skill=SkillUse(name="greet")))
    *_before, result, one, two = script.state.entries
    assert (result.origin, result.success, result.tool, result.call_id) == ("r:7", True, "CalculatorTool", "a")
    assert result.skill == SkillUse(name="greet")
    assert (one.origin, two.origin) == ("r:7#1", "r:7#2")
    assert (script.state.silent, script.state.needs_model) == ((), True)
    script.add(reply("", call("b")), started("b"), finished("b", status=CallStatus.ERROR))
    assert not script.state.entries[-1].success


def test_queued_messages_are_answered_one_by_one_in_order() -> None:
    one, two, three = (UserMessage(message_id=text, content=text) for text in ("one", "two", "three"))
    script = Script().add(one, two, three, QueueChanged(order=("three", "gone", "one"), edited={"one": "1"}))
    assert [message.content for message in script.state.queued] == ["three", "1"]
    script.add(QueuedSent(message_id="one"))
    assert (script.state.entries[-1].text, [message.content for message in script.state.queued]) == ("1", ["three"])
    before = script.state.entries
    script.add(QueuedSent(message_id="two"))
    assert script.state.entries == before, "it was taken back"
    script.add(reply("done"))
    assert (script.state.entries[-1].text, script.state.queued) == ("three", ())


def test_results_that_are_no_object_leave_no_result_of_the_run() -> None:
    for result, kept in (({"result": 42}, "42"), ({"other": 1}, ""), ("text", ""), (None, "")):
        end = finished("a", "task_complete", end="abandoned", end_summary="no", result=result)
        script = Script().add(reply("", call("a", "task_complete")), started("a", "task_complete"), end)
        assert script.state.ending == Ending(status=RunStatus.ABANDONED, summary="no", result=kept)


def test_the_status_shows_what_a_run_waits_for() -> None:
    script = Script().add(reply("", call("a"), call("b")), started("a"))
    assert script.state.status is RunStatus.PROCESSING
    asked = ApprovalRequest(
        workflow_id="w", run_id="r", root_run_id="r", call_id="b", tool="t", kind=ApprovalKind.SUB_AGENT
    )
    script.add(ApprovalRequested(approval=asked))
    assert script.state.status is RunStatus.PROCESSING, "the other call works meanwhile"
    assert script.add(finished("a")).state.status is RunStatus.AWAITING_APPROVAL
    assert script.add(RunPaused(reason=PauseReason.USER)).state.status is RunStatus.PAUSED
    assert script.add(RunResumed()).state.status is RunStatus.AWAITING_APPROVAL
    assert script.add(RunPaused(reason=PauseReason.INTERRUPTED)).state.status is RunStatus.INTERRUPTED


def test_attachments_from_outside_are_recorded_in_the_run() -> None:
    def attached(source: str, name: str) -> Attachment:
        return Attachment(name=name, source=source, media_type="text/plain", sha256="0" * 64, size=1)

    message = UserMessage(content="look", attachments=(attached("mcp", "server: page"), attached("file", "a.txt")))
    assert Script(message=None).add(message).state.tainted == ("server: page",)
    silent = message.model_copy(update={"strategy": Dispatch.SILENT})
    assert Script().add(reply("done"), silent).state.tainted == ("server: page",)


def test_two_loops_are_each_warned_about_once() -> None:
    script = Script().add(*(LoopDetected(tool="t", count=3, action="warn", digest=digest) for digest in ("one", "two")))
    assert script.state.loop_warned == {"one", "two"}
    assert script.state.loop_checked == len(script.state.entries)
