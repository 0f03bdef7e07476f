"""A kind of model server added by someone else is in settings and first start without changing another file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.desktop.first_start.model_step import ModelStep
from atelier_desk.desktop.settings.provider_form import ProviderForm, kind_text
from atelier_desk.desktop.settings.provider_preset_picker import PresetPicker
from atelier_desk.desktop.settings.window import SettingsWindow
from tests.helpers.fake_bridge import FakeBridge, settle
from tests.helpers.list_texts import titles
from tests.helpers.provider_plugin import plugged


@pytest.fixture(autouse=True)
def _acme(tmp_path: Path) -> Iterator[None]:
    with plugged(tmp_path):
        yield


def test_the_form_offers_an_added_kind(qtbot: Any) -> None:
    form = ProviderForm()
    qtbot.addWidget(form)
    kinds = [form.kind.itemData(row) for row in range(form.kind.count())]
    assert kinds == ["ollama", "acme", "mistral", "anthropic", "google", "responses", "openai"]
    form.show_config(None, persistent=True)
    form.prefill("acme", "Acme", "")
    assert form.kind.currentText() == "Acme Brains"
    assert form.url.placeholderText() == "https://acme.example"
    assert form.config().kind == "acme"


async def test_the_list_of_services_offers_an_added_kind(window: SettingsWindow) -> None:
    window.show_page("providers")
    await settle()
    page: Any = window.page("providers")
    page.buttons["add"].click()
    await settle()
    picker: Any = window.findChild(PresetPicker)
    picker.list.select_row(titles(picker.list).index("Acme"))
    picker.continue_button.click()
    await settle()
    assert (page.form.kind.currentData(), page.form.name.text()) == ("acme", "Acme")


def test_first_start_has_a_card_for_an_added_kind(qtbot: Any, bridge: FakeBridge) -> None:
    step = ModelStep(bridge)
    qtbot.addWidget(step)
    card = next(card for card in step.choices if card.name == "acme")
    draft, model = step._draft(card)
    assert draft is not None
    assert (draft.config.kind, draft.config.name, model) == ("acme", "Acme", "acme-1")


def test_an_unregistered_kind_is_shown_by_its_name() -> None:
    assert kind_text("gone") == "gone"
