"""A key of another service is recognised by its prefix, and is never sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.provider import ProviderConfig
from atelier_desk.llm.key_prefixes import maker_of, refuse_another_maker
from atelier_desk.llm.provider_type_registry import provider_type
from atelier_desk.llm.secrets import KeyVault
from tests.helpers.manual_clock import ManualClock


@pytest.mark.parametrize(
    ("key", "maker"),
    [
        ("sk-ant-api03-abc", "Anthropic"),
        ("sk-or-v1-abc", "OpenRouter"),
        ("sk-proj-abc", "OpenAI"),
        ("AIza" + "x" * 35, "Google"),
        ("gsk_abc", "Groq"),
        ("xai-abc", "xAI"),
        ("sk-abc", ""),
        ("0123456789abcdef0123456789abcdef", ""),
        ("", ""),
    ],
)
def test_the_service_of_a_key(key: str, maker: str) -> None:
    assert maker_of(key) == maker


@pytest.mark.parametrize(
    ("key", "url"),
    [
        ("sk-ant-api03-abc", "https://api.anthropic.com/v1"),
        ("sk-ant-api03-abc", "https://gateway.example/v1"),
        ("sk-ant-api03-abc", "http://localhost:8080/v1"),
        ("sk-abc", "https://api.openai.com/v1"),
        ("sk-abc", "https://api.deepseek.com/v1"),
    ],
)
def test_a_possibly_valid_key_is_sent(key: str, url: str) -> None:
    refuse_another_maker(key, url, "lab")


@pytest.mark.parametrize(
    ("kind", "key", "told"),
    [
        ("responses", "sk-ant-api03-abcdefgh", "issued by Anthropic, but api.openai.com belongs to OpenAI"),
        ("anthropic", "sk-proj-abcdefgh", "issued by OpenAI, but api.anthropic.com belongs to Anthropic"),
        ("google", "gsk_abcdefgh", "issued by Groq, but generativelanguage.googleapis.com belongs to Google"),
        ("mistral", "sk-ant-api03-abcdefgh", "but api.mistral.ai belongs to Mistral"),
    ],
)
async def test_a_key_of_another_service_is_reported_and_not_sent(kind: str, key: str, told: str) -> None:
    config, vault = ProviderConfig(name="lab", kind=kind, api_key_env="KEY"), KeyVault(environ={"KEY": key})
    provider = provider_type(kind).create(config, vault, ManualClock(), Path())
    health = await provider.test()
    await provider.aclose()
    assert (health.ok, health.code) == (False, "auth")
    assert told in health.message
    assert key not in health.message


async def test_the_error_does_not_contain_the_key() -> None:
    with pytest.raises(ProviderError) as caught:
        refuse_another_maker("sk-ant-api03-secret", "https://api.openai.com/v1", "lab")
    assert "secret" not in str(caught.value)
