"""What a picture may be where it is kept, and where it is sent to."""

from __future__ import annotations

from typing import NamedTuple

from atelier_desk.domain import limits

PNG, JPEG, WEBP, GIF = "image/png", "image/jpeg", "image/webp", "image/gif"


class PictureLimits(NamedTuple):
    """What a model server takes of pictures; a picture beyond it is scaled or converted before it is sent.

    Attributes:
        side: pixels of the longer side. OpenAI scales to 2048 itself (its vision guide, "detail": high).
        size: bytes of one picture.
        kinds: media types. Animations are none of these: the first frame of a GIF is sent as a still picture.
        most: pictures in one request; of more the newest are sent. 0 where no number is documented.
    """

    side: int = 2048
    size: int = limits.ATTACHED_PICTURE
    kinds: tuple[str, ...] = (PNG, JPEG, WEBP)
    most: int = 0


USUAL = PictureLimits()
KEPT = PictureLimits(kinds=(PNG, JPEG, WEBP, GIF))
"""What is kept with a workflow, whichever model is asked."""
