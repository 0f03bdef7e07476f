"""The field of the approval timeout."""

from __future__ import annotations

from PySide6.QtGui import QValidator
from PySide6.QtWidgets import QWidget

from atelier_desk.desktop.widgets.wheel_safe_inputs import SpinBox
from atelier_desk.domain import limits

LOW, HIGH = limits.APPROVAL_TIMEOUT


class TimeoutBox(SpinBox):
    """0 (no timeout) or 30–300 seconds; values in between are invalid."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setRange(0, HIGH)
        self.setKeyboardTracking(False)

    def stepBy(self, steps: int) -> None:
        """Steps of ten seconds; below the minimum comes "no timeout"."""
        target = self.value() + 10 * steps
        self.setValue(target if target >= LOW else LOW if steps > 0 else 0)

    def validate(self, text: str, at: int) -> tuple[QValidator.State, str, int]:
        """A partly typed number is intermediate."""
        state, typed, where = super().validate(text, at)
        if state == QValidator.State.Acceptable and 0 < self.valueFromText(typed) < LOW:
            state = QValidator.State.Intermediate
        return state, typed, where

    def fixup(self, text: str) -> str:
        """A value below the minimum becomes the minimum."""
        return self.textFromValue(LOW)
