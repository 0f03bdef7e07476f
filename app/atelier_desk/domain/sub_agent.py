"""Teams: planned sub-agents and their state. A sub-agent is a run with a parent."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from atelier_desk.domain import limits
from atelier_desk.domain.agent import AgentConfig, Budget
from atelier_desk.domain.base_model import Model, Timestamp
from atelier_desk.domain.model_messages import Usage
from atelier_desk.domain.result_parts import SourcePart


class TeamCall(StrEnum):
    """The tool that requested sub-agents; it determines the form of the result."""

    SPAWN = "spawn"
    DELEGATE = "delegate"
    PARALLEL = "parallel"
    PLAN = "plan"
    JOIN = "join"
    ANSWER = "answer"


class ChildStatus(StrEnum):
    """State of a sub-agent from its parent's view. ``not_run``: a sequential plan stopped before it."""

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
        return self in (
            ChildStatus.COMPLETED,
            ChildStatus.ERROR,
            ChildStatus.CANCELLED,
            ChildStatus.ABANDONED,
            ChildStatus.NOT_RUN,
        )


class ChildPlan(Model):
    """A sub-agent before it starts.

    Attributes:
        id: its run's id, derived from the parent's call, so that repeating the call creates no second one.
        agent: its configuration, within its parent's rights. ``agent.budget`` is the requested one; its share is fixed
            when it starts.
        agent_id: the stored agent, empty for one created by its parent.
        prompt: everything it is told.
        stage: sub-agents of a stage run concurrently; a stage begins when the previous one has ended.
        title: its task, in a few words.
        withheld: tools it requested or usually has but does not get, because its parent lacks them.
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
    """Usage of a run and everything below it. ``seconds`` is working time, summed over all agents."""

    usage: Usage = Usage()
    tool_calls: int = 0
    seconds: float = 0.0

    def __add__(self, other: Spending) -> Spending:
        return Spending(
            usage=self.usage + other.usage,
            tool_calls=self.tool_calls + other.tool_calls,
            seconds=self.seconds + other.seconds,
        )


class ChildState(Model):
    """State of a sub-agent from its parent's view, derived from the parent's journal.

    Attributes:
        call_id: the parent's call that started it.
        share: part of the parent's budget reserved while it runs.
        spent: its usage, known when it has ended.
        kind: the tool that started it; ``stop_on_error`` applies to the stages of its call.
        question: its pending question to its parent; ``question_told``: the parent's model knows it.
        duration_ms: from start to end; None before that, and if it never started.
        told: its report was delivered to the parent's model.
        sources: web pages that its report is based on.
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
    def metrics(self) -> dict[str, object]:
        """Return the ``metrics`` object of tool results and stream events."""
        usage = self.spent.usage
        return {
            "duration_ms": self.duration_ms,
            "tokens_input": usage.tokens_input,
            "tokens_output": usage.tokens_output,
            "cost": usage.known_cost,
        }
