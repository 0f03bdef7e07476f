"""A conversation kept current: stored messages to begin with, then one stream event after the other. No Qt."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from atelier_desk.desktop.chat.entries import (
    LOADING,
    NOTICE_CHUNKS,
    UNFINISHED,
    Asked,
    Call,
    Change,
    ChangeKind,
    Entry,
    asked_from,
    entry_from,
)
from atelier_desk.domain.call import Presentation
from atelier_desk.domain.parts import ResultPart
from atelier_desk.tools.failure_words import timed_out

if TYPE_CHECKING:
    from atelier_desk.domain.question import UserQuestion
    from atelier_desk.domain.stream import StreamEvent
    from atelier_desk.engine.services.transcript import TranscriptEntry

_PARTS: TypeAdapter[tuple[ResultPart, ...]] = TypeAdapter(tuple[ResultPart, ...])
FINAL = frozenset({"completed", "error", "cancelled", "abandoned"})


class Transcript:
    """The items of one workflow's turns, or with ``run_id`` those of one sub-agent, in order.

    ``apply`` takes a stream event and says what changed; ``live_run`` is the run that works now; ``status`` its last state.

    Attributes:
        read_to: number of the last durable event before the stored messages were read: what it and those before it say is in them.
    """

    def __init__(self, workflow_id: str, run_id: str = "") -> None:
        self.workflow_id = workflow_id
        self.run_id = run_id
        self.entries: list[Entry] = []
        self.live_run = ""
        self.status = ""
        self.read_to = 0
        self._by_id: dict[str, Entry] = {}
        self._notices = 0
        self._loading: Entry | None = None

    # -- stored messages ------------------------------------------------------------------------------------------------------
    def load(self, stored: Iterable[TranscriptEntry], read_to: int = 0) -> list[Entry]:
        """Begin anew with the newest page; what streams right now is kept at the end."""
        self.read_to = read_to
        live = [entry for entry in self.entries if entry.live]
        self.entries = []
        self._by_id = {}
        for item in stored:
            self._add(entry_from(item))
        for entry in live:
            if entry.id not in self._by_id:
                self._add(entry)
        self._mark_prompt()
        return self.entries

    def prepend(self, stored: Iterable[TranscriptEntry]) -> list[Entry]:
        """An older page; gives the new items, oldest first."""
        older = [entry_from(item) for item in stored if item.message.id not in self._by_id]
        self.entries[:0] = older
        self._by_id.update((entry.id, entry) for entry in older)
        return older

    @property
    def oldest_seq(self) -> int | None:
        return next((entry.seq for entry in self.entries if entry.seq), None)

    def settle(self, run_status: str) -> list[Change]:
        """Mark what the last run ended with as something that can be acted on: a reply that is not whole, and the notice that stopped it
        when it still waits (held) or failed."""
        if not self.entries:
            return []
        last = self.entries[-1]
        if run_status == "completed":
            return self._offer_more(last)
        if run_status not in {"paused", "interrupted", "error"}:
            return []
        if last.kind == "notice" and last.topic in {"limit_reached", "loop_detected", "run_interrupted", "error"}:
            last.actionable = last.topic != "error" or bool(last.details.get("recoverable", True))
            return [("update", last)]
        return []

    def _offer_more(self, last: Entry) -> list[Change]:
        """A last reply that is not whole can be continued. One that called tools was: the results were its answer."""
        if self.run_id or not last.unfinished or last.calls:
            return []
        last.actionable = True
        return [("update", last)]

    def add_own(self, entry_id: str, content: str, images: list[dict[str, str]]) -> Change:
        """A message just sent: shown before the engine has committed it."""
        entry = Entry(entry_id, "user", content=content, images=images, pending=True)
        self._add(entry)
        return "append", entry

    def remove(self, entry: Entry) -> None:
        """Take an item out: one that the engine refused, or that is over."""
        self.entries.remove(entry)
        self._by_id.pop(entry.id, None)

    # -- stream events --------------------------------------------------------------------------------------------------------
    def apply(self, event: StreamEvent) -> list[Change]:
        """Take one event of this workflow. Sub-agents have transcripts of their own: a workflow's takes its turns' events alone."""
        # A sub-agent's own events are taken twice all the same: its state is known from nothing else, and they find their items by id.
        if event.durable and 0 < event.seq <= self.read_to and event.run_id != self.run_id:
            return []
        if self.run_id:
            if event.run_id != self.run_id:
                return self._on_talk(event)
        elif event.depth:
            return []
        gone = self._end_of_loading(event)
        handler = getattr(self, f"_on_{event.chunk_type.value}", None)
        if handler is not None:
            return [*gone, *handler(event)]
        if event.chunk_type.value in NOTICE_CHUNKS:
            return [*gone, *self._on_notice(event)]
        return gone

    def _end_of_loading(self, event: StreamEvent) -> list[Change]:
        """That a model is loaded is said while it is, and is no part of the conversation: the run's next event ends it."""
        entry = self._loading
        if entry is None or event.run_id != entry.run_id or event.data.get("role") == "user":
            return []
        self._loading = None
        if entry not in self.entries:
            return []
        self.remove(entry)
        return [("remove", entry)]

    def _on_talk(self, event: StreamEvent) -> list[Change]:
        """What a sub-agent and its parent say to each other while it waits comes in the parent's events."""
        kind, data = event.chunk_type.value, event.data
        if kind not in {"sub_agent_question", "sub_agent_answer"} or data.get("sub_agent_id") != self.run_id:
            return []
        asks = kind == "sub_agent_question"
        entry = Entry(f"{kind}-{event.seq}", "assistant" if asks else "user", run_id=self.run_id, seq=event.seq)
        entry.topic = "to_parent" if asks else "from_parent"
        entry.content = str(data.get("question" if asks else "content") or "")
        entry.agent_name = str(data.get("sub_agent_name") or "") if asks else event.agent_name
        entry.details = {"by": str(data.get("by") or "")}
        self._add(entry)
        return [("append", entry)]

    def _mark_prompt(self) -> None:
        """A sub-agent's first message is what its parent told it to do."""
        if self.run_id and self.entries and self.entries[0].kind == "user":
            self.entries[0].topic = "prompt"

    def _on_workflow_start(self, event: StreamEvent) -> list[Change]:
        self.live_run = event.run_id
        self.status = "processing"
        return self._release_notices()

    def _on_run_status(self, event: StreamEvent) -> list[Change]:
        self.status = str(event.data.get("status", ""))
        if self.status == "processing":
            self.live_run = event.run_id
            return self._release_notices()
        if self.status == "interrupted":
            return [*self._on_workflow_complete(event), *self._interrupted(event)]
        return self._on_workflow_complete(event) if self.run_id and self.status in FINAL else []

    def _on_workflow_complete(self, event: StreamEvent) -> list[Change]:
        changes: list[Change] = []
        for entry in self.entries[-50:]:
            if entry.live and entry.run_id == event.run_id:
                entry.live = False
                changes.append(("update", entry))
        status = event.data.get("status")
        if status != "waiting":
            self.live_run = ""
        if status == "completed":
            changes += self.settle("completed")
        return changes

    def _on_token(self, event: StreamEvent) -> list[Change]:
        entry, change = self._live_entry(event)
        if entry.reasoning and not entry.content:
            entry.reasoning_ms = round((time.monotonic() - entry.reasoning_began) * 1000)
        entry.content += str(event.data.get("content", ""))
        return [change]

    def _on_reasoning(self, event: StreamEvent) -> list[Change]:
        entry, change = self._live_entry(event)
        if not entry.reasoning:
            entry.reasoning_began = time.monotonic()
        if event.data.get("all_before"):
            # A mark told only now that what came was not the answer yet.
            entry.reasoning, entry.content = entry.reasoning + entry.content, ""
        entry.reasoning += str(event.data.get("content", ""))
        return [change]

    def _live_entry(self, event: StreamEvent) -> tuple[Entry, Change]:
        key = str(event.data.get("message_id") or f"live-{event.run_id}")
        entry = self._by_id.get(key)
        if entry is not None:
            if not entry.live:  # already final: a late token of a message that was read from the store
                return Entry(key, "assistant"), ("update", entry)
            return entry, ("stream", entry)
        entry = Entry(key, "assistant", run_id=event.run_id, agent_name=event.agent_name, live=True)
        self._add(entry)
        return entry, ("append", entry)

    def _on_message(self, event: StreamEvent) -> list[Change]:
        data = event.data
        key = str(data.get("message_id", ""))
        content = str(data.get("content", ""))
        entry = self._by_id.get(key)
        changes: list[Change] = []
        if entry is None:
            entry = self._adopt(event, content)
            kind: ChangeKind = "update"
            if entry is None:
                entry = Entry(key, "user" if data.get("role") == "user" else "assistant", run_id=event.run_id)
                kind = "append"
                self._add(entry)
            changes.append((kind, entry))
        else:
            changes.append(("update", entry))
        entry.content, entry.run_id, entry.seq = content, event.run_id, event.seq
        entry.live = entry.pending = False
        entry.agent_name = event.agent_name or entry.agent_name
        if data.get("reasoning"):
            entry.reasoning = str(data["reasoning"])
        if data.get("finish_reason") in UNFINISHED:
            entry.details = {"finish_reason": data["finish_reason"]}
        if data.get("interrupted"):
            entry.topic = "interrupted"
        elif data.get("output_type"):
            entry.topic, entry.details = "output", {"output_type": data["output_type"]}
        elif entry.kind == "user":
            entry.topic = str(data.get("strategy", ""))
            entry.files = [attached for attached in data.get("attachments", []) if "text" in attached]
            self._mark_prompt()
        return changes

    def _adopt(self, event: StreamEvent, content: str) -> Entry | None:
        """The entry that is this message under a provisional id: a sent one, or a reply whose tokens carried no id."""
        role = event.data.get("role")
        for entry in reversed(self.entries[-50:]):
            own = role == "user" and entry.pending and entry.content == content
            reply = role != "user" and entry.live and entry.id == f"live-{event.run_id}"
            if own or reply:
                self._by_id.pop(entry.id, None)
                entry.id = str(event.data.get("message_id", entry.id))
                self._by_id[entry.id] = entry
                return entry
        return None

    def _on_tool_start(self, event: StreamEvent) -> list[Change]:
        data = event.data
        call_id, arguments = str(data.get("call_id", "")), data.get("arguments")
        found = self._find_call(event.run_id, call_id)
        if found is None:
            call = Call(call_id, str(data.get("tool", "")), server=str(data.get("server") or ""))
            call.arguments = arguments if isinstance(arguments, dict) else {}
            _present(call, data)
            return [self._add_call(event.run_id, event.agent_name, call)]
        entry, call = found
        if call.status != "asked":
            return []
        call.status = "running"
        call.arguments = arguments if isinstance(arguments, dict) else call.arguments
        return [("update", entry)]

    def _add_call(self, run_id: str, agent_name: str, call: Call) -> Change:
        """A call belongs to the newest reply of its run, or to an item of its own when something came between."""
        entry = next((e for e in reversed(self.entries[-50:]) if e.kind == "assistant" and e.run_id == run_id), None)
        change: Change
        if entry is None or self.entries[-1] is not entry:
            entry = Entry(f"calls-{run_id}-{call.call_id}", "assistant", run_id=run_id, agent_name=agent_name)
            self._add(entry)
            change = ("append", entry)
        else:
            change = ("update", entry)
        entry.calls.append(call)
        return change

    def _on_validation_required(self, event: StreamEvent) -> list[Change]:
        data = event.data
        call_id, arguments = str(data.get("call_id", "")), data.get("arguments")
        if self._find_call(event.run_id, call_id) is not None:
            return []
        call = Call(call_id, str(data.get("tool", "")), arguments if isinstance(arguments, dict) else {}, "asked")
        _present(call, data)
        return [self._add_call(event.run_id, event.agent_name, call)]

    def _on_validation_response(self, event: StreamEvent) -> list[Change]:
        found = self._find_call(event.run_id, str(event.data.get("call_id", "")))
        if found is None:
            return []
        entry, call = found
        status = str(event.data.get("status", ""))
        if call.status == "asked" and status != "approved":
            call.status = status
        return [("update", entry)]

    def _on_tool_progress(self, event: StreamEvent) -> list[Change]:
        found = self._find_call(event.run_id, str(event.data.get("call_id", "")))
        if found is None:
            return []
        found[1].progress = int(event.data.get("progress", 0))
        found[1].progress_text = str(event.data.get("content") or "")
        return [("update", found[0])]

    def _on_tool_end(self, event: StreamEvent) -> list[Change]:
        data = event.data
        found = self._find_call(event.run_id, str(data.get("call_id", "")))
        if found is None:
            return []
        entry, call = found
        if call.status not in {"rejected", "cancelled"}:
            call.status = "ok" if data.get("success") else "timeout" if timed_out(data.get("result")) else "error"
        call.result, call.error = data.get("result"), str(data.get("error") or "")
        call.duration_ms, call.truncated = int(data.get("duration_ms", 0)), bool(data.get("truncated"))
        call.parts = _PARTS.validate_python(data.get("parts") or ())
        call.progress, call.progress_text = None, ""
        return [("update", entry)]

    def _find_call(self, run_id: str, call_id: str) -> tuple[Entry, Call] | None:
        for entry in reversed(self.entries[-200:]):
            if entry.run_id == run_id:
                for call in entry.calls:
                    if call.call_id == call_id:
                        return entry, call
        return None

    def _on_user_question_start(self, event: StreamEvent) -> list[Change]:
        asked = event.data.get("user_question") or {}
        question_id = str(asked.get("question_id", ""))
        entry = next((e for e in reversed(self.entries[-50:]) if e.kind == "assistant" and e.run_id == event.run_id), None)
        change: Change
        if entry is None:
            entry = Entry(f"question-{question_id}", "assistant", run_id=event.run_id, agent_name=event.agent_name)
            self._add(entry)
            change = ("append", entry)
        else:
            change = ("update", entry)
        if all(known.question_id != question_id for known in entry.asked):
            entry.asked.append(Asked(question_id, str(asked.get("question", "")), call_id=str(asked.get("call_id", ""))))
        return [change]

    def _on_user_question_complete(self, event: StreamEvent) -> list[Change]:
        question_id = str(event.data.get("question_id", ""))
        for entry in reversed(self.entries[-200:]):
            for asked in entry.asked:
                if asked.question_id == question_id:
                    asked.status = str(event.data.get("status", "answered"))
                    return [("update", entry)]
        return []

    def set_answer(self, question: UserQuestion) -> list[Change]:
        """Fill in the words of an answer that was read after its event."""
        for entry in reversed(self.entries[-200:]):
            for index, asked in enumerate(entry.asked):
                if asked.question_id == question.id:
                    entry.asked[index] = asked_from(question)
                    return [("update", entry)]
        return []

    def _on_notice(self, event: StreamEvent) -> list[Change]:
        kind = event.chunk_type.value
        details = dict(event.data.get("details") or {})
        if kind == "error":
            details = {"code": event.data.get("code", ""), "recoverable": bool(event.data.get("recoverable", True))}
        elif kind == "limit_reached":
            details["limit"] = event.data.get("reason", "")
        elif kind == "loop_detected":
            details["action"] = event.data.get("reason", "")
        else:
            details["reason"] = event.data.get("reason", "")
        key = str(event.data.get("message_id", ""))
        if (known := self._by_id.get(key)) is not None:
            known.details = details
            return [("update", known)]
        self._notices += 1
        key = key or f"notice-{event.run_id}-{event.seq}-{self._notices}"
        entry = Entry(key, "notice", run_id=event.run_id, seq=event.seq, topic=kind)
        entry.content = str(event.data.get("message") or details.pop("summary", "") or "")
        entry.details = details
        entry.actionable = kind in {"limit_reached", "error"} or (kind == "loop_detected" and details.get("action") == "pause")
        if details.get("reason") == LOADING:
            self._loading = entry
        if kind == "error":
            entry.actionable = bool(details.get("recoverable"))
        self._add(entry)
        return [("append", entry)]

    def _interrupted(self, event: StreamEvent) -> list[Change]:
        """What worked on the run ended: said where it stopped, with the way to go on."""
        details = {"ended": event.data.get("ended", "")}
        entry = Entry(f"interrupted-{event.run_id}-{event.seq}", "notice", run_id=event.run_id, seq=event.seq, topic="run_interrupted")
        entry.details, entry.actionable = details, True
        self._add(entry)
        return [("append", entry)]

    def _release_notices(self) -> list[Change]:
        """The run goes on: earlier notices are history, and a wait for the server is over."""
        changes: list[Change] = []
        for entry in self.entries[-20:]:
            if entry.actionable:
                entry.actionable = False
                changes.append(("update", entry))
        return changes

    def _add(self, entry: Entry) -> None:
        self.entries.append(entry)
        self._by_id[entry.id] = entry


def _present(call: Call, data: dict[str, Any]) -> None:
    call.effect = str(data.get("effect") or "")
    call.presentation = Presentation.model_validate(data.get("presentation") or {})
