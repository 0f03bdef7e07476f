"""Ollama, on this machine or at ollama.com."""

from __future__ import annotations

from collections.abc import Mapping

from atelier_desk.domain.image_limits import JPEG, PNG, PictureLimits
from atelier_desk.llm.provider_type_registry import ProviderType, RecognisedKey, register, server
from atelier_desk.support.i18n import N_

VERSION, MODELS = "/api/version", "/api/tags"


def recognise(answers: Mapping[str, dict[str, object]]) -> RecognisedKey | None:
    version, items = answers[VERSION].get("version"), answers[MODELS].get("models")
    if not isinstance(version, str) or not isinstance(items, list):
        return None
    names = tuple(item["name"] for item in items if isinstance(item, dict) and isinstance(item.get("name"), str))
    return RecognisedKey("Ollama", "", names, version)


register(
    ProviderType(
        kind="ollama",
        title=N_("Ollama"),
        name="Ollama",
        create=server("atelier_desk.llm.ollama", "OllamaProvider"),
        order=10,
        url="http://localhost:11434",
        embeds=True,
        free=True,
        models_page=MODELS,
        models_key="models",
        at_root=True,
        ports=(11434,),
        pages=(VERSION, MODELS),
        recognise=recognise,
        pictures=PictureLimits(kinds=(PNG, JPEG)),  # older versions do not support WebP
    )
)
