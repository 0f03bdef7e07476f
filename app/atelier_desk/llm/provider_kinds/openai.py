"""Servers with OpenAI's chat completions, including OpenAI itself."""

from __future__ import annotations

from collections.abc import Mapping

from atelier_desk.domain.image_limits import JPEG, PNG, PictureLimits
from atelier_desk.llm.prices import Prices
from atelier_desk.llm.provider_type_registry import ProviderType, RecognisedKey, register, server
from atelier_desk.support.i18n import N_

LM_STUDIO, LLAMA_CPP, MODELS = "/api/v0/models", "/props", "/v1/models"
# Source: openai.com/api/pricing.
PRICES = (
    (r"gpt-5(\.1)?(-chat-latest|-codex)?", Prices(1.25, 10.0, "2025-11-13")),
    (r"gpt-5-mini", Prices(0.25, 2.0, "2025-11-13")),
    (r"gpt-5-nano", Prices(0.05, 0.4, "2025-11-13")),
    (r"gpt-4\.1", Prices(2.0, 8.0, "2025-07-04")),
    (r"gpt-4\.1-mini", Prices(0.4, 1.6, "2025-07-04")),
    (r"gpt-4\.1-nano", Prices(0.1, 0.4, "2025-07-04")),
    (r"gpt-4o", Prices(2.5, 10.0, "2025-07-04")),
    (r"gpt-4o-mini", Prices(0.15, 0.6, "2025-07-04")),
    (r"o3", Prices(2.0, 8.0, "2025-07-04")),
    (r"o[34]-mini", Prices(1.1, 4.4, "2025-07-04")),
    (r"text-embedding-3-small", Prices(0.02, 0.0, "2025-07-04")),
    (r"text-embedding-3-large", Prices(0.13, 0.0, "2025-07-04")),
)


def recognise(answers: Mapping[str, dict[str, object]]) -> RecognisedKey | None:
    """Recognise LM Studio and llama.cpp by their own pages, any other server by its model list."""
    if isinstance(items := answers[LM_STUDIO].get("data"), list):
        return RecognisedKey("LM Studio", "/v1", _names(items))
    if not isinstance(items := answers[MODELS].get("data"), list):
        return None
    props = answers[LLAMA_CPP]
    if "default_generation_settings" in props or any(
        isinstance(item, dict) and item.get("owned_by") == "llamacpp" for item in items
    ):
        return RecognisedKey("llama.cpp", "/v1", _names(items), str(props.get("build_info", "")))
    return RecognisedKey("OpenAI-compatible", "/v1", _names(items))


def _names(items: list[object]) -> tuple[str, ...]:
    return tuple(item["id"] for item in items if isinstance(item, dict) and isinstance(item.get("id"), str))


register(
    ProviderType(
        kind="openai",
        title=N_("OpenAI-compatible"),
        name="OpenAI",
        create=server("atelier_desk.llm.openai_responses.newer_model_routing", "CompatibleProvider"),
        order=30,
        url="https://api.openai.com/v1",
        any_server=True,
        embeds=True,
        prices=PRICES,
        ports=(1234, 8080),
        pages=(LM_STUDIO, LLAMA_CPP, MODELS),
        recognise=recognise,
        # xAI accepts only JPEG and PNG, like llama.cpp's image reader (stb_image).
        pictures=PictureLimits(kinds=(PNG, JPEG)),
    )
)
