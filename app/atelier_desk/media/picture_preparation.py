"""Prepare images for models: from attachments, tools, MCP servers and programs."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from atelier_desk.domain.image_limits import STORED_LIMITS, PictureLimits
from atelier_desk.media.image_headers import kind_of, size_of
from atelier_desk.support.worker.errors import WorkerError
from atelier_desk.support.worker.requests_to_child import ask_in_thread

_REMEMBERED = 512
_REMEMBERED_BYTES = 32 * 1024 * 1024
"""Bytes of cached results: a workflow's messages are sent again at each step."""
LIMIT_S = 25.0
"""Seconds for one image; 64 million pixels take about 3."""


class UnusablePicture(Exception):
    """An image that cannot be used.

    ``code``: ``not_a_picture``, ``broken`` (cannot be decoded), ``bomb`` (too many pixels), ``too_large``,
    ``timeout``, or another error of the child process.
    """

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True, slots=True)
class ReadyPicture:
    """``width`` and ``height`` in pixels, after rotation."""

    media_type: str
    width: int
    height: int
    data: bytes


def prepared(
    data: bytes, most: PictureLimits = STORED_LIMITS, stopped: Callable[[], object] = bool, *, kept: bool = False
) -> ReadyPicture:
    """Decode an image completely, rotate it upright and fit it into limits.

    Blocks for about 0.2 s while a child process works; the process is ended when ``stopped`` returns true.

    Args:
        kept: it was prepared before it was stored, so its header tells whether it fits.

    Raises:
        UnusablePicture: not an image, damaged, too large, or timed out.
    """
    digest = hashlib.sha256(data).hexdigest()
    if (kept or digest in _sound) and (ready := _as_it_is(data, most)) is not None:
        return ready
    if known := _made.get((digest, most)):
        return known
    arguments = (most.side, most.size, most.kinds)
    try:
        found, made = ask_in_thread(
            "atelier_desk.media.picture_conversion_process", arguments, data, limit_s=LIMIT_S, stopped=stopped
        )
    except WorkerError as error:
        raise UnusablePicture(error.code) from error
    ready = ReadyPicture(str(found["media_type"]), int(found["width"]), int(found["height"]), made or data)
    _remember(hashlib.sha256(ready.data).hexdigest(), (digest, most), ready if made else None)
    return ready


_sound: OrderedDict[str, None] = OrderedDict()
"""Hashes of images that are intact and upright."""
_made: OrderedDict[tuple[str, PictureLimits], ReadyPicture] = OrderedDict()
"""Results for other images, by hash."""
_lock = Lock()


def _as_it_is(data: bytes, most: PictureLimits) -> ReadyPicture | None:
    """An intact image that fits, judged by its header."""
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
