"""Images and 3D: the vision model, and services that create images and 3D models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QPushButton, QWidget

from atelier_desk.desktop.settings.api_key_note import KeyNote
from atelier_desk.desktop.settings.fields import PRICE, PRICE_HINT, Address, Choice, Line, Number, Secret
from atelier_desk.desktop.settings.form_page import FormPage
from atelier_desk.desktop.settings.imported_grant_confirmation import HeldList
from atelier_desk.desktop.settings.progress_line import Outcome
from atelier_desk.desktop.settings.registry import settings_page
from atelier_desk.desktop.widgets import bind_text
from atelier_desk.domain.imported_grant import HeldKind
from atelier_desk.domain.settings import MediaSettings
from atelier_desk.presentation.media_connection_test_text import connection_test_text
from atelier_desk.support.i18n import N_, _
from atelier_desk.web.media_generation import SERVICES

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.engine.services.media import MediaState, MediaTrial

VARIABLE = N_("environment variable name")
USUAL = N_("Leave empty for the service's default.")


@settings_page("media", order=81, icon="image", title=N_("Images and 3D"), part_of="web")
class MediaPage(FormPage):
    """The page of image and 3D services.

    Controls: ``media-sees``, ``media-images``, ``media-images-model``, keys and variables, ``media-models``,
    ``media-apply``, ``media-test-images``, ``media-test-models``.
    """

    titles = {
        "images": N_("Address (image generation)"),
        "images_model": N_("Model (image generation)"),
        "images_key_env": N_("Environment variable (image generation)"),
        "images_price": N_("Price per image ($)"),
        "models_price": N_("Price per 3D model ($)"),
        "models_address": N_("Address (3D models)"),
        "models_key_env": N_("Environment variable (3D models)"),
    }

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(bridge, parent)
        self._state: MediaState | None = None
        services = [("off", N_("None")), *((name, service.title) for name, service in SERVICES.items())]
        self.build_form(
            MediaSettings,
            "media",
            Line(
                "sees",
                N_("Vision model"),
                N_("Format: provider/model"),
                example=lambda: _("such as {name}", name="openai/gpt-5"),
            ),
            Address(
                "images",
                N_("Address"),
                N_("An OpenAI-compatible image generation endpoint."),
                example=lambda: "https://api.openai.com/v1",
            ),
            Line("images_model", N_("Model"), example=lambda: _("such as {name}", name="gpt-image-1")),
            Secret("images_key", N_("API key"), example=lambda: self._key_hint("images")),
            Line("images_key_env", N_("or environment variable"), example=VARIABLE),
            Number("images_price", N_("Price per image ($)"), PRICE_HINT, **PRICE),
            Choice(
                "models",
                N_("Service"),
                choices=services,
                owns=("models_address", "models_key", "models_key_env", "models_price"),
            ),
            Address("models_address", N_("Address"), USUAL, example=self._usual_address),
            Secret("models_key", N_("API key"), example=lambda: self._key_hint(self._kind())),
            Line("models_key_env", N_("or environment variable"), example=VARIABLE),
            Number("models_price", N_("Price per 3D model ($)"), PRICE_HINT, **PRICE),
        )
        about = N_(
            "Text recognition and 3D rendering run on this computer. The services below receive images or text; "
            "agents can use them only after you set them up."
        )
        self.add_text(None, about, "media-about")
        self.column.addSpacing(12)
        self.form.row(self, self.section(N_("Image description")), "sees")
        card = self.section(N_("Image generation"))
        self.held = HeldList(self, lambda grant: grant.kind in (HeldKind.IMAGES, HeldKind.MODELS))
        card.body.addWidget(self.held)
        for key in ("images", "images_model", "images_key"):
            self.form.row(self, card, key)
        self.key_note = KeyNote(bridge, "media", self)
        self.key_note.variable_requested.connect(self.form.controls["images_key_env"].setFocus)
        card.body.addWidget(self.key_note)
        for key in ("images_key_env", "images_price"):
            self.form.row(self, card, key)
        card = self.section(N_("3D models"))
        for key in ("models", "models_address", "models_key", "models_key_env", "models_price"):
            self.form.row(self, card, key)
        self.test_images = self._tester("images", N_("Test image generation"))
        self.test_models = self._tester("models", N_("Test 3D service"))
        self.forget_button = self.button("media-forget", N_("Delete the keys"), self._delete_keys)
        self.button_row(None, self.test_images, self.test_models, self.forget_button)
        self.build_foot()
        self.end()
        self.check()

    def _tester(self, what: str, text: str) -> QPushButton:
        async def work(entered: MediaSettings, secrets: dict[str, str]) -> Outcome:
            found: MediaTrial = await self.bridge.engine.media.test(what, entered, self._keys(secrets))
            return lambda: connection_test_text(
                what, entered.images_model, found
            ), "warn" if found.known is False else "ok"

        return self.button(f"media-test-{what}", text, lambda: self.try_form(N_("Contacting the service…"), work))

    async def read(self) -> MediaSettings:
        self._state = await self.bridge.engine.media.state()
        await self.held.load()
        return self._state.settings

    def _kind(self) -> str:
        return str(self.value("models"))

    def _usual_address(self) -> str:
        return SERVICES[self._kind()].address if self._kind() in SERVICES else ""

    def _key_hint(self, of: str) -> str:
        return _("saved – type to replace") if self._state is not None and of in self._state.keys else ""

    def _keys(self, secrets: dict[str, str]) -> dict[str, str]:
        """API keys by service."""
        typed = {"images": secrets.get("images_key", ""), self._kind(): secrets.get("models_key", "")}
        return {name: key for name, key in typed.items() if key and name != "off"}

    def check(self) -> None:
        super().check()
        kind, entered = self._kind(), self.entered()
        for key in ("models_address", "models_key", "models_key_env", "models_price"):
            self.form.show_field(key, kind != "off")
        for key in ("models_address", "images_key", "models_key"):
            bind_text(self.form.controls[key])
        self.forget_button.setVisible(self._state is not None and bool(self._state.keys))
        self.test_images.setEnabled(entered is not None and bool(entered.images and entered.images_model))
        self.test_models.setVisible(kind != "off")
        self.test_models.setEnabled(entered is not None)

    async def use(self, entered: MediaSettings, secrets: dict[str, str]) -> bool:
        return await self.bridge.engine.media.use(entered, self._keys(secrets))

    def _delete_keys(self) -> None:
        self.call(self.bridge.engine.media.forget_keys())
