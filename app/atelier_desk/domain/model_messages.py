"""The neutral form of a model conversation: what the engine builds and every provider translates to its own wire."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field

from atelier_desk.domain import limits
from atelier_desk.domain.base import Model
from atelier_desk.domain.provider_data import ProviderData


class Role(StrEnum):
    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class ImagePart(Model):
    """An image shown to the model: base64 data and its media type (``image/png``, ``image/jpeg``, ``image/webp``, ``image/gif``).

    One that a person attached is kept with the workflow: ``data`` is empty then until it is sent, ``sha256`` finds it, ``name`` is its own.
    """

    media_type: str
    data: str = ""
    sha256: str = ""
    name: str = ""


class TextFile(Model):
    """A text file that goes with a message: the model reads it framed with its name, the transcript shows it by its name.

    ``name`` is the file's name alone, without its folder.
    """

    name: str = Field(min_length=1, max_length=limits.ATTACHED_NAME)
    text: str


class ToolCall(Model):
    """One call a model made. ``raw`` keeps the argument text when it did not parse; then ``error`` says why.

    Attributes:
        id: unique in its run; a provider that needs another form maps it both ways.
        repaired: the arguments were mended before they parsed; policy may refuse to run such a call.
        provider_data: what the server sent with this call and wants back with it.
    """

    id: str
    name: str
    arguments: dict[str, Any] = {}
    raw: str | None = None
    error: str | None = None
    repaired: bool = False
    provider_data: ProviderData | None = None


class ChatMessage(Model):
    """One message of a request. ``tool_call_id`` and ``name`` belong to role ``tool``, ``tool_calls`` to ``assistant``."""

    role: Role
    content: str = ""
    images: tuple[ImagePart, ...] = ()
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None
    success: bool | None = None
    """For role ``tool``: whether the call worked; the xml dialect writes it."""
    provider_data: ProviderData | None = None
    """What the server sent with this reply and wants back with it."""


class ToolSpec(Model):
    """A tool's definition as the model sees it: ``parameters`` is a JSON schema of type object.

    Attributes:
        variants: the schemas of the tool's operations one by one, where ``parameters`` is one flat object for all of them. Never sent;
            grammars are made from them, so that a held model cannot leave out what an operation needs.
        abilities: what the starter model can do with it: actions of ``llm.guided``, each with the operation that does it. Never sent.
        awaits_external_response: the loop stops at a call of it until the result comes from outside, mostly from a person. Never sent.
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
        max_tokens: most tokens of the reply.
        response_schema: the reply must be JSON that fits this schema, where the server can hold it to that.
        grammar: GBNF, for llama.cpp servers alone.
        raw_prompt: text the model continues as it stands, without a chat template; ``messages`` is then not sent. For the built-in
            server alone.
        context_window: tokens the model can see; Ollama must be told (``num_ctx``).
        temperature: None leaves it to the server; one that a person set is sent.
        effort: how long a model thinks before it answers: low, medium or high; None leaves it to the server. Providers that know no
            such thing leave it out.
        retry: whether the provider tries again by itself; not where the caller does.
    """

    model: str
    messages: tuple[ChatMessage, ...]
    tools: tuple[ToolSpec, ...] = ()
    temperature: float | None = None
    max_tokens: int = 4096
    stop: tuple[str, ...] = ()
    seed: int | None = None
    enable_thinking: bool = True
    response_schema: dict[str, Any] | None = None
    grammar: str | None = None
    raw_prompt: str | None = None
    context_window: int | None = None
    effort: Literal["low", "medium", "high"] | None = None
    retry: bool = True

    def temperature_up_to(self, hottest: float) -> float | None:
        """The temperature where there is one, at most what an API takes."""
        return None if self.temperature is None else min(self.temperature, hottest)


class Usage(Model):
    """Tokens of one reply or a sum of replies. ``estimated`` is true when the server did not count.

    ``cost`` is in US dollars; ``tokens_unpriced`` are those of replies whose price nobody knows: what they cost is not in it.

    Attributes:
        tokens_cached, tokens_stored: of ``tokens_input`` those that the server read from its cache, and those it wrote into it.
        saved: US dollars that the cache saved: what its tokens would have cost more, less what writing them cost. Below zero while
            nothing was read again.
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

    @property
    def known_cost(self) -> float | None:
        """US dollars; None when no price is known for any of it, which is something else than free."""
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
        )


class FinishReason(StrEnum):
    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"
    CONTENT_FILTER = "content_filter"
    EMPTY = "empty"
    """Neither text nor a call came: the model said nothing, or only thought. The engine says so, no server does."""
    REPETITION = "repetition"
    """The model wrote the same passage again and again, and was stopped. The engine says so."""

    @property
    def whole(self) -> bool:
        """Whether the model said what it had to say."""
        return self in (FinishReason.STOP, FinishReason.TOOL_CALLS)


class ChatReply(Model):
    """A whole reply, as committed to the journal. ``usage`` is None when the server did not count; ``provider_data`` is what the server
    wants back with it, beside what it sent with single calls."""

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
    """``all_before``: the text so far was reasoning too. Some servers open the thoughts in the prompt, so that only their end is seen."""

    kind: Literal["reasoning"] = "reasoning"
    content: str
    all_before: bool = False


class ToolCallDelta(Model):
    """A piece of a call's argument text, for a live preview only; the call itself is in the reply."""

    kind: Literal["tool_call"] = "tool_call"
    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


LOADING = "loading"
"""Reason of a ``RetryDelta`` of 0 s: the model is being read from the disk first."""


class RetryDelta(Model):
    """The provider waits ``delay_s`` seconds before attempt number ``attempt``; nothing was shown before. ``reason`` is an error's code,
    ``LOADING``, or a sentence."""

    kind: Literal["retry"] = "retry"
    attempt: int
    delay_s: float
    reason: str


class ReplyDone(Model):
    """Always the last item of a stream that did not fail."""

    kind: Literal["done"] = "done"
    reply: ChatReply


ChatDelta = Annotated[TextDelta | ReasoningDelta | ToolCallDelta | RetryDelta | ReplyDone, Field(discriminator="kind")]
