"""Events of requests to models: replies, retries, and what a model cannot do."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from atelier_desk.domain.agent import SearchScope
from atelier_desk.domain.base_model import new_id
from atelier_desk.domain.events.base_event import Event, EventNotice
from atelier_desk.domain.model_messages import ChatReply, Usage
from atelier_desk.support.i18n import N_


class ModelReplied(Event):
    """A complete reply was received. ``cost`` is in ``reply.usage``, estimated if the server does not count.

    ``frame`` refers to the sent system message and tool definitions (``PromptFrame``). ``with_tools`` is False for a
    final answer without tools, ``with_images`` if tool images were omitted; ``blind`` is True for a model known not to
    support images, which got text in place of attached ones. ``based_on`` is the number of the run's newest event when
    the request was made; 0: the previous one. ``searched_tools`` is the number of tools searched for instead of listed,
    because their definitions would have taken ``searched_tokens``; 0 if all were listed. ``search_scope`` says which
    ones; in older journals without it they were the tools of MCP servers.
    """

    type: Literal["model_replied"] = "model_replied"
    label = N_("Reply from {name}")
    message_id: str = Field(default_factory=new_id)
    reply: ChatReply
    provider: str = ""
    dialect: str = "native"
    frame: str = ""
    with_tools: bool = True
    with_images: bool = True
    blind: bool = False
    based_on: int = 0
    searched_tools: int = 0
    searched_tokens: int = 0
    search_scope: SearchScope = SearchScope.SERVERS
    usage: Usage = Usage()
    context_tokens: int = 0
    context_window: int = 0
    max_tokens: int | None = None
    """Maximum tokens of the reply: what the run's limits allowed, at most the agent's own limit."""
    duration_ms: int = 0
    reasoning_ms: int = 0


class ReplyCutOff(Event):
    """A reply was cut off by a stop, a redirecting message, an error or a kill.

    ``in_conversation``: its text is sent with the next message, unless the same request is answered before. Older
    versions left it out: their events lack the field, and must give the conversation that later events refer to.
    ``usage`` has the estimated tokens of the request and the received part, and the most that the request may cost:
    servers report counts only at the end.
    """

    type: Literal["reply_cut_off"] = "reply_cut_off"
    label = N_("Reply cut off")
    message_id: str = Field(default_factory=new_id)
    content: str = ""
    reasoning: str = ""
    reason: str = "stopped"
    usage: Usage = Usage()
    in_conversation: bool = False


class ModelRetried(Event):
    type: Literal["model_retried"] = "model_retried"
    label = N_("Retrying the model")
    attempt: int
    delay_s: float
    reason: str
    again: bool = False
    """The whole request is sent again.

    For a sub-agent after its provider gave up, or after a connection dropped during the reply. Otherwise the provider
    itself retries.
    """


class ToolsRefused(Event):
    """The server accepts no tool definitions.

    From now on the run's calls are written as text. ``reason`` is the server's message.
    """

    type: Literal["tools_refused"] = "tools_refused"
    label = N_("Tool calls sent as text")
    reason: str


class ImagesRejected(Event):
    """The model accepts no images; from now on text replaces them. ``reason`` is the server's message.

    Attributes:
        entries: entries whose images only are omitted, if the server may accept others; permanently, if it then accepts
            the request. Empty: all images.
        names: of those images, for a person.
    """

    type: Literal["pictures_refused"] = "pictures_refused"
    label = N_("Continuing without images")
    reason: str
    entries: tuple[int, ...] = ()
    names: tuple[str, ...] = ()


class WindowLearned(Event):
    """The server reported a smaller context than assumed.

    From now on requests are built for ``context_window`` tokens.
    """

    type: Literal["window_learned"] = "window_learned"
    label = N_("Context window smaller than expected")
    notice = EventNotice("archive", N_("Requests to this model are now limited to {context_window} tokens."))
    context_window: int
