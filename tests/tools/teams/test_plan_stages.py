"""The stages in which the actions of a plan run."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain import limits
from atelier_desk.tools.teams.plan_stages import Step, Strategy, stages_of


def test_sequential_is_one_after_the_other() -> None:
    assert stages_of([Step(), Step((0,)), Step()], Strategy.SEQUENTIAL) == [0, 1, 2]


def test_parallel_is_one_stage_until_it_is_full() -> None:
    assert stages_of([Step()] * 3, Strategy.ALL) == [0, 0, 0]
    assert stages_of([Step()] * 31, Strategy.ALL) == [0] * 15 + [1] * 15 + [2]


def test_independent_actions_are_batched_around_their_dependencies() -> None:
    assert stages_of([Step(), Step((0,)), Step(), Step((1, 2))], Strategy.BATCH) == [0, 1, 0, 2]


def test_a_changing_action_runs_alone_between_the_others() -> None:
    assert stages_of([Step(), Step(), Step(barrier=True), Step(), Step()], Strategy.BATCH) == [0, 0, 1, 2, 2]
    assert stages_of([Step(barrier=True), Step(barrier=True)], Strategy.BATCH) == [0, 1]


def test_no_steps_no_stages() -> None:
    assert [stages_of([], strategy) for strategy in Strategy] == [[], [], []]


@st.composite
def plans(draw: st.DrawFn) -> list[Step]:
    size = draw(st.integers(0, limits.PLAN_ACTIONS))
    steps = []
    for index in range(size):
        earlier = st.lists(st.integers(0, index - 1), max_size=4, unique=True) if index else st.just([])
        steps.append(Step(tuple(draw(earlier)), draw(st.booleans())))
    return steps


@given(plans(), st.sampled_from(Strategy), st.integers(1, limits.CHILDREN))
def test_every_plan_keeps_its_order_and_limits(steps: list[Step], strategy: Strategy, most: int) -> None:
    stages = stages_of(steps, strategy, most=most)
    assert len(stages) == len(steps)
    filled = Counter(stages)
    assert sorted(filled) == list(range(len(filled)))
    assert all(count <= most for count in filled.values())
    if strategy is Strategy.ALL:
        return
    for index, step in enumerate(steps):
        assert all(stages[other] < stages[index] for other in step.depends_on)
        if step.barrier:
            assert all(stage < stages[index] for stage in stages[:index])
            assert all(stage > stages[index] for stage in stages[index + 1 :])
    if strategy is Strategy.SEQUENTIAL:
        assert stages == sorted(set(stages))


@given(plans())
def test_batching_never_takes_longer_than_sequential_execution(steps: list[Step]) -> None:
    stages = stages_of(steps, Strategy.BATCH)
    assert max(stages, default=-1) < len(steps) or not steps
    if not any(step.barrier or step.depends_on for step in steps) and len(steps) <= limits.CHILDREN:
        assert set(stages) <= {0}
