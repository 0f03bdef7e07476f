"""Copy a journal to another workflow: every id is consistently replaced by a new one."""

from __future__ import annotations

from atelier_desk.domain.base_model import new_id
from atelier_desk.domain.errors import NotFoundError
from atelier_desk.domain.events.run import (
    ApprovalDecided,
    EventBody,
    ModelReplied,
    PauseReason,
    RunEvent,
    RunPaused,
    RunStarted,
    TaskChanged,
    event_body_adapter,
)
from atelier_desk.engine.journal.id_remap import files_of, made_by, renamed
from atelier_desk.engine.journal.journal import Journal, Part, RunHandle
from atelier_desk.engine.run.reducer.state import inherited_context
from atelier_desk.engine.run.request.toolset import make_frame
from atelier_desk.storage.repositories import Repositories


class Copier:
    """Takes the events of a workflow in order and writes copies, one commit for each commit.

    Attributes:
        runs: the copies by old id.
        commit: of the newest event taken.
    """

    def __init__(self, repos: Repositories, journal: Journal, source_id: str, target_id: str) -> None:
        self._repos = repos
        self._journal = journal
        self._source_id, self._target_id = source_id, target_id
        self._ids: dict[str, str] = {source_id: target_id}
        self._frames: dict[str, str] = {}
        self._waiting: list[RunEvent] = []
        self.runs: dict[str, RunHandle] = {}
        self.commit = ""

    async def add(self, event: RunEvent) -> None:
        """Take an event; earlier commits are then written."""
        if event.commit != self.commit:
            await self.flush()
        self.commit = event.commit
        self._waiting.append(event)

    async def flush(self) -> None:
        """Write what was taken and is not written yet."""
        events, self._waiting = self._waiting, []
        if events and not events[0].run_id:
            copies = [
                copy for copy in map(self._copied, (event.body for event in events)) if isinstance(copy, TaskChanged)
            ]
            await self._journal.change_tasks(self._target_id, lambda _tasks: copies, events[0].time)
            return
        parts = [await self._part(event) for event in events]
        if parts:
            handles = {part.handle.run_id: part.handle for part in parts}
            await self._journal.append_together(list(handles.values()), lambda: parts)

    async def pause(self) -> None:
        """Pause every run that was cut in the middle, in one commit, including interrupted ones, which the next start
        would resume.
        """
        cut = [handle for handle in self.runs.values() if not handle.current.status.final]
        cut = [handle for handle in cut if handle.current.pause in (None, PauseReason.INTERRUPTED)]
        if cut:
            held = RunPaused(reason=PauseReason.USER)
            # At the time of its last event: nobody worked since.
            parts = [Part(handle, [held], time=handle.current.last_time) for handle in cut]
            await self._journal.append_together(cut, lambda: parts)

    async def _part(self, event: RunEvent) -> Part:
        body = event.body
        handle = self.runs.get(event.run_id)
        if handle is None:
            handle = self.runs[event.run_id] = RunHandle(run_id=self._new(event.run_id), workflow_id=self._target_id)
        if isinstance(body, ModelReplied) and body.frame:
            await self._copy_frame(body.frame)
        copy = self._copied(body)
        for kept in files_of(body):
            await self._repos.artefacts.copy(self._source_id, self._target_id, kept)
        if isinstance(body, RunStarted) and isinstance(copy, RunStarted):
            previous = self.runs.get(body.previous_run_id or "")
            if previous is not None and previous.state is not None:
                handle.history = inherited_context(previous.state)
            copy = copy.model_copy(update={"previous_run_id": previous.run_id if previous else None})
        elif isinstance(copy, ApprovalDecided):
            # A rule may have been withdrawn since: a copy grants nothing anew.
            copy = copy.model_copy(update={"rules": ()})
        elif isinstance(copy, ModelReplied):
            copy = copy.model_copy(update={"frame": self._frames.get(copy.frame, "")})
        return Part(handle, [copy], time=event.time)

    async def _copy_frame(self, frame_id: str) -> None:
        """Copy a prompt frame: it belongs to a workflow, so the copy needs its own."""
        if frame_id in self._frames:
            return
        try:
            frame = await self._repos.frames.get(frame_id)
        except NotFoundError:
            # Without it the context inspector reports that the request is not known exactly.
            self._frames[frame_id] = ""
            return
        copy = make_frame(self._target_id, frame.system, frame.tools)
        await self._repos.frames.save(copy)
        self._frames[frame_id] = copy.id

    def _new(self, old: str) -> str:
        return self._ids.setdefault(old, new_id())

    def _copied(self, body: EventBody) -> EventBody:
        for old in made_by(body)[1]:
            self._new(old)
        return event_body_adapter.validate_python(renamed(body.model_dump(mode="json"), self._ids))
