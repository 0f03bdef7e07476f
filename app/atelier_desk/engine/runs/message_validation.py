"""Validity of messages to an agent."""

from __future__ import annotations

from collections.abc import Sequence

from atelier_desk.domain import limits
from atelier_desk.domain.attachment import Attachment
from atelier_desk.domain.errors import LimitError, UsageError
from atelier_desk.domain.events.run import UserMessage
from atelier_desk.domain.model_messages import ImagePart, TextFile
from atelier_desk.engine.attachments.reading import PreparedAttachments
from atelier_desk.engine.run.driver_dependencies import RunEnvironment
from atelier_desk.support.i18n import N_

MOST_IMAGES = 10
IMAGE_BYTES = 8 * 1024 * 1024
"""Maximum base64 characters of an image; servers refuse larger ones."""


def check_message(
    content: str,
    images: tuple[ImagePart, ...] = (),
    files: tuple[TextFile, ...] = (),
    attachments: Sequence[PreparedAttachments | Attachment] = (),
    most: int = limits.MESSAGE,
) -> None:
    """Refuse an invalid message.

    Raises:
        UsageError: it is blank without attachments.
        LimitError: it is longer than ``most`` characters, or has too many or too large images or text files.
    """
    if not content.strip() and not images and not files and not attachments:
        raise UsageError(N_("The message is empty. Write something, or attach an image."))
    pictures = len(images) + sum(each.width > 0 for each in attachments)
    if pictures > MOST_IMAGES:
        raise LimitError(
            N_("The message has {count} images; at most {most} are allowed."), count=pictures, most=MOST_IMAGES
        )
    if len(attachments) > limits.ATTACHED_FILES:
        raise LimitError(
            N_("The message has {count} attachments; at most {most} are allowed."),
            count=len(attachments),
            most=limits.ATTACHED_FILES,
        )
    if any(len(image.data) > IMAGE_BYTES for image in images):
        raise LimitError(
            N_("An image is larger than {most} MB. Make it smaller and attach it again."),
            most=IMAGE_BYTES * 3 // 4 // 10**6,
        )
    if len(files) > limits.ATTACHED_FILES:
        raise LimitError(
            N_("The message has {count} text files; at most {most} are allowed."),
            count=len(files),
            most=limits.ATTACHED_FILES,
        )
    attached = sum(len(file.text) for file in files)
    if attached > limits.ATTACHED_TEXT:
        raise LimitError(
            N_("The attached texts have {length} characters in total; at most {most} are allowed."),
            length=attached,
            most=limits.ATTACHED_TEXT,
        )
    _check_length(content, most)


def check_text(content: str) -> None:
    """Refuse a blank or too long message to a sub-agent, which can have no images.

    Raises:
        UsageError: it is blank.
        LimitError: it is longer than ``limits.MESSAGE`` characters.
    """
    if not content.strip():
        raise UsageError(N_("The message is empty. Write something."))
    _check_length(content)


def _check_length(content: str, most: int = limits.MESSAGE) -> None:
    if len(content) > most:
        raise LimitError(
            N_("The message has {length} characters; at most {most} are allowed."), length=len(content), most=most
        )


async def calling(env: RunEnvironment, message: UserMessage, folders: Sequence[str]) -> UserMessage:
    """Add what a message's ``/name`` calls, in its present version; unchanged if it calls nothing."""
    if not message.content.lstrip().startswith("/"):
        return message
    invoked = await env.skills.invoked(message.content, folders)
    return message if invoked is None else message.model_copy(update={"invoked": invoked})
