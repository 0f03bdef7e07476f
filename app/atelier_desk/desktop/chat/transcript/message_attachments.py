"""A message's attachments in its bubble: small images, other files as chips; each opens enlarged."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QGuiApplication, QIcon, QImage, QPixmap
from PySide6.QtWidgets import QMenu, QPushButton, QWidget

from atelier_desk.desktop.chat.attachment_preview import Preview
from atelier_desk.desktop.chat.cards.picture_view import picture_menu
from atelier_desk.desktop.chat.compose.attachment_chips import ICONS, SOURCES, opened
from atelier_desk.desktop.file_dialogs.open_save_confirm import ask_save
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import FlowLayout, bind, control
from atelier_desk.desktop.widgets.tool_tips import plain_tip
from atelier_desk.domain.attachment import Attachment
from atelier_desk.domain.result_parts import ArtefactPart
from atelier_desk.support.i18n import _
from atelier_desk.support.locale_format import number, size
from atelier_desk.support.visible_and_shortened_text import visible

if TYPE_CHECKING:
    from pathlib import Path

    from atelier_desk.desktop.chat.transcript.transcript_host import TranscriptHost

_HIGH = 110
"""Maximum height of an image in pixels at 100 %; its maximum width is twice that."""
_WIDE = 220
"""Maximum width of a chip's name in pixels at 100 %."""

_SPARE = 8
"""Pixels at 100 % between the icon and the text of a chip."""


class AttachedChips(QWidget):
    """``attached-chips``: one button per attachment."""

    def __init__(self, entries: Sequence[dict[str, Any]], host: TranscriptHost, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("attached-chips")
        self.entries = entries
        self._host = host
        self._flow = FlowLayout(self, 4)
        self.buttons = [self._button(each) for each in entries]
        bind(self._show_facts)
        for each, button in zip(entries, self.buttons, strict=True):
            if each.get("width"):
                self._begin_picture(each, button)

    def _button(self, each: dict[str, object]) -> QPushButton:
        button = control(QPushButton(self), "attached-file", look="quiet", on=lambda: self._open(each))
        self._flow.addWidget(button)
        if each.get("width"):
            button.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
            button.customContextMenuRequested.connect(
                lambda at: self._picture_menu(each, button).popup(button.mapToGlobal(at))
            )
        return button

    def _picture_menu(self, each: dict[str, object], button: QWidget) -> QMenu:
        return picture_menu(button, lambda: self._open(each), lambda: self._ask(each), lambda: self._copy(each))

    def natural_width(self, most: int) -> int:
        """The preferred width, at most ``most`` pixels."""
        self._write(most)
        needed = sum(button.sizeHint().width() for button in self.buttons) + 4 * (len(self.buttons) - 1)
        needed += theme().px(_SPARE)
        return min(most, needed)

    def fit(self, width: int) -> int:
        """The height at this width, in pixels."""
        self._write(width)
        for button in self.buttons:
            button.setMaximumWidth(width)
        return self._flow.heightForWidth(width)

    def _write(self, width: int) -> None:
        """Elide texts to this width, as a button would clip both ends. The tool tip has the full text."""
        for words, button in zip(self._texts, self.buttons, strict=True):
            if words:
                button.setText("")
                around = button.sizeHint().width()
                shown = button.fontMetrics().elidedText(
                    words, Qt.TextElideMode.ElideRight, width - around - theme().px(_SPARE)
                )
                button.setText(shown.replace("&", "&&"))

    def _show_facts(self) -> None:
        self._texts: list[str] = []
        for each, button in zip(self.entries, self.buttons, strict=True):
            words, shown = self.words(each), ""
            button.setAccessibleName(_("Attached: {name}, {facts}", name=each["name"], facts=words))
            button.setToolTip(plain_tip(_("{name}\n{facts}", name=each["name"], facts=words)))
            if not each.get("width"):
                name = button.fontMetrics().elidedText(each["name"], Qt.TextElideMode.ElideMiddle, theme().px(_WIDE))
                shown = visible(f"{name} · {words}")
                button.setText(shown.replace("&", "&&"))
                button.setIcon(theme().icon(ICONS.get(each.get("source", ""), "file-text")))
                button.setIconSize(QSize(theme().px(16), theme().px(16)))
            self._texts.append(shown)

    @staticmethod
    def words(each: dict[str, Any]) -> str:
        """Kind and size, and for an excerpt how much of it the model received."""
        source, sent, total = each.get("source", ""), len(each.get("text") or ""), int(each.get("characters") or 0)
        facts = [_(SOURCES[source]) if source in SOURCES else size(int(each.get("size") or 0))]
        if total > sent and each.get("sha256"):
            facts.append(_("excerpt: {given} of {count} characters", given=number(sent), count=number(total)))
        return " · ".join(facts)

    def _begin_picture(self, each: dict[str, Any], button: QPushButton) -> None:
        """Reserve the place of an image before it is loaded."""
        high, wide = theme().px(_HIGH), theme().px(2 * _HIGH)
        box = QSize(each["width"], each["height"])
        if box.width() > wide or box.height() > high:
            box = box.scaled(wide, high, Qt.AspectRatioMode.KeepAspectRatio)
        button.setIconSize(box.expandedTo(QSize(theme().px(24), theme().px(24))))
        button.setIcon(theme().icon("image"))
        small = each.get("thumbnail")
        if isinstance(small, QImage) and not small.isNull():
            button.setIcon(QIcon(QPixmap.fromImage(small.scaled(box, Qt.AspectRatioMode.IgnoreAspectRatio))))
        bridge = self._host.bridge
        if bridge is not None and each.get("sha256"):
            bridge.jobs.start(self._read_picture(each, button, box))

    async def _read_picture(self, each: dict[str, object], button: QPushButton, box: QSize) -> None:
        data = await self._data(each)
        ratio = self.devicePixelRatioF()
        image = await asyncio.to_thread(opened, data, round(max(box.width(), box.height()) * ratio))
        if not image.isNull():
            button.setIcon(QIcon(QPixmap.fromImage(image)))

    async def _data(self, each: dict[str, object]) -> bytes:
        assert self._host.bridge is not None
        service = self._host.bridge.engine.attachments
        facts = {name: value for name, value in each.items() if name != "thumbnail"}
        return await service.data(self._host.team.workflow_id, Attachment.model_validate(facts))

    def _open(self, each: dict[str, object]) -> None:
        if self._host.bridge is not None and each.get("sha256"):
            self._host.bridge.jobs.start(self._show(each))

    async def _show(self, each: dict[str, Any]) -> None:
        picture = await asyncio.to_thread(opened, await self._data(each)) if each.get("width") else None
        words = self.words(each)
        text = _("What the model received · {facts}", facts=words) if picture is None else words
        Preview(
            each["name"],
            text,
            self.window(),
            picture=picture,
            text=each.get("text") or "",
            save=lambda: self._ask(each),
        ).open()

    def _copy(self, each: dict[str, object]) -> None:
        if self._host.bridge is not None and each.get("sha256"):
            self._host.bridge.jobs.start(self._copy_picture(each))

    async def _copy_picture(self, each: dict[str, object]) -> None:
        QGuiApplication.clipboard().setImage(await asyncio.to_thread(opened, await self._data(each)))

    def _ask(self, each: dict[str, Any]) -> None:
        bridge, workflow_id = self._host.bridge, self._host.team.workflow_id

        def save(path: Path) -> None:
            assert bridge is not None
            part = ArtefactPart(
                name=each["name"], media_type=each["media_type"], size=each["size"], sha256=each["sha256"]
            )
            bridge.jobs.start(bridge.engine.workflows.save_artefact(workflow_id, part, path))

        ask_save(self.window(), _("Save file"), each["name"], "", save)
