"""Questions of agents to the user, and answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal

from pydantic import Field, model_validator

from atelier_desk.domain import limits
from atelier_desk.domain.approval import Ancestor
from atelier_desk.domain.base_model import Model, Timestamp, new_id, utc_now
from atelier_desk.domain.elicitation_form import Form, in_words

ACCEPT, DECLINE = "accept", "decline"
"""Options of a server's request; skipping it means ``cancel``."""


class QuestionType(StrEnum):
    """``form``, ``url`` and ``sampling`` are asked by an MCP server."""

    CHECKBOX = "checkbox"
    TEXT = "text"
    MIXED = "mixed"
    FORM = "form"
    URL = "url"
    SAMPLING = "sampling"

    @property
    def of_server(self) -> bool:
        return self in (QuestionType.FORM, QuestionType.URL, QuestionType.SAMPLING)


class QuestionStatus(StrEnum):
    PENDING = "pending"
    ANSWERED = "answered"
    SKIPPED = "skipped"
    TIMEOUT = "timeout"


class QuestionOption(Model):
    id: str = Field(min_length=1, max_length=limits.QUESTION_OPTION_ID)
    label: str = Field(min_length=1, max_length=limits.QUESTION_OPTION_LABEL)


class SampledText(Model):
    role: Literal["user", "assistant"]
    text: str


class Sampling(Model):
    """A model request that a server wants made.

    Attributes:
        model: the agent's model, which would be asked.
        max_tokens: maximum tokens of the reply.
    """

    messages: tuple[SampledText, ...] = Field(min_length=1, max_length=100)
    system: str = ""
    max_tokens: int = Field(ge=1)
    temperature: float | None = None
    stop: tuple[str, ...] = ()
    model: str = ""


class Asker(Model):
    """The MCP server that asks.

    Attributes:
        key: the server's name of this request; empty for one during a running call.
        live: the call is running meanwhile: its server waits in a session that no restart survives.
        doubtful: the words seem to ask for a secret.
    """

    server: str
    key: str = ""
    live: bool = False
    doubtful: bool = False


class QuestionSpec(Model):
    """A question without an identity. Checkbox and mixed need 1–20 options with unique ids; text takes none.

    Requests of servers have the options ``accept`` and ``decline``, and one of ``form``, ``url`` (http or https; never
    fetched by the program) and ``sampling``.
    """

    question: str = Field(min_length=1, max_length=limits.QUESTION)
    question_type: QuestionType
    options: tuple[QuestionOption, ...] = Field(default=(), max_length=limits.QUESTION_OPTIONS)
    text_placeholder: str = Field(default="", max_length=limits.QUESTION_OPTION_LABEL)
    text_required: bool = False
    context: str = Field(default="", max_length=limits.QUESTION_CONTEXT)
    asker: Asker | None = None
    form: Form | None = None
    url: str = ""
    sampling: Sampling | None = None

    @model_validator(mode="after")
    def _options_fit_type(self) -> QuestionSpec:
        if self.question_type is QuestionType.TEXT:
            if self.options:
                raise ValueError("a text question takes no options; use questionType mixed")
        elif not self.options:
            raise ValueError(
                f"options are required for a {self.question_type} question (1 to {limits.QUESTION_OPTIONS})"
            )
        if self.question_type.of_server and (
            self.asker is None or [each.id for each in self.options] != [ACCEPT, DECLINE]
        ):
            raise ValueError("only a server asks for this, and its options are accept and decline")
        ids = [option.id for option in self.options]
        if len(set(ids)) != len(ids):
            raise ValueError("option ids must be unique")
        if not self.question.strip():
            raise ValueError("question must not be blank")
        return self


class UserQuestion(Model):
    """A question in the queue. ``seen_ms`` is how long it was visible; only that counts towards ``timeout_s`` (0 =
    none).

    ``lineage`` lists the runs above the asking one, root first; empty for a root run.
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
    timeout_s: float = 0
    seen_ms: int = 0
    created_at: Timestamp = Field(default_factory=utc_now)
    answered_at: Timestamp | None = None

    @property
    def answer(self) -> str:
        """The choices and text in words; empty without an answer."""
        chosen = [option.label for option in self.spec.options if option.id in self.selected_options]
        if self.spec.form is not None:
            fields = {field.name: field for field in self.spec.form.fields}
            values = [
                f"{fields[name].label}: {fields[name].in_words(value)}"
                if name in fields
                else f"{name}: {in_words(value)}"
                for name, value in values_of(self.text_response).items()
            ]
            return ", ".join([*chosen, *values])
        return ", ".join(filter(None, (*chosen, self.text_response)))

    @property
    def elicited(self) -> dict[str, Any]:
        """The protocol's answer to a server's request: action, and values of a submitted form."""
        if self.status is not QuestionStatus.ANSWERED:
            return {"action": "cancel"}
        if ACCEPT not in self.selected_options:
            return {"action": "decline"}
        content = {"content": self.spec.form.given(values_of(self.text_response))} if self.spec.form is not None else {}
        return {"action": "accept", **content}


class QuestionAnswer(Model):
    """A person's answer; ``problem`` checks it."""

    selected_options: tuple[str, ...] = ()
    text_response: str = Field(default="", max_length=limits.QUESTION_TEXT_RESPONSE)

    def problem(self, spec: QuestionSpec) -> str | None:
        """Return why this answer does not fit the question (``option``, ``unknown_option``, ``text``, ``no_text``,
        ``form``, ``one``), or None.

        Checkbox and mixed need an option; text, and mixed with ``text_required``, need text; checkbox takes no text.
        """
        known = {option.id for option in spec.options}
        if any(option not in known for option in self.selected_options):
            return "unknown_option"
        if spec.question_type is not QuestionType.TEXT and not self.selected_options:
            return "option"
        if spec.question_type.of_server:
            return self._problem_for_server(spec)
        if spec.question_type is QuestionType.CHECKBOX and self.text_response:
            return "no_text"
        needs_text = spec.question_type is QuestionType.TEXT or (
            spec.question_type is QuestionType.MIXED and spec.text_required
        )
        if needs_text and not self.text_response.strip():
            return "text"
        return None

    def _problem_for_server(self, spec: QuestionSpec) -> str | None:
        if len(self.selected_options) > 1:
            return "one"
        if spec.form is None or DECLINE in self.selected_options:
            return "no_text" if self.text_response else None
        return "form" if spec.form.problems(values_of(self.text_response)) else None


def values_of(text: str) -> dict[str, object]:
    """Return the values of a form from an answer's JSON object; empty for anything else."""
    try:
        values = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}


def form_text(values: Mapping[str, object]) -> str:
    """Return the values of a form as an answer's text."""
    return json.dumps(dict(values), ensure_ascii=False)
