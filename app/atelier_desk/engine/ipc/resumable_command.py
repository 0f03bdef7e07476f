"""State of a command, with which another process can continue it when the executing one ends."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from atelier_desk.domain.ids import new_id


@dataclass
class Request:
    """One command of a process, whoever executes it.

    Attributes:
        key: permanent id of the command: its message, and the workflow created for it, have this id. So a second
            executing process finds the first one's work and repeats nothing.
        again: a process began it and ended before completing.
        workflow_id, run_id: the run it follows, once known.
        streaming: part of a reply was shown that no durable event has confirmed yet.
        language: requested language; empty for the setting and, without one, ``locale``.
        locale: language of the terminal, empty if unknown.
        seq: number of the last durable stream event shown, 0 before the first.
        since: ``seq`` when the command reached this run.
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

    def wire(self) -> dict[str, object]:
        return asdict(self)

    @classmethod
    def from_wire(cls, value: object) -> Request:
        """Inverse of ``wire``; anything else is a command that nobody began."""
        try:
            return cls(**value)  # type: ignore[arg-type]
        except TypeError:
            return cls()

    def shown(self, workflow_id: str, run_id: str, seq: int) -> None:
        """Record that the stream of this run was shown up to here."""
        if run_id != self.run_id:
            self.since = seq
        self.workflow_id, self.run_id, self.seq, self.streaming = workflow_id, run_id, seq, False
