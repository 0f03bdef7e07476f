"""Images before they are sent: within the server's formats, sizes and number."""

from __future__ import annotations

import asyncio
import base64
import threading
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from atelier_desk.domain.image_limits import PictureLimits
from atelier_desk.domain.model_messages import ChatMessage, ChatRequest, ImagePart, Role
from atelier_desk.engine.run.request import request_images
from atelier_desk.engine.run.request.request_images import fitted, with_pictures
from atelier_desk.llm.provider_type_registry import provider_type
from atelier_desk.media import picture_preparation
from atelier_desk.storage.data_folder.artefacts import Artefacts
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.support.threads import in_tool_thread
from tests.helpers.sample_images import broken_inside, picture, png


def part(data: bytes, name: str = "a.png") -> ImagePart:
    return ImagePart(media_type="image/png", data=base64.b64encode(data).decode(), name=name)


async def sent(most: PictureLimits, *pictures: list[ImagePart]) -> list[ChatMessage]:
    messages = tuple(ChatMessage(role=Role.USER, content="look", images=tuple(each)) for each in pictures)
    request = await with_pictures(
        ChatRequest(model="m", messages=messages), Artefacts(DataDir(Path("nowhere"))), "w", most
    )
    return list(request.messages)


async def test_each_kind_of_server_gets_images_it_accepts() -> None:
    for kind, side, form in (
        ("anthropic", 1568, "WEBP"),
        ("responses", 2000, "WEBP"),
        ("openai", 2000, "PNG"),
        ("google", 2000, "WEBP"),
    ):
        most = provider_type(kind).pictures
        (message,) = await sent(most, [part(picture("PNG", 2_000, 20)), part(picture("WEBP")), part(picture("GIF"))])
        wide, web, animation = (Image.open(BytesIO(base64.b64decode(each.data))) for each in message.images)
        assert (wide.width, web.format, animation.format) == (side, form, "PNG"), kind
        assert [each.media_type for each in message.images] == [
            Image.MIME[each.format or ""] for each in (wide, web, animation)
        ]


async def test_a_damaged_image_is_named_and_the_others_are_sent() -> None:
    (message,) = await sent(PictureLimits(), [part(broken_inside(), "bad.png"), part(png())])
    assert (len(message.images), "'bad.png' was attached here" in message.content) == (1, True)


async def test_above_the_servers_limit_the_newest_images_are_sent() -> None:
    first, second, third = await sent(
        PictureLimits(most=2), [part(png(3))], [part(png(4)), part(png(5))], [part(png(6))]
    )
    assert [len(each.images) for each in (first, second, third)] == [0, 1, 1]
    assert second.images[0].data == part(png(5)).data
    assert "1 pictures" not in first.content
    assert "takes 2 in one request" in first.content
    assert third.content == "look"


async def test_a_prepared_image_is_recognised_by_its_header_without_a_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = png(7, 7)
    await in_tool_thread(picture_preparation.prepared, whole)
    monkeypatch.setattr(
        picture_preparation, "ask_in_thread", lambda *_args, **_options: pytest.fail("a process was started")
    )
    assert (await fitted(part(whole), PictureLimits(side=10))).data == part(whole).data
    kept = part(png(9, 9))
    assert (await fitted(kept, PictureLimits(side=10), kept=True)).data == kept.data


async def test_stopping_the_run_stops_the_preparation_of_an_image(monkeypatch: pytest.MonkeyPatch) -> None:
    looking, ended = threading.Event(), threading.Event()

    def prepared(_data: bytes, _most: PictureLimits, stopped: Callable[[], object] = bool, **_more: object) -> None:
        looking.set()
        for _look in range(1_000):
            if stopped():
                ended.set()
                return
            threading.Event().wait(0.01)

    monkeypatch.setattr(request_images, "prepared", prepared)
    work = asyncio.create_task(fitted(part(png(4, 4)), PictureLimits()))
    assert await asyncio.to_thread(looking.wait, 30)
    work.cancel()
    assert await asyncio.to_thread(ended.wait, 8)
    assert (await asyncio.gather(work, return_exceptions=True))[0].__class__ is asyncio.CancelledError
