"""Limits of images that are stored or sent."""

from __future__ import annotations

from typing import NamedTuple

from atelier_desk.domain import limits

PNG, JPEG, WEBP, GIF = "image/png", "image/jpeg", "image/webp", "image/gif"


class PictureLimits(NamedTuple):
    """Images accepted by a model server; others are scaled or converted before sending.

    Attributes:
        side: maximum pixels of the longer side. OpenAI itself scales to 2048 (its vision guide, "detail": high).
        size: maximum bytes of one image.
        kinds: media types. Animations are never sent: a GIF becomes its first frame.
        most: maximum images per request; the newest are sent. 0 if undocumented.
    """

    side: int = 2048
    size: int = limits.ATTACHED_PICTURE
    kinds: tuple[str, ...] = (PNG, JPEG, WEBP)
    most: int = 0


USUAL = PictureLimits()
STORED_LIMITS = PictureLimits(kinds=(PNG, JPEG, WEBP, GIF))
"""Limits of images stored with a workflow, independent of the model."""
