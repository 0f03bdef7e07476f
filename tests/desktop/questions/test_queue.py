"""The question queue: order, positions, "later" and drafts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from atelier_desk.desktop.questions.queue import QuestionQueue, QueuePosition
from atelier_desk.domain.question import QuestionAnswer, QuestionSpec, QuestionStatus, QuestionType, UserQuestion

START = datetime(2026, 1, 1, tzinfo=UTC)


def question(name: str, workflow: str = "w1", minute: int = 0, **fields: object) -> UserQuestion:
    spec = QuestionSpec(question=f"{name}?", question_type=QuestionType.TEXT)
    base = {
        "id": name,
        "workflow_id": workflow,
        "run_id": "r",
        "call_id": "c",
        "spec": spec,
        "created_at": START + timedelta(minutes=minute),
    }
    return UserQuestion.model_validate(base | fields)


def test_questions_are_shown_in_order_with_one_queue_per_workflow() -> None:
    queue = QuestionQueue()
    queue.replace([question("b", minute=2), question("a", minute=1), question("x", workflow="w2")])
    first = queue.next_for("w1")
    assert first is not None
    assert first.id == "a"
    assert [q.id for q in queue.pending()] == ["x", "a", "b"]
    assert [q.id for q in queue.pending("w1")] == ["a", "b"]
    assert queue.next_for("nowhere") is None
    assert len(queue) == 3


def test_positions_stay_stable_while_the_queue_is_processed() -> None:
    queue = QuestionQueue()
    queue.add(question("a", minute=1))
    queue.add(question("b", minute=2))
    assert queue.place("a") == QueuePosition(1, 2)
    queue.close("a")
    assert queue.place("b") == QueuePosition(2, 2)
    queue.close("b")
    queue.add(question("c", minute=3))
    assert queue.place("c") == QueuePosition(1, 1)


def test_later_goes_to_the_next_and_keeps_the_draft() -> None:
    queue = QuestionQueue()
    queue.add(question("a", minute=1))
    queue.add(question("b", minute=2))
    queue.put_aside("a", QuestionAnswer(text_response="half an answer"))
    following = queue.next_for("w1")
    assert following is not None
    assert following.id == "b"
    assert queue.is_aside("a")
    assert [q.id for q in queue.pending("w1")] == ["a", "b"]
    assert queue.bring_back("a") is not None
    again = queue.next_for("w1")
    assert again is not None
    assert again.id == "a"
    assert queue.draft("a").text_response == "half an answer"
    queue.close("a")
    assert queue.draft("a") == QuestionAnswer()


def test_replace_drops_what_is_no_longer_pending_and_keeps_the_rest() -> None:
    queue = QuestionQueue()
    a, b = question("a", minute=1), question("b", minute=2)
    queue.replace([a, b])
    queue.put_aside("b", QuestionAnswer(text_response="x"))
    queue.replace([b, question("c", minute=3), question("d", minute=4, status=QuestionStatus.ANSWERED)])
    assert [q.id for q in queue.pending()] == ["b", "c"]
    assert queue.is_aside("b")
    assert queue.draft("b").text_response == "x"
    assert queue.add(b) is False
    assert queue.close("nothing") is None
