"""Pictures and 3D: the model that describes pictures, and the services that make pictures and models."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QLineEdit, QPushButton, QVBoxLayout, QWidget

from atelier_desk.desktop.jobs import error_text
from atelier_desk.desktop.settings.busy import Busy
from atelier_desk.desktop.settings.held_list import HeldList
from atelier_desk.desktop.settings.key_note import KeyNote, saved_words
from atelier_desk.desktop.settings.page import SettingsPage
from atelier_desk.desktop.settings.registry import settings_page
from atelier_desk.desktop.settings.wrong import wrong_fields, wrong_words
from atelier_desk.desktop.widgets import FlowLayout, control, fill, label, say
from atelier_desk.desktop.widgets.inputs import ComboBox
from atelier_desk.domain.from_elsewhere import HeldKind
from atelier_desk.domain.settings import MediaSettings
from atelier_desk.i18n import N_, _
from atelier_desk.trial_words import trial_words
from atelier_desk.web.making import SERVICES

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge import Bridge
    from atelier_desk.engine.services.media import MediaState, MediaTrial

_VARIABLE = N_("environment variable name")
_TITLES = {"sees": N_("Vision model"), "images": N_("Address (image generation)"), "images_model": N_("Model (image generation)"),
           "images_key_env": N_("Variable (image generation)"), "models_address": N_("Address (3D models)"),
           "models_key_env": N_("Variable (3D models)")}  # fmt: skip


@settings_page("media", order=53, icon="image", title=N_("Images and 3D"))
class MediaPage(SettingsPage):
    """``media-sees``, ``media-images``, ``media-images-model``, keys and variables, ``media-models``, ``media-apply``,
    ``media-test-images``, ``media-test-models``."""

    topics = ("settings",)

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(bridge, parent)
        self._saved = MediaSettings()
        self._state: MediaState | None = None
        self._complained = False
        about = N_(
            "Text recognition and 3D rendering run on this computer. The services below receive images or text; "
            "agents can use them only after you set them up."
        )
        self.column.addWidget(control(label("", "muted", self, wrap=True), "media-about", about))
        self.column.addSpacing(12)
        card = self.section(N_("IMAGE DESCRIPTION"))
        self.sees = self._line("media-sees", lambda: _("such as {name}", name="openai/gpt-5"))
        self.row(card, self.sees, N_("Vision model"), N_("provider/model"), stretch=True)
        card = self.section(N_("IMAGE GENERATION"))
        self.held = HeldList(self, lambda grant: grant.kind in (HeldKind.IMAGES, HeldKind.MODELS))
        card.body.addWidget(self.held)
        self.images = self._line("media-images", lambda: "https://api.openai.com/v1")
        self.images_model = self._line("media-images-model", lambda: _("such as {name}", name="gpt-image-1"))
        self.images_key = self._secret("media-images-key", lambda: ("images",))
        self.images_env = self._line("media-images-key-env", lambda: _(_VARIABLE))
        self.row(card, self.images, N_("Address"), N_("An OpenAI-compatible images endpoint."), stretch=True)
        self.row(card, self.images_model, N_("Model"), stretch=True)
        self.row(card, self.images_key, N_("API key"), stretch=True)
        self.key_note = KeyNote(bridge, "media", self)
        self.key_note.variable_wanted.connect(self.images_env.setFocus)
        card.body.addWidget(self.key_note)
        self.row(card, self.images_env, N_("or environment variable"), stretch=True)
        card = self.section(N_("3D MODELS"))
        self.models = control(ComboBox(self), "media-models")
        for name in ("off", *SERVICES):
            self.models.addItem("", name)
        say(self.models, items=[N_("None"), *(service.title for service in SERVICES.values())])
        self.address = self._line("media-models-address", lambda: SERVICES[self._kind()].address if self._kind() in SERVICES else "")
        self.models_key = self._secret("media-models-key", lambda: (self._kind(),))
        self.models_env = self._line("media-models-key-env", lambda: _(_VARIABLE))
        self.row(card, self.models, N_("Service"), stretch=True)
        self._rows = (
            self.row(card, self.address, N_("Address"), N_("Leave empty for the service's default."), stretch=True),
            self.row(card, self.models_key, N_("API key"), stretch=True),
            self.row(card, self.models_env, N_("or environment variable"), stretch=True),
        )
        self.apply = control(QPushButton(self), "media-apply", N_("Save"), look="primary", on=self._apply)
        self.forget = control(QPushButton(self), "media-forget", N_("Forget the keys"), on=self._forget)
        buttons = FlowLayout(spacing=8)
        self.test_images = control(QPushButton(self), "media-test-images", N_("Test image generation"), on=lambda: self._test("images"))
        self.test_models = control(QPushButton(self), "media-test-models", N_("Test 3D service"), on=lambda: self._test("models"))
        for button in (self.test_images, self.test_models, self.forget):
            buttons.addWidget(button)
        self.column.addLayout(buttons)
        self.busy = Busy(self)
        note = QWidget(self)
        fill(QVBoxLayout(note), self.busy, margins=(0, 0, 0, 0))
        self.foot(note, self.apply)
        self.end()
        self._lines: tuple[tuple[QLineEdit, str], ...] = (
            (self.sees, "sees"),
            (self.images, "images"),
            (self.images_model, "images_model"),
            (self.images_env, "images_key_env"),
            (self.address, "models_address"),
            (self.models_env, "models_key_env"),
        )
        for field in (*(field for field, _name in self._lines), self.images_key, self.models_key):
            field.textEdited.connect(lambda _text: self._touched())
            field.textChanged.connect(lambda _text: self._check())
        self.models.currentIndexChanged.connect(lambda _index: self._show_fields())
        self._show_fields()

    def _line(self, name: str, hint: Callable[[], str]) -> QLineEdit:
        return control(QLineEdit(self), name, hint=hint)

    def _secret(self, name: str, of: Callable[[], tuple[str, ...]]) -> QLineEdit:
        def hint() -> str:
            kept = self._state is not None and set(of()) & set(self._state.keys)
            return _("stored; type to replace") if kept else ""

        made = self._line(name, hint)
        made.setEchoMode(QLineEdit.EchoMode.Password)
        return made

    async def load(self) -> None:
        state = await self.bridge.engine.media.state()
        await self.held.load()
        fresh = self._state is None or state.settings != self._saved
        self._state, self._saved = state, state.settings
        if fresh:
            self.models.setCurrentIndex(max(0, self.models.findData(state.settings.models)))
            for field, name in self._lines:
                field.setText(getattr(state.settings, name))
        self._show_fields()

    def _kind(self) -> str:
        return str(self.models.currentData() or "off")

    def _show_fields(self) -> None:
        for row in self._rows:
            row.setVisible(self._kind() != "off")
        for field in (self.address, self.images_key, self.models_key):
            say(field)
        self._check()

    def _touched(self) -> None:
        """What is said is about what was there before."""
        self._complained = False
        if not self.busy.running:
            self.busy.hide()

    def _said(self) -> dict[str, str]:
        said = {name: field.text().strip() for field, name in self._lines}
        return {**said, **{name: said[name].rstrip("/") for name in ("images", "models_address")}, "models": self._kind()}

    def _entered(self) -> tuple[MediaSettings | None, dict[str, str]]:
        keys = {"images": self.images_key.text().strip(), self._kind(): self.models_key.text().strip()}
        try:
            settings = MediaSettings.model_validate(self._said())
        except ValueError:
            return None, {}
        return settings, {name: key for name, key in keys.items() if key and name != "off"}

    def _check(self) -> None:
        entered, keys = self._entered()
        self.apply.setEnabled(entered is not None and (entered != self._saved or bool(keys)))
        self.forget.setVisible(self._state is not None and bool(self._state.keys))
        if entered is None:
            self._complained = True
            self.busy.note(wrong_words(wrong_fields(MediaSettings, self._said()), _TITLES), "error")
        elif self._complained:
            self._touched()
        tried = entered or MediaSettings()
        self.test_images.setEnabled(bool(tried.images and tried.images_model))
        self.test_models.setVisible(self._kind() != "off")
        self.test_models.setEnabled(entered is not None)

    def _apply(self) -> None:
        entered, keys = self._entered()
        if entered is None:
            return

        async def job() -> None:
            try:
                kept = await self.bridge.engine.media.use(entered, keys)
            except Exception as error:
                self.busy.note(error_text(error), "error")
                return
            self._saved = entered
            self.images_key.clear()
            self.models_key.clear()
            self._check()
            self.busy.note(*saved_words(kept))

        self.jobs.once("media", job)

    def _test(self, what: str) -> None:
        entered, keys = self._entered()
        if entered is None:
            return

        async def job() -> None:
            try:
                found: MediaTrial = await self.bridge.engine.media.test(what, entered, keys)
            except Exception as error:
                self.busy.note(error_text(error), "error")
                return
            self.busy.note(trial_words(what, entered.images_model, found), "warn" if found.known is False else "ok")

        task = self.jobs.once("media", job)
        if task is not None:
            self.busy.watch(task, N_("Contacting the service"))

    def _forget(self) -> None:
        self.call(self.bridge.engine.media.forget_keys())
