"""When each action of a plan runs: stages that follow one another, the actions of a stage side by side. A pure function of the plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from atelier_desk.domain import limits


class Strategy(StrEnum):
    SEQUENTIAL = "sequential"
    BATCH = "batch_when_possible"
    ALL = "all_at_once"


@dataclass(frozen=True, slots=True)
class Step:
    """One action as far as its time matters.

    Attributes:
        depends_on: indexes of earlier actions it needs.
        barrier: it changes something: what was listed before it must be over when it starts, and what comes after it waits for its end.
    """

    depends_on: tuple[int, ...] = ()
    barrier: bool = False


def stages_of(steps: Sequence[Step], strategy: Strategy, *, most: int = limits.CHILDREN) -> list[int]:
    """Each action's stage, numbered from 0 without gaps; at most ``most`` actions in one.

    Sequential: a stage for each action. All at once: one stage, continued in the next when it is full. Batch: as early as its dependencies
    and the barriers around it allow, so that independent actions share a stage.
    """
    most = max(1, most)
    match strategy:
        case Strategy.SEQUENTIAL:
            return list(range(len(steps)))
        case Strategy.ALL:
            return [index // most for index in range(len(steps))]
        case _:
            return _batched(steps, most)


def _batched(steps: Sequence[Step], most: int) -> list[int]:
    stages: list[int] = []
    filled: Counter[int] = Counter()
    earliest = 0
    for step in steps:
        stage = max([earliest, *(stages[index] + 1 for index in step.depends_on)])
        if step.barrier:
            stage = max([stage, *(other + 1 for other in stages)])
            earliest = stage + 1
        while filled[stage] >= most:
            stage += 1
        filled[stage] += 1
        stages.append(stage)
    return stages
