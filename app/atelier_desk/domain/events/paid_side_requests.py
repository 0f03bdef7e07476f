"""Events of paid requests beside a run's own replies: titles, memory extraction, images, media, web searches."""

from __future__ import annotations

from typing import Literal

from atelier_desk.domain.events.base_event import Event
from atelier_desk.domain.model_messages import Usage
from atelier_desk.support.i18n import N_


class TitleGenerated(Event):
    """A model was asked for the workflow's title.

    ``title`` is empty if it gave no usable one; the request costs the same.
    """

    type: Literal["title_written"] = "title_written"
    label = N_("Title generated")
    title: str = ""
    provider: str = ""
    model: str = ""
    usage: Usage = Usage()
    duration_ms: int = 0


class MemoryExtractionDone(Event):
    """A model was asked what to remember of the turn.

    ``count`` facts were proposed. The request costs the same without any.
    """

    type: Literal["memories_sought"] = "memories_sought"
    label = N_("Memory extraction requested")
    count: int = 0
    provider: str = ""
    model: str = ""
    usage: Usage = Usage()
    duration_ms: int = 0


class PictureDescribed(Event):
    """A call asked a vision model about an image; its usage belongs to the run."""

    type: Literal["picture_described"] = "picture_described"
    label = N_("Image described by a model")
    call_id: str
    provider: str = ""
    model: str = ""
    usage: Usage = Usage()
    duration_ms: int = 0


class MediaPaid(Event):
    """A call ordered pictures, a 3D model or a web search.

    ``provider`` is the service; without a ``model`` the usage would be that of the run's model.
    Earlier versions counted before they sent, and took it back by a cost below zero when the service refused.
    """

    type: Literal["media_paid"] = "media_paid"
    label = N_("Charge or refund for a paid request")
    call_id: str
    provider: str = ""
    model: str = ""
    usage: Usage = Usage()


class RequestLost(Event):
    """A paid request was sent beside the run's own replies, and its result did not arrive or was not stored.

    The cost of ``usage`` is the most that it may be.
    """

    type: Literal["request_lost"] = "request_lost"
    label = N_("Request without a result")
    provider: str = ""
    model: str = ""
    usage: Usage = Usage()
    duration_ms: int = 0
