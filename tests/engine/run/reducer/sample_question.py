"""Events of a question."""

from __future__ import annotations

from atelier_desk.domain.question import QuestionSpec, QuestionType, UserQuestion


def question(call_id: str = "c1", id: str = "q1") -> UserQuestion:
    spec = QuestionSpec(question="Which?", question_type=QuestionType.TEXT)
    return UserQuestion(id=id, workflow_id="w", run_id="r", call_id=call_id, spec=spec)
