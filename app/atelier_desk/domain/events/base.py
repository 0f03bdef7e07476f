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
    """What a message does that arrives while the run works: wait its turn, stop the current step, stop the run, or only be read later."""

    QUEUE = "queue"
    INTERRUPT = "interrupt"
    TERMINATE = "terminate"
    SILENT = "silent"


class LimitKind(StrEnum):
    ITERATIONS = "iterations"
    TOOL_CALLS = "tool_calls"
    TOKENS = "tokens"
    COST = "cost"
    TIME = "time"


class PauseReason(StrEnum):
    USER = "user"
    LIMIT = "limit"
    LOOP = "loop"
    STEP = "step"
    INTERRUPTED = "interrupted"
    """What worked on the run ended: the command that followed it, the program, or by a kill."""


Ended = Literal["command", "program", "killed"]
"""What ended when a run was interrupted."""


class CallStatus(StrEnum):
    OK = "ok"
    ERROR = "error"
    INTERRUPTED = "interrupted"
    """The program died during the call; the effect is unknown."""
    CANCELLED = "cancelled"
    TIMEOUT = "timeout"


class Event(Model):
    retention: ClassVar[Retention] = Retention.COMPRESSIBLE
