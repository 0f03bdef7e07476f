"""The page of pictures and 3D."""

from __future__ import annotations

from typing import Any

import pytest

from atelier_desk.desktop.settings.window import SettingsWindow
from atelier_desk.domain.settings import MediaSettings
from tests.desktop.settings.conftest import Engine
from tests.support.fake_bridge import settle


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
    assert (page.apply.isEnabled(), page.models_key.isVisibleTo(page), page.forget.isVisibleTo(page)) == (False, False, True)
    page.images.setText("https://images.example.org/v1/")
    page.images_model.setText("painter")
    page.models.setCurrentIndex(page.models.findData("meshy"))
    page.models_key.setText("key-of-meshy")
    page.sees.setText("Ollama/qwen3-vl")
    page.apply.click()
    await settle()
    wanted = MediaSettings(images="https://images.example.org/v1", images_model="painter", models="meshy", sees="Ollama/qwen3-vl")
    assert used == [(wanted, {"meshy": "key-of-meshy"})]
    assert (page.busy.text.text(), page.models_key.text()) == ("Changed.", "")


async def test_what_cannot_be_an_address_or_a_model_is_told(page: Any) -> None:
    for field, text in ((page.images, "ftp://x"), (page.sees, "model-without-provider"), (page.images_env, "two words")):
        field.setText(text)
        assert (page.apply.isEnabled(), "https://" in page.busy.text.text()) == (False, True)
        field.clear()
