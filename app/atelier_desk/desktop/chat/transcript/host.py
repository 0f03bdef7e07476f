"""What the items of a transcript may ask of their surroundings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from PySide6.QtCore import QObject, QPoint, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu, QWidget

from atelier_desk.desktop.chat.transcript.image_gate import ImageGate
from atelier_desk.desktop.team.model import TeamModel

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge import Bridge
    from atelier_desk.desktop.chat.transcript.entries import Entry
    from atelier_desk.desktop.questions.approval_controller import ApprovalController


class MessageMenu(Protocol):
    """What can be done with a message."""

    def popup(self, entry: Entry, host: TranscriptHost, parent: QWidget, at: QPoint, selected: str = "") -> QMenu:
        """Open the menu of a message at a point of the screen; ``selected`` is the text that is marked in it."""
        ...

    def pin(self, entry: Entry) -> None:
        """Pin it, or take its pin away."""
        ...


class TranscriptHost(QObject):
    """One for each transcript; items emit its signals, the panel carries them out.

    Attributes:
        team: the agents that calls started, for the cards that show them as lanes.
        desk, bridge: the waiting approvals and where they are decided; None where nothing can be decided, as in a replay.
        versions: messages can be edited and answered again; not those of a sub-agent.
        models: what models are called, by provider and name, where that is not their name.
        resend_text: what is done again when the message with this id, of this run, is changed or answered again; empty for nothing.
        commands: what else can be done with a message; None where nothing can, as in a replay.

    Signals:
        question_requested: open the dialog of this question.
        regenerate_requested: run id and message id: answer the turn of this run again, up to this reply.
        resend_requested: run id, message id and new text: send an edited message as another version of its turn.
        continue_requested: have the last reply continued; why it is not whole (``length``, ``content_filter``, ``empty``).
        quote_requested: put this text into the composer as a quote.
        branch_requested: show the version with this run id.
        resume_requested: run id and what to change (``{}``, ``{"raise_limits": …}`` or ``{"finish": True}``).
        stop_requested: cancel this run.
        stop_call_requested: run id and call id: end the command that this call waits for; the run goes on.
        pause_requested: pause this run.
        agent_requested: show the transcript of this sub-agent's run.
        provider_requested: open the settings of this provider, at its key.
        files_requested: show what was changed in the folders.
        status_changed: something to say in passing.
    """

    question_requested = Signal(str)
    regenerate_requested = Signal(str, str)
    resend_requested = Signal(str, str, str)
    continue_requested = Signal(str)
    quote_requested = Signal(str)
    branch_requested = Signal(str)
    resume_requested = Signal(str, object)
    stop_requested = Signal(str)
    stop_call_requested = Signal(str, str)
    pause_requested = Signal(str)
    agent_requested = Signal(str)
    provider_requested = Signal(str)
    files_requested = Signal(str)
    status_changed = Signal(str)

    def __init__(self, parent: QObject | None = None, team: TeamModel | None = None) -> None:
        super().__init__(parent)
        self.images = ImageGate()
        self.state = HostState()
        self.team = team or TeamModel(parent=self)
        self.approvals: ApprovalController | None = None
        self.bridge: Bridge | None = None
        self.versions = True
        self.resend_text: Callable[[str, str], str] = lambda _run_id, _message_id: ""
        self.commands: MessageMenu | None = None
        self.models: Mapping[tuple[str, str], str] = {}

    def copy(self, text: str, *, formatted: bool = False) -> None:
        """``formatted``: it is Markdown, and goes with its form for what takes one."""
        if formatted:
            from atelier_desk.desktop.exporting import copy

            copy(text)
        else:
            QGuiApplication.clipboard().setText(text)


@dataclass(slots=True)
class HostState:
    """Which cards are open, kept while their widgets come and go."""

    open_calls: set[str] = field(default_factory=set)
    open_reasoning: set[str] = field(default_factory=set)
    open_reports: set[str] = field(default_factory=set)
