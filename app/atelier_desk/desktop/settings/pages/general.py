"""General: language, appearance, notifications. Changes apply at once."""

from __future__ import annotations

from pydantic import BaseModel
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QWidget

from atelier_desk.desktop.settings.declarative_page import RowsPage, Section
from atelier_desk.desktop.settings.fields import Changed, Choice, Field, Number, Toggle, bounds
from atelier_desk.desktop.settings.registry import settings_page
from atelier_desk.desktop.widgets import control, fill
from atelier_desk.desktop.widgets.cards_buttons_labels import PlainLabel
from atelier_desk.desktop.widgets.debouncer import Debouncer
from atelier_desk.desktop.widgets.wheel_safe_inputs import Slider
from atelier_desk.domain.settings import Settings
from atelier_desk.support.i18n import LANGUAGES, N_, _, native_name
from atelier_desk.support.number_format import NARROW

LANGUAGE_CHOICES = (("system", N_("System default")), *((code, native_name(code)) for code in LANGUAGES))
THEMES = (("system", N_("System default")), ("light", N_("Light")), ("dark", N_("Dark")))
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
        fill(QHBoxLayout(self), self.slider, self.percent, margins=(0, 0, 0, 0), spacing=10)
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


@settings_page("general", order=10, icon="sliders-horizontal", title=N_("General"), section=N_("Application"))
class GeneralPage(RowsPage):
    """``language-select``, ``theme-select``, font scale, notifications, parallel workflows, inactivity timeout."""

    sections = (
        Section(
            N_("Language and appearance"),
            Choice(
                "language",
                N_("Language"),
                name="language-select",
                choices=LANGUAGE_CHOICES,
            ),
            Choice(
                "theme",
                N_("Theme"),
                name="theme-select",
                choices=THEMES,
            ),
            Scale("font_scale", N_("Text size")),
        ),
        Section(
            N_("Workflows and notifications"),
            Toggle(
                "notifications",
                N_("Notifications"),
                N_("Notify me when an agent needs me or when a workflow finishes in the background."),
            ),
            Number(
                "remind_minutes",
                N_("Remind me every"),
                N_("Repeats the notification while a question or an approval is waiting; 0 notifies once."),
                "remind-minutes",
                step=5,
                suffix=f"{NARROW}min",
                zero=N_("never"),
            ),
            Toggle(
                "name_by_model",
                N_("Generate titles with the model"),
                N_(
                    "Sends one short request after the first answer. When off, the title is the start of the first "
                    "message."
                ),
            ),
            Toggle(
                "stop_repetition",
                N_("Stop models that repeat themselves"),
                N_(
                    "Stops a reply when the same passage occurs 12 times in a row. The text is kept; choose “Continue” "
                    "for the rest."
                ),
            ),
            Number("workflows_running", N_("Parallel workflows"), N_("Others wait in a queue."), "workflows-running"),
            Number(
                "inactivity_s",
                N_("Inactivity timeout"),
                N_("A model or sub-agent that stays inactive for this long is stopped with an error."),
                "inactivity",
                step=30,
                suffix=f"{NARROW}s",
            ),
            Toggle(
                "fsync",
                N_("Sync every step to disk"),
                N_(
                    "Atelier is faster with this off, but data then survives only a crash of the program, "
                    "not a power cut. Applies at the next start."
                ),
            ),
        ),
    )
