"""What a command says of itself, so that another process can take it up when the one that performs it ends."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from atelier_desk.domain.ids import new_id


@dataclass
class Request:
    """One command of one process, whoever performs it.

    Attributes:
        key: names the command for good: the message it sends, and the workflow it makes for it, have this id. So a second process that
            performs it finds what the first one did, and says nothing twice.
        again: a process began it and ended before it was done.
        workflow_id, run_id: the run it follows, once there is one.
        streaming: a part of a reply was shown that no durable event has confirmed yet.
        language: what the command was asked to speak; empty for the owner's choice in the settings and, where there is none, ``locale``.
        locale: the language of the place where the command was given, empty where that is not known.
        seq: number of the last durable stream event that was shown, 0 before the first.
        since: what ``seq`` was when the command came to this run.
    """

    key: str = field(default_factory=new_id)
    again: bool = False
    workflow_id: str = ""
    run_id: str = ""
    seq: int = 0
    streaming: bool = False
    language: str = ""
    locale: str = ""
    since: int = 0

    def wire(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_wire(cls, value: object) -> Request:
        """The inverse; anything else than what ``wire`` gives is a command nobody began."""
        try:
            return cls(**value)  # type: ignore[arg-type]
        except TypeError:
            return cls()

    def shown(self, workflow_id: str, run_id: str, seq: int) -> None:
        """The stream of this run was shown up to here."""
        if run_id != self.run_id:
            self.since = seq
        self.workflow_id, self.run_id, self.seq, self.streaming = workflow_id, run_id, seq, False
