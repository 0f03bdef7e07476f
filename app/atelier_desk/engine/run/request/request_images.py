"""Load the images of a request, which the journal may only have by hash, and fit them to the model's server, directly
before sending.
"""

from __future__ import annotations

import base64
import binascii
import logging
from threading import Event

from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.image_limits import PictureLimits
from atelier_desk.domain.model_messages import ChatMessage, ChatRequest, ImagePart
from atelier_desk.domain.result_parts import ArtefactPart
from atelier_desk.media.picture_preparation import UnusablePicture, prepared
from atelier_desk.storage.data_folder.artefacts import Artefacts
from atelier_desk.support.threads import in_tool_thread

log = logging.getLogger(__name__)


async def with_pictures(
    request: ChatRequest, artefacts: Artefacts, workflow_id: str, limits: PictureLimits
) -> ChatRequest:
    """Return the request with its images' bytes, scaled and converted for the server.

    Missing, damaged or surplus images are replaced by a note: the turn continues.
    """
    room = limits.most or sum(len(message.images) for message in request.messages)
    messages: list[ChatMessage] = []
    for message in reversed(request.messages):  # the newest are sent
        if message.images:
            message = await _filled(message, artefacts, workflow_id, limits, room)
            room -= len(message.images)
        messages.append(message)
    return request.model_copy(update={"messages": tuple(reversed(messages))})


async def fitted(image: ImagePart, limits: PictureLimits, *, kept: bool = False) -> ImagePart:
    """Return an image as a server accepts it. ``kept``: it was prepared when attached.

    Raises:
        UnusablePicture: it is damaged, or cannot be made to fit.
    """
    try:
        data = base64.b64decode(image.data, validate=True)
    except (binascii.Error, ValueError):
        raise UnusablePicture("broken") from None
    gone = Event()
    try:
        ready = await in_tool_thread(prepared, data, limits, gone.is_set, kept=kept)
    finally:
        gone.set()  # stopping the run ends the image process
    if ready.data is data:
        return image.model_copy(update={"media_type": ready.media_type})
    return image.model_copy(update={"media_type": ready.media_type, "data": base64.b64encode(ready.data).decode()})


async def _filled(
    message: ChatMessage, artefacts: Artefacts, workflow_id: str, limits: PictureLimits, room: int
) -> ChatMessage:
    images: list[ImagePart] = []
    content = message.content
    over = max(0, len(message.images) - room)
    if over:
        note = f"[Pictures belong here and were not sent ({over}): your server takes {limits.most} in one request.]"
        content = f"{content}\n\n{note}".strip()
    for image in message.images[over:]:
        try:
            kept = not image.data
            if kept:
                part = ArtefactPart(name=image.name, media_type=image.media_type, size=0, sha256=image.sha256)
                data = await artefacts.read(workflow_id, part)
                image = image.model_copy(update={"data": base64.b64encode(data).decode()})
            images.append(await fitted(image, limits, kept=kept))
        except (StorageError, UnusablePicture) as error:
            log.warning("a picture cannot be sent: %s", error.code)
            content = (
                f"{content}\n\n[The picture {image.name!r} was attached here; its file is missing or damaged.]".strip()
            )
    return message.model_copy(update={"images": tuple(images), "content": content})
