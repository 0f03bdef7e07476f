"""Prepare images of tool results before they are stored, drawn or sent: they are untrusted bytes."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from dataclasses import replace

from atelier_desk.domain.limits import PICTURE_PIXELS
from atelier_desk.domain.model_messages import ImagePart
from atelier_desk.domain.result_parts import PicturePart
from atelier_desk.media.picture_preparation import UnusablePicture, prepared
from atelier_desk.tools.calls.outcomes import Part, ToolResult

UNFIT = {
    "not_a_picture": "is no picture that can be shown (PNG, JPEG, GIF, WebP, BMP, TIFF)",
    "broken": "is damaged: it cannot be decoded and is not shown",
    "bomb": f"has more than {PICTURE_PIXELS // 10**6} million pixels: it is not opened. Ask for a smaller version",
    "too_large": "is too large to be shown, even scaled down. Ask for a smaller version",
    "timeout": "could not be opened in time. Ask for a smaller version",
}
"""Notes for the model about an image that is not shown, after its name."""


def ready_picture(title: str, data: bytes, stopped: Callable[[], object]) -> PicturePart:
    """Return an image that can be shown. Blocks, see ``media.picture_preparation``.

    Raises:
        UnusablePicture: it cannot be shown.
    """
    ready = prepared(data, stopped=stopped)
    return PicturePart(
        title=title, image=ImagePart(data=base64.b64encode(ready.data).decode(), media_type=ready.media_type)
    )


def with_ready_pictures(result: ToolResult, stopped: Callable[[], object]) -> ToolResult:
    """Return a result with only usable images, and a note for the model about the others. Blocks."""
    parts: list[Part] = []
    left: list[str] = []
    for part in result.parts:
        if not isinstance(part, PicturePart):
            parts.append(part)
            continue
        try:
            parts.append(ready_picture(part.title, base64.b64decode(part.image.data, validate=True), stopped))
        except UnusablePicture as unfit:
            left.append(f"a picture ({part.image.media_type}) {UNFIT.get(unfit.code, UNFIT['broken'])}")
        except (binascii.Error, ValueError):
            left.append(f"a picture ({part.image.media_type}) {UNFIT['broken']}")
    said = {"left_out": [*result.data.get("left_out", ()), *left]} if left else {}
    return replace(result, parts=tuple(parts), data={**result.data, **said})
