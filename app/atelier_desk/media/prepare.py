"""Pictures made ready for models, in one place for everything that brings one: attachments, tools, MCP servers, programs."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from atelier_desk.domain.pictures import STORED_LIMITS, PictureLimits
from atelier_desk.media.image_headers import kind_of, size_of
from atelier_desk.support.worker.errors import WorkerError
from atelier_desk.support.worker.parent import ask_in_thread

_REMEMBERED = 512
_REMEMBERED_BYTES = 32 * 1024 * 1024
"""What is kept of earlier results: a conversation is sent again with every step of it."""
LIMIT_S = 25.0
"""Seconds for one picture; one of 64 million pixels takes about 3."""


class UnusablePicture(Exception):
    """A picture that nobody can be shown. ``code``: ``not_a_picture``, ``broken`` (it cannot be decoded), ``bomb`` (too many pixels),
    ``too_large``, ``timeout``, or another one of a process that did not answer."""

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


def prepared(data: bytes, most: PictureLimits = STORED_LIMITS, stopped: Callable[[], object] = bool, *, kept: bool = False) -> ReadyPicture:
    """A picture decoded to its end, upright, within the limits; its own bytes where they are so already. Blocks for some 0.2 s, as a
    process does the work; it is ended when ``stopped`` says so.

    Args:
        kept: it was made ready when it was kept, so its head is enough to tell whether it fits.

    Raises:
        UnfitPicture: it is none, is damaged, too large, or takes too long.
    """
    digest = hashlib.sha256(data).hexdigest()
    if (kept or digest in _sound) and (ready := _as_it_is(data, most)) is not None:
        return ready
    if known := _made.get((digest, most)):
        return known
    arguments = (most.side, most.size, most.kinds)
    try:
        found, made = ask_in_thread("atelier_desk.media.pictures", arguments, data, limit_s=LIMIT_S, stopped=stopped)
    except WorkerError as error:
        raise UnusablePicture(error.code) from error
    ready = ReadyPicture(str(found["media_type"]), int(found["width"]), int(found["height"]), made or data)
    _remember(hashlib.sha256(ready.data).hexdigest(), (digest, most), ready if made else None)
    return ready


_sound: OrderedDict[str, None] = OrderedDict()
"""The hashes of pictures that are whole and upright."""
_made: OrderedDict[tuple[str, PictureLimits], ReadyPicture] = OrderedDict()
"""What was made of others, by their hash."""
_lock = Lock()


def _as_it_is(data: bytes, most: PictureLimits) -> ReadyPicture | None:
    """A sound picture that fits; by its head alone."""
    kind, size = kind_of(data), size_of(lambda offset, count: data[offset : offset + count])
    if kind not in most.kinds or size is None or max(size) > most.side or len(data) > most.size:
        return None
    return ReadyPicture(kind, *size, data)


def _remember(digest: str, key: tuple[str, PictureLimits], made: ReadyPicture | None) -> None:
    with _lock:
        _sound[digest] = None
        if made is not None:
            _made[key] = made
        while len(_sound) > _REMEMBERED:
            _sound.popitem(last=False)
        while sum(len(each.data) for each in _made.values()) > _REMEMBERED_BYTES:
            _made.popitem(last=False)
