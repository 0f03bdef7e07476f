"""Connects the composer's attachments to the engine: reads files, searches mentions, shows warnings."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject

from atelier_desk.desktop.bridge.jobs import error_text
from atelier_desk.desktop.chat.attachment_preview import Preview
from atelier_desk.desktop.chat.compose.attachment_chips import THUMBNAIL, Item, encoded, opened
from atelier_desk.desktop.chat.compose.completion_popup import Completed, Completion
from atelier_desk.desktop.chat.compose.mcp_resource_variables_form import ResourceValues
from atelier_desk.domain.limits import ATTACHED_FILES, PICTURE_PIXELS
from atelier_desk.engine.gateways.model_gateway import DEFAULT_WINDOW
from atelier_desk.engine.runs.message_attachments import text_room
from atelier_desk.presentation.model_names import model_name
from atelier_desk.support.i18n import N_, _, ngettext
from atelier_desk.support.locale_format import number

if TYPE_CHECKING:
    from PySide6.QtGui import QImage

    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.desktop.chat.compose.agent_model_choices import WorkflowChoices
    from atelier_desk.desktop.chat.compose.composer import Composer
    from atelier_desk.desktop.workspace_folders.controller import FolderController
    from atelier_desk.domain.attachment import Attachment
    from atelier_desk.engine.attachments.reading import PreparedAttachments
    from atelier_desk.engine.mentions.mention_source import Mention

_NAMED = 5
"""Maximum number of skipped files that are named."""
_SIDE = 2 * THUMBNAIL
"""Stored size of a chip's thumbnail in pixels, twice the shown one for high-density screens."""


class AttachmentController(QObject):
    """Fills the row of attachments.

    Attributes:
        workflow_id: the workflow in view, empty while the next message creates one.
    """

    def __init__(
        self, bridge: Bridge, composer: Composer, choices: WorkflowChoices, folders: FolderController, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._bridge, self._composer, self._choices, self._folders = bridge, composer, choices, folders
        self._row = composer.attachments
        self.workflow_id = ""
        self.popup: Completion | None = None
        composer.files_given.connect(self.add_files)
        composer.pictures_given.connect(self.add_pictures)
        composer.text_given.connect(self.add_text)
        self._row.changed.connect(self.show_warnings)
        self._row.opened.connect(self.show_large)
        self._row.left.connect(composer.field.setFocus)
        choices.shown.connect(lambda *_: self.show_warnings())
        composer.field.textChanged.connect(self._make_popup)

    def add_files(self, names: list[str]) -> None:
        """Attach files and folders by their paths."""
        for name in names[: self._room(len(names))]:
            path = Path(name)
            self._begin(path.name or name, self._read_file(path))

    def add_pictures(self, images: list[QImage]) -> None:
        for image in images[: self._room(len(images))]:
            if image.isNull() or image.width() * image.height() > PICTURE_PIXELS:
                self._bridge.failed.emit(
                    _("The image is too large: the limit is {most} million pixels.", most=PICTURE_PIXELS // 10**6)
                )
                continue
            self._begin(_("Image"), self._read_image(image))

    def add_text(self, text: str) -> None:
        """Attach a long text of the clipboard as a file, so that the message stays readable."""
        if self._room(1):
            self._begin(_("Pasted text"), self._read_text(text))

    def add_mention(self, mention: Mention) -> None:
        if mention.needs:
            dialog = ResourceValues(self._bridge, mention, self._composer)
            dialog.filled.connect(self.add_mention)
            dialog.open()
        elif self._room(1):
            where = self.workflow_id, self._folders.folders
            self._begin(mention.name, self._bridge.engine.attachments.mention(mention, *where))

    def _room(self, count: int) -> int:
        room = max(0, ATTACHED_FILES - len(self._row.chips))
        if count > room:
            self._bridge.failed.emit(_("A message can have at most {most} attachments.", most=ATTACHED_FILES))
        return min(room, count)

    def _begin(self, name: str, reading: Coroutine[object, None, PreparedAttachments]) -> None:
        item = Item(" ".join(name.split()))
        self._row.add(item)
        self._bridge.jobs.start(self._read(item, reading))

    async def _read(self, item: Item, reading: Coroutine[Any, Any, PreparedAttachments]) -> None:
        try:
            prepared = await reading
            thumbnail = await asyncio.to_thread(opened, prepared.data, _SIDE) if prepared.width else None
        except Exception as error:
            item.problem = error_text(error)
            self._row.refresh(item)
            return
        except BaseException:
            self._row.remove(item)
            raise
        same = next((each for each in self._row.items if each is not item and _same(each, prepared)), None)
        if same is not None:
            self._row.remove(item)
            self._bridge.failed.emit(_("{name} is already attached.", name=prepared.name))
            return
        item.name, item.what, item.thumbnail = prepared.name, prepared, thumbnail
        self._row.refresh(item)

    async def _read_file(self, path: Path) -> PreparedAttachments:
        return await self._bridge.engine.attachments.read(path, self._folders.folders)

    async def _read_image(self, image: QImage) -> PreparedAttachments:
        data = await asyncio.to_thread(encoded, image)
        ending = ".png" if data.startswith(b"\x89PNG") else ".jpg"
        return await self._bridge.engine.attachments.of_bytes(_("Image") + ending, data)

    async def _read_text(self, text: str) -> PreparedAttachments:
        return await self._bridge.engine.attachments.of_bytes(
            _("Pasted text") + ".txt", text.encode("utf-8", "replace")
        )

    async def items_of(self, workflow_id: str, attachments: tuple[Attachment, ...]) -> list[Item]:
        """The attachments of a draft, images with thumbnails; missing ones are omitted and reported."""
        found = []
        for each in attachments:
            item = Item(each.name, each)
            try:
                if each.width:
                    item.thumbnail = await asyncio.to_thread(
                        opened, await self._bridge.engine.attachments.data(workflow_id, each), _SIDE
                    )
            except Exception as error:
                self._bridge.failed.emit(error_text(error))
                continue
            found.append(item)
        return found

    def show_warnings(self) -> None:
        """Warn before sending about attachments the model does not support or that look like secrets.

        Includes images it cannot see, and more text than fits into its context window.
        """
        items, info, warnings = self._row.items, self._choices.info, list[str]()
        refused = [item.problem for item in items if item.problem]
        if refused:
            warnings += [*dict.fromkeys(refused[:_NAMED]), _("Remove what cannot be attached, then send the message.")]
        secrets = [item.name for item in items if item.secret]
        if secrets:
            names = ", ".join(secrets)
            warnings.append(
                _("{names} may contain secrets. The content would be sent to the model's server.", names=names)
            )
        for item in items:
            if item.left_out:
                names = ", ".join(item.left_out[:_NAMED]) + ("…" if len(item.left_out) > _NAMED else "")
                warnings.append(
                    _("Files left out of {name} because they look like secrets: {names}", name=item.name, names=names)
                )
            if item.encoding:
                warnings.append(
                    _("{name} is not UTF-8; it was read as {encoding}.", name=item.name, encoding=item.encoding)
                )
        pictures = sum(item.picture for item in items)
        if pictures and info is not None and info.supports_vision is False:
            words = ngettext(
                "{model} cannot see images: it will only know that {n} image is attached.",
                "{model} cannot see images: it will only know that {n} images are attached.",
                pictures,
                model=model_name(info),
            )
            warnings.append(words)
        characters = sum(item.characters for item in items)
        room = _room_for_text(self._choices.window)
        if characters > room and not self._choices.window:
            text = _(
                "The attached texts have {count} characters: the model may receive only excerpts, but it can "
                "read the rest when needed.",
                count=number(characters),
            )
            warnings.append(text)
        elif characters > room:
            warnings.append(
                _(
                    "The attached texts have {count} characters: the model receives excerpts of about {room} "
                    "characters in total, but it can read the rest when needed.",
                    count=number(characters),
                    room=number(room),
                )
            )
        self._composer.show_note("\n".join(warnings))

    def show_large(self, item: Item) -> None:
        self._bridge.jobs.start(self._show_large(item, self.workflow_id))

    async def _show_large(self, item: Item, workflow_id: str) -> None:
        what = item.what
        if what is None:
            return
        if hasattr(what, "data"):
            data, text = what.data, what.text or ""
        else:
            service = self._bridge.engine.attachments
            data = await service.data(workflow_id, what) if what.width else b""
            text = await service.text(workflow_id, what)
        picture = await asyncio.to_thread(opened, data) if what.width else None
        facts = " · ".join(filter(None, (item.facts(), what.path)))
        Preview(item.name, facts, self._composer, picture=picture, text=text).open()

    def _make_popup(self) -> None:
        """Create the popup when an ``@`` is typed: most messages have none."""
        if self.popup is None and "@" in self._composer.field.toPlainText():
            popup = self.popup = Completion(
                self._composer.field, "mention", "@", self._find, self._bridge.jobs, N_("Mentions")
            )
            popup.chosen.connect(lambda completed: self.add_mention(completed.data))
            popup.schedule_search()

    async def _find(self, typed: str) -> list[Completed]:
        found = await self._bridge.engine.attachments.find(typed, self.workflow_id, self._folders.folders)
        return [_completed(mention) for mention in found]


_KINDS = {"file": N_("file"), "task": N_("task"), "report": N_("report"), "memory": N_("memory"), "agent": N_("agent")}


def _completed(mention: Mention) -> Completed:
    kind = N_("folder") if mention.icon == "folder" else _KINDS.get(mention.kind, mention.kind)
    detail = " · ".join(filter(None, (mention.detail, _(kind))))
    return Completed(f"@{mention.name}", mention.name, detail, mention.name, mention.icon, mention)


def shown_of(item: Item) -> dict[str, object]:
    """An attachment as the transcript shows it before the engine has committed it; an image with its bytes."""
    what = item.what
    if what is None:
        return {"name": item.name}
    plain = {
        "name": what.name,
        "media_type": what.media_type,
        "source": what.source,
        "width": what.width,
        "height": what.height,
    }
    facts = {"size": item.bytes, "characters": item.characters, "path": what.path}
    text = what.text or ""
    sha = getattr(what, "sha256", "")
    return {**plain, **facts, "text": text, "sha256": sha, "thumbnail": item.thumbnail}


def _room_for_text(window: int) -> int:
    """Characters of text that fit, by the engine's estimate, which treats an unknown context window as a small one."""
    return text_room(window or DEFAULT_WINDOW)


def _same(item: Item, what: PreparedAttachments) -> bool:
    """Whether the row has the same content under this name.

    Of attachments restored from a draft only the hash is known.
    """
    other = item.what
    if other is None or (other.name, other.source) != (what.name, what.source):
        return False
    if hasattr(other, "data"):
        return other.data == what.data
    return other.sha256 == hashlib.sha256(what.data).hexdigest()
