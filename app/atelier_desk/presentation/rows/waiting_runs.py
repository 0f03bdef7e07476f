"""Runs that wait for a person: sub-agents that ask their parent, and those stopped at a limit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from atelier_desk.domain.base_model import utc_now
from atelier_desk.domain.events.base_event import PauseReason
from atelier_desk.domain.workflow import RunStatus

if TYPE_CHECKING:
    from atelier_desk.domain.stream.event import StreamEvent
    from atelier_desk.domain.stream.payloads import LimitReached, SubAgentQuestion
    from atelier_desk.engine.services.team.agent_tree_and_timeline_types import AgentNode


@dataclass(frozen=True, slots=True)
class ParentQuestion:
    """A sub-agent's question; ``lineage`` names its ancestors from the root to the parent.

    ``root_run_id`` is that of its team if only the parent is known.
    """

    run_id: str
    workflow_id: str
    agent_name: str
    question: str
    lineage: tuple[str, ...] = ()
    created_at: datetime = field(default_factory=utc_now)
    root_run_id: str = ""

    @classmethod
    def of(cls, event: StreamEvent, data: SubAgentQuestion) -> ParentQuestion:
        return cls(
            data.sub_agent_id,
            event.workflow_id,
            data.sub_agent_name,
            data.question,
            (event.agent_name,) if event.agent_name else (),
            event.time,
            event.correlation_id if event.depth else "",
        )

    @property
    def parent(self) -> str:
        return self.lineage[-1] if self.lineage else ""


@dataclass(frozen=True, slots=True)
class StoppedRun:
    """A run that waits for a decision at a limit.

    ``kind`` is a ``LimitKind`` value, or ``priced`` once the price is known that was missing; ``value`` and ``cap`` are
    in its unit, 0 if unknown; ``details`` as of ``presentation.run_notices.too_little``.
    """

    run_id: str
    workflow_id: str
    agent_name: str
    kind: str
    value: float = 0.0
    cap: float = 0.0
    details: Mapping[str, Any] = field(default_factory=dict)
    created_at: datetime = field(default_factory=utc_now)

    @classmethod
    def of(cls, event: StreamEvent, data: LimitReached) -> StoppedRun:
        figures = _figures(data.details)
        return cls(event.run_id, event.workflow_id, event.agent_name, data.reason, *figures, event.time)


def _figures(details: Mapping[str, Any]) -> tuple[float, float, dict[str, float]]:
    value, cap, needed, left = (float(details.get(name) or 0) for name in ("value", "cap", "needed", "left"))
    return value, cap, {"needed": needed, "left": left}


def asking(tree: AgentNode, workflow_id: str) -> Iterator[ParentQuestion]:
    """The questions of a team's sub-agents to their parents."""
    for node in tree.walk():
        if node.status == RunStatus.AWAITING_PARENT and node.question:
            above = tuple(each.name for each in tree.path(node.run_id)[:-1])
            yield ParentQuestion(
                node.run_id, workflow_id, node.name, node.question, above, node.started_at or utc_now()
            )


def at_limit(tree: AgentNode, workflow_id: str) -> Iterator[StoppedRun]:
    """The runs of a team that stopped at a limit."""
    for node in tree.walk():
        if node.status == RunStatus.PAUSED and node.pause == PauseReason.LIMIT:
            yield StoppedRun(
                node.run_id,
                workflow_id,
                node.name,
                node.limit,
                *_figures(node.limit_figures),
                created_at=node.started_at or utc_now(),
            )
