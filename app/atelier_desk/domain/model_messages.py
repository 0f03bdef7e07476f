"""Provider-neutral model conversations: built by the engine, translated by each provider to its wire format."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, SkipValidation

from atelier_desk.domain import limits
from atelier_desk.domain.base_model import Model
from atelier_desk.domain.opaque_provider_data import ProviderData


class Role(StrEnum):
    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class ImagePart(Model):
    """An image for the model: base64 data and media type (``image/png``, ``image/jpeg``, ``image/webp``,
    ``image/gif``).

    A person's attachment is stored with the workflow: until it is sent ``data`` is empty, ``sha256`` locates it,
    ``name`` is its name.
    """

    media_type: str
    data: str = ""
    sha256: str = ""
    name: str = ""


class TextFile(Model):
    """A text file of a message: framed with its name for the model, shown by name in the transcript.

    ``name`` is the file name without folder.
    """

    name: str = Field(min_length=1, max_length=limits.ATTACHED_NAME)
    text: str


class ToolCall(Model):
    """One call by a model. ``raw`` is the argument text if it could not be parsed; then ``error`` says why.

    Attributes:
        id: unique in its run; providers with another format map it both ways.
        repaired: the arguments were repaired before parsing; policy may refuse such a call.
        provider_data: data that the server sent with this call and expects back.
    """

    id: str
    name: str
    arguments: dict[str, Any] = {}
    raw: str | None = None
    error: str | None = None
    repaired: bool = False
    provider_data: ProviderData | None = None


class ChatMessage(Model):
    """One message of a request.

    ``tool_call_id`` and ``name`` belong to role ``tool``, ``tool_calls`` to ``assistant``.
    """

    role: Role
    content: str = ""
    images: tuple[ImagePart, ...] = ()
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None
    success: bool | None = None
    """For role ``tool``: whether the call succeeded; used by the xml dialect."""
    provider_data: ProviderData | None = None
    """Data that the server sent with this reply and expects back."""


class TextTurns(tuple[ChatMessage, ...]):
    """Messages of the user and the assistant in turn, the user's first and last, after any system message first.

    Each of them has a text that is not blank, and no calls, images or data of a server.
    """


class ToolSpec(Model):
    """A tool's definition for the model: ``parameters`` is a JSON schema of type object.

    Attributes:
        variants: schemas of the tool's operations, if ``parameters`` is one flat object for all. Never sent; grammars
            are made from them, so that a constrained model cannot omit required fields.
        abilities: what the starter model can do with it: actions of ``llm.guided``, each with its operation. Never
            sent.
        awaits_external_response: the loop stops at its calls until the result comes from outside, mostly from a person.
            Never sent.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    variants: tuple[dict[str, object], ...] = ()
    abilities: dict[str, str] = {}
    awaits_external_response: bool = Field(default=False, exclude_if=lambda value: not value)


class ChatRequest(Model):
    """One request to a model.

    Attributes:
        messages: a tuple, ``TextTurns`` if it is known to be in that order: it may be long and need not be looked
            through again.
        max_tokens: maximum tokens of the reply.
        response_schema: the reply must be JSON that matches this schema, where the server can enforce it.
        grammar: GBNF, for llama.cpp servers only.
        raw_prompt: text that the model continues verbatim, without a chat template; ``messages`` is then not sent. For
            the built-in server only.
        context_window: the model's context in tokens; Ollama must be told (``num_ctx``).
        temperature: None uses the server's default.
        effort: reasoning effort: low, medium or high; None uses the server's default. Providers without support ignore
            it.
        retry: whether the provider retries by itself; False where the caller does.
    """

    model: str
    messages: SkipValidation[tuple[ChatMessage, ...]]
    tools: tuple[ToolSpec, ...] = ()
    temperature: float | None = None
    max_tokens: int = 4096
    stop: tuple[str, ...] = ()
    seed: int | None = None
    enable_thinking: bool = True
    response_schema: dict[str, object] | None = None
    grammar: str | None = None
    raw_prompt: str | None = None
    context_window: int | None = None
    effort: Literal["low", "medium", "high"] | None = None
    retry: bool = True

    def temperature_up_to(self, hottest: float) -> float | None:
        """Return the temperature, if set, limited to an API's maximum."""
        return None if self.temperature is None else min(self.temperature, hottest)


class Usage(Model):
    """Tokens of one reply or a sum of replies. ``estimated`` is True if the server did not count.

    ``cost`` is in US dollars, without ``tokens_unpriced``, the tokens of replies with unknown price.

    Attributes:
        tokens_cached, tokens_stored: tokens of ``tokens_input`` that the server read from its cache, and wrote to it.
        saved: US dollars saved by the cache: the additional cost of its tokens otherwise, minus the cost of writing
            them. Negative until something was read.
        cost_estimated: US dollars of ``cost`` that rest on our own counts: the server gave none, or its reply was cut
            off or lost.
    """

    tokens_input: int = 0
    tokens_output: int = 0
    tokens_cached: int = 0
    tokens_stored: int = 0
    tokens_reasoning: int = 0
    cost: float = 0.0
    saved: float = 0.0
    tokens_unpriced: int = 0
    estimated: bool = False
    cost_estimated: float = 0.0

    @property
    def was_used(self) -> bool:
        """Whether there was a request: turns of imported chats used nothing, and an order has a cost alone."""
        return bool(self.tokens_input or self.tokens_output or self.cost)

    @property
    def known_cost(self) -> float | None:
        """US dollars; None if no price is known for any of it, as opposed to free."""
        return round(self.cost, 8) if self.cost or not self.tokens_unpriced else None

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            tokens_input=self.tokens_input + other.tokens_input,
            tokens_output=self.tokens_output + other.tokens_output,
            tokens_cached=self.tokens_cached + other.tokens_cached,
            tokens_stored=self.tokens_stored + other.tokens_stored,
            tokens_reasoning=self.tokens_reasoning + other.tokens_reasoning,
            cost=self.cost + other.cost,
            saved=self.saved + other.saved,
            tokens_unpriced=self.tokens_unpriced + other.tokens_unpriced,
            estimated=self.estimated or other.estimated,
            cost_estimated=self.cost_estimated + other.cost_estimated,
        )


class FinishReason(StrEnum):
    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"
    CONTENT_FILTER = "content_filter"
    EMPTY = "empty"
    """Neither text nor a call: the model said nothing, or only reasoned. Set by the engine, not by servers."""
    REPETITION = "repetition"
    """The model repeated the same passage and was stopped. Set by the engine."""

    @property
    def complete(self) -> bool:
        """Whether the model completed its reply."""
        return self in (FinishReason.STOP, FinishReason.TOOL_CALLS)


class ChatReply(Model):
    """A complete reply, as committed to the journal.

    ``usage`` is None if the server did not count; ``provider_data`` is what the server expects back, besides that of
    single calls.
    """

    content: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    finish_reason: FinishReason = FinishReason.STOP
    model: str = ""
    provider_data: ProviderData | None = None


class TextDelta(Model):
    kind: Literal["text"] = "text"
    content: str


class ReasoningDelta(Model):
    """A piece of reasoning.

    ``all_before``: the text so far was reasoning too. Some servers open the reasoning in the prompt, so that only its
    end is visible.
    """

    kind: Literal["reasoning"] = "reasoning"
    content: str
    all_before: bool = False


class ToolCallDelta(Model):
    """Part of a call's argument text, for a live preview only; the reply contains the call."""

    kind: Literal["tool_call"] = "tool_call"
    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


LOADING = "loading"
"""Reason of a ``RetryDelta`` of 0 s: the model is being loaded from disk."""


class RetryDelta(Model):
    """The provider waits ``delay_s`` seconds before attempt number ``attempt``.

    Nothing was shown before. ``reason`` is an error's code, ``LOADING``, or a sentence; ``charged``: the service may
    charge for the attempt before, see ``ProviderError``.
    """

    kind: Literal["retry"] = "retry"
    attempt: int
    delay_s: float
    reason: str
    charged: bool = False


class RetryDue(Model):
    """The wait that a ``RetryDelta`` announced is over: the request is sent again once the next delta is asked for.

    Whoever pays for it checks before whether it still may be sent.
    """

    kind: Literal["retry_due"] = "retry_due"


class ReplyDone(Model):
    """Always the last item of a successful stream.

    ``redacted``: a secret was hidden in the reply's text, so that a call written there is not the one that was meant.
    """

    kind: Literal["done"] = "done"
    reply: ChatReply
    redacted: bool = False


ChatDelta = Annotated[
    TextDelta | ReasoningDelta | ToolCallDelta | RetryDelta | RetryDue | ReplyDone, Field(discriminator="kind")
]
