"""The page of images and 3D."""

from __future__ import annotations

from typing import Any

import pytest

from atelier_desk.desktop.settings.window import SettingsWindow
from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.settings import MediaSettings
from atelier_desk.engine.services.media import MediaTrial
from tests.desktop.settings.conftest import Engine
from tests.helpers.fake_bridge import settle


@pytest.fixture
async def page(window: SettingsWindow) -> Any:
    window.show_page("media")
    await settle()
    return window.page("media")


async def test_services_are_set_up_with_their_keys(page: Any, atelier: Engine) -> None:
    used: list[tuple[MediaSettings, dict[str, str]]] = []

    def use(settings: MediaSettings, keys: dict[str, str]) -> bool:
        used.append((settings, keys))
        return True

    atelier.set("media", "use", use)
    assert (
        page.apply.isEnabled(),
        page.form.controls["models_key"].isVisibleTo(page),
        page.forget_button.isVisibleTo(page),
    ) == (
        False,
        False,
        True,
    )
    page.form.controls["images"].setText("https://images.example.org/v1/")
    page.form.controls["images_model"].setText("painter")
    page.form.controls["models"].setCurrentIndex(page.form.controls["models"].findData("meshy"))
    page.form.controls["models_key"].setText("key-of-meshy")
    page.form.controls["sees"].setText("Ollama/qwen3-vl")
    page.apply.click()
    await settle()
    expected = MediaSettings(
        images="https://images.example.org/v1", images_model="painter", models="meshy", sees="Ollama/qwen3-vl"
    )
    assert used == [(expected, {"meshy": "key-of-meshy"})]
    assert (page.busy.text.text(), page.form.controls["models_key"].text()) == ("Saved.", "")


@pytest.mark.parametrize(
    ("field", "text", "message"),
    [
        *(("images", text, "Address (image generation): Must start with https://")
          for text in ("ftp://x", "nonsense", "https://", "https://user:pw@x.org", "https://x.org/?a=b",
          "https://x.org:99999/v1", "https://x.org:0",
                       "https://x y", "https://[::1", "https://x.org:abc", "https://" + "x" * 2_001, "https://?",
                       "https://:80/")),
        *(("models_address", text, "Address (3D models): ") for text in ("tripo", "https://@x", "http://x.org#a")),
        *(("images_key_env", text, "Environment variable (image generation): ")
          for text in ("two words", "1KEY", "KEY=x", "ÉCLÉ", "$KEY", "K" * 129)),
        ("models_key_env", "a-b", "Environment variable (3D models): "),
        *(("sees", text, "Vision model: ") for text in ("model", "/model", "openai/", "x/" + "y" * 600)),
        ("images_model", "m" * 513, "Model (image generation): "),
    ],
)  # fmt: skip
async def test_each_wrong_field_is_named_and_nothing_typed_is_lost(
    page: Any, field: str, text: str, message: str
) -> None:
    page.form.controls["models"].setCurrentIndex(page.form.controls["models"].findData("tripo"))
    page.form.controls["images_model"].setText("painter")
    page.form.controls[field].setText(text)
    assert (page.apply.isEnabled(), message in page.busy.text.text(), page.form.controls[field].text()) == (
        False,
        True,
        text,
    ), page.busy.text.text()
    page.form.controls[field].clear()
    assert page.busy.isHidden()


async def test_services_are_tested_with_the_typed_values(page: Any, atelier: Engine) -> None:
    tried: list[tuple[str, MediaSettings, dict[str, str]]] = []

    def test(what: str, settings: MediaSettings, keys: dict[str, str]) -> MediaTrial:
        tried.append((what, settings, keys))
        if what == "models":
            raise ProviderError("The key is refused.", code="auth")
        return MediaTrial(known=False)

    atelier.set("media", "test", test)
    assert not page.test_images.isEnabled()
    page.form.controls["images"].setText("https://images.example.org/v1")
    page.form.controls["images_model"].setText("painter")
    page.form.controls["images_key"].setText("typed")
    page.test_images.click()
    await settle()
    assert (page.busy.text.text(), tried[0][0], tried[0][2]) == (
        "The service answers but does not list the model painter.",
        "images",
        {"images": "typed"},
    )
    page.form.controls["models"].setCurrentIndex(page.form.controls["models"].findData("meshy"))
    page.test_models.click()
    await settle()
    assert (page.busy.text.text(), page.form.controls["images_key"].text()) == ("The key is refused.", "typed")
