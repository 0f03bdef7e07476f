"""The shade over one workflow's view while its question is open."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, QRectF, Qt
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QWidget

from atelier_desk.desktop.questions.dialog import QuestionDialog
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets.words import bind

_SHADOW = 14


class Scrim(QWidget):
    """Covers ``host``, follows its size, keeps clicks from it and holds the dialog in its middle."""

    def __init__(self, host: QWidget) -> None:
        super().__init__(host)
        self.setObjectName("question-scrim")
        self._host = host
        self.dialog: QuestionDialog | None = None
        host.installEventFilter(self)
        bind(self.refit)
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.focusChanged.connect(self._keep_focus)
        self.setGeometry(host.rect())
        self.hide()

    def hold(self, dialog: QuestionDialog | None) -> None:
        """Show this dialog, or nothing."""
        self.dialog = dialog
        self.setVisible(dialog is not None)
        if dialog is not None:
            self.raise_()
            dialog.setParent(self)
            dialog.open()
            dialog.focus_first()

    def _keep_focus(self, _old: QWidget | None, new: QWidget | None) -> None:
        """What lies under the shade must not get the keyboard: whatever takes it there gives it back to the dialog."""
        if self.dialog is None or new is None or not self.dialog.isVisible():
            return
        if self._host.isAncestorOf(new) and not self.isAncestorOf(new):
            self.dialog.focus_again()

    def leave(self) -> None:
        """Stop following the host; before it is deleted."""
        self._host.removeEventFilter(self)
        self.hide()
        self.deleteLater()

    def refit(self) -> None:
        self.setGeometry(self._host.rect())
        if self.dialog is not None:
            self.dialog.fit()
        self.update()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._host and event.type() == QEvent.Type.Resize:
            self.refit()
        elif watched is self._host and event.type() == QEvent.Type.ChildAdded and self.isVisible():
            self.raise_()
        return False

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """A click beside the dialog does nothing but give it the keyboard back."""
        if self.dialog is not None:
            self.dialog.focus_again()
        event.accept()

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.accept()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        dark = theme().tokens.dark
        painter.fillRect(self.rect(), QColor(0, 0, 0, 150) if dark else QColor(31, 32, 35, 90))
        if self.dialog is not None and self.dialog.isVisible():
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(0, 0, 0, 9 if dark else 6))
            card = QRectF(self.dialog.geometry()).translated(QPoint(0, 4))
            for spread in range(_SHADOW, 0, -2):
                painter.drawRoundedRect(card.adjusted(-spread, -spread, spread, spread), 14 + spread, 14 + spread)
        painter.end()
