"""Short messages over the lower edge of a window, with one action such as Undo."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QWidget

from app.desktop.theme import mark
from app.desktop.widgets.basic import label

DEFAULT_MS = 6000
WIDEST = 520
"""Pixels after which a message goes on on a second line."""


class Toast(QFrame):
    """One message; ``finished`` runs ``expired`` when it goes away without its action having been used."""

    def __init__(self, parent: QWidget, text: str, action: str = "", on_action: Callable[[], object] | None = None) -> None:
        super().__init__(parent)
        mark(self, "toast")
        self.setObjectName("toast")
        self.setAccessibleName(text)
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 10, 16, 10)
        row.setSpacing(16)
        words = label(text, parent=self)
        if words.sizeHint().width() > WIDEST:
            words.setWordWrap(True)
            words.setMinimumWidth(WIDEST)
        row.addWidget(words)
        self._on_action = on_action
        self.expired: Callable[[], object] | None = None
        self._used = False
        if action:
            self.button = QPushButton(action, self)
            self.button.setObjectName("toast-action")
            self.button.clicked.connect(self._use)
            row.addWidget(self.button)
        self.timer = QTimer(self)
        self.timer.setSingleShot(True)
        self.timer.timeout.connect(self.dismiss)

    def dismiss(self) -> None:
        """Go away now."""
        self.timer.stop()
        self.hide()
        self.deleteLater()
        if not self._used and self.expired is not None:
            self.expired()

    def _use(self) -> None:
        self._used = True
        if self._on_action is not None:
            self._on_action()
        self.dismiss()


class ToastHost(QObject):
    """Shows at most one toast over ``window``, centred above its lower edge."""

    def __init__(self, window: QWidget, bottom: int = 24) -> None:
        super().__init__(window)
        self._window = window
        self._bottom = bottom
        self._current: Toast | None = None
        window.installEventFilter(self)

    def show(
        self,
        text: str,
        action: str = "",
        on_action: Callable[[], object] | None = None,
        *,
        expired: Callable[[], object] | None = None,
        duration_ms: int = DEFAULT_MS,
    ) -> Toast:
        """Replace the current toast; ``expired`` runs when this one leaves unused."""
        if self._current is not None:
            self._current.dismiss()
        toast = Toast(self._window, text, action, on_action)
        toast.expired = expired
        toast.destroyed.connect(lambda *_: self._forget(toast))
        self._current = toast
        toast.adjustSize()
        self._place()
        toast.show()
        toast.raise_()
        toast.timer.start(duration_ms)
        return toast

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self._place()
        return False

    def _place(self) -> None:
        if self._current is not None:
            self._current.move(
                (self._window.width() - self._current.width()) // 2, self._window.height() - self._current.height() - self._bottom
            )

    def _forget(self, toast: Toast) -> None:
        if self._current is toast:
            self._current = None
