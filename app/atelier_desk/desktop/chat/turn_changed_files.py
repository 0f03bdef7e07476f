"""Data assigned to the last message of each turn, which shows it in a card."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from PySide6.QtCore import QObject

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.desktop.chat.transcript.page_reader import TranscriptPages
    from atelier_desk.domain.file_change import Change as FileChange
    from atelier_desk.domain.stream.event import Topic
    from atelier_desk.presentation.rows.team_state import TeamState
    from atelier_desk.presentation.rows.transcript_entries import Change, Entry


class TurnEnds(QObject):
    """Keeps one field of the entries of the workflow in view up to date.

    Attributes:
        entry_field: the entries' field, a tuple.
        topic: changes of this topic reload it.
        by_pages: the data depends on the loaded turns, so older pages reload it.
    """

    entry_field: ClassVar[str]
    topic: ClassVar[Topic]
    by_pages: ClassVar[bool] = False

    def __init__(self, bridge: Bridge, pages: TranscriptPages, parent: QObject) -> None:
        super().__init__(parent)
        self._bridge, self._pages = bridge, pages
        self._turns: Mapping[str, Sequence[Any]] = {}
        pages.opened.connect(lambda *_: self.read())
        pages.prepended.connect(lambda *_: self.read() if self.by_pages else self._apply())
        pages.stream.turn_ended.connect(lambda *_: self.read())
        bridge.changed.connect(self._on_changed)

    async def of_turns(self, workflow_id: str, turn_ids: Sequence[str]) -> Mapping[str, Sequence[object]]:
        """Load the data of each turn."""
        raise NotImplementedError

    def stands_at(self, shown: Any, entry: Entry, *, ended: bool) -> bool:
        """Whether an item of a turn is shown at this message; ``ended``: it is the last message of a completed turn."""
        return ended

    def arrange(self, entries: Sequence[Entry]) -> list[Entry]:
        """Hook before these items are assigned; returns those it changed."""
        return []

    def read(self) -> None:
        """Reload from the engine."""
        workflow = self._pages.workflow
        if workflow is not None and self._bridge.ready:
            self._bridge.jobs.start(self._read(workflow.id), key=f"turn-ends-{self.entry_field}")

    async def _read(self, workflow_id: str) -> None:
        transcript = self._pages.current
        turn_ids = (
            list(dict.fromkeys(each.run_id for each in transcript.entries if each.run_id))
            if transcript is not None
            else []
        )
        turns = await self.of_turns(workflow_id, turn_ids)
        if workflow_id == self._pages.workflow_id:
            self._turns = turns
            self._apply()

    def _apply(self) -> None:
        transcript = self._pages.current
        if transcript is None:
            return
        arranged = self.arrange(transcript.entries)
        last: dict[str, Entry] = {
            entry.run_id: entry for entry in transcript.entries if entry.kind == "assistant" and not entry.live
        }
        shown: list[Change] = [("update", entry) for entry in arranged]
        for entry in transcript.entries:
            ended = last.get(entry.run_id) is entry and entry.run_id != transcript.live_run
            current = tuple(
                each for each in self._turns.get(entry.run_id, ()) if self.stands_at(each, entry, ended=ended)
            )
            if current != getattr(entry, self.entry_field):
                setattr(entry, self.entry_field, current)
                shown.append(("update", entry))
        if shown:
            self._pages.changed.emit(shown)

    def _on_changed(self, topic: Topic, key: str) -> None:
        if topic == self.topic and self.concerns(key):
            self.read()

    def concerns(self, key: str) -> bool:
        """Whether a change with this key may affect the data."""
        return key in {"", self._pages.workflow_id}


class ChangedFiles(TurnEnds):
    """The files changed by each turn. Available if the workflow has a folder that agents may change.

    A message sent while a run works is answered by the same run: the changes made for each message stand below its own
    last reply, so that undoing them leaves those made for the other.
    """

    entry_field = "file_changes"
    topic = "file"

    def __init__(self, bridge: Bridge, pages: TranscriptPages, team: TeamState, parent: QObject) -> None:
        super().__init__(bridge, pages, parent)
        self._team = team
        self._places: dict[str, Entry] = {}
        """By id of a change: the reply below which it is shown."""

    def arrange(self, entries: Sequence[Entry]) -> list[Entry]:
        answers: dict[str, list[list[Entry]]] = {}
        whole: set[str] = set()
        """Runs whose first loaded entry is a message: the replies to it are on no older page."""
        for entry in entries:
            if entry.kind == "user" and entry.run_id not in answers:
                whole.add(entry.run_id)
            parts = answers.setdefault(entry.run_id, [[]])
            if entry.kind == "user" and parts[-1]:
                parts.append([])
            elif entry.kind == "assistant" and not entry.live:
                parts[-1].append(entry)
        self._places = {}
        more: Counter[str] = Counter()
        for run_id, changes in self._turns.items():
            replies = [part for part in answers.get(run_id, ()) if part]
            for change in changes if replies else ():
                if answer := _answer_with(
                    change, self._root_call(change, run_id), replies, complete=self._pages.complete
                ):
                    self._places[change.id] = answer[-1]
                elif run_id not in whole:
                    more[replies[0][-1].id] += 1
        counted = [entry for entry in entries if entry.more_changes != more[entry.id]]
        for entry in counted:
            entry.more_changes = more[entry.id]
        return counted

    def _root_call(self, change: FileChange, root_run_id: str) -> str:
        """Id of the root run's call that made a change or started the agent that did; empty if unknown."""
        if change.run_id == root_run_id:
            return change.call_id
        path = self._team.path(change.run_id)
        return next((agent.parent_call_id for agent in path if agent.parent_run_id == root_run_id), "")

    def stands_at(self, shown: FileChange, entry: Entry, *, ended: bool) -> bool:
        transcript = self._pages.current
        working = transcript is not None and entry.run_id == transcript.live_run
        return self._places.get(shown.id) is entry and not working

    async def of_turns(self, workflow_id: str, turn_ids: Sequence[str]) -> Mapping[str, Sequence[object]]:
        return await self._bridge.engine.files.by_turn(workflow_id)


def _answer_with(
    change: FileChange, root_call: str, answers: Sequence[Sequence[Entry]], *, complete: bool
) -> Sequence[Entry]:
    """The replies to the message for which a change was made: those with its call, else by date.

    Empty if they are on an older page: below another message's reply, undoing that one would revert the change too.
    That a call is not loaded says so whatever the date: a command may write long after the next message.
    """
    for replies in answers:
        if any(call.call_id == root_call for reply in replies for call in reply.calls):
            return replies
    if root_call and not complete:
        return ()
    before = [replies for replies in answers if (began := replies[0].time) is not None and began <= change.at]
    if before:
        return before[-1]
    return answers[0] if complete else ()
