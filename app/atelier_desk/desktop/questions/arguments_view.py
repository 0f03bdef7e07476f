"""The exact arguments of a call: collapsible, copyable, and editable with validation below."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QBoxLayout, QPushButton, QSizePolicy, QWidget

from atelier_desk.desktop.bridge.jobs import Jobs
from atelier_desk.desktop.panes.time_format import number
from atelier_desk.desktop.questions.argument_check import parse, pretty
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import bind, bind_text, control, hbox, label, vbox
from atelier_desk.desktop.widgets.debouncer import Debouncer
from atelier_desk.desktop.widgets.line_wrapping import TextField
from atelier_desk.domain.approval import same_arguments
from atelier_desk.support.i18n import N_, _

SHOWN_CHARS = 20_000
"""Maximum characters shown; copying and editing include all."""
CHECK_MS = 250
_COPIED_MS = 1600


class _Text(TextField):
    """As high as its text; the wheel scrolls the surroundings, Tab leaves it, Ctrl+Enter and Esc go to the card."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setTabChangesFocus(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        enter = (
            event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
            and event.modifiers() & Qt.KeyboardModifier.ControlModifier
        )
        typed = (
            bool(event.text())
            and event.text().isprintable()
            and not event.modifiers() & Qt.KeyboardModifier.ControlModifier
        )
        if self.isReadOnly() and typed:
            event.accept()  # letters typed while reading must not decide anything
        elif enter or event.key() == Qt.Key.Key_Escape:
            event.ignore()
        else:
            super().keyPressEvent(event)


class ArgumentsView(QWidget):
    """``approval-arguments``: the arguments as text, with buttons to fold, copy and edit.

    The other names are ``approval-arguments-fold``, ``-copy``, ``approval-edit`` and ``approval-arguments-error``.

    Signals: ``edited`` after each change of text or state, ``height_changed`` when its height changes,
    ``caret_moved`` with the editor while typing.
    """

    edited = Signal()
    height_changed = Signal()
    caret_moved = Signal()

    def __init__(
        self,
        arguments: dict[str, object],
        check: Callable[[dict[str, object]], Awaitable[str]],
        parent: QWidget | None = None,
        *,
        opened: bool,
    ) -> None:
        super().__init__(parent)
        self._original, self._check = arguments, check
        self._opened, self._editing = opened, False
        self._problem, self._checking = "", False
        self._hidden = 0
        self._number = 0
        self._jobs = Jobs(self, self._show_problem)
        self._build()
        self._timer = Debouncer(self, CHECK_MS, lambda: self._jobs.start(self._run_check(), "check"))
        self._show_original()
        bind(self._show_state)

    def _build(self) -> None:
        self.fold = control(
            QPushButton(self),
            "approval-arguments-fold",
            N_("Arguments"),
            look="fold",
            name=lambda: _("Hide the arguments") if self._opened else _("Show the arguments"),
            on=lambda: self.set_opened(not self._opened),
        )
        self.copy = control(
            QPushButton(self),
            "approval-arguments-copy",
            N_("Copy"),
            look="quiet",
            name=N_("Copy the arguments"),
            on=self._copy,
        )
        self.edit = control(
            QPushButton(self),
            "approval-edit",
            lambda: _("Undo changes") if self._editing else _("Edit"),
            look="quiet",
            name=lambda: _("Undo changes to the arguments") if self._editing else _("Edit the arguments"),
            on=lambda: self.undo() if self._editing else self.begin(),
        )
        self.text = control(_Text(self), "approval-arguments", name=N_("Arguments as JSON"))
        self._cut = bind_text(
            label("", "small", self, wrap=True),
            lambda: _("Characters not shown: {n}; copy or edit to see them all", n=number(self._hidden)),
        )
        self._error = control(label("", "error", self, wrap=True), "approval-arguments-error")
        pair = hbox(None, 1, self.copy, self.edit, spacing=0)
        head = self._head = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        head.setSpacing(0)
        head.addWidget(self.fold, 0, Qt.AlignmentFlag.AlignLeft)
        head.addLayout(pair, 1)
        vbox(self, head, self.text, self._cut, self._error, spacing=4)
        self.text.textChanged.connect(self._text_changed)
        self.text.cursorPositionChanged.connect(lambda: self.caret_moved.emit() if self._editing else None)
        self.text.document().documentLayout().documentSizeChanged.connect(self._grow)

    @property
    def opened(self) -> bool:
        return self._opened

    @property
    def editing(self) -> bool:
        return self._editing

    @property
    def problem(self) -> str:
        """Why the text cannot be used; empty if it can."""
        return self._problem

    @property
    def settled(self) -> bool:
        """Whether the text was validated since its last change."""
        return not self._checking

    def draft(self) -> str | None:
        """The edited text, None if not edited."""
        return self.text.toPlainText() if self._editing else None

    def changed_arguments(self) -> dict[str, object] | None:
        """The edited arguments; None if equal to the model's."""
        found = parse(self.text.toPlainText())[0] if self._editing else None
        return None if found is None or same_arguments(found, self._original) else found

    def set_opened(self, on: bool) -> None:
        self._opened = on
        self._show_state()
        self.height_changed.emit()

    def begin(self, text: str | None = None) -> None:
        """Edit the arguments, or continue with an edited text."""
        self._editing, self._opened = True, True
        self.text.setReadOnly(False)
        self.text.setPlainText(pretty(self._original) if text is None else text)
        self._show_state()
        if text is None:
            self.text.setFocus(Qt.FocusReason.OtherFocusReason)
        self.height_changed.emit()
        self.edited.emit()

    def undo(self) -> None:
        """Restore the model's arguments."""
        self._editing = False
        self._timer.stop()
        self._number += 1
        self._checking = False
        self._show_problem("")
        self._show_original()
        self._show_state()
        self.height_changed.emit()
        self.edited.emit()

    async def checked(self) -> bool:
        """Validate at once; returns whether the text can be used."""
        self._timer.stop()
        await self._run_check()
        return not self._problem

    def _show_original(self) -> None:
        full = pretty(self._original)
        self.text.setReadOnly(True)
        self.text.setPlainText(full[:SHOWN_CHARS])
        self._hidden = max(0, len(full) - SHOWN_CHARS)

    def _text_changed(self) -> None:
        if not self._editing:
            return
        self._checking = True
        parsed, problem = parse(self.text.toPlainText())
        self._show_problem(problem)
        if parsed is not None:
            self._timer.start()
        else:
            self._timer.stop()
            self._checking = False
        self.edited.emit()

    async def _run_check(self) -> None:
        """Validate with the tool's schema; a result for an older text is dropped."""
        self._number += 1
        mine, (parsed, problem) = self._number, parse(self.text.toPlainText())
        if not self._editing:
            return
        if parsed is not None:
            problem = await self._check(parsed)
        if mine == self._number:
            self._checking = False
            self._show_problem(problem)
            self.edited.emit()

    def _show_problem(self, problem: str) -> None:
        self._problem = problem
        if self._error.text() != problem:
            self._error.setText(problem)
            self._error.setVisible(bool(problem) and self._opened)
            self.text.setProperty("invalid", "true" if problem else "false")
            self.text.style().unpolish(self.text)
            self.text.style().polish(self.text)
            self.height_changed.emit()

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.text.toPlainText() if self._editing else pretty(self._original))
        self.copy.setText(_("Copied"))
        QTimer.singleShot(_COPIED_MS, self, lambda: bind_text(self.copy))

    def _show_state(self) -> None:
        mark(self.text, "mono" if self._editing else "code")
        self.text.setVisible(self._opened)
        self._cut.setVisible(self._opened and not self._editing and self._hidden > 0)
        self._error.setVisible(self._opened and bool(self._problem))
        self.fold.setIcon(theme().icon("chevron-down" if self._opened else "chevron-right"))
        self.fold.setIconSize(QSize(theme().px(14), theme().px(14)))
        for part in (self.fold, self.edit, self._cut):
            bind_text(part)
        self._arrange()
        self._grow()

    def _grow(self) -> None:
        lines = max(1, int(self.text.document().size().height()))
        height = (
            lines * self.text.fontMetrics().lineSpacing()
            + theme().px(14)
            + 2 * round(self.text.document().documentMargin())
        )
        if height != self.text.minimumHeight():
            self.text.setFixedHeight(height)
            self.height_changed.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()
        self._grow()

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def _arrange(self) -> None:
        """Put Copy and Edit beside the title, or below it if there is no room."""
        needed = sum(button.sizeHint().width() for button in (self.fold, self.copy, self.edit))
        across, down = QBoxLayout.Direction.LeftToRight, QBoxLayout.Direction.TopToBottom
        self._head.setDirection(across if needed <= self.width() else down)
