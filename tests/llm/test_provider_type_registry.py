"""Kinds of model servers register themselves: no other code knows one by name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import atelier_desk
from atelier_desk.domain.agent import ToolDialect
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.provider import BUILTIN, ProviderConfig
from atelier_desk.engine import Atelier
from atelier_desk.llm.local.provider import LocalProvider
from atelier_desk.llm.provider_type_registry import (
    ProviderType,
    any_server_type,
    builtin_type,
    find,
    provider_type,
    provider_types,
    register,
)
from atelier_desk.llm.secrets import KeyVault
from tests.helpers.provider_plugin import plugged
from tests.helpers.servers.openai import FakeOpenAI
from tests.helpers.servers.scripted_http_server import Call, Reply, Request, Response

APP = Path(atelier_desk.__file__).parent
OWN = (
    "llm/provider_kinds/",
    "llm/local/",
    "llm/anthropic/",
    "llm/google/",
    "llm/openai_responses/",
    "llm/openai_compatible.py",
    "llm/mistral.py",
    "llm/ollama.py",
    "llm/provider_presets.py",
)
"""The files of the kinds: registrations, adapters, and the list of services, which is data."""


@pytest.fixture
def acme(tmp_path: Path) -> Iterator[None]:
    with plugged(tmp_path):
        yield


class FakeAcme(FakeOpenAI):
    """Acme's chat endpoint, with its own header for the key."""

    async def handle(self, request: Request, out: Response) -> None:
        if request.path != "/acme/chat":
            await out.json({"error": "no such page"}, status=404)
        elif request.headers.get("x-acme-key") != "k-1234567890":
            await out.json({"error": "who are you?"}, status=401)
        else:
            await self.chat(request, out)


def test_each_kind_is_listed_once_and_one_is_built_in() -> None:
    kinds = [entry.kind for entry in provider_types()]
    assert sorted(kinds) == ["anthropic", "google", "local", "mistral", "ollama", "openai", "responses"]
    assert (builtin_type().kind, any_server_type().kind) == ("local", "openai")
    assert LocalProvider.grammar


def test_an_unknown_kind_lists_the_known_ones() -> None:
    assert find("acme") is None
    with pytest.raises(UsageError, match=r"acme.*ollama, mistral, anthropic, google, responses, openai, local"):
        provider_type("acme")


def test_a_name_can_be_registered_once() -> None:
    def create(*given: object) -> LocalProvider:
        raise AssertionError

    assert find("openai") is not None
    with pytest.raises(ValueError, match="registered by"):
        register(ProviderType(kind="openai", title="Mine", create=create))


async def test_a_kind_from_an_external_package_runs_a_turn(acme: None, tmp_path: Path) -> None:
    vault = KeyVault(environ={"ACME_KEY": "k-1234567890"})
    async with FakeAcme() as server, Atelier.open(tmp_path / "data", fsync=False, vault=vault) as atelier:
        server.script(
            Reply(calls=[Call("CalculatorTool", {"operation": "eval", "expression": "6*7"}, id="c")]), Reply(text="42")
        )
        await atelier.providers.save(
            ProviderConfig(name="Mine", kind="acme", base_url=server.root, api_key_env="ACME_KEY")
        )
        config = await atelier.agents.default()
        agent = config.config.model_copy(update={"provider": "Mine", "model": "acme-1", "tools": ("CalculatorTool",)})
        agent = agent.model_copy(update={"tool_dialect": ToolDialect.NATIVE})
        events = [event async for event in atelier.run("What is 6*7?", agent=agent)]
    said = [event.data.get("content") for event in events if event.chunk_type.value == "message"]
    assert said[-1] == "42"
    assert len(server.of("/acme/chat")) == 2


async def test_a_removed_kind_keeps_its_provider_and_reports_it(tmp_path: Path) -> None:
    with plugged(tmp_path):
        async with Atelier.open(tmp_path / "data", fsync=False, vault=KeyVault(environ={})) as atelier:
            await atelier.providers.save(ProviderConfig(name="Mine", kind="acme"))
    async with Atelier.open(tmp_path / "data", fsync=False, vault=KeyVault(environ={})) as atelier:
        assert [config.kind for config in await atelier.providers.list()] == ["local", "acme"]
        with pytest.raises(UsageError, match="allowed"):
            await atelier.providers.models("Mine")
        with pytest.raises(UsageError, match="allowed"):
            await atelier.providers.save(ProviderConfig(name="Other", kind="acme2"))


def test_no_other_file_knows_a_kind_by_name() -> None:
    """Neither as a string nor by importing an adapter. Texts for people and names of software do not count."""
    names = {entry.kind for entry in provider_types()} | {"ProviderKind"}
    adapters = re.compile(r"atelier_desk\.llm\.((anthropic|google|responses)(\..*)?|openai_compatible|mistral|ollama)$")
    found = []
    for file in sorted(APP.rglob("*.py")):
        place = file.relative_to(APP).as_posix()
        if place.startswith(OWN):
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if place == "domain/provider.py" and isinstance(node, ast.Constant) and node.value == BUILTIN:
                continue  # where it is defined, for those who may not import ``llm``
            if isinstance(node, ast.Constant) and node.value in names and isinstance(node.value, str):
                found.append(f"{place}:{node.lineno} {node.value}")
            elif isinstance(node, ast.ImportFrom) and adapters.match(node.module or ""):
                found.append(f"{place}:{node.lineno} {node.module}")
    assert found == []
