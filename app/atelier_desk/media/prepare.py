"""Pictures made ready for models, in one place for everything that brings one: attachments, tools, MCP servers, programs."""

from __future__ import annotations

import base64
import hashlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Lock

from atelier_desk.domain.pictures import KEPT, PictureLimits
from atelier_desk.limited import answer_in_thread

_REMEMBERED = 512
_REMEMBERED_BYTES = 32 * 1024 * 1024
"""What is kept of earlier results: a conversation is sent again with every step of it."""
LIMIT_S = 25.0
"""Seconds for one picture; one of 64 million pixels takes about 3."""


class UnfitPicture(Exception):
    """A picture that nobody can be shown. ``code``: ``not_a_picture``, ``broken`` (it cannot be decoded), ``bomb`` (too many pixels),
    ``too_large``, ``timeout``."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True, slots=True)
class ReadyPicture:
    """``width`` and ``height`` in pixels, as it is seen."""

    media_type: str
    width: int
    height: int
    data: bytes


def prepared(data: bytes, most: PictureLimits = KEPT, stopped: Callable[[], object] = bool) -> ReadyPicture:
    """A picture decoded to its end, upright, within the limits; its own bytes where they are so already. Blocks for some 0.2 s, as a
    process does the work; it is ended when ``stopped`` says so.

    Raises:
        UnfitPicture: it is none, is damaged, too large, or takes too long.
    """
    key = hashlib.sha256(data).hexdigest(), most
    if known := _known.get(key):
        return known if known.data else replace(known, data=data)
    arguments = (str(most.side), str(most.size), ",".join(most.kinds))
    found = answer_in_thread("atelier_desk.media.pictures", arguments, data, limit_s=LIMIT_S, stopped=stopped)
    if "error" in found:
        raise UnfitPicture(str(found["error"]))
    facts = str(found["media_type"]), int(found["width"]), int(found["height"])
    made = base64.b64decode(found["data"])
    if made:
        _remember((hashlib.sha256(made).hexdigest(), most), ReadyPicture(*facts, b""))
    _remember(key, ReadyPicture(*facts, made))
    return ReadyPicture(*facts, made or data)


_known: OrderedDict[tuple[str, PictureLimits], ReadyPicture] = OrderedDict()
"""By the hash of a picture and what it may be; no bytes where it was ready already."""
_lock = Lock()


def _remember(key: tuple[str, PictureLimits], ready: ReadyPicture) -> None:
    with _lock:
        _known[key] = ready
        while len(_known) > _REMEMBERED or sum(len(each.data) for each in _known.values()) > _REMEMBERED_BYTES:
            _known.popitem(last=False)
