"""Performs the requests of transcript items: one per chat panel, for its transcript and its sub-agents'."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject

from atelier_desk.domain.workflow import Dispatch

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.desktop.chat.transcript.transcript_host import TranscriptHost


class RunControls(QObject):
    """Stops, pauses, resumes and messages runs. Errors go to the bridge's ``failed``."""

    def __init__(self, bridge: Bridge, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge

    def attach(self, host: TranscriptHost) -> None:
        """Connect to another transcript."""
        host.resume_requested.connect(self.resume)
        host.stop_requested.connect(self.stop)
        host.pause_requested.connect(self.pause)
        host.stop_call_requested.connect(lambda run_id, call_id: self.stop_call(host.team.workflow_id, run_id, call_id))

    def resume(self, run_id: str, changes: Any = None) -> None:
        """Resume a run; ``changes`` are the keywords of ``RunManager.resume``."""
        options = dict(changes or {})
        self._once("resume", run_id, lambda: self._bridge.engine.runs.steering.resume(run_id, **options))

    def stop(self, run_id: str) -> None:
        """Stop a run and its sub-agents."""
        self._once("stop", run_id, lambda: self._bridge.engine.runs.cancel(run_id))

    def stop_call(self, workflow_id: str, run_id: str, call_id: str) -> None:
        """End the command of a call; its run continues."""
        commands = self._bridge.engine.commands
        self._once("stop call", run_id + call_id, lambda: commands.stop_call(workflow_id, run_id, call_id))

    def pause(self, run_id: str) -> None:
        """Pause a run and its sub-agents."""
        self._once("pause", run_id, lambda: self._bridge.engine.runs.steering.pause(run_id))

    def send_to_agent(self, run_id: str, text: str, strategy: str = "queue") -> None:
        """Send a message to one agent of the team."""
        self._once(
            "say",
            run_id + text,
            lambda: self._bridge.engine.runs.steering.message(run_id, text, strategy=Dispatch(strategy)),
        )

    def answer(self, run_id: str, text: str) -> None:
        """Answer a sub-agent's question to its parent."""
        self._once("answer", run_id, lambda: self._bridge.engine.runs.answering.answer_child(run_id, text))

    def stop_workflow(self, workflow_id: str) -> None:
        """Stop the running turn of a workflow, if any."""
        self._once("stop", workflow_id, lambda: self._bridge.engine.workflows.stop(workflow_id))

    def _once(self, action: str, target: str, work: Callable[[], Coroutine[object, None, object]]) -> None:
        """Ignored while the same request is in progress: a second click would meet a run that already continues."""
        self._bridge.jobs.once((action, target), work)
