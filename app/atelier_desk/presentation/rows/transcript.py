"""A transcript kept current: stored messages first, then stream events one by one. No Qt.

The classes of stream events are imported on first use: the window is painted before that.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from atelier_desk.domain.stream import payloads
from atelier_desk.presentation.answer_web_sources import used
from atelier_desk.presentation.rows.transcript_entries import (
    LOADING,
    UNDER_WAY,
    UNFINISHED,
    Call,
    Change,
    ChangeKind,
    Entry,
    QuestionRow,
    attachment_of,
    entry_from,
)

if TYPE_CHECKING:
    from atelier_desk.domain.result_parts import ResultPart
    from atelier_desk.domain.stream.event import StreamEvent
    from atelier_desk.engine.services.workflow.transcript import TranscriptEntry

_REASONS = {"limit_reached": "limit", "loop_detected": "action"}
"""The field of a notice's details that holds its reason, if not ``reason``."""
STOPPED = frozenset({"cancelled", "abandoned"})
FINAL = STOPPED | {"completed", "error"}


class Transcript:
    """The items of a workflow's turns, or with ``run_id`` those of a sub-agent, in order.

    ``apply`` applies a stream event and returns what changed; ``live_run`` is the running run; ``status`` its last
    state.

    Attributes:
        waits_since: when (``time.monotonic``) it began to wait for a model's first token, or a message for a run; 0:
            not waiting.
        silent_since: when the newest piece of the reply that streams came; 0: none streams.
        read_to: number of the last durable event included in the stored messages; earlier events are skipped.
    """

    def __init__(self, workflow_id: str, run_id: str = "") -> None:
        self.workflow_id = workflow_id
        self.run_id = run_id
        self.entries: list[Entry] = []
        self.live_run = ""
        self.status = ""
        self.waits_since = self.silent_since = 0.0
        self.read_to = 0
        self._by_id: dict[str, Entry] = {}
        self._notices = 0
        self._loading: Entry | None = None

    def load(self, stored: Iterable[TranscriptEntry], read_to: int = 0) -> list[Entry]:
        """Replace the items by the newest page; streaming replies and unsaved messages stay at the end."""
        self.read_to = read_to
        preserved, known = [entry for entry in self.entries if entry.live or entry.pending], self._by_id
        self.entries = []
        self._by_id = {}
        for item in stored:
            self._add(entry_from(item))
        sent = [entry.content for entry in self.entries if entry.kind == "user" and entry.id not in known]
        for entry in preserved:
            if entry.pending and entry.content in sent:
                sent.remove(entry.content)
            elif entry.id not in self._by_id:
                self._add(entry)
        self._explain_all_cuts()
        self._supersede_limits()
        self._mark_prompt()
        self._attach_sources()
        return self.entries

    def prepend(self, stored: Iterable[TranscriptEntry]) -> list[Entry]:
        """Insert an older page; returns the new items, oldest first."""
        older = [entry_from(item) for item in stored if item.message.id not in self._by_id]
        self.entries[:0] = older
        self._by_id.update((entry.id, entry) for entry in older)
        self._explain_all_cuts()
        self._supersede_limits()
        self._attach_sources()
        return older

    def _supersede_limits(self) -> list[Change]:
        """Mark notices of a limit at which the run stopped again with the same usage: a message was sent meanwhile."""
        changes: list[Change] = []
        newer: set[tuple[object, ...]] = set()
        for entry in reversed(self.entries):
            if entry.topic != "limit_reached":
                continue
            about = (entry.run_id, *(entry.details.get(name) for name in ("limit", "value", "cap")))
            if about in newer and "superseded" not in entry.details:
                entry.details = {**entry.details, "superseded": True}
                changes.append(("update", entry))
            newer.add(about)
        return changes

    def _explain_all_cuts(self) -> None:
        for entry in self.entries:
            if entry.kind == "notice":
                self._explain_cuts(entry)

    def _attach_sources(self, answer: Entry | None = None) -> None:
        """Attach the web pages read by earlier calls of the turn: to all answers, or to a new one."""
        parts: dict[str, list[ResultPart]] = {}
        for entry in self.entries:
            if entry.kind != "assistant" or (answer is not None and entry.run_id != answer.run_id):
                continue
            called = parts.setdefault(entry.run_id, [])
            if entry.calls:
                called += (part for call in entry.calls for part in call.parts)
            elif not entry.live and (answer is None or entry is answer):
                entry.sources = used(entry.content, called)

    @property
    def oldest_seq(self) -> int | None:
        return next((entry.seq for entry in self.entries if entry.seq), None)

    def settle(self, run_status: str) -> list[Change]:
        """Mark the item the last run ended with as actionable; ``completed`` stands for every end but a failure.

        That is an incomplete or stopped reply, or the notice of a held or failed run.
        """
        if not self.entries:
            return []
        last = self.entries[-1]
        if run_status == "completed":
            return self._offer_more(last)
        if run_status not in {"paused", "interrupted", "error"}:
            return []
        if last.kind == "notice" and last.topic in {"limit_reached", "loop_detected", "run_interrupted", "error"}:
            last.actionable = True
            return [("update", last)]
        return []

    def _offer_more(self, last: Entry) -> list[Change]:
        """Offer to continue an incomplete last reply, unless it called tools: their results were its continuation."""
        if self._offer_continue(last):
            return [("update", last)]
        if self.run_id or not last.unfinished or last.calls:
            return []
        last.actionable = True
        return [("update", last)]

    def add_own(self, entry_id: str, content: str, attachments: list[dict[str, object]]) -> Change:
        """Show a sent message before the engine has committed it."""
        entry = Entry(entry_id, "user", content=content, attachments=tuple(attachments), pending=True)
        self._add(entry)
        self.note_wait()
        return "append", entry

    def remove(self, entry: Entry) -> None:
        """Remove an item: a message the engine refused, or a notice that no longer applies."""
        self.entries.remove(entry)
        self._by_id.pop(entry.id, None)
        self.note_wait()

    def apply(self, event: StreamEvent) -> list[Change]:
        """Apply an event of this workflow.

        A workflow's transcript ignores events of sub-agents, which have transcripts of their own.
        """
        # A sub-agent's own events are applied even if they are in the loaded messages: only they carry its state, and
        # they find their items by id.
        if event.durable and 0 < event.seq <= self.read_to and event.run_id != self.run_id:
            return []
        if self.run_id:
            if event.run_id != self.run_id:
                return self._on_talk(event)
        elif event.depth:
            return []
        data = event.payload
        changes = [*self._end_of_loading(event, data), *self._apply(event, data)]
        self.note_wait()
        return changes

    def note_wait(self) -> None:
        """Update whether a model's first token is awaited: nothing streams, and no call is running; else the next."""
        last = self.entries[-1] if self.entries else None
        waits = last is not None and last.kind == "user" and last.pending
        self.silent_since = 0.0
        if self.live_run and self.status == "processing":
            self.silent_since = time.monotonic() if last is not None and last.live else 0.0
            under_way = last is not None and (last.live or any(call.status in UNDER_WAY for call in last.calls))
            waits = not under_way
        self.waits_since = (self.waits_since or time.monotonic()) if waits else 0.0

    def _apply(self, event: StreamEvent, data: payloads.Payload) -> list[Change]:
        match data:
            case payloads.Token() | payloads.Reasoning():
                return self._on_words(event, data)
            case payloads.MessageAdded():
                return self._on_message(event, data)
            case payloads.UsageUpdated():
                return self._on_usage(event, data)
            case payloads.ToolStart():
                return self._on_tool_start(event, data)
            case payloads.ToolProgress():
                return self._on_tool_progress(event, data)
            case payloads.ToolEnd():
                return self._on_tool_end(event, data)
            case payloads.ValidationRequired():
                return self._on_validation_required(event, data)
            case payloads.ValidationResponse():
                return self._on_validation_response(event, data)
            case payloads.UserQuestionStart():
                return self._on_question(event, data.user_question)
            case payloads.UserQuestionComplete():
                return self._on_question_over(data)
            case payloads.ContextChanged():
                return self._on_pin(data)
            case payloads.WorkflowStart():
                return self._on_start(event)
            case payloads.RunStatusChanged():
                return self._on_status(event, data)
            case payloads.WorkflowComplete():
                return self._on_complete(event, data.status)
            case payloads.Failure() | payloads.Notice():
                return self._on_notice(event, data)
        return []

    def _end_of_loading(self, event: StreamEvent, data: payloads.Payload) -> list[Change]:
        """Remove the notice that a model is being loaded, with the run's next event."""
        entry = self._loading
        own = isinstance(data, payloads.MessageAdded) and data.role == "user"
        if entry is None or event.run_id != entry.run_id or own:
            return []
        self._loading = None
        if entry not in self.entries:
            return []
        self.remove(entry)
        return [("remove", entry)]

    def _on_talk(self, event: StreamEvent) -> list[Change]:
        """Messages between a waiting sub-agent and its parent come as events of the parent."""
        data = event.payload
        if (
            not isinstance(data, payloads.SubAgentQuestion | payloads.SubAgentAnswer)
            or data.sub_agent_id != self.run_id
        ):
            return []
        entry = Entry(f"{event.chunk_type.value}-{event.seq}", "user", run_id=self.run_id, seq=event.seq)
        if isinstance(data, payloads.SubAgentQuestion):
            entry.kind, entry.topic, entry.content, entry.agent_name = (
                "assistant",
                "to_parent",
                data.question,
                data.sub_agent_name,
            )
            entry.details = {"by": ""}
        else:
            entry.topic, entry.content, entry.agent_name = "from_parent", data.content, event.agent_name
            entry.details = {"by": data.by}
        self._add(entry)
        return [("append", entry)]

    def _mark_prompt(self) -> None:
        """Mark a sub-agent's first message as the prompt of its parent."""
        if self.run_id and self.entries and self.entries[0].kind == "user":
            self.entries[0].topic = "prompt"

    def _on_pin(self, data: payloads.ContextChanged) -> list[Change]:
        entry = self._by_id.get(data.message_id)
        if entry is None or data.reason == "undone":
            return []
        entry.pinned = data.reason == "pinned"
        return [("update", entry)]

    def _on_start(self, event: StreamEvent) -> list[Change]:
        self.live_run = event.run_id
        self.status = "processing"
        return self.release_notices()

    def _on_status(self, event: StreamEvent, data: payloads.RunStatusChanged) -> list[Change]:
        self.status = data.status
        if self.status == "processing":
            self.live_run = event.run_id
            return self.release_notices()
        if self.status == "interrupted":
            return [*self._on_complete(event, self.status), *self._interrupted(event, data.ended)]
        ended = self._on_complete(event, self.status) if self.run_id and self.status in FINAL else []
        released = self.release_notices() if self.status in STOPPED else []
        return [*ended, *released, *self._ended(event, data)]

    def _ended(self, event: StreamEvent, data: payloads.RunStatusChanged) -> list[Change]:
        """Add a notice for an end worth reporting: stopped, given up, failed, or completed with a remark."""
        if not data.message_id or data.message_id in self._by_id:
            return []
        entry = self._add_notice(event, data.message_id, "run_finished", {"status": data.status}, data.content)
        self._offer_continue(entry)
        return [*self._explain_cuts(entry), ("append", entry)]

    def _offer_continue(self, notice: Entry) -> bool:
        """Offer to continue at the notice of a stop, below what was said or called; return whether it is offered."""
        stopped = notice.topic == "run_finished" and notice.details.get("status") == "cancelled"
        if self.run_id or not stopped or len(self.entries) < 2:
            return False
        before = self.entries[-2]
        said = before.kind == "assistant" and bool(before.content.strip() or before.calls)
        notice.actionable = said and before.run_id == notice.run_id
        return notice.actionable

    def _add_notice(
        self, event: StreamEvent, key: str, topic: str, details: dict[str, object], content: str = ""
    ) -> Entry:
        entry = Entry(key, "notice", event.run_id, event.seq, topic, content, details=details)
        self._add(entry)
        return entry

    def _explain_cuts(self, notice: Entry) -> list[Change]:
        """Mark a cut-off reply whose end is explained by the following card."""
        if notice.topic != "run_interrupted" and (
            notice.topic != "run_finished" or notice.details.get("status") == "completed"
        ):
            return []
        before = self.entries[max(0, (at := self.entries.index(notice)) - 3) : at]
        cut = [each for each in before if each.topic == "cut_off" and each.run_id == notice.run_id]
        for each in cut:
            each.cut_explained = True
        return [("update", each) for each in cut]

    def _on_complete(self, event: StreamEvent, status: str) -> list[Change]:
        changes: list[Change] = []
        for entry in self.entries[-50:]:
            if entry.live and entry.run_id == event.run_id:
                entry.live = False
                changes.append(("update", entry))
        if status != "waiting":
            self.live_run = ""
        if status == "completed":
            changes += self.settle("completed")
        return changes

    def _on_words(self, event: StreamEvent, data: payloads.Token | payloads.Reasoning) -> list[Change]:
        entry, change = self._live_entry(event, data.message_id)
        if isinstance(data, payloads.Token):
            if entry.reasoning and not entry.content:
                entry.reasoning_ms = round((time.monotonic() - entry.reasoning_began) * 1000)
            entry.content += data.content
            return [change]
        if not entry.reasoning:
            entry.reasoning_began = time.monotonic()
        if data.all_before:
            # A later marker says that the text so far was reasoning.
            entry.reasoning, entry.content = entry.reasoning + entry.content, ""
        entry.reasoning += data.content
        return [change]

    def _live_entry(self, event: StreamEvent, message_id: str) -> tuple[Entry, Change]:
        key = message_id or f"live-{event.run_id}"
        entry = self._by_id.get(key)
        if entry is not None:
            if not entry.live:  # already complete: a late token of a message loaded from the store
                return Entry(key, "assistant"), ("update", entry)
            return entry, ("stream", entry)
        entry = Entry(key, "assistant", run_id=event.run_id, agent_name=event.agent_name, live=True)
        self._add(entry)
        return entry, ("append", entry)

    def _on_message(self, event: StreamEvent, data: payloads.MessageAdded) -> list[Change]:
        entry = self._by_id.get(data.message_id) or self._adopt(event, data)
        kind: ChangeKind = "update"
        if entry is None:
            entry = Entry(data.message_id, "user" if data.role == "user" else "assistant", run_id=event.run_id)
            kind = "append"
            self._add(entry)
        entry.content, entry.run_id, entry.seq, entry.time = data.content, event.run_id, event.seq, event.time
        entry.live = entry.pending = False
        entry.agent_name = event.agent_name or entry.agent_name
        entry.reasoning = data.reasoning or entry.reasoning
        entry.reasoning_ms, entry.model, entry.provider = (
            data.reasoning_ms,
            data.model or entry.model,
            data.provider or entry.provider,
        )
        if data.finish_reason in UNFINISHED:
            entry.details = {"finish_reason": data.finish_reason}
        if data.cut_off:
            entry.topic = "cut_off"
        elif data.output_type:
            entry.topic, entry.details = "output", {"output_type": data.output_type}
            if data.output_type == "result":
                self._attach_sources(entry)
        elif entry.kind == "assistant":
            self._attach_sources(entry)
        elif entry.kind == "user":
            entry.topic = data.strategy
            texts = (each for each in data.attachments if each.text is not None and not each.sha256)
            entry.files = tuple({"name": each.name, "text": each.text or ""} for each in texts)
            entry.attachments = tuple(
                attachment_of(each, entry.attachments) for each in data.attachments if each.sha256
            )
            self._mark_prompt()
        return [(kind, entry)]

    def _adopt(self, event: StreamEvent, data: payloads.MessageAdded) -> Entry | None:
        """Find the entry of this message under a provisional id: a sent message, or a reply whose tokens had no id."""
        for entry in reversed(self.entries[-50:]):
            own = data.role == "user" and entry.pending and entry.content == data.content
            reply = data.role != "user" and entry.live and entry.id == f"live-{event.run_id}"
            if own or reply:
                self._by_id.pop(entry.id, None)
                entry.id = data.message_id or entry.id
                self._by_id[entry.id] = entry
                return entry
        return None

    def _on_tool_start(self, event: StreamEvent, data: payloads.ToolStart) -> list[Change]:
        found = self._find_call(event.run_id, data.call_id)
        if found is None:
            call = Call(data.call_id, data.tool, data.arguments, server=data.server, index=data.index)
            _set_description(call, data)
            return [self._add_call(event, data.message_id, call)]
        entry, call = found
        if call.status not in {"asked", "approved"}:
            return []
        # The user may have edited it before approving.
        call.status, call.tool, call.arguments, call.server = "running", data.tool, data.arguments, data.server
        _set_description(call, data)
        return [("update", entry)]

    def _add_call(self, event: StreamEvent, message_id: str, call: Call) -> Change:
        """Insert a call into its reply by position.

        Calls waiting for approval are announced before those that run first.
        """
        entry, change = self._reply(
            event, message_id or self._newest_reply(event.run_id) or f"calls-{event.run_id}-{call.call_id}"
        )
        place = next((number for number, each in enumerate(entry.calls) if each.index > call.index), len(entry.calls))
        entry.calls.insert(place, call)
        entry.sources = ()  # a reply with calls is not the answer
        return change

    def _newest_reply(self, run_id: str) -> str:
        """The last item if it is a reply of this run: events without a message id refer to it."""
        last = self.entries[-1] if self.entries else None
        return last.id if last is not None and last.kind == "assistant" and last.run_id == run_id else ""

    def _reply(self, event: StreamEvent, message_id: str) -> tuple[Entry, Change]:
        """The item of a reply, created if unknown: a reply of calls only has no tokens."""
        entry = self._by_id.get(message_id)
        if entry is not None:
            return entry, ("update", entry)
        entry = Entry(message_id, "assistant", run_id=event.run_id, agent_name=event.agent_name)
        self._add(entry)
        return entry, ("append", entry)

    def _on_usage(self, event: StreamEvent, data: payloads.UsageUpdated) -> list[Change]:
        """A reply is complete: this fixes its position, before events about its first call."""
        return (
            [self._reply(event, data.message_id)[1]] if data.message_id and data.message_id not in self._by_id else []
        )

    def _on_validation_required(self, event: StreamEvent, data: payloads.ValidationRequired) -> list[Change]:
        if self._find_call(event.run_id, data.call_id) is not None:
            return []
        server = str(data.subjects.get("server") or "")
        call = Call(data.call_id, data.tool, data.arguments, "asked", server=server, index=data.index)
        call.effect, call.presentation = data.effect, data.presentation
        return [self._add_call(event, data.message_id, call)]

    def _on_validation_response(self, event: StreamEvent, data: payloads.ValidationResponse) -> list[Change]:
        found = self._find_call(event.run_id, data.call_id)
        if found is None:
            return []
        entry, call = found
        if call.status == "asked":
            call.status, call.decided_by, call.note = data.status, data.decided_by, data.note
        return [("update", entry)]

    def _on_tool_progress(self, event: StreamEvent, data: payloads.ToolProgress) -> list[Change]:
        found = self._find_call(event.run_id, data.call_id)
        if found is None:
            return []
        found[1].progress, found[1].progress_text = data.progress, data.content
        return [("update", found[0])]

    def _on_tool_end(self, event: StreamEvent, data: payloads.ToolEnd) -> list[Change]:
        found = self._find_call(event.run_id, data.call_id)
        if found is None:
            return []
        entry, call = found
        if call.status not in {"rejected", "cancelled"}:
            call.status = data.status or ("ok" if data.success else "error")
        call.result, call.error, call.parts = data.result, data.error, data.parts
        call.duration_ms, call.truncated = data.duration_ms, data.truncated
        call.progress, call.progress_text = None, ""
        return [("update", entry)]

    def _find_call(self, run_id: str, call_id: str) -> tuple[Entry, Call] | None:
        for entry in reversed(self.entries[-200:]):
            if entry.run_id == run_id:
                for call in entry.calls:
                    if call.call_id == call_id:
                        return entry, call
        return None

    def _on_question(self, event: StreamEvent, asked: payloads.AskedQuestion) -> list[Change]:
        found = self._find_call(event.run_id, asked.call_id)
        own = self._newest_reply(event.run_id) or f"question-{asked.question_id}"
        change: Change
        entry, change = (found[0], ("update", found[0])) if found is not None else self._reply(event, own)
        if all(known.question_id != asked.question_id for known in entry.asked):
            entry.asked += (QuestionRow(asked.question_id, asked.question, call_id=asked.call_id),)
        return [change]

    def _on_question_over(self, data: payloads.UserQuestionComplete) -> list[Change]:
        for entry in reversed(self.entries[-200:]):
            for asked in entry.asked:
                if asked.question_id == data.question_id:
                    asked.status, asked.answer = data.status, data.answer
                    return [("update", entry)]
        return []

    def _on_notice(self, event: StreamEvent, data: payloads.Failure | payloads.Notice) -> list[Change]:
        kind, key = event.chunk_type.value, ""
        if isinstance(data, payloads.Failure):
            details: dict[str, Any] = data.model_dump(exclude={"message"}) | {"agent_id": event.agent_id}
        else:
            details, key = dict(data.details), data.message_id
            details[_REASONS.get(kind, "reason")] = data.reason
        if (known := self._by_id.get(key)) is not None:
            known.details = details
            return [("update", known)]
        self._notices += 1
        key = key or f"notice-{event.run_id}-{event.seq}-{self._notices}"
        content = data.message if isinstance(data, payloads.Failure) else str(details.pop("summary", "") or "")
        entry = self._add_notice(event, key, kind, details, content)
        entry.actionable = kind in {"limit_reached", "error"} or (
            kind == "loop_detected" and details.get("action") == "pause"
        )
        if details.get("reason") == LOADING:
            self._loading = entry
        return [*(self._supersede_limits() if kind == "limit_reached" else ()), ("append", entry)]

    def _interrupted(self, event: StreamEvent, ended: str) -> list[Change]:
        """The process that worked on the run ended: show where it stopped, with Continue."""
        key = f"interrupted-{event.run_id}-{event.seq}"
        entry = self._add_notice(event, key, "run_interrupted", {"ended": ended})
        entry.actionable = True
        return [("append", entry)]

    def release_notices(self) -> list[Change]:
        """The run continues: earlier notices are no longer actionable, and waiting for the server is over."""
        changes: list[Change] = []
        for entry in self.entries[-20:]:
            if entry.actionable:
                entry.actionable = False
                changes.append(("update", entry))
        return changes

    def show_limits(self, limits: Mapping[str, Mapping[str, Any]]) -> list[Change]:
        """Set, by run, what the notices of stopped runs show: ``limit``, its kind, and other details."""
        changes: list[Change] = []
        for entry in self.entries[-20:]:
            shown = limits.get(entry.run_id) if entry.actionable and entry.topic == "limit_reached" else None
            if shown and (details := {**entry.details, **shown}) != entry.details:
                entry.details = details
                changes.append(("update", entry))
        return changes

    def _add(self, entry: Entry) -> None:
        self.entries.append(entry)
        self._by_id[entry.id] = entry


def concerned(event: StreamEvent) -> set[str]:
    """The runs of sub-agents whose transcripts an event changes: its own, and the one that talks with it."""
    found = {event.run_id} if event.depth else set()
    if isinstance(data := event.payload, payloads.SubAgentQuestion | payloads.SubAgentAnswer):
        found.add(data.sub_agent_id)
    return found


def _set_description(call: Call, data: payloads.ToolStart) -> None:
    """Set the tool's description of a starting call."""
    call.effect, call.section, call.presentation, call.taint = data.effect, data.section, data.presentation, data.taint
