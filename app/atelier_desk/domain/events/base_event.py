"""Shared by all events: enums, notices and their base class."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Literal, NamedTuple

from pydantic import Field

from atelier_desk.domain.base_model import Model


class LimitKind(StrEnum):
    ITERATIONS = "iterations"
    TOOL_CALLS = "tool_calls"
    TOKENS = "tokens"
    COST = "cost"
    TIME = "time"
    MONTH = "month"
    """Total cost in a calendar month: a setting, not a limit of the run."""
    UNPRICED = "unpriced"
    """A request whose price nobody knows, while there is a monthly limit: it could not be kept."""


class PauseReason(StrEnum):
    USER = "user"
    LIMIT = "limit"
    LOOP = "loop"
    STEP = "step"
    INTERRUPTED = "interrupted"
    """The process that worked on the run ended: the following command, the program, or by a kill."""


Ended = Literal["command", "program", "next_start", "killed", "damaged"]
"""What ended when a run was interrupted.

``next_start``: the program, and its user wants the run continued at the next start.
"""


class CallStatus(StrEnum):
    OK = "ok"
    ERROR = "error"
    UNKNOWN = "unknown"
    """The program ended during the call: its effect is unknown."""
    CANCELLED = "cancelled"
    TIMEOUT = "timeout"


class EventNotice(NamedTuple):
    """How an event is shown in transcript, activity, terminal and exports, under its label as the title.

    Attributes:
        icon: its name in the window.
        text: an English ``N_`` text, may be empty; placeholders in it and in the label are fields of the event.
        warning: it is a problem.
    """

    icon: str
    text: str = ""
    warning: bool = False


class Event(Model):
    """What happened in a run; each subclass is one kind of event, stored under its ``type``.

    ``label``: an English ``N_`` text for timeline and replay; its ``{name}`` is the agent or tool. ``notice``: shown as
    one; None: only as its projection says. ``imported``: it came with the file of a workflow, so that what it used was
    not used here.
    """

    type: str
    label: ClassVar[str]
    notice: ClassVar[EventNotice | None] = None
    imported: bool = Field(default=False, exclude_if=lambda value: not value)
