"""The pictures of a request, which the journal has by their hash alone: read right before it is sent."""

from __future__ import annotations

import base64
import logging

from atelier_desk.domain.chat import ChatMessage, ChatRequest, ImagePart
from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.parts import ArtefactPart
from atelier_desk.storage.folder.artefacts import Artefacts

log = logging.getLogger(__name__)


async def with_pictures(request: ChatRequest, artefacts: Artefacts, workflow_id: str) -> ChatRequest:
    """The request with the bytes of its pictures. For one that is missing or damaged the message says so: the turn goes on."""
    if all(image.data for message in request.messages for image in message.images):
        return request
    messages = [await _filled(message, artefacts, workflow_id) for message in request.messages]
    return request.model_copy(update={"messages": tuple(messages)})


async def _filled(message: ChatMessage, artefacts: Artefacts, workflow_id: str) -> ChatMessage:
    images: list[ImagePart] = []
    content = message.content
    for image in message.images:
        if image.data:
            images.append(image)
            continue
        part = ArtefactPart(name=image.name, media_type=image.media_type, size=0, sha256=image.sha256)
        try:
            data = await artefacts.read(workflow_id, part)
        except StorageError as error:
            log.warning("a picture cannot be sent: %s", error.code)
            content = f"{content}\n\n[The picture {image.name!r} was attached here; its file is missing or damaged.]".strip()
            continue
        images.append(image.model_copy(update={"data": base64.b64encode(data).decode()}))
    return message.model_copy(update={"images": tuple(images), "content": content})
