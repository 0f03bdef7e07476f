"""When a question may be asked: the circuit breaker per workflow and the limit of the queue."""

from __future__ import annotations

import pytest

from atelier_desk.domain.question import QuestionStatus
from atelier_desk.engine.services.common.question_throttle import WorkflowQuestionGate
from tests.helpers.manual_clock import ManualClock

UNRESPONSIVE = "User appears unresponsive (3 consecutive timeouts). Question rejected. Retry in {n} seconds."


class Queue:
    """The number of waiting questions, by workflow."""

    def __init__(self) -> None:
        self.waiting: dict[str, int] = {}

    async def __call__(self, workflow_id: str) -> int:
        return self.waiting.get(workflow_id, 0)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def queue() -> Queue:
    return Queue()


@pytest.fixture
def gate(queue: Queue, clock: ManualClock) -> WorkflowQuestionGate:
    return WorkflowQuestionGate(queue, clock)


async def time_out(gate: WorkflowQuestionGate, workflow_id: str, times: int) -> None:
    for _ in range(times):
        assert await gate.refusal(workflow_id) is None
        gate.record(workflow_id, QuestionStatus.TIMEOUT)


async def test_three_timeouts_in_a_row_block_questions_for_sixty_seconds(
    gate: WorkflowQuestionGate, clock: ManualClock
) -> None:
    await time_out(gate, "a", 3)
    assert await gate.refusal("a") == UNRESPONSIVE.format(n=60)
    await clock.advance(14.5)
    assert await gate.refusal("a") == UNRESPONSIVE.format(n=46)


async def test_another_workflow_is_not_affected(gate: WorkflowQuestionGate) -> None:
    await time_out(gate, "a", 3)
    assert await gate.refusal("b") is None


@pytest.mark.parametrize("status", [QuestionStatus.ANSWERED, QuestionStatus.SKIPPED])
async def test_an_answer_or_a_skip_resets_the_count(gate: WorkflowQuestionGate, status: QuestionStatus) -> None:
    await time_out(gate, "a", 2)
    gate.record("a", status)
    await time_out(gate, "a", 2)
    assert await gate.refusal("a") is None


async def test_an_abandoned_question_does_not_count(gate: WorkflowQuestionGate) -> None:
    await time_out(gate, "a", 2)
    gate.record("a", QuestionStatus.PENDING)
    assert await gate.refusal("a") is None


async def test_after_the_cool_down_one_trial_question_is_allowed(
    gate: WorkflowQuestionGate, queue: Queue, clock: ManualClock
) -> None:
    await time_out(gate, "a", 3)
    await clock.advance(60)
    assert await gate.refusal("a") is None
    queue.waiting["a"] = 1
    assert await gate.refusal("a") == UNRESPONSIVE.format(n=60)
    gate.record("a", QuestionStatus.ANSWERED)
    assert await gate.refusal("a") is None


async def test_a_trial_question_that_times_out_blocks_again(gate: WorkflowQuestionGate, clock: ManualClock) -> None:
    await time_out(gate, "a", 3)
    await clock.advance(60)
    await time_out(gate, "a", 1)
    assert await gate.refusal("a") == UNRESPONSIVE.format(n=60)


async def test_a_trial_question_that_vanished_with_its_run_is_replaced(
    gate: WorkflowQuestionGate, queue: Queue, clock: ManualClock
) -> None:
    await time_out(gate, "a", 3)
    await clock.advance(60)
    assert await gate.refusal("a") is None
    assert await gate.refusal("a") is not None
    await clock.advance(6)
    assert await gate.refusal("a") is None


async def test_at_most_fifty_questions_wait_in_a_workflow(gate: WorkflowQuestionGate, queue: Queue) -> None:
    queue.waiting["a"] = 49
    assert await gate.refusal("a") is None
    queue.waiting["a"] = 50
    refusal = await gate.refusal("a")
    assert refusal is not None
    assert "50" in refusal
    assert await gate.refusal("b") is None


async def test_a_deleted_workflow_is_removed(gate: WorkflowQuestionGate) -> None:
    await time_out(gate, "a", 3)
    gate.forget("a")
    assert await gate.refusal("a") is None
