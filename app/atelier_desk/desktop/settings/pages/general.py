"""General: language, look, notifications. Everything applies at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QCheckBox, QComboBox, QHBoxLayout, QLabel, QSlider, QSpinBox, QWidget

from atelier_desk.desktop.settings.language import switch_language
from atelier_desk.desktop.settings.page import SettingsPage
from atelier_desk.desktop.settings.registry import settings_page
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import control, fill, say
from atelier_desk.domain import limits
from atelier_desk.domain.settings import Settings
from atelier_desk.figures import NARROW
from atelier_desk.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge import Bridge

LANGUAGES = (("system", ""), ("en", "English"), ("fr", "Français"))
"""Languages in their own words; the first is translated."""
SCALE_STEP = 10
SAVE_MS = 250


@settings_page("general", order=10, icon="sliders-horizontal", title=N_("General"))
class GeneralPage(SettingsPage):
    """``language-select``, ``theme-select``, font scale, notifications, how many workflows run at once, how long a model may be silent."""

    topics = ("settings",)

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(bridge, parent)
        self._look_heading, look = self.section()
        self.language = control(QComboBox(self), "language-select")
        for code, name in LANGUAGES:
            self.language.addItem(name, code)
        self.theme = control(QComboBox(self), "theme-select")
        for mode in ("system", "light", "dark"):
            self.theme.addItem("", mode)
        self._language_row, self._theme_row = self.row(look, self.language), self.row(look, self.theme)
        self._scale_row = self.row(look, self._build_scale())
        self._work_heading, work = self.section()
        self.notifications = control(QCheckBox(self), "notifications")
        self._notifications_row = self.row(work, self.notifications)
        self.running = control(QSpinBox(self), "workflows-running")
        self.running.setRange(1, 32)
        self._running_row = self.row(work, self.running)
        self.inactivity = control(QSpinBox(self), "inactivity")
        self.inactivity.setRange(*limits.INACTIVITY)
        self.inactivity.setSingleStep(30)
        self.inactivity.setKeyboardTracking(False)  # a number half typed is not meant
        self._inactivity_row = self.row(work, self.inactivity)
        self.fsync = control(QCheckBox(self), "fsync")
        self._fsync_row = self.row(work, self.fsync)
        self.end()
        self._saving = QTimer(self)
        self._saving.setSingleShot(True)
        self._saving.setInterval(SAVE_MS)
        self._saving.timeout.connect(lambda: self._save(font_scale=self.scale.value() * SCALE_STEP))
        self.language.activated.connect(lambda _index: self._set_language())
        self.theme.activated.connect(lambda _index: self._set_theme())
        self.scale.valueChanged.connect(self._set_scale)
        self.notifications.clicked.connect(lambda on: self._save(notifications=on))
        self.fsync.clicked.connect(lambda on: self._save(fsync=on))
        self.running.valueChanged.connect(lambda value: self._save(workflows_running=value))
        self.inactivity.valueChanged.connect(lambda value: self._save(inactivity_s=value))
        say(self._look_heading, N_("LANGUAGE AND LOOK"))
        say(self._work_heading, N_("WORK"))
        self.retranslate()

    def _build_scale(self) -> QWidget:
        box = QWidget(self)
        self.scale = control(QSlider(Qt.Orientation.Horizontal, box), "font-scale", name=N_("Size of text"))
        self.scale.setRange(80 // SCALE_STEP, 200 // SCALE_STEP)
        self.scale.setValue(100 // SCALE_STEP)
        self.scale.setPageStep(2)
        self.scale.setTracking(False)  # dressing the whole program again at every pixel of a drag would stutter
        self.scale.sliderMoved.connect(self._show_scale)
        self.scale.setFixedWidth(200)
        self._scale_text = QLabel(box)
        self._scale_text.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        fill(QHBoxLayout(box), self.scale, self._scale_text, margins=(0, 0, 0, 0), spacing=10)
        return box

    async def load(self) -> None:
        settings: Settings = await self.bridge.engine.settings.get()
        for widget in (self.language, self.theme, self.scale, self.notifications, self.running, self.inactivity, self.fsync):
            widget.blockSignals(True)
        self.language.setCurrentIndex(self.language.findData(settings.language))
        self.theme.setCurrentIndex(self.theme.findData(settings.theme))
        if not self._saving.isActive():
            self.scale.setValue(round(settings.font_scale / SCALE_STEP))
        self.notifications.setChecked(settings.notifications)
        self.running.setValue(settings.workflows_running)
        self.inactivity.setValue(settings.inactivity_s)
        self.fsync.setChecked(settings.fsync)
        for widget in (self.language, self.theme, self.scale, self.notifications, self.running, self.inactivity, self.fsync):
            widget.blockSignals(False)
        self._show_scale()

    def _save(self, **fields: Any) -> None:
        self.call(self.bridge.engine.settings.update(**fields))

    def _set_language(self) -> None:
        code = self.language.currentData()
        self._save(language=code)
        switch_language(code)

    def _set_theme(self) -> None:
        mode = self.theme.currentData()
        theme().set_mode(mode)
        self._save(theme=mode)

    def _set_scale(self, value: int) -> None:
        self._show_scale()
        theme().set_scale(value * SCALE_STEP)
        self._saving.start()

    def _show_scale(self, value: int | None = None) -> None:
        steps = self.scale.value() if value is None else value
        self._scale_text.setText(_("{number} %", number=steps * SCALE_STEP))
        self._scale_text.setMinimumWidth(self._scale_text.fontMetrics().horizontalAdvance("200 %") + 4)

    def retranslate(self) -> None:
        self.language.setItemText(0, _("Like the system"))
        for row, text in enumerate((_("Like the system"), _("Light"), _("Dark"))):
            self.theme.setItemText(row, text)
        self._language_row.set_texts(_("Language"))
        self._theme_row.set_texts(_("Theme"))
        self._scale_row.set_texts(_("Size of text"))
        self._notifications_row.set_texts(
            _("Notifications"), _("Call me when an agent needs me, or a conversation I am not looking at has finished.")
        )
        self._running_row.set_texts(_("Workflows at work at once"), _("Others wait their turn."))
        self.inactivity.setSuffix(f"{NARROW}s")
        silent = _("A model that says nothing for this long, or a sub-agent that does nothing, is ended with an error.")
        self._inactivity_row.set_texts(_("Longest silence"), silent)
        slow = _("Off is faster and survives a killed program, but not a power cut. Takes effect at the next start.")
        self._fsync_row.set_texts(_("Wait for the disk at each step"), slow)
        self._show_scale()
