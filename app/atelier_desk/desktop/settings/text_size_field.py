"""The field of the text size: a slider with its percentage."""

from __future__ import annotations

from pydantic import BaseModel
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from atelier_desk.desktop.settings.fields import Changed, Field, bounds
from atelier_desk.desktop.widgets import control, hbox
from atelier_desk.desktop.widgets.cards_buttons_labels import PlainLabel
from atelier_desk.desktop.widgets.debouncer import Debouncer
from atelier_desk.desktop.widgets.wheel_safe_inputs import Slider
from atelier_desk.domain.settings import Settings
from atelier_desk.support.i18n import N_, _

SCALE_STEP = 10
SAVE_MS = 250


class ScaleSlider(QWidget):
    """``font-scale`` with its percentage; ``changed`` is called with the scale a moment after the last step."""

    def __init__(self, parent: QWidget, changed: Changed) -> None:
        super().__init__(parent)
        self.slider = control(Slider(Qt.Orientation.Horizontal, self), "font-scale", name=N_("Text size"))
        least, most = bounds("font_scale", Settings) or (100, 100)
        self.slider.setRange(round(least / SCALE_STEP), round(most / SCALE_STEP))
        self.slider.setValue(100 // SCALE_STEP)
        self.slider.setPageStep(2)
        self.slider.setTracking(False)  # restyling the program at every pixel of a drag would stutter
        self.slider.setFixedWidth(200)
        self.percent = PlainLabel(parent=self)
        self.percent.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        hbox(self, self.slider, self.percent, spacing=10)
        self.saving = Debouncer(self, SAVE_MS, lambda: changed(self.slider.value() * SCALE_STEP))
        self.slider.sliderMoved.connect(self.show_percent)
        self.slider.valueChanged.connect(self._set)

    def _set(self, value: int) -> None:
        self.show_percent(value)
        self.saving.start()

    def show_percent(self, value: int) -> None:
        self.percent.setText(_("{number}%", number=value * SCALE_STEP))
        self.percent.setMinimumWidth(self.percent.fontMetrics().horizontalAdvance("200 %") + 4)


class Scale(Field):
    """Text size, in steps of ten percent."""

    def make(self, parent: QWidget, model: type[BaseModel], changed: Changed) -> QWidget:
        return ScaleSlider(parent, changed)

    def show(self, control: ScaleSlider, value: float) -> None:
        if not control.saving.isActive():
            control.slider.blockSignals(True)
            control.slider.setValue(round(value / SCALE_STEP))
            control.slider.blockSignals(False)
        control.show_percent(control.slider.value())
