"""A configuration gives the right provider, and creating it contacts no server."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.provider import ProviderConfig
from atelier_desk.llm.http_provider_factory import create_http_provider
from atelier_desk.llm.provider_type_registry import provider_type
from atelier_desk.llm.secrets import KeyVault
from tests.helpers.manual_clock import ManualClock


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("openai", "CompatibleProvider"),
        ("mistral", "MistralProvider"),
        ("ollama", "OllamaProvider"),
        ("local", "LocalProvider"),
    ],
)
def test_kinds(kind: str, name: str, tmp_path: Path, clock: ManualClock) -> None:
    config = ProviderConfig(name="Mine", kind=kind)
    made = provider_type(kind).create(config, KeyVault(environ={}), clock, tmp_path)
    assert (type(made).__name__, made.name) == (name, "Mine")


def test_bad_addresses_are_refused_on_creation(clock: ManualClock) -> None:
    with pytest.raises(UsageError):
        create_http_provider(ProviderConfig(name="a", kind="openai", base_url="nonsense"), KeyVault(environ={}), clock)
    with pytest.raises(UsageError):
        create_http_provider(ProviderConfig(name="a", kind="local"), KeyVault(environ={}), clock)


def test_heavy_libraries_are_imported_only_when_used() -> None:
    code = (
        "import sys, atelier_desk.llm.http_provider_factory, atelier_desk.llm.openai_compatible, "
        "atelier_desk.llm.mistral, atelier_desk.llm.ollama, "
        "atelier_desk.llm.network.local_server_detection, atelier_desk.llm.embedders.remote;"
        "print(*({'httpx', 'numpy', 'keyring'} & set(sys.modules)))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]
    )
    assert run.stdout.split() == []
