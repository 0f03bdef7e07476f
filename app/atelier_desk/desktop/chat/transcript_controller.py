"""Carries out what the items of a transcript ask for: one for each chat panel, for its own transcript and the sub-agents'."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge import Bridge
    from atelier_desk.desktop.chat.transcript.host import TranscriptHost


class TranscriptController(QObject):
    """Runs are stopped, paused, taken on, spoken to. Errors go to the bridge's ``failed``."""

    def __init__(self, bridge: Bridge, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge

    def attach(self, host: TranscriptHost) -> None:
        """Serve another transcript."""
        host.resume_requested.connect(self.resume)
        host.stop_requested.connect(self.stop)
        host.pause_requested.connect(self.pause)
        host.stop_call_requested.connect(lambda run_id, call_id: self.stop_call(host.team.workflow_id, run_id, call_id))

    def resume(self, run_id: str, changes: Any = None) -> None:
        """Go on; ``changes`` are the keywords of ``RunManager.resume``."""
        wanted = dict(changes or {})
        self._once("resume", run_id, lambda: self._bridge.engine.runs.steering.resume(run_id, **wanted))

    def stop(self, run_id: str) -> None:
        """End a run and everything below it."""
        self._once("stop", run_id, lambda: self._bridge.engine.runs.cancel(run_id))

    def stop_call(self, workflow_id: str, run_id: str, call_id: str) -> None:
        """End the command that a call waits for; its run goes on."""
        commands = self._bridge.engine.commands
        self._once("stop call", run_id + call_id, lambda: commands.stop_call(workflow_id, run_id, call_id))

    def pause(self, run_id: str) -> None:
        """Hold a run and everything below it."""
        self._once("pause", run_id, lambda: self._bridge.engine.runs.steering.pause(run_id))

    def send_to_agent(self, run_id: str, text: str, strategy: str = "queue") -> None:
        """A message to one agent of the team."""
        from atelier_desk.domain.events.run import Dispatch

        self._once("say", run_id + text, lambda: self._bridge.engine.runs.steering.message(run_id, text, strategy=Dispatch(strategy)))

    def answer(self, run_id: str, text: str) -> None:
        """Answer a sub-agent that asked its parent, in the parent's place."""
        self._once("answer", run_id, lambda: self._bridge.engine.runs.answering.answer_child(run_id, text))

    def stop_workflow(self, workflow_id: str) -> None:
        """End the turn a workflow works on, if it does."""
        self._once("stop", workflow_id, lambda: self._bridge.engine.workflows.stop(workflow_id))

    def _once(self, what: str, target: str, work: Callable[[], Coroutine[object, None, object]]) -> None:
        """Not again while it is done: a second click would meet a run that goes on already."""
        self._bridge.jobs.once((what, target), work)
