"""The answer of a person who fills in a form."""

from __future__ import annotations

from collections.abc import Mapping

from atelier_desk.domain.question import ACCEPT, QuestionAnswer, form_text


def form_answer(values: Mapping[str, object]) -> QuestionAnswer:
    """Raises ``ValidationError`` if it is too long."""
    return QuestionAnswer(selected_options=(ACCEPT,), text_response=form_text(values))
