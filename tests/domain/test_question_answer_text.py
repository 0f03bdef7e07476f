"""Questions: an answer as text for people."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from atelier_desk.domain.elicitation_form import FieldKind, Form, FormChoice, FormField
from atelier_desk.domain.question import (
    ACCEPT,
    DECLINE,
    Asker,
    QuestionOption,
    QuestionSpec,
    QuestionType,
    UserQuestion,
    form_text,
)
from atelier_desk.support import i18n

CHOICES = (FormChoice(value="1", title="First"), FormChoice(value="2", title="Second"))
FORM = Form(
    fields=(
        FormField(name="window", kind=FieldKind.BOOLEAN, title="Window seat"),
        FormField(name="class", kind=FieldKind.CHOICE, choices=CHOICES),
        FormField(name="also", kind=FieldKind.CHOICES, choices=CHOICES),
        FormField(name="seats", kind=FieldKind.INTEGER),
    )
)


@pytest.fixture
def french() -> Iterator[None]:
    i18n.set_language("fr")
    yield
    i18n.set_language("en")


def answered() -> str:
    spec = QuestionSpec(
        question="Who travels?",
        question_type=QuestionType.FORM,
        options=(QuestionOption(id=ACCEPT, label="Accepted"), QuestionOption(id=DECLINE, label="Declined")),
        asker=Asker(server="asks"),
        form=FORM,
    )
    given = form_text({"window": True, "class": "2", "also": ["1", "2"], "seats": 3, "gone": False})
    return UserQuestion(
        workflow_id="w", run_id="r", call_id="c", spec=spec, selected_options=(ACCEPT,), text_response=given
    ).answer


def test_a_form_answer_shows_the_titles_of_its_choices() -> None:
    assert answered() == "Accepted, Window seat: yes, class: Second, also: First, Second, seats: 3, gone: no"


@pytest.mark.usefixtures("french")
def test_yes_and_no_are_in_the_readers_language() -> None:
    assert "Window seat: oui" in answered()
