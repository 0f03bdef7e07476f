"""From what a person attaches to what is kept and what the model is given: bytes by hash, pictures as such, text as far
as there is room.

How a dialect takes a picture stands in the providers, each in one place, from ``ChatMessage.images`` (``ImagePart``:
media type, base64):

- ``mistral``: ``llm/mistral.py``, ``{"type": "image_url", "image_url": data_url(image)}``
- ``openai_compatible``: ``llm/openai_compatible.py``, ``{"type": "image_url", "image_url": {"url": data_url(image)}}``
- ``ollama``: ``llm/ollama.py``, ``"images": [image.data]`` beside the content
- ``anthropic``: ``llm/anthropic/message_conversion.py``, ``{"type": "image", "source": {"type": "base64", "media_type",
"data"}}``
- xml and guided dialects: their user turns keep ``images``, and the provider below writes them as above

A provider never sees an attachment: pictures are read from the store right before the request (``request.pictures``),
text stands in the message already. One that takes no pictures at all raises ``ProviderError`` with code ``images``.
"""

from __future__ import annotations

from collections.abc import Sequence

from atelier_desk.domain import limits
from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.attachment import Attachment
from atelier_desk.domain.errors import AtelierError
from atelier_desk.domain.result_parts import ArtefactPart
from atelier_desk.engine.attachments.reading import PreparedAttachments
from atelier_desk.engine.gateways.model_gateway import DEFAULT_WINDOW
from atelier_desk.engine.run.driver_dependencies import RunEnvironment
from atelier_desk.llm.token_and_cost_estimates import BYTES_PER_TOKEN
from atelier_desk.storage.data_folder.artefacts import Artefacts
from atelier_desk.support.i18n import language

SHARE = 0.4
"""Fraction of the model's context for all texts attached to one message."""
LEAST = 1_000
"""Minimum characters allowed for them."""


async def store(
    artefacts: Artefacts, workflow_id: str, prepared: PreparedAttachments, *, tentative: bool = False
) -> Attachment:
    """Store an attachment with the workflow, with an empty ``text``: the part for the model is decided later.

    ``tentative``: for a draft.

    Raises:
        StorageError: ``read_only``: it cannot be written.
    """
    part = await artefacts.store(workflow_id, prepared.name, prepared.data, prepared.media_type, tentative=tentative)
    full_text: ArtefactPart | None = None
    if prepared.text is not None:
        text = prepared.text.encode()
        full_text = part  # most texts are the file itself
        if text != prepared.data:
            full_text = await artefacts.store(workflow_id, prepared.name, text, "text/plain", tentative=tentative)
    return Attachment(
        name=prepared.name,
        media_type=prepared.media_type,
        source=prepared.source,
        path=prepared.path,
        size=part.size,
        sha256=part.sha256,
        width=prepared.width,
        height=prepared.height,
        pages=prepared.pages,
        text_sha256=full_text.sha256 if full_text is not None else "",
        text_size=full_text.size if full_text is not None else 0,
        characters=len(prepared.text or ""),
    )


async def full_text(artefacts: Artefacts, workflow_id: str, attachment: Attachment) -> str:
    """Return its full text; empty for an image.

    Raises:
        StorageError: ``damaged_file``: it is missing or damaged.
    """
    if attachment.picture:
        return ""
    data = await artefacts.read(workflow_id, attachment.stored_parts[-1])
    return data.decode("utf-8", "replace")


class Attaching:
    """Creates the attachments of a message."""

    def __init__(self, env: RunEnvironment) -> None:
        self._env = env

    async def make(
        self, workflow_id: str, what: Sequence[PreparedAttachments | Attachment], agent: AgentConfig
    ) -> tuple[Attachment, ...]:
        """Return the stored attachments for a message to this agent, without duplicates, with as much text as its
        model's context allows.

        Raises:
            StorageError: something cannot be stored, or an earlier attachment is missing or damaged.
        """
        artefacts, unique = self._env.repos.artefacts, dict[tuple[str, str, str], Attachment]()
        for each in what:
            made = each if isinstance(each, Attachment) else await store(artefacts, workflow_id, each)
            unique.setdefault((made.sha256, made.source, made.name), made)
        for each in unique.values():
            if each.picture:
                # report a missing file now, not in the middle of a turn
                await artefacts.read(workflow_id, each.stored_parts[0])
        texts = {key: await full_text(artefacts, workflow_id, each) for key, each in unique.items() if not each.picture}
        room = text_room(await self._window(agent)) if texts else 0
        given = dict(zip(texts, excerpts(list(texts.values()), room), strict=True))
        return tuple(each.model_copy(update={"text": given.get(key, "")}) for key, each in unique.items())

    async def copy(self, workflow_id: str, target_id: str, attachments: Sequence[Attachment]) -> None:
        """Store attachments for another workflow too."""
        for each in attachments:
            for part in each.stored_parts:
                await self._env.repos.artefacts.copy(workflow_id, target_id, part)

    async def _window(self, agent: AgentConfig) -> int:
        try:
            return (await self._env.gateway.open(agent, language())).window
        except AtelierError:
            return DEFAULT_WINDOW  # problems with the model are reported when it is asked


def text_room(window: int) -> int:
    """Return the bytes of text allowed with one message, for a context in tokens."""
    return min(limits.ATTACHED_TEXT, max(LEAST, int(window * SHARE * BYTES_PER_TOKEN)))


def excerpts(texts: Sequence[str], room: int) -> list[str]:
    """Return the beginnings of texts, ``room`` bytes together: short ones complete, long ones sharing the rest."""
    sizes = [len(text.encode("utf-8", "replace")) for text in texts]
    given: dict[int, str] = {}
    for place, index in enumerate(sorted(range(len(texts)), key=lambda index: sizes[index])):
        share = room // (len(texts) - place)
        text = texts[index]
        if sizes[index] > share:
            text = _beginning(text, share * len(text) // sizes[index])
            room -= share
        else:
            room -= sizes[index]
        given[index] = text
    return [given[index] for index in range(len(texts))]


def _beginning(text: str, most: int) -> str:
    """Return at most so many characters, ending at a line end if one is near."""
    end = text.rfind("\n", most * 3 // 4, most)
    return text[: end + 1 if end > 0 else most]
