"""Messages of a person: sent at once, or queued until the preceding turn is answered.

Queued ones are not in the transcript yet.
"""

from __future__ import annotations

from pathlib import PurePosixPath

from atelier_desk.domain import limits
from atelier_desk.domain.attachment import Attachment
from atelier_desk.domain.events.run import QueueChanged, UserMessage
from atelier_desk.domain.model_messages import TextFile
from atelier_desk.domain.stream import payloads
from atelier_desk.domain.workflow import QUEUED, Message, MessageRole
from atelier_desk.engine.run.projection.projection_base import Projection, ProjectionInput, message
from atelier_desk.engine.run.reducer.state import RunState


def waits(state: RunState, message_id: str) -> bool:
    """Whether a message is shown as queued. A sub-agent's is shown in its transcript at once."""
    return state.parent_run_id is None and any(each.message_id == message_id for each in state.queued)


def follow(at: ProjectionInput, out: Projection) -> None:
    """Apply an event to the queued messages: added, changed, withdrawn, or sent."""
    before = at.before.queued if at.before is not None else ()
    changed = before != at.after.queued or isinstance(at.event.body, QueueChanged)
    if not changed or at.after.parent_run_id is not None:
        return
    known = {each.message_id: each for each in before}
    left = {each.message_id for each in at.after.queued}
    out.messages += [
        _row(at, each, QUEUED, at.event.stream_from) for each in at.after.queued if known.get(each.message_id) != each
    ]
    gone = [each for each in before if each.message_id not in left]
    if isinstance(at.event.body, QueueChanged):
        out.deleted_messages += [each.message_id for each in gone]
    else:
        for each in gone:
            append_message(at, each, out)
    out.payloads.append(payloads.QueueShown(messages=tuple(map(waiting, at.after.queued))))


def waiting(body: UserMessage) -> payloads.Waiting:
    """Return a queued message for display."""
    pictures = len(body.images) + sum(each.picture for each in body.attachments)
    files = (*(file.name for file in body.files), *(each.name for each in body.attachments if not each.picture))
    return payloads.Waiting(message_id=body.message_id, content=body.content, images=pictures, files=files)


def _attachment(each: Attachment) -> payloads.Attachment:
    """Return an attachment for the stream."""
    facts = each.model_dump(exclude={"size", "text"})
    return payloads.Attachment(bytes=each.size, text=None if each.picture else each.text, **facts)


def _texts(body: UserMessage) -> tuple[TextFile, ...]:
    """Return the texts of a message for the model: its files, and called instructions, under their file names."""
    if body.invoked is None:
        return body.files
    source = PurePosixPath(body.invoked.source)
    kind = body.invoked.kind
    name = (
        f"{source.parent.name}/{source.name}"
        if kind == "skill"
        else source.name
        if kind == "command"
        else body.invoked.use.name
    )
    return (*body.files, TextFile(name=name[-limits.ATTACHED_NAME :], text=body.invoked.text))


def append_message(at: ProjectionInput, body: UserMessage, out: Projection) -> None:
    """Add a message to the conversation, after everything else from the same event."""
    out.messages.append(_row(at, body, body.strategy.value, at.event.stream_from + len(out.payloads)))
    out.payloads.append(
        payloads.MessageAdded(
            message_id=body.message_id,
            role=MessageRole.USER.value,
            content=body.content,
            strategy=body.strategy.value,
            images=len(body.images) + sum(each.picture for each in body.attachments),
            attachments=(
                *(
                    payloads.Attachment(media_type=image.media_type, bytes=len(image.data) * 3 // 4)
                    for image in body.images
                ),
                *(
                    payloads.Attachment(name=file.name, media_type="text/plain", text=file.text)
                    for file in _texts(body)
                ),
                *map(_attachment, body.attachments),
            ),
        )
    )


def _row(at: ProjectionInput, body: UserMessage, kind: str, seq: int) -> Message:
    images = [{"media_type": image.media_type, "data": image.data} for image in body.images]
    files = [file.model_dump() for file in _texts(body)]
    attachments = [each.model_dump() for each in body.attachments]
    shown = (("images", images), ("files", files), ("attachments", attachments))
    details = {name: value for name, value in shown if value}
    made = message(at, MessageRole.USER, id=body.message_id, kind=kind, content=body.content, details=details)
    return made.model_copy(update={"seq": seq})
