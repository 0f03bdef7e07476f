"""Questions an agent asks its user, and the answers."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field, model_validator

from atelier_desk.domain import limits
from atelier_desk.domain.approval import Ancestor
from atelier_desk.domain.base import Model, Timestamp, new_id, utc_now


class QuestionType(StrEnum):
    CHECKBOX = "checkbox"
    TEXT = "text"
    MIXED = "mixed"


class QuestionStatus(StrEnum):
    PENDING = "pending"
    ANSWERED = "answered"
    SKIPPED = "skipped"
    TIMEOUT = "timeout"


class QuestionOption(Model):
    id: str = Field(min_length=1, max_length=limits.QUESTION_OPTION_ID)
    label: str = Field(min_length=1, max_length=limits.QUESTION_OPTION_LABEL)


class QuestionSpec(Model):
    """What is asked, before it has an identity. Checkbox and mixed need 1–20 options with unique ids; text takes none."""

    question: str = Field(min_length=1, max_length=limits.QUESTION)
    question_type: QuestionType
    options: tuple[QuestionOption, ...] = Field(default=(), max_length=limits.QUESTION_OPTIONS)
    text_placeholder: str = Field(default="", max_length=limits.QUESTION_OPTION_LABEL)
    text_required: bool = False
    context: str = Field(default="", max_length=limits.QUESTION_CONTEXT)

    @model_validator(mode="after")
    def _options_fit_type(self) -> QuestionSpec:
        if self.question_type is QuestionType.TEXT:
            if self.options:
                raise ValueError("a text question takes no options; use questionType mixed")
        elif not self.options:
            raise ValueError(f"options are required for a {self.question_type} question (1 to {limits.QUESTION_OPTIONS})")
        ids = [option.id for option in self.options]
        if len(set(ids)) != len(ids):
            raise ValueError("option ids must be unique")
        if not self.question.strip():
            raise ValueError("question must not be blank")
        return self


class UserQuestion(Model):
    """A question in the queue. ``seen_ms`` counts how long it could be seen; only that uses up ``timeout_s`` (0 = none).

    ``lineage`` lists the runs above the one that asks, the root first; empty for a root run.
    """

    id: str = Field(default_factory=new_id)
    workflow_id: str
    run_id: str
    call_id: str
    agent_id: str = ""
    agent_name: str = ""
    lineage: tuple[Ancestor, ...] = ()
    spec: QuestionSpec
    status: QuestionStatus = QuestionStatus.PENDING
    selected_options: tuple[str, ...] = ()
    text_response: str = ""
    timeout_s: float = limits.QUESTION_TIMEOUT_S
    seen_ms: int = 0
    created_at: Timestamp = Field(default_factory=utc_now)
    answered_at: Timestamp | None = None

    @property
    def answer(self) -> str:
        """What was chosen and written, in words; empty while nothing was."""
        chosen = [option.label for option in self.spec.options if option.id in self.selected_options]
        return ", ".join(filter(None, (*chosen, self.text_response)))


class QuestionAnswer(Model):
    """A person's answer; ``check`` says what is missing."""

    selected_options: tuple[str, ...] = ()
    text_response: str = Field(default="", max_length=limits.QUESTION_TEXT_RESPONSE)

    def problem(self, spec: QuestionSpec) -> str | None:
        """Why this answer does not fit the question (``option``, ``unknown_option``, ``text``, ``no_text``), or None when it fits.

        Checkbox and mixed need an option; text, and mixed with ``text_required``, need text; a checkbox question takes no text.
        """
        known = {option.id for option in spec.options}
        if any(option not in known for option in self.selected_options):
            return "unknown_option"
        if spec.question_type is not QuestionType.TEXT and not self.selected_options:
            return "option"
        if spec.question_type is QuestionType.CHECKBOX and self.text_response:
            return "no_text"
        needs_text = spec.question_type is QuestionType.TEXT or (spec.question_type is QuestionType.MIXED and spec.text_required)
        if needs_text and not self.text_response.strip():
            return "text"
        return None
