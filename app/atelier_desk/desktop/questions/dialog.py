"""The question dialog: an agent's question, shown over its workflow's view.

It is a ``QDialog`` inside that view with a scrim, not a window: a window-modal window would block the main window and
thus the other workflows.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QShowEvent
from PySide6.QtWidgets import (
    QApplication,
    QBoxLayout,
    QDialog,
    QFrame,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from atelier_desk.desktop.panes.time_format import number
from atelier_desk.desktop.questions import approval_text
from atelier_desk.desktop.questions.answer_field import AnswerField
from atelier_desk.desktop.questions.digit_keys import digit_of
from atelier_desk.desktop.questions.markdown_view import MarkdownView
from atelier_desk.desktop.questions.mcp_server_request import ServerRequest
from atelier_desk.desktop.questions.option_card import OptionCard
from atelier_desk.desktop.questions.queue import QueuePosition
from atelier_desk.desktop.questions.scroll_content import ScrollContent
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import (
    Card,
    ElidedLabel,
    Pill,
    PlainLabel,
    bind,
    bind_text,
    control,
    fill,
    hbox,
    label,
    vbox,
)
from atelier_desk.desktop.widgets.enter_key import handle_enter, is_enter, show_enter, types_text
from atelier_desk.desktop.widgets.language_theme_bindings import made
from atelier_desk.desktop.widgets.tool_tips import plain_tip
from atelier_desk.domain import limits
from atelier_desk.domain.question import DECLINE, QuestionAnswer, QuestionType, UserQuestion
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.visible_and_shortened_text import visible

WIDTH = 520
LOW = 500
"""Height of a view, in logical pixels at 100 %, below which there is less space between the parts of the dialog: over
an open lower pane a question with a few options need not scroll."""
HINT_ROOM = 96
"""Minimum width of the hint beside the buttons, in logical pixels at 100 %; with less, it is above them."""
LEAST_MARGIN = 4
"""Pixels above and below the dialog where it would scroll with more."""
_WARN_S = 30
"""Remaining seconds from which the time is shown as a warning."""


class QuestionDialog(QDialog):
    """``user-question-modal``. It only asks and reports; the presenter talks to the engine and closes it.

    Signals: ``submitted(QuestionAnswer)``, ``skipped()``, ``postponed(QuestionAnswer)`` with the input so far.
    """

    submitted = Signal(object)
    skipped = Signal()
    postponed = Signal(object)

    def __init__(self, question: UserQuestion, place: QueuePosition, draft: QuestionAnswer, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowFlags(Qt.WindowType.Widget)
        self.question = question
        self._place = place
        self._busy = False
        self._closing = False
        self.setObjectName("user-question-modal")
        self.setStyleSheet("QDialog#user-question-modal { background: transparent; }")
        self._build()
        self._restore(draft)
        bind_text(
            self,
            title=self._heading,
            name=self._heading,
            about=lambda: ". ".join(filter(None, (self._from(), question.spec.question))),
        )
        self.set_place(place)
        self.set_remaining(None)
        bind(self._check, on="language")

    def _build(self) -> None:
        self._card = control(QFrame(self), look="card-raised")
        vbox(self, self._card)
        column = self._column = vbox(self._card, self._header(), margins=(24, 20, 24, 20))
        self._lineage = control(label("", "small", self, wrap=True), "question-lineage", self._from)
        self._lineage.setVisible(bool(self._from()))
        column.addWidget(self._lineage)
        self._body = control(QScrollArea(self), "question-scroll")
        self._body.setWidgetResizable(True)
        self._body.setFrameShape(QFrame.Shape.NoFrame)
        self._body.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # Never on demand: see ``ApprovalCard``.
        self._body.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._body.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._body.setWidget(self._make_content())
        column.addWidget(self._body, 1)
        self._error = control(PlainLabel("", self), "question-error", look="error")
        self._error.setWordWrap(True)
        self._error.hide()
        fill(column, self._error, self._footer())

    def _header(self) -> QBoxLayout:
        row = self._top = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        row.setSpacing(8)
        self._title = control(PlainLabel("", self), "question-title", self._heading, look="title")
        self._title.setWordWrap(True)
        self._time = control(Pill("", "", self), "question-time")
        self._time.hide()
        self._count = control(Pill("", "warn", self), "question-place", self._counted)
        pills = hbox(None, self._time, self._count, 1, spacing=8)
        fill(row, (self._title, 1), pills)
        return row

    def _make_content(self) -> QWidget:
        spec = self.question.spec
        content = self._content = ScrollContent(self)
        mark(content, "plain")
        content.relaid.connect(self._refit)
        self._text = control(PlainLabel(spec.question, content), "question-text", name=N_("Question"))
        self._text.setTextFormat(Qt.TextFormat.PlainText)
        self._text.setWordWrap(True)
        self._text.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self._text.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self._text.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        column = self._parts = vbox(content, self._text)
        self.context: MarkdownView | None = None
        if spec.context:
            column.addWidget(control(label("", "small", content), "question-context-caption", N_("Context")))
            box = Card(content, "card-sunken")
            self.context = MarkdownView(box, fit_height=True)
            control(self.context, "question-context", name=N_("Context of the question"))
            self.context.set_text(spec.context)
            box.body.addWidget(self.context)
            column.addWidget(box)
        self.request = ServerRequest(spec, content) if spec.asker is not None else None
        shown = () if self.request is not None else spec.options
        self.options = [
            OptionCard(option, index if index < 10 else 0, content) for index, option in enumerate(shown, 1)
        ]
        cards = self._cards = QVBoxLayout()
        for card in self.options:
            card.toggled.connect(self._check)
            cards.addWidget(card)
        if self.options:
            column.addLayout(cards)
        self.answer: AnswerField | None = None
        if self.request is not None:
            self.request.changed.connect(self._check)
            column.addWidget(self.request)
        elif spec.question_type is not QuestionType.CHECKBOX:
            self.answer = AnswerField(3 if spec.question_type is QuestionType.TEXT else 1, content)
            self.answer.changed.connect(self._check)
            default = N_("Your answer") if spec.question_type is QuestionType.TEXT else N_("Another answer or details…")
            bind(self.answer.set_placeholder, lambda: visible(spec.text_placeholder or _(default)))
            bind_text(self.answer.editor, name=N_("Your answer"))
            caption = control(label("", "small", content), "question-answer-caption", N_("Your answer"))
            caption.setBuddy(self.answer.editor)
            fill(column, caption, self.answer)
        column.addStretch(1)
        return content

    def _footer(self) -> QBoxLayout:
        row = self._bottom = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        row.setSpacing(8)
        self._hint = control(ElidedLabel("", self), look="muted")
        served = self.request is not None
        self._skip = control(
            QPushButton(self),
            "question-skip",
            N_("Cancel") if served else N_("Skip"),
            tip=N_("Cancel without answering") if served else N_("Tell the agent that you will not answer"),
            look="ghost",
            on=self._press_skip,
        )
        self._decline = control(
            QPushButton(self),
            "question-decline",
            N_("Decline"),
            tip=N_("Decline the server's request"),
            on=self._press_decline,
        )
        self._decline.setVisible(served)
        self._later = control(
            QPushButton(self),
            "question-later",
            N_("Later"),
            tip=N_("Keep the question in the inbox (Esc)"),
            on=self.reject,
        )
        words = {
            QuestionType.FORM: N_("Send"),
            QuestionType.URL: N_("Open the page"),
            QuestionType.SAMPLING: N_("Allow"),
        }
        submit = words.get(self.question.spec.question_type, N_("Answer"))
        self._submit = control(QPushButton(self), "question-submit", submit, look="primary", on=self._press_submit)
        if self.request is None or self.request.focusable():  # otherwise Enter presses the focused button
            show_enter(self._submit)
        for button in (self._skip, self._decline, self._later, self._submit):
            button.setAutoDefault(False)
        buttons = self._buttons = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        buttons.setSpacing(8)
        pair = self._pair = hbox(None, self._later, self._decline, self._submit, spacing=8)
        fill(buttons, self._skip, pair)
        fill(row, (self._hint, 1), buttons)
        return row

    def _restore(self, draft: QuestionAnswer) -> None:
        if self.request is not None:
            self.request.restore(draft)
        for card in self.options:
            card.setChecked(card.option_id in draft.selected_options)
        if self.answer is not None and draft.text_response:
            self.answer.set_text(draft.text_response)

    def entered(self) -> QuestionAnswer:
        """The current selection and text as a draft; text over the limit is cut."""
        if self.request is not None:
            return self.request.answer()
        selected = tuple(card.option_id for card in self.options if card.isChecked())
        text = self.answer.text() if self.answer is not None else ""
        return QuestionAnswer(selected_options=selected, text_response=text[: limits.QUESTION_TEXT_RESPONSE])

    def set_place(self, place: QueuePosition) -> None:
        """Update its position in the queue: another question was asked."""
        self._place = place
        bind_text(self._count)
        self._count.setVisible(place.total > 1)  # a single question needs no number

    def set_remaining(self, seconds: float | None) -> None:
        """Set the seconds left to answer; None without a timeout."""
        self._time.setVisible(seconds is not None)
        if seconds is not None:
            rounded = max(0, round(seconds))
            bind_text(self._time, lambda: _("{time} left", time=f"{rounded // 60}:{rounded % 60:02d}"))
            self._time.set_kind("err" if rounded <= _WARN_S else "")

    def set_busy(self, busy: bool) -> None:
        """Disable the dialog while the engine processes the answer."""
        self._busy = busy
        self._content.setEnabled(not busy)
        self._skip.setEnabled(not busy)
        self._later.setEnabled(not busy)
        self._decline.setEnabled(not busy)
        self._check()

    def show_error(self, text: str) -> None:
        """Show an error of the engine; input is preserved."""
        self.set_busy(False)
        bind_text(self._error, made(text))
        self._error.setVisible(bool(text))
        self.fit()

    def close_quietly(self) -> None:
        """Close without signals: the presenter initiated it."""
        self._closing = True
        self.done(QDialog.DialogCode.Accepted)

    def fit(self) -> None:
        """Resize to the content, within the view; the buttons are always visible."""
        host = self.parentWidget()
        if host is None:
            return
        narrow = host.width() < theme().px(WIDTH)
        margin, side = theme().px(8 if narrow else 24), 12 if narrow else 24
        width = min(theme().px(WIDTH), host.width() - 2 * margin)
        low = host.height() < theme().px(LOW)
        edge = 10 if low else 12 if narrow else 20
        self._column.setContentsMargins(side, edge, side, edge)
        for layout, close, far in ((self._column, 8, 12), (self._parts, 6, 10), (self._cards, 4, 8)):
            if layout.spacing() != (apart := close if low else far):
                layout.setSpacing(apart)  # lays out again even if it is the same
        self._arrange(width - 2 * side - 2)
        column = self._column
        if width < 80:
            return
        content_height = self._parts.heightForWidth(width - 2 * side - 2)
        self._body.setFixedHeight(content_height)  # a scroll area's own size hint is based on another width
        total = column.totalHeightForWidth(width) if column.hasHeightForWidth() else column.totalMinimumSize().height()
        self._body.setMinimumHeight(min(content_height, theme().px(44)))
        above = margin if total <= host.height() - 2 * margin else LEAST_MARGIN
        height = min(total, host.height() - 2 * above)
        bar = Qt.ScrollBarPolicy.ScrollBarAlwaysOn if total > height else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        self._body.setVerticalScrollBarPolicy(bar)
        self.setGeometry(
            (host.width() - width) // 2, max(above, (host.height() - height) // 2), width, max(height, 120)
        )

    def _arrange(self, width: int) -> None:
        """Arrange header and footer as rows, or stacked if ``width`` is too small."""
        across, down = QBoxLayout.Direction.LeftToRight, QBoxLayout.Direction.TopToBottom
        pills = [pill.sizeHint().width() + 8 for pill in (self._time, self._count) if not pill.isHidden()]
        title = self._title.fontMetrics().horizontalAdvance(self._title.text()) + 4
        self._top.setDirection(across if title + sum(pills) <= width else down)
        buttons = sum(button.sizeHint().width() + 8 for button in self._all_buttons())
        metrics = self._hint.fontMetrics()
        words, spec = self._words(), self.question.spec
        if self.request is not None:
            # The hint contains the name of a server's field, which can be long.
            needed: set[str] = set()
        else:
            needed = (
                {"text"} if spec.question_type is QuestionType.TEXT else {"both" if spec.text_required else "option"}
            )
        longest = (
            max((metrics.horizontalAdvance(words[each]) for each in needed), default=theme().px(4 * HINT_ROOM)) + 16
        )
        fits = buttons + max(theme().px(HINT_ROOM), longest) <= width
        self._bottom.setDirection(across if fits else down)
        one_line = buttons - 8 <= width
        self._buttons.setDirection(across if one_line else QBoxLayout.Direction.BottomToTop)
        self._buttons.setAlignment(self._skip, Qt.AlignmentFlag.AlignLeft if one_line else Qt.AlignmentFlag(0))
        self._buttons.setAlignment(self._pair, Qt.AlignmentFlag.AlignRight if one_line else Qt.AlignmentFlag(0))
        self._hint.setVisible(fits or self._problem() is not None)

    def _refit(self) -> None:
        """Fit after the layouts have settled."""
        QTimer.singleShot(0, self, self.fit)

    def _agent(self) -> str:
        return self.question.agent_name or _("The agent")

    def _heading(self) -> str:
        if (asker := self.question.spec.asker) is not None:
            return _("The server “{server}” has a question", server=asker.server)
        return _("{agent} has a question", agent=self._agent())

    def _from(self) -> str:
        if self.question.spec.asker is not None and not self.question.lineage:
            return _("During a call by {agent}", agent=self._agent())
        return approval_text.lineage(self.question.lineage, self._agent())

    def _counted(self) -> str:
        return _("question {number} / {total}", number=self._place.number, total=self._place.total)

    def _all_buttons(self) -> tuple[QPushButton, ...]:
        decline = (self._decline,) if self.request is not None else ()
        return (self._skip, self._later, *decline, self._submit)

    def _problem(self) -> str | None:
        if self.answer is not None and self.answer.over_limit():
            return "too_long"
        if self.request is not None:
            return "form" if self.request.problem() else None
        return self.entered().problem(self.question.spec)

    def _words(self) -> dict[str, str]:
        """The variants of the hint, by what is missing."""
        return {
            "": _("The agent is waiting") if self.request is None else _("The server is waiting"),
            "option": _("Choose at least one option"),
            "text": _("A text answer is required"),
            "form": self.request.problem() if self.request is not None else "",
            "both": _("Choose at least one option and write an answer"),
            "too_long": _("Too long: at most {limit} characters", limit=number(limits.QUESTION_TEXT_RESPONSE)),
        }

    def _check(self) -> None:
        problem = self._problem()
        self._submit.setEnabled(problem is None and not self._busy)
        both = problem == "option" and self.question.spec.text_required and not self.entered().text_response.strip()
        words = self._words()
        hint = words.get("both" if both else problem or "", words[""])
        self._hint.setText(_("Sending…") if self._busy else hint)
        mark(self._hint, "muted")
        if problem is not None and self._hint.isHidden():
            self._refit()
        self._submit.setToolTip(plain_tip(hint if problem else _("Send the answer (Enter)")))

    def _press_submit(self) -> None:
        if self._problem() is not None:
            mark(self._hint, "error")  # Enter was pressed: highlight the hint that says what is missing
        elif not self._busy:
            self._error.hide()
            self.set_busy(True)
            entered = self.entered()
            self.submitted.emit(entered.model_copy(update={"text_response": entered.text_response.strip()}))

    def _press_skip(self) -> None:
        if not self._busy:
            self._error.hide()
            self.set_busy(True)
            self.skipped.emit()

    def _press_decline(self) -> None:
        if not self._busy:
            self._error.hide()
            self.set_busy(True)
            self.submitted.emit(QuestionAnswer(selected_options=(DECLINE,)))

    def reject(self) -> None:
        """Esc and "Later": the question remains in the inbox with its input."""
        if self._closing or not self._busy:
            draft = self.entered()
            super().reject()
            if not self._closing:
                self.postponed.emit(draft)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """1–9 toggle options (with Alt while typing), Enter submits, Esc is "Later"; letters go to the answer field.

        Unhandled letters stop here: they must not reach the composer under the scrim.
        """
        digit = digit_of(event)
        if 1 <= digit <= len(self.options) and not self._busy:
            self.options[digit - 1].toggle()
            self._body.ensureWidgetVisible(self.options[digit - 1])
        elif is_enter(event):
            handle_enter(event, self, self._press_submit)
        elif event.key() == Qt.Key.Key_Escape:
            self.reject()
        elif types_text(event):
            if self.answer is not None and not self._busy and not self.answer.editor.hasFocus():
                self.answer.editor.setFocus(Qt.FocusReason.OtherFocusReason)
                self._body.ensureWidgetVisible(self.answer)
                QApplication.sendEvent(self.answer.editor, event)
            event.accept()
        else:
            super().keyPressEvent(event)

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Keep Tab inside: what is under the scrim is disabled."""
        editors = (
            self.request.focusable()
            if self.request is not None
            else [self.answer.editor]
            if self.answer is not None
            else []
        )
        chain: list[QWidget] = [*self.options, *editors, *self._all_buttons()]
        usable = [widget for widget in chain if widget.isEnabled()]
        if not usable:
            return False
        here = usable.index(self.focusWidget()) if self.focusWidget() in usable else (-1 if forward else 0)
        target = usable[(here + (1 if forward else -1)) % len(usable)]
        target.setFocus(Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason)
        if target in self.options or target in editors:
            self._body.ensureWidgetVisible(target)
        return True

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.fit()
        self._refit()

    def focus_again(self) -> None:
        """Return the focus to the widget in the dialog that had it."""
        here = self.focusWidget()
        if here is not None and here is not self and here.isEnabled():
            here.setFocus(Qt.FocusReason.OtherFocusReason)
        else:
            self.focus_first()

    def focus_first(self) -> None:
        """Focus the first input."""
        editors = (
            self.request.focusable()
            if self.request is not None
            else [self.answer.editor]
            if self.answer is not None
            else []
        )
        first = next(iter([*self.options, *editors]), self._later)
        first.setFocus(Qt.FocusReason.PopupFocusReason)
