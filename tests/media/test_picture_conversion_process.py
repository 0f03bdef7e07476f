"""Images prepared for a model: upright, within the size and formats that its server accepts, and complete."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest
from PIL import Image

from atelier_desk.domain.image_limits import JPEG, PNG, STORED_LIMITS, USUAL, PictureLimits
from atelier_desk.media import picture_preparation
from atelier_desk.media.picture_conversion_process import made
from atelier_desk.support.worker.errors import Refused
from tests.helpers.sample_images import broken_inside, picture, png


def shown(data: bytes, most: PictureLimits = STORED_LIMITS) -> tuple[dict[str, Any], Image.Image]:
    found = made(data, most.side, most.size, most.kinds)
    return {**found.value, "data": found.data}, Image.open(BytesIO(found.data or data))


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP"])
def test_a_suitable_image_is_unchanged(form: str) -> None:
    found, _image = shown(picture(form))
    assert (found["data"], found["width"], found["height"]) == (b"", 30, 20)


@pytest.mark.parametrize("orientation", range(2, 9))
def test_a_photograph_is_rotated_according_to_its_orientation_tag(orientation: int) -> None:
    found, image = shown(picture("JPEG", 400, 200, orientation=orientation))
    size = (200, 400) if orientation >= 5 else (400, 200)
    assert (found["width"], found["height"], image.size, image.getexif().get(274, 1)) == (*size, size, 1)


@pytest.mark.parametrize(
    ("data", "most", "kind", "size"),
    [
        (picture("BMP"), STORED_LIMITS, PNG, (30, 20)),
        (picture("TIFF", 600, 300), STORED_LIMITS, JPEG, (600, 300)),
        (picture("GIF"), USUAL, PNG, (30, 20)),
        (picture("WEBP"), PictureLimits(kinds=(PNG, JPEG)), PNG, (30, 20)),
        (picture("JPEG", 400, 100), PictureLimits(side=100), PNG, (100, 25)),
        (picture("PNG", 4_000, 2_000), STORED_LIMITS, JPEG, (2048, 1024)),
        (picture("PNG", 600, 400, mode="RGBA"), PictureLimits(side=300), PNG, (300, 200)),
        (picture("JPEG", 600, 400, mode="CMYK"), STORED_LIMITS, JPEG, (600, 400)),
        (picture("TIFF", 600, 400, mode="I;16"), STORED_LIMITS, JPEG, (600, 400)),
    ],
)
def test_another_format_and_a_larger_size_are_converted(
    data: bytes, most: PictureLimits, kind: str, size: tuple[int, int]
) -> None:
    found, image = shown(data, most)
    assert (found["media_type"], found["width"], found["height"], image.size) == (kind, *size, size)
    assert Image.MIME[image.format or ""] == kind


def test_a_too_large_file_is_reduced_or_refused() -> None:
    noise = BytesIO()
    Image.effect_noise((400, 400), 90).convert("RGBA").save(noise, "PNG")
    found, _image = shown(noise.getvalue(), PictureLimits(size=90_000))
    assert (found["media_type"], len(found["data"]) <= 90_000) == (JPEG, True)
    with pytest.raises(Refused, match="too_large"):
        made(noise.getvalue(), 2048, 1_000, STORED_LIMITS.kinds)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (broken_inside(), "broken"),
        (picture("JPEG", 300, 300)[:700], "broken"),
        (picture("BMP", 300, 300)[:700], "broken"),
        (picture("WEBP", 300, 300)[:60], "broken"),
        (png(claims=(50_000, 50_000)), "bomb"),
        (png()[:20], "broken"),
        (b"", "not_a_picture"),
        (b"BMW makes cars, and this is a text", "not_a_picture"),
    ],
)
def test_an_undecodable_file_is_reported_by_a_code(data: bytes, code: str) -> None:
    with pytest.raises(Refused, match=code):
        made(data, STORED_LIMITS.side, STORED_LIMITS.size, STORED_LIMITS.kinds)
    with pytest.raises(picture_preparation.UnusablePicture) as unfit:
        picture_preparation.prepared(data)
    assert unfit.value.code == code


def test_an_image_is_processed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = picture_preparation.prepared(picture("BMP", 31, 17))
    monkeypatch.setattr(picture_preparation, "ask_in_thread", lambda *_args, **_options: pytest.fail("once is enough"))
    assert picture_preparation.prepared(picture("BMP", 31, 17)) == picture_preparation.prepared(first.data) == first
