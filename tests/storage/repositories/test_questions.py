"""The queue of questions."""

from __future__ import annotations

from datetime import timedelta

import pytest

from atelier_desk.domain.base_model import utc_now
from atelier_desk.domain.errors import NotFoundError
from atelier_desk.domain.question import QuestionSpec, QuestionStatus, QuestionType, UserQuestion
from atelier_desk.domain.workflow import Workflow
from atelier_desk.storage.repositories import Repositories

SPEC = QuestionSpec(question="Which?", question_type=QuestionType.TEXT)


async def test_the_oldest_question_comes_first(repos: Repositories, workflow: Workflow) -> None:
    other = await repos.workflows.create(Workflow(name="other"))
    now = utc_now()
    asked = [
        UserQuestion(
            workflow_id=home, run_id="r", call_id=str(number), spec=SPEC, created_at=now + timedelta(seconds=number)
        )
        for number, home in enumerate([workflow.id, other.id, workflow.id, workflow.id])
    ]
    for question in reversed(asked):
        await repos.questions.save(question)
    answered = asked[2].model_copy(
        update={"status": QuestionStatus.ANSWERED, "text_response": "this", "answered_at": now}
    )
    await repos.questions.save(answered)
    assert await repos.questions.pending() == [asked[0], asked[1], asked[3]]
    assert await repos.questions.pending(workflow.id) == [asked[0], asked[3]]
    assert await repos.questions.list(workflow.id) == [asked[0], answered, asked[3]]


async def test_visible_times_are_added(repos: Repositories, workflow: Workflow) -> None:
    question = UserQuestion(workflow_id=workflow.id, run_id="r", call_id="c", spec=SPEC)
    await repos.questions.save(question)
    await repos.questions.add_seen(question.id, 250)
    assert (await repos.questions.add_seen(question.id, 500)).seen_ms == 750
    with pytest.raises(NotFoundError):
        await repos.questions.add_seen("missing", 1)
