"""The interface between the items of a transcript and their surroundings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from PySide6.QtCore import QObject, QPoint, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu, QWidget

from atelier_desk.desktop.chat.transcript.allowed_images import ImageGate
from atelier_desk.desktop.file_dialogs.exporting import copy
from atelier_desk.desktop.team.model import TeamModel
from atelier_desk.presentation.model_names import unlisted_model_name

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.desktop.questions.approval_controller import ApprovalController
    from atelier_desk.presentation.rows.transcript_entries import Entry


class MessageMenu(Protocol):
    """The actions on a message."""

    def popup(self, entry: Entry, host: TranscriptHost, parent: QWidget, at: QPoint, selected: str = "") -> QMenu:
        """Open the menu of a message at a point of the screen; ``selected`` is the selected text."""
        ...

    def pin(self, entry: Entry) -> None:
        """Pin or unpin a message."""
        ...


@dataclass(frozen=True, slots=True)
class Picked:
    """Who answers the next message."""

    provider: str = ""
    model: str = ""
    agent_id: str = ""
    agent_name: str = ""


class TranscriptHost(QObject):
    """One per transcript; items emit its signals, the panel handles them.

    Attributes:
        team: the agents started by calls, for cards with lanes.
        desk, bridge: pending approvals and the engine; None in a read-only transcript such as a replay.
        versions: messages can be edited and regenerated; False for a sub-agent's.
        models: labels of models by provider and name, if they differ from the name.
        picked: who answers the next message; empty where another version of a turn cannot be requested.
        resend_text: what is done again when the message with this id, of this run, is edited or regenerated; may be
            empty.
        view_height: of the visible part of the transcript, in pixels; 0 until it is known.
        commands: further actions on a message; None in a read-only transcript.

    Signals:
        question_requested: open the dialog of this question.
        ask_picked_requested: answer the turn of this run again, by who is picked.
        picked_changed: ``picked`` is another one.
        regenerate_requested: run id and message id: answer the run's turn again, up to this reply.
        resend_requested: run id, message id and new text: send an edited message as another version of its turn.
        continue_requested: continue the last reply; why it is incomplete (``length``, ``content_filter``, ``empty``,
            ``repetition``, ``stopped``).
        quote_requested: put this text into the composer as a quote.
        branch_requested: show the version with this run id.
        resume_requested: run id and changes (``{}``, ``{"raise_limits": …}`` or ``{"finish": True}``).
        stop_requested: cancel this run.
        stop_call_requested: run id and call id: end the command of this call; the run continues.
        pause_requested: pause this run.
        agent_requested: show the transcript of this sub-agent's run.
        provider_requested: open the settings of this provider, at its API key.
        price_requested: open the settings at the prices of the model of this run.
        report_requested: open the report with this name.
        files_requested: show the changes with these ids (a tuple).
        unfolded: the user opened or closed a part of an item, which must not scroll away from the pointer.
        view_height_changed: the view is higher or lower; cards that are bounded by it change their height.
        status_changed: a short status text.
    """

    question_requested = Signal(str)
    ask_picked_requested = Signal(str)
    picked_changed = Signal()
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
    price_requested = Signal(str)
    report_requested = Signal(str)
    files_requested = Signal(object)
    unfolded = Signal()
    view_height_changed = Signal()
    status_changed = Signal(str)

    def __init__(self, parent: QObject | None = None, team: TeamModel | None = None) -> None:
        super().__init__(parent)
        self.images = ImageGate()
        self.state = HostState()
        self.team = team or TeamModel(parent=self)
        self.approvals: ApprovalController | None = None
        self.bridge: Bridge | None = None
        self.versions = True
        self.view_height = 0
        self.resend_text: Callable[[str, str], str] = lambda _run_id, _message_id: ""
        self.commands: MessageMenu | None = None
        self.models: Mapping[tuple[str, str], str] = {}
        self.picked = Picked()

    def model_name(self, provider: str, model: str) -> str:
        """The name of a model for people."""
        return self.models.get((provider, model)) or unlisted_model_name(provider, model)

    def set_picked(self, picked: Picked) -> None:
        """Set who answers the next message."""
        if picked != self.picked:
            self.picked = picked
            self.picked_changed.emit()

    def set_view_height(self, pixels: int) -> None:
        """Set the height of the visible part of the transcript."""
        if pixels != self.view_height:
            self.view_height = pixels
            self.view_height_changed.emit()

    def copy(self, text: str, *, formatted: bool = False) -> None:
        """Copy a text; ``formatted``: it is Markdown and is copied as rich text, too."""
        if formatted:
            copy(text)
        else:
            QGuiApplication.clipboard().setText(text)


@dataclass(slots=True)
class HostState:
    """Which cards are open, stored while their widgets are dropped and recreated."""

    open_calls: set[str] = field(default_factory=set)
    open_reasoning: set[str] = field(default_factory=set)
    open_reports: set[str] = field(default_factory=set)
