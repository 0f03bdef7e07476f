"""Teams: a sub-agent as its parent plans it, and what became of it. A sub-agent is a run with a parent."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import Field

from atelier_desk.domain import limits
from atelier_desk.domain.agent import AgentConfig, Budget
from atelier_desk.domain.base import Model, Timestamp
from atelier_desk.domain.model_messages import Usage
from atelier_desk.domain.result_parts import SourcePart


class TeamCall(StrEnum):
    """Which tool asked for sub-agents; it decides what the result looks like."""

    SPAWN = "spawn"
    DELEGATE = "delegate"
    PARALLEL = "parallel"
    PLAN = "plan"
    JOIN = "join"
    ANSWER = "answer"


class ChildStatus(StrEnum):
    """State of a sub-agent as its parent knows it. ``not_run``: a sequential plan stopped before it."""

    PLANNED = "planned"
    RUNNING = "running"
    ASKING = "asking"
    """It waits for its parent's answer."""
    COMPLETED = "completed"
    ERROR = "error"
    CANCELLED = "cancelled"
    ABANDONED = "abandoned"
    NOT_RUN = "not_run"

    @property
    def over(self) -> bool:
        return self in (ChildStatus.COMPLETED, ChildStatus.ERROR, ChildStatus.CANCELLED, ChildStatus.ABANDONED, ChildStatus.NOT_RUN)


class ChildPlan(Model):
    """A sub-agent before it starts.

    Attributes:
        id: its run's id, derived from the parent's call, so that the same call never makes two.
        agent: its configuration; nothing in it goes beyond its parent's. ``agent.budget`` is what was asked for; its share is cut when it
            starts.
        agent_id: the stored agent it is, empty for one made up by its parent.
        prompt: all it is told.
        stage: sub-agents of a stage run together; a stage begins when the one before is over.
        title: what it is to do, in a few words.
        withheld: tools it asked for or has elsewhere and does not get, because its parent lacks them.
    """

    id: str
    name: str
    agent_id: str = ""
    agent: AgentConfig
    prompt: str = Field(min_length=1, max_length=limits.MESSAGE)
    stage: int = 0
    title: str = ""
    withheld: tuple[str, ...] = ()


class Spending(Model):
    """What a run and everything below it used up. ``seconds`` is working time, summed over all agents."""

    usage: Usage = Usage()
    tool_calls: int = 0
    seconds: float = 0.0

    def __add__(self, other: Spending) -> Spending:
        return Spending(usage=self.usage + other.usage, tool_calls=self.tool_calls + other.tool_calls, seconds=self.seconds + other.seconds)


class ChildState(Model):
    """A sub-agent as its parent knows it, folded from the parent's journal.

    Attributes:
        call_id: the parent's call that started it.
        share: the part of the parent's budget that is set aside while it works.
        spent: what it used, known when it is over.
        kind: the tool that started it; ``stop_on_error`` holds for the stages of its call.
        question: what it asked its parent, while it waits for the answer; ``question_told``: the parent's model knows of it.
        duration_ms: from its start to its end; None before that, and where it never started.
        told: its report reached the parent's model.
        sources: the pages of the web that its report rests on.
    """

    id: str
    name: str
    agent_id: str = ""
    call_id: str = ""
    title: str = ""
    stage: int = 0
    kind: TeamCall = TeamCall.SPAWN
    stop_on_error: bool = False
    background: bool = False
    status: ChildStatus = ChildStatus.PLANNED
    share: Budget = Budget()
    spent: Spending = Spending()
    report: str = ""
    error: str = ""
    question: str = ""
    question_told: bool = False
    duration_ms: int | None = None
    told: bool = False
    withheld: tuple[str, ...] = ()
    started_at: Timestamp | None = None
    sources: tuple[SourcePart, ...] = ()

    @property
    def metrics(self) -> dict[str, Any]:
        """The ``metrics`` object of tool results and stream events."""
        usage = self.spent.usage
        return {
            "duration_ms": self.duration_ms,
            "tokens_input": usage.tokens_input,
            "tokens_output": usage.tokens_output,
            "cost": usage.known_cost,
        }
