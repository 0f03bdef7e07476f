"""The dated list of hosted models: the shipped one, values that override it, and updates."""

from __future__ import annotations

import asyncio
import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain.errors import ProviderError, StorageError
from atelier_desk.domain.provider import ModelInfo, ProviderConfig
from atelier_desk.llm import model_catalogue
from atelier_desk.llm.model_catalogue import (
    SHIPPED,
    ListedModel,
    ModelList,
    fetch,
    known_models,
    newest,
    newest_relative,
    read,
    store,
)
from atelier_desk.llm.provider_presets import LISTED_NOT, PRESETS, name_for, preset_of, presets
from tests.helpers.error_codes import raises_code
from tests.helpers.manual_clock import ManualClock
from tests.helpers.servers.scripted_http_server import Request, Response
from tests.llm.models_dev_server import ModelsDev, told

GROQ = ProviderConfig(name="Groq", kind="openai", base_url="https://api.groq.com/openai/v1")
FACTS = ListedModel(131_072, 32_768, 0.59, 0.79, True, False, True, 0.1, None)
LIST = ModelList(date(2026, 7, 2), {"groq": {"llama": FACTS}})


def test_the_shipped_list_has_a_date_and_the_services_of_the_presets() -> None:
    shipped = read(model_catalogue.SHIPPED)
    assert shipped.day >= date(2026, 7, 2)
    assert set(shipped.models) == {preset.id for preset in PRESETS} - LISTED_NOT
    assert shipped.models["openai"]["gpt-4.1"][:4] == (1_047_576, 32_768, 2.0, 8.0)
    assert shipped.models["anthropic"]["claude-sonnet-5"] == (1_000_000, 128_000, 2.0, 10.0, True, True, True, 0.2, 2.5)


def test_every_preset_is_recognised_by_its_address() -> None:
    for preset in PRESETS:
        if not preset.url:
            assert preset.example
            continue
        config = ProviderConfig(name="x", kind=preset.kind, base_url=preset.url)
        assert preset_of(config) is (preset if preset.host != "localhost" else None)
    assert presets()[-1].title == ""
    azure = ProviderConfig(name="x", kind="openai", base_url="https://lab.openai.azure.com/openai/v1")
    found = preset_of(azure)
    assert found is not None
    assert found.id == "azure"
    assert name_for(azure, ["azure openai"]) == "Azure OpenAI 2"


def test_only_an_exact_model_of_the_same_service_is_known() -> None:
    known = LIST.applied(GROQ, ModelInfo(provider="Groq", name="llama"))
    assert tuple(getattr(known, field) for field in model_catalogue.FIELDS) == FACTS
    assert known.source == "list"
    other = ModelInfo(provider="Groq", name="llama-next")
    assert LIST.applied(GROQ, other) == other
    here = ProviderConfig(name="x", kind="openai", base_url="http://localhost:1234/v1")
    assert LIST.applied(here, ModelInfo(provider="x", name="llama")).context_window is None


def test_values_from_the_person_and_the_server_come_first() -> None:
    typed = ModelInfo(provider="Groq", name="llama", context_window=4096, source="user")
    assert LIST.applied(GROQ, typed) == typed
    served = ModelInfo(
        provider="Groq", name="llama", context_window=8192, price_input=9.0, supports_vision=True, source="server"
    )
    known = LIST.applied(GROQ, served)
    assert (known.context_window, known.price_input, known.price_output, known.source) == (8192, 9.0, 0.79, "server")
    assert known.supports_vision is False  # no such server reports this: it was a guess from the name
    guessed = ModelInfo(provider="Groq", name="llama", context_window=8192, source="profile")
    assert LIST.applied(GROQ, guessed).context_window == 131_072


def test_the_newer_of_two_list_prices_is_used() -> None:
    mistral = ProviderConfig(name="Mistral", kind="mistral")
    info = ModelInfo(
        provider="Mistral", name="mistral-medium-latest", price_input=1.5, price_output=7.5, source="profile"
    )
    for day, price in ((date(2026, 7, 2), 1.5), (date(2027, 1, 1), 0.4)):
        newer = ModelList(day, {"mistral": {info.name: ListedModel(131_072, None, 0.4, 2.0, None, None, None)}})
        assert newer.applied(mistral, info).price_input == price


async def test_the_list_is_downloaded_validated_and_stored_atomically(tmp_path: Path) -> None:
    async with ModelsDev() as server:
        server.answer = {
            "groq": {
                "models": {
                    "llama": told(),
                    "dear": told(cost={"input": 1e9}),
                    "voice": told(modalities={"output": ["audio"]}),
                }
            },
            "nobody": {"models": {"x": told()}},
            "lmstudio": {"models": {"x": told()}},
            "xai": {"models": {"bare": {}, "zero": told(limit={"context": 0}), "bad": [1]}},
        }
        clock = ManualClock()
        found = await fetch(clock, server.root)
    unknown = ListedModel(None, None, None, None, None, None, None)
    assert found.models == {"groq": {"llama": FACTS._replace(supports_vision=False)},
    "xai": {"bare": unknown, "zero": FACTS._replace(
        context_window=None, max_output_tokens=None, supports_vision=False)}}  # fmt: skip
    assert found.day == clock.now().date()
    path = tmp_path / "model-list.json"
    store(path, found)
    assert read(path) == found
    assert [each.name for each in tmp_path.iterdir()] == ["model-list.json"]
    with pytest.raises(StorageError):
        store(tmp_path / "nowhere" / "list.json", found)


@pytest.mark.parametrize("answer", [[], {}, {"groq": {"models": {}}}, {"groq": 3}, "text"])
async def test_an_invalid_list_is_refused(answer: Any) -> None:
    async with ModelsDev() as server:
        server.answer = answer
        with pytest.raises(ProviderError) as caught:
            await fetch(ManualClock(), server.root)
    assert caught.value.code == "bad_response"


async def test_an_unreachable_source_is_named_in_one_sentence() -> None:
    with raises_code(ProviderError, "unreachable") as caught:
        await fetch(ManualClock(), "http://127.0.0.1:9")
    assert str(caught.value) == "models.dev cannot be reached. Check your connection."


def test_an_older_or_unreadable_stored_list_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "list.json"
    shipped = read(model_catalogue.SHIPPED)
    assert newest(path) == shipped
    for text in ("", "{", json.dumps({"day": "2030-01-01"})):
        path.write_text(text)
        assert newest(path) == shipped
    store(path, ModelList(date(2026, 1, 1), LIST.models))
    assert newest(path) == shipped
    store(path, ModelList(date(2030, 1, 1), LIST.models))
    assert newest(path).day == date(2030, 1, 1)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(("limit", "cost", "input", "output", "context", "x")), inner)
    ),
    max_leaves=8,
)


@given(JSON)
def test_no_entry_can_break_the_list(entry: Any) -> None:
    found = known_models({"groq": {"models": {"odd": entry, "llama": told()}}})
    assert "llama" in found["groq"]
    for facts in found["groq"].values():
        assert facts.context_window is None or facts.context_window > 0
        assert facts.price_input is None or 0 <= facts.price_input <= 1000


@pytest.mark.parametrize("name", ["half \ud800", "two\nlines", "zero\0", "", "x" * 513])
def test_names_that_cannot_be_stored_or_shown_are_skipped(name: str, tmp_path: Path) -> None:
    found = known_models({"groq": {"models": {name: told(), "llama": told()}}})
    assert list(found["groq"]) == ["llama"]
    store(tmp_path / "list.json", ModelList(date(2030, 1, 1), found))


async def test_a_download_can_be_cancelled() -> None:
    gate = asyncio.Event()

    class Slow(ModelsDev):
        async def handle(self, request: Request, out: Response) -> None:
            gate.set()
            await asyncio.Event().wait()

    async with Slow() as server:
        task = asyncio.create_task(fetch(ManualClock(), server.root))
        await gate.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


@pytest.mark.parametrize(
    ("service", "model", "relative"),
    [
        ("openai", "gpt-6", "gpt-5.5"),
        ("openai", "gpt-6-astra", "gpt-5.5"),
        ("openai", "gpt-6.1-sol", "gpt-5.5"),
        ("openai", "gpt-6-mini", "gpt-5.4-mini"),
        ("openai", "gpt-5.5-nova", None),
        ("anthropic", "claude-opus-5-2", "claude-opus-4-8"),
        ("anthropic", "claude-sonnet-5-5-20261101", "claude-sonnet-5"),
        ("anthropic", "claude-haiku-5-5", "claude-haiku-4-5"),
        ("anthropic", "claude-fable-5-2", "claude-fable-5"),
        ("anthropic", "claude-mythos-5-2", "claude-fable-5"),
        ("anthropic", "claude-opus-4-3", None),
        ("google", "gemini-4-neon", "gemini-3.5-flash"),
        ("google", "gemini-4-pro-preview", "gemini-3.1-pro-preview"),
        ("mistral", "gpt-6", None),
    ],
)
def test_a_newer_model_inherits_from_the_newest_known_one_of_its_family(
    service: str, model: str, relative: str | None
) -> None:
    models = read(SHIPPED)
    assert newest_relative(models.models[service], model) == (models.models[service][relative] if relative else None)
    preset = next(each for each in PRESETS if each.id == service)
    config = ProviderConfig(name="P", kind=preset.kind, base_url=preset.url)
    info = models.applied(config, ModelInfo(provider="P", name=model))
    if relative:
        facts = models.models[service][relative]
        told = (info.context_window, info.max_output_tokens, info.supports_tools, info.price_input, info.price_output)
        assert told == (
            facts.context_window,
            facts.max_output_tokens,
            facts.supports_tools,
            facts.price_input,
            facts.price_output,
        )
    assert info.source == ("profile" if relative else "assumed"), "marked as a guess"
    said = ModelInfo(provider="P", name=model, context_window=99_000, source="server")
    assert models.applied(config, said).context_window == 99_000, "the server's word counts"
