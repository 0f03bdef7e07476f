"""Cards for reasoning and questions."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from atelier_desk.desktop.chat.cards.headed_card import HeadedCard
from atelier_desk.desktop.chat.transcript.message_blocks import ProseBlock
from atelier_desk.desktop.chat.transcript.transcript_host import TranscriptHost
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import Pill, Spinner, bind, bind_text, control, fill, label, vbox
from atelier_desk.desktop.widgets.cards_buttons_labels import PillKind
from atelier_desk.desktop.widgets.debouncer import Debouncer
from atelier_desk.presentation.rows.transcript_entries import Entry, QuestionRow
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.locale_format import duration
from atelier_desk.support.visible_and_shortened_text import visible

GROW_MS = 100
"""Milliseconds between two redraws of growing reasoning: each redraws all of it."""


class ReasoningFold(QWidget):
    """The model's reasoning, collapsed: "thought for N s".

    Signals:
        height_changed: it was opened or closed, or grew while open.
    """

    height_changed = Signal()

    def __init__(self, entry: Entry, host: TranscriptHost, parent: QWidget) -> None:
        super().__init__(parent)
        self._entry, self._host = entry, host
        self._button = control(QPushButton(self), "reasoning-fold", look="quiet", on=self.toggle)
        self._spinner = Spinner(self, 12)
        self._text: ProseBlock | None = None
        self._needle = ""
        self._growing = Debouncer(self, GROW_MS, self._grow)
        bind(self.refresh)

    @property
    def opened(self) -> bool:
        return self._entry.id in self._host.state.open_reasoning

    def toggle(self) -> None:
        (self._host.state.open_reasoning.discard if self.opened else self._host.state.open_reasoning.add)(
            self._entry.id
        )
        self.refresh()
        self.height_changed.emit()
        self._host.unfolded.emit()

    def stream(self) -> None:
        """More reasoning arrived: ignored while collapsed, else redrawn every ``GROW_MS``."""
        if self.opened:
            self._growing.ask()

    def highlight(self, needle: str) -> int:
        """Highlight search matches in the open reasoning; returns their number."""
        self._needle = needle
        return self._text.highlight(needle) if self._text is not None else 0

    def reach(self, number: int) -> int:
        """Scroll target of match ``number``: its distance from the top in pixels. Opens collapsed reasoning."""
        if not self.opened:
            self.toggle()
            self.fit(self.width())
        return self._text.y() + self._text.place_of(number) if self._text is not None else 0

    def _grow(self) -> None:
        self.refresh()
        self.height_changed.emit()

    def refresh(self) -> None:
        thinking = self._entry.live and not self._entry.content
        if thinking:
            text = _("Thinking…")
        elif self._entry.reasoning_ms:
            text = _("Thought for {time}", time=duration(self._entry.reasoning_ms))
        else:
            text = _("Thoughts")
        self._button.setText(text)
        self._button.setIcon(theme().icon("chevron-down" if self.opened else "chevron-right"))
        self._button.setAccessibleName(text)
        self._spinner.setVisible(thinking)
        if not self.opened:
            if self._text is not None:
                self._text.deleteLater()
                self._text = None
            return
        if self._text is None:
            self._text = ProseBlock(self)
            self._text.show()
        self._text.show_plain(self._entry.reasoning)
        self._text.highlight(self._needle)

    def fit(self, width: int) -> int:
        head = self._button.sizeHint()
        self._button.setGeometry(-8, 0, head.width(), head.height())
        self._spinner.move(head.width() - 4, (head.height() - self._spinner.height()) // 2)
        if self._text is None:
            return head.height()
        height = self._text.fit(width - 20)
        self._text.setGeometry(16, head.height() + 4, width - 20, height)
        return head.height() + 4 + height


def asked_state(asked: QuestionRow) -> tuple[str, PillKind]:
    """The status pill of a question. A skipped question is no failure."""
    words: dict[str, tuple[str, PillKind]] = {
        "pending": (_("waiting for you"), "warn"),
        "answered": (_("answered"), "ok"),
        "skipped": (_("skipped"), ""),
        "timeout": (_("timed out"), "err"),
    }
    return words.get(asked.status, (asked.status, ""))


def _answer_button(asked: Callable[[], QuestionRow], host: TranscriptHost, parent: QWidget) -> QPushButton:
    return control(
        QPushButton(parent),
        "question-card-answer",
        N_("Answer"),
        look="primary",
        name=lambda: _("Answer: {question}", question=asked().question[:80]),
        on=lambda: host.question_requested.emit(asked().question_id),
    )


def _show_button(button: QPushButton, asked: QuestionRow) -> None:
    button.setVisible(asked.status == "pending")
    bind_text(button)


class QuestionPart(QWidget):
    """``question-part``: question and answer in the card of a call; a button opens the dialog while pending."""

    def __init__(self, asked: QuestionRow, host: TranscriptHost, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("question-part")
        self._asked = asked
        self._text = label("", "", self, wrap=True)
        self._answer = label("", "muted", self, wrap=True)
        self._button = _answer_button(lambda: self._asked, host, self)
        self._words = vbox(None, self._text, self._answer, spacing=4)
        self._row = fill(QHBoxLayout(self), (self._words, 1), (self._button, 0, Qt.AlignmentFlag.AlignTop), spacing=12)

    def show_asked(self, asked: QuestionRow) -> None:
        self._asked = asked
        # Aligned with the text of the head, which follows its icon.
        self._row.setContentsMargins(13 + theme().px(15) + 10, 0, 13, 12)
        self._text.setText(asked.question)
        self._answer.setText(asked.answer)
        self._answer.setVisible(bool(asked.answer))
        _show_button(self._button, asked)

    def fit(self, width: int) -> int:
        """The height it needs at this width, in pixels."""
        self._words.invalidate()  # it misses changes of labels that were hidden before the first show
        self._row.invalidate()
        return self._row.totalHeightForWidth(width) if self._row.hasHeightForWidth() else self._row.sizeHint().height()


class QuestionCard(HeadedCard):
    """``question-card``: a question without a visible call, such as a sub-agent's."""

    def __init__(self, asked: QuestionRow, host: TranscriptHost, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("question-card")
        self._asked, self._host = asked, host
        self._pill = Pill("", "", self)
        self._button = _answer_button(lambda: self._asked, host, self)
        self.head.addWidget(self._pill, 0, Qt.AlignmentFlag.AlignTop)
        self.head.addWidget(self._button, 0, Qt.AlignmentFlag.AlignTop)
        bind(self._show)

    def show_asked(self, asked: QuestionRow) -> None:
        self._asked = asked
        self._show()

    def _show(self) -> None:
        asked, (text, kind) = self._asked, asked_state(self._asked)
        pending = asked.status == "pending"
        self.show_head("circle-help", "warn" if pending else "muted", asked.question, asked.answer)
        self._pill.show_state(text, kind)
        self._pill.setVisible(not pending)
        _show_button(self._button, asked)
        self.setAccessibleName(visible(", ".join(filter(None, (asked.question, text, asked.answer)))))
