"""Toasts over the lower edge of a window, with an action such as Undo."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QPoint, QTimer, Signal
from PySide6.QtWidgets import QFrame, QPushButton, QWidget

from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets.cards_buttons_labels import IconButton, hbox, label
from atelier_desk.desktop.widgets.language_theme_bindings import bind, bind_text, made
from atelier_desk.desktop.widgets.undo_stack import UndoStack
from atelier_desk.support.i18n import N_, _

DEFAULT_MS = 6000
SEEN_MS = 10_000
"""Milliseconds a lasting message stays once the user is back at the window."""
_AIR = 8
"""Pixels between a message and what it must not cover."""
WIDEST = 520
"""Width in pixels from which a message wraps."""


class Toast(QFrame):
    """A message; ``expired`` runs when it disappears without its action being used. A ``lasting`` one can be closed.

    Signals:
        gone: it disappeared, used or not.
    """

    gone = Signal()

    def __init__(
        self,
        parent: QWidget,
        text: str,
        action: str,
        on_action: Callable[[], object] | None,
        *,
        second: tuple[str, Callable[[], object]] | None,
        lasting: bool,
    ) -> None:
        super().__init__(parent)
        self.lasting = lasting
        mark(self, "toast")
        self.setObjectName("toast")
        row = hbox(self, margins=(16, 10, 16, 10), spacing=16)
        self._label = label("", parent=self)
        row.addWidget(self._label)
        self.set_message(text)
        bind(self._fit, on="language")
        self._on_action = on_action
        self.expired: Callable[[], object] | None = None
        self._used = self._over = False
        if action:
            self.button = QPushButton(action, self)
            self.button.setObjectName("toast-action")
            self.button.clicked.connect(self._use)
            row.addWidget(self.button)
        if second is not None:
            words, also = second
            other = QPushButton(words, self)
            other.setObjectName("toast-second")
            other.clicked.connect(lambda *_: also())  # it stays: both actions may be used
            row.addWidget(other)
        if lasting:
            close = IconButton("x", N_("Close"), self, role="on_accent")
            close.setObjectName("toast-close")
            close.clicked.connect(lambda *_: self.dismiss())
            row.addWidget(close)
        self.timer = QTimer(self)
        self.timer.setSingleShot(True)
        self.timer.timeout.connect(self.dismiss)

    def set_message(self, text: str) -> None:
        """Change the text, for example of progress; an error's follows the language."""
        bind_text(self._label, made(text))
        bind_text(self, name=made(text))
        self._fit()

    def _fit(self) -> None:
        """Wrap to a second line if too long."""
        words = self._label
        words.setWordWrap(False)
        words.setMinimumWidth(0)
        if words.sizeHint().width() > WIDEST:
            words.setWordWrap(True)
            words.setMinimumWidth(WIDEST)
        self.adjustSize()

    def dismiss(self) -> None:
        """Close now; no effect when closed."""
        if self._over:
            return
        self._over = True
        self.timer.stop()
        self.hide()
        self.deleteLater()
        self.gone.emit()
        if not self._used and self.expired is not None:
            self.expired()

    def _use(self) -> None:
        self._used = True
        if self._on_action is not None:
            self._on_action()
        self.dismiss()


class ToastHost(QObject):
    """Shows at most one toast over ``window``, centred above its lower edge, or a part's (``stand_over``).

    ``undo`` holds what can be restored. A new toast replaces the current one, which is closed; but a lasting one
    returns after it, and its time runs only while the window is active.
    """

    def __init__(self, window: QWidget, bottom: int = 24) -> None:
        super().__init__(window)
        self._window = window
        self._bottom = bottom
        self._toasts: list[Toast] = []
        self._over = window
        self._clear_of: Callable[[], int] = lambda: 0
        self.undo = UndoStack(window)
        window.installEventFilter(self)

    def stand_over(
        self, part: QWidget, clear_of: Callable[[], int] = lambda: 0, *, watched: QWidget | None = None
    ) -> None:
        """Centre messages over this part of the window.

        ``clear_of`` returns the pixels at its lower edge that must stay visible, which change when ``watched`` moves
        or grows.
        """
        self._over, self._clear_of = part, clear_of
        for widget in filter(None, (part, watched)):
            self.watch(widget)
        self._place()

    def watch(self, widget: QWidget) -> None:
        """Place messages again when this widget appears, moves, grows or goes."""
        widget.installEventFilter(self)

    def offer_undo(self, text: str, undo: Callable[[], object]) -> Toast:
        """Announce a deletion.

        ``undo`` is called once, by the message's button or the shortcut, even after it disappeared.
        """
        entry = self.undo.push(text, undo)
        toast = self.show(text, _("Undo"), lambda: self.undo.undo(entry))
        entry.done = toast.dismiss
        toast.gone.connect(lambda: setattr(entry, "done", lambda: None))
        return toast

    def show(
        self,
        text: str,
        action: str = "",
        on_action: Callable[[], object] | None = None,
        *,
        second: tuple[str, Callable[[], object]] | None = None,
        expired: Callable[[], object] | None = None,
        duration_ms: int = DEFAULT_MS,
        lasting: bool = False,
    ) -> Toast:
        """Replace the current toast; ``second`` is another button, ``expired`` runs if no action is used.

        A ``lasting`` one waits until it was seen.
        """
        for toast in [each for each in self._toasts if not each.lasting]:
            toast.dismiss()
        for toast in self._toasts:
            toast.timer.stop()
            toast.hide()
        toast = Toast(self._window, text, action, on_action, second=second, lasting=lasting)
        toast.expired = expired
        toast.timer.setInterval(max(duration_ms, SEEN_MS) if lasting else duration_ms)
        toast.gone.connect(lambda: self._discard(toast))
        toast.installEventFilter(self)  # its width depends on the language
        self._toasts.append(toast)
        self._bring_up(toast)
        return toast

    @property
    def current(self) -> Toast | None:
        """The visible toast."""
        return self._toasts[-1] if self._toasts else None

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind in (QEvent.Type.Resize, QEvent.Type.Move):
            self._place()
        elif kind in (QEvent.Type.Show, QEvent.Type.Hide):
            QTimer.singleShot(0, self, self._place)  # a widget that is being deleted is hidden as well
        elif (
            kind in (QEvent.Type.WindowActivate, QEvent.Type.WindowDeactivate)
            and self._toasts
            and self._toasts[-1].lasting
        ):
            self._count(self._toasts[-1])
        return False

    def _bring_up(self, toast: Toast) -> None:
        toast.adjustSize()
        self._place()
        toast.show()
        toast.raise_()
        self._count(toast)

    def _count(self, toast: Toast) -> None:
        """Start its timer, unless it waits to be seen."""
        if toast.lasting and not self._window.isActiveWindow():
            toast.timer.stop()
        else:
            toast.timer.start()

    def _place(self) -> None:
        if self._toasts:
            toast, part = self._toasts[-1], self._over
            corner = part.mapTo(self._window, QPoint())
            left = corner.x() + (part.width() - toast.width()) // 2
            top = corner.y() + part.height() - toast.height() - self._lift()
            toast.move(max(0, min(left, self._window.width() - toast.width())), max(0, top))

    def _lift(self) -> int:
        """The distance to the lower edge, which grows half as much as the text, like the fields below toasts."""
        least = round(self._bottom * (1 + (theme().scale - 1) / 2))
        clear = self._clear_of()
        return max(least, clear + _AIR) if clear else least

    def _discard(self, toast: Toast) -> None:
        in_sight = self._toasts[-1] is toast
        self._toasts.remove(toast)
        if in_sight and self._toasts:
            self._bring_up(self._toasts[-1])
