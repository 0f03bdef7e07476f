"""Messages between a sub-agent and its parent (prompt, answer, report): a card with a heading, folded when long."""

from __future__ import annotations

from PySide6.QtGui import QFocusEvent, QPaintEvent
from PySide6.QtWidgets import QPushButton, QWidget

from atelier_desk.desktop.chat.markdown.plain_text import one_line
from atelier_desk.desktop.chat.transcript.message_base import BodyMessage
from atelier_desk.desktop.chat.transcript.reply_body import ReplyBody
from atelier_desk.desktop.chat.transcript.spacing import INSIDE, TURN
from atelier_desk.desktop.chat.transcript.transcript_host import TranscriptHost
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import Card, bind, bind_text, control, label
from atelier_desk.presentation.rows.transcript_entries import Entry
from atelier_desk.support.i18n import _

FOLD = 260
"""Maximum height of an unfolded prompt, in pixels at 100 %; reports are never folded."""


class AgentMessage(BodyMessage):
    """``agent-memo``."""

    def __init__(self, entry: Entry, host: TranscriptHost, parent: QWidget) -> None:
        super().__init__(entry, host, parent)
        self.setObjectName("agent-memo")
        self._variant = "card" if entry.topic == "agent_report" else "card-sunken"
        self._card = Card(self, self._variant)
        self._heading = bind_text(label("", "heading", self._card), self._title)
        self._clip = QWidget(self._card)
        self.body = ReplyBody(host.images, self._clip)
        self.body.height_changed.connect(self.height_changed)
        self._more = control(
            QPushButton(self._card),
            "agent-memo-more",
            lambda: _("Show less") if self._open else _("Show all"),
            look="link",
            on=self._toggle,
        )
        bind_text(
            self, name=lambda: _("{name}: {text}", name=self._title(), text=one_line(self.entry.content[:400])[:200])
        )
        bind(self._redraw, on="look")
        self.refresh()

    @property
    def _open(self) -> bool:
        return self.entry.id in self.host.state.open_reports or self.entry.topic == "agent_report"

    def _toggle(self) -> None:
        opened = self.host.state.open_reports
        (opened.discard if self._open else opened.add)(self.entry.id)
        self.refresh()
        self.height_changed.emit()
        self.host.unfolded.emit()

    def refresh(self) -> None:
        self.body.set_text(self.entry.content)
        for part in (self, self._heading, self._more):
            bind_text(part)

    def fit(self, width: int) -> int:
        style = theme()
        side, edge = style.px(14), style.px(10)
        inner = width - 2 * side
        above = style.px(TURN - INSIDE) if self.entry.topic == "prompt" else 0
        head = self._heading.sizeHint().height()
        self._heading.setGeometry(side, edge, inner, head)
        y = edge + head + style.px(6)
        full = self.body.fit(inner)
        folds = full > style.px(FOLD) * 1.2 and self.entry.topic != "agent_report"
        shown = style.px(FOLD) if folds and not self._open else full
        self._clip.setGeometry(side, y, inner, shown)
        self.body.setGeometry(0, 0, inner, full)
        y += shown
        self._more.setVisible(folds)
        if folds:
            hint = self._more.sizeHint()
            self._more.setGeometry(side - 5, y + 4, hint.width(), hint.height())
            y += hint.height() + 4
        y += edge
        self._card.setGeometry(0, above, width, y)
        return above + y + style.px(INSIDE)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        mark(self._card, "card-selected")

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        mark(self._card, self._variant)

    def paintEvent(self, event: QPaintEvent) -> None:
        """The card fills the widget and draws the focus frame itself."""

    def _title(self) -> str:
        above = str(self.entry.details.get("parent") or "")
        titles = {
            "prompt": _("Prompt from {agent}", agent=above) if above else _("Prompt"),
            "from_parent": _("Your answer")
            if self.entry.details.get("by") == "user"
            else _("Answer from {agent}", agent=above or _("Agent")),
            "agent_report": _("Report to {agent}", agent=above) if above else _("Report"),
        }
        return titles.get(self.entry.topic, "")
