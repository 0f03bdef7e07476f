"""A server's icon: only small valid images are accepted."""

from __future__ import annotations

import base64

import pytest

from atelier_desk.desktop.settings import mcp_icon
from tests.helpers.sample_images import png


@pytest.mark.usefixtures("qapp")
def test_a_picture_is_drawn_no_larger_than_it_is_shown() -> None:
    small, large = (mcp_icon.image(base64.b64encode(png(side, side // 2)).decode()) for side in (32, 400))
    assert small is not None
    assert large is not None
    assert [(each.width(), each.height()) for each in (small, large)] == [(32, 16), (64, 32)]


@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize("data", [b"", b"<svg/>", b"GIF89a", png(2, 2, claims=(50_000, 50_000)), png(16, 16)[:40]])
def test_anything_else_gives_no_icon(data: bytes) -> None:
    assert mcp_icon.image(base64.b64encode(data).decode()) is None
    assert mcp_icon.image("%%%") is None
