"""Parts of a call's result besides its data: images, texts, diffs that open in place, files to save."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from PySide6.QtCore import QByteArray, Qt, Signal
from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from atelier_desk.desktop.chat.cards.code_card import CodeCard
from atelier_desk.desktop.chat.cards.held_file_view import HeldView
from atelier_desk.desktop.chat.cards.picture_view import PictureLabel
from atelier_desk.desktop.chat.cards.report_view import ReportView
from atelier_desk.desktop.chat.markdown import ansi
from atelier_desk.desktop.chat.transcript.transcript_host import TranscriptHost
from atelier_desk.desktop.file_dialogs.open_save_confirm import ask_save
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import bind
from atelier_desk.domain.result_parts import (
    ArtefactPart,
    FileChange,
    HeldPart,
    PicturePart,
    ReportPart,
    ResultPart,
    ShownPart,
    SourcePart,
    TextPart,
)
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.locale_format import more_characters, number, size
from atelier_desk.support.visible_and_shortened_text import visible

SHOWN = 20_000
"""Maximum characters shown of an opened text or diff."""
_CHANGES = {
    "created": N_("Created {path}"),
    "changed": N_("Changed {path}"),
    "deleted": N_("Deleted {path}"),
    "moved": N_("Moved {path} to {to}"),
}


def shown(parts: Iterable[ResultPart]) -> tuple[ShownPart, ...]:
    """The parts shown in the call's card; sources are shown under the answer that uses them."""
    return tuple(part for part in parts if not isinstance(part, SourcePart))


class ResultParts(QWidget):
    """``result-parts``: a column of ``PartView``s.

    Signals:
        height_changed: a part was opened or closed.
    """

    height_changed = Signal()

    def __init__(self, parts: tuple[ShownPart, ...], host: TranscriptHost, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("result-parts")
        self.parts = parts
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 0, 8, 8)
        column.setSpacing(4)
        self.views = [
            HeldView(part, host, self)
            if isinstance(part, HeldPart)
            else ReportView(part, host, self)
            if isinstance(part, ReportPart)
            else PartView(part, host, self)
            for part in parts
        ]
        for view in self.views:
            view.height_changed.connect(self.height_changed)
            column.addWidget(view)

    def fit(self, width: int) -> int:
        height = sum(view.fit(width - 16) for view in self.views) + 4 * (len(self.views) - 1) + 8
        self.setFixedSize(width, height)
        return height


class PartView(QWidget):
    """``result-part``: a line describing the part; a click opens or closes an image, text or diff, or saves a file.

    Signals:
        height_changed: it was opened or closed.
    """

    height_changed = Signal()

    def __init__(
        self, part: TextPart | PicturePart | ArtefactPart | FileChange, host: TranscriptHost, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._part, self._host = part, host
        self.button = QPushButton(self)
        self.button.setObjectName("result-part")
        mark(self.button, "quiet")
        self.button.clicked.connect(lambda *_: self._press())
        self.body: CodeCard | QLabel | None = None
        self._picture = QPixmap()
        if isinstance(part, PicturePart):
            self._picture.loadFromData(QByteArray.fromBase64(QByteArray(part.image.data.encode())))
            self._open()
        bind(self._show)

    def words(self) -> str:
        """A one-line description."""
        part = self._part
        if isinstance(part, FileChange):
            text = _(_CHANGES[part.action], path=part.path, to=part.moved_to)
            return f"{text} · +{number(part.added)} −{number(part.removed)}" if part.added or part.removed else text
        if isinstance(part, ArtefactPart):
            return _("Save {name} · {size}", name=part.name, size=size(part.size))
        return visible(_(part.title)) or (_("Image") if isinstance(part, PicturePart) else _("Text"))

    def fit(self, width: int) -> int:
        """Lay out for this width in pixels; returns the height."""
        hint = self.button.sizeHint()
        self.button.setGeometry(0, 0, min(width, hint.width()), hint.height())
        height = hint.height()
        if isinstance(self.body, CodeCard):
            inner = self.body.fit(width)
            self.body.setGeometry(0, height + 4, width, inner)
            height += inner + 4
        elif self.body is not None:
            ratio = self.devicePixelRatioF()
            shown = self._picture
            if shown.width() > width * ratio:
                shown = shown.scaledToWidth(round(width * ratio), Qt.TransformationMode.SmoothTransformation)
            shown.setDevicePixelRatio(ratio)
            self.body.setPixmap(shown)
            self.body.adjustSize()
            self.body.move(0, height + 4)
            height += self.body.height() + 4
        self.setFixedSize(width, height)
        return height

    def _show(self) -> None:
        opens = self.body is not None
        icon = "download" if isinstance(self._part, ArtefactPart) else "chevron-down" if opens else "chevron-right"
        self.button.setIcon(theme().icon(icon))
        self.button.setText(self.words().replace("&", "&&"))
        self.button.setAccessibleName(self.words())
        can = bool(self._part.diff) if isinstance(self._part, FileChange) else True
        self.button.setEnabled(can and not (isinstance(self._part, ArtefactPart) and self._host.bridge is None))
        if isinstance(self.body, QLabel):
            self.body.setAccessibleName(self.words())
            self.body.setToolTip(_("Double-click to enlarge. Drag the image out or right-click to save it."))

    def _press(self) -> None:
        if isinstance(self._part, ArtefactPart):
            ask_save(self, _("Save file"), self._part.name, "", self._save)
            return
        if self.body is None:
            self._open()
        else:
            self.body.deleteLater()
            self.body = None
        self._show()
        self.height_changed.emit()
        self._host.unfolded.emit()

    def _open(self) -> None:
        part = self._part
        if isinstance(part, PicturePart):
            self.body = PictureLabel(part.title, part.image, self._picture, self)
        elif not isinstance(part, ArtefactPart):
            text, language = (part.diff, "diff") if isinstance(part, FileChange) else (part.text, part.language)
            spans: tuple[ansi.Span, ...] = ()
            if language == ansi.LANGUAGE:
                (text, spans), language = ansi.read(text), ""
            more = "\n" + more_characters(len(text) - SHOWN) if len(text) > SHOWN else ""
            card = self.body = CodeCard(text[:SHOWN] + more, language, self, spans=spans)
            card.freeze()
            card.height_changed.connect(self.height_changed)
        if self.body is not None:
            self.body.show()

    def _save(self, path: Path) -> None:
        part, bridge, workflow_id = self._part, self._host.bridge, self._host.team.workflow_id
        if bridge is not None and isinstance(part, ArtefactPart):
            bridge.jobs.start(bridge.engine.workflows.save_artefact(workflow_id, part, path))
