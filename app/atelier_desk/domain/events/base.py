"""What all events share: how long they matter, and the words they use."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Literal

from atelier_desk.domain.base import Model


class Retention(StrEnum):
    CRITICAL = "critical"
    COMPRESSIBLE = "compressible"
    DISPOSABLE = "disposable"


class Dispatch(StrEnum):
    """What a message does that arrives while the run works: wait its turn, take the step's place, stop the run, or be read later."""

    QUEUE = "queue"
    REDIRECT = "redirect"
    TERMINATE = "terminate"
    SILENT = "silent"


class LimitKind(StrEnum):
    ITERATIONS = "iterations"
    TOOL_CALLS = "tool_calls"
    TOKENS = "tokens"
    COST = "cost"
    TIME = "time"
    MONTH = "month"
    """The cost of everything in a calendar month: a setting, not a cap of the run."""
    UNPRICED = "unpriced"
    """A request whose price nobody knows, while there is a monthly limit: it could not be kept."""


class PauseReason(StrEnum):
    USER = "user"
    LIMIT = "limit"
    LOOP = "loop"
    STEP = "step"
    INTERRUPTED = "interrupted"
    """What worked on the run ended: the command that followed it, the program, or by a kill."""


Ended = Literal["command", "program", "next_start", "killed", "damaged"]
"""What ended when a run was interrupted. ``next_start``: the program, and its person wants the run continued at the next start."""


class CallStatus(StrEnum):
    OK = "ok"
    ERROR = "error"
    UNKNOWN = "unknown"
    """The program ended during the call: whether it had an effect is not known."""
    CANCELLED = "cancelled"
    TIMEOUT = "timeout"


class Event(Model):
    retention: ClassVar[Retention] = Retention.COMPRESSIBLE
