"""Assumptions about models without a description."""

from __future__ import annotations

import pytest

from atelier_desk.domain.agent import AgentConfig, ToolDialect
from atelier_desk.domain.provider import ModelInfo
from atelier_desk.llm.model_assumptions import dialect_for, is_embedder_name, merge_profile, profile
from atelier_desk.llm.prices import price_of
from atelier_desk.llm.provider_type_registry import provider_type


@pytest.mark.parametrize(
    ("model", "tools", "thinking", "dialect"),
    [
        ("gpt-4o-mini", True, False, ToolDialect.NATIVE),
        ("openai/o3-mini", True, True, ToolDialect.NATIVE),
        ("gpt-oss:20b", True, True, ToolDialect.NATIVE),
        ("mistral-small-latest", True, True, ToolDialect.NATIVE),
        ("open-mistral-nemo", True, False, ToolDialect.NATIVE),
        ("qwen3:4b", True, True, ToolDialect.NATIVE),
        ("Qwen/Qwen2.5-7B-Instruct", True, False, ToolDialect.NATIVE),
        ("/models/Llama-3.2-3B-Instruct-Q4_K_M.gguf", True, False, ToolDialect.NATIVE),
        ("gemma3:4b", False, False, ToolDialect.XML),
        ("SmolLM2-135M-Instruct.Q4_1.gguf", False, False, ToolDialect.XML),
        ("smollm3", True, True, ToolDialect.NATIVE),
        ("deepseek-r1:8b", None, True, ToolDialect.NATIVE),
        ("solo-7b", None, None, ToolDialect.NATIVE),
        ("phi4-mini", True, False, ToolDialect.NATIVE),
    ],
)
def test_families(model: str, tools: bool | None, thinking: bool | None, dialect: ToolDialect) -> None:
    found = profile("openai", model)
    assert (found.supports_tools, found.supports_thinking, found.dialect) == (tools, thinking, dialect)


@pytest.mark.parametrize(
    ("model", "thinking", "window", "longest"),
    [
        ("claude-3-haiku-20240307", False, 200_000, 4_096), ("claude-3-5-sonnet-20241022", False, 200_000, 8_192),
        ("claude-3-7-sonnet-20250219", True, 200_000, 64_000), ("claude-opus-4-20250514", True, 200_000, 32_000),
        ("claude-opus-4-1", True, 200_000, 32_000), ("claude-sonnet-4-0", True, 200_000, 64_000),
        ("claude-sonnet-4-5-20250929", True, 200_000, 64_000), ("anthropic/claude-haiku-4.5", True, 200_000, 64_000),
        ("claude-opus-4-5-20251101", True, 200_000, 64_000), ("claude-sonnet-4-6", True, 1_000_000, 64_000),
        ("claude-opus-4-6", True, 1_000_000, 128_000), ("claude-opus-4-8", True, 1_000_000, 128_000),
        ("claude-sonnet-5", True, 1_000_000, 128_000), ("claude-fable-5", True, 1_000_000, 128_000),
        ("claude-x", True, 200_000, None),
    ],
)  # fmt: skip
def test_claude(model: str, thinking: bool, window: int, longest: int | None) -> None:
    """As on models.dev; values of the server or the list take precedence."""
    found = profile("", model)
    assert (found.supports_thinking, found.context_window, found.max_output) == (thinking, window, longest)


def agent(dialect: ToolDialect = ToolDialect.AUTO) -> AgentConfig:
    return AgentConfig(name="a", provider="p", model="m", tool_dialect=dialect)


@pytest.mark.parametrize(
    ("info", "dialect"),
    [
        ({"name": "anything", "supports_tools": True}, ToolDialect.NATIVE),
        ({"name": "qwen3:4b", "supports_tools": False}, ToolDialect.XML),
        ({"name": "qwen3:4b"}, ToolDialect.NATIVE),
        ({"name": "anything"}, ToolDialect.NATIVE),
        ({"name": "smollm2", "starter": True}, ToolDialect.GUIDED),
    ],
)
def test_dialects(info: dict[str, object], dialect: ToolDialect) -> None:
    model = ModelInfo.model_validate({"provider": "p", **info})
    assert dialect_for(agent(), model) is dialect
    assert dialect_for(agent(ToolDialect.XML), model) is ToolDialect.XML


def test_known_values_precede_assumptions() -> None:
    told = ModelInfo(
        provider="p", name="gpt-4o", context_window=5, supports_tools=False, price_input=9.0, source="user"
    )
    merged = merge_profile("openai", told)
    assert (merged.context_window, merged.supports_tools, merged.price_input, merged.source) == (5, False, 9.0, "user")
    assert (merged.price_output, merged.max_output_tokens, merged.supports_vision) == (10.0, 16_384, True)
    unknown = ModelInfo(provider="p", name="solo-7b")
    assert merge_profile("openai", unknown) == unknown
    assert merge_profile("openai", ModelInfo(provider="p", name="gpt-4o")).source == "profile"


@pytest.mark.parametrize(
    ("kind", "model", "prices"),
    [
        ("mistral", "mistral-large-latest", (0.5, 1.5)),
        ("mistral", "mistral-medium-2508", (0.4, 2.0)),
        ("openai", "gpt-4o-mini-2024-07-18", (0.15, 0.6)),
        ("openai", "gpt-4o-mini-audio-preview", None),
        ("openai", "mistral-large-latest", None),
        ("local", "gpt-4o", None),
    ],
)
def test_prices(kind: str, model: str, prices: tuple[float, float] | None) -> None:
    found = price_of(provider_type(kind).prices, model)
    assert (None if found is None else (found.input, found.output)) == prices
    assert found is None or found.checked >= "2025-07-04"


def test_local_models_are_free() -> None:
    assert profile("ollama", "anything").prices == (0.0, 0.0, "")


@pytest.mark.parametrize(
    ("model", "embedder"),
    [
        ("nomic-embed-text:latest", True),
        ("mistral-embed", True),
        ("BAAI/bge-m3", True),
        ("intfloat/multilingual-e5-small", True),
        ("all-minilm:l6", True),
        ("gte-qwen2", True),
        ("qwen3:4b", False),
        ("llama3.1", False),
        ("phi3.5", False),
    ],
)
def test_embedders_by_name(model: str, embedder: bool) -> None:
    assert is_embedder_name(model) is embedder


def test_the_edit_forms_offered_to_a_model() -> None:
    offered = {
        ("text", "lines", "patch"): ("gpt-5-mini", "gpt-4.1", "openai/gpt-oss:20b", "o3-mini", "gpt-5-codex"),
        ("text", "lines"): (
            "mistral-large-latest",
            "claude-opus",
            "qwen3:14b",
            "gpt-4o",
            "nobody-knows",
            "llama-3.1-70b",
        ),
        ("text",): (
            "phi4-mini",
            "SmolLM2-135M-Instruct.Q4_1.gguf",
            "qwen2.5-7b-instruct",
            "qwen3:4b",
            "qwen3:0.6b",
            "gemma3:4b",
        ),
    }
    for forms, models in offered.items():
        for model in models:
            assert profile("", model).edit_forms == forms, model


def test_a_model_is_profiled_without_the_list_of_providers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each request needs a profile, and the list reads a folder."""
    monkeypatch.setattr("atelier_desk.llm.provider_type_registry.provider_types", lambda: pytest.fail("listed"))
    assert profile("", "gpt-4o-mini").supports_tools
