"""Schedule the actions of a plan in stages; actions of a stage run concurrently. A pure function of the plan."""

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
    """Scheduling data of one action.

    Attributes:
        depends_on: indexes of earlier actions it needs.
        barrier: it changes something: earlier actions must end before it starts, later ones wait for its end.
    """

    depends_on: tuple[int, ...] = ()
    barrier: bool = False


def stages_of(steps: Sequence[Step], strategy: Strategy, *, most: int = limits.CHILDREN) -> list[int]:
    """Return each action's stage, numbered from 0 without gaps, with at most ``most`` actions each.

    Sequential: one stage per action. All at once: one stage, continued in the next when full. Batch: as early as
    dependencies and barriers allow, so that independent actions share a stage.
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
