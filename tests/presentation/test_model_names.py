"""One name for the built-in provider and its model, in both languages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from atelier_desk.domain.provider import BUILTIN, STARTER, STARTER_TITLE, ModelInfo
from atelier_desk.llm.provider_type_registry import builtin_type
from atelier_desk.presentation.model_names import model_name, name_of_key, provider_name, unlisted_model_name
from atelier_desk.support import i18n


@pytest.fixture(params=["en", "fr"])
def names(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    i18n.set_language(request.param)
    yield ("Built-in", "Starter (offline)") if request.param == "en" else ("Intégré", "Modèle intégré")
    i18n.set_language("en")


def test_the_built_in_model_has_one_name(names: tuple[str, str]) -> None:
    provider, model = names
    assert provider_name(BUILTIN) == provider == i18n._(builtin_type().title)
    assert model_name(ModelInfo(provider=BUILTIN, name=STARTER, label=STARTER_TITLE, starter=True)) == model
    assert unlisted_model_name(BUILTIN, STARTER) == model
    assert name_of_key(f"{BUILTIN}/{STARTER}") == f"{provider}/{model}"


def test_other_names_stay() -> None:
    assert model_name(ModelInfo(provider="Mistral", name="m", label="Mistral M")) == "Mistral M"
    assert model_name(ModelInfo(provider=BUILTIN, name="m")) == "m"
    assert [name_of_key(each) for each in ("Mistral/a/b", "m", "")] == ["Mistral/a/b", "m", ""]
