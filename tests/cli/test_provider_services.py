"""Services as providers of the command line: Ollama, Claude, Gemini, OpenAI responses, Azure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.conftest import ProviderCli
from tests.cli.server_thread import serving
from tests.helpers.servers.anthropic import FakeAnthropic, error_body
from tests.helpers.servers.google import FakeGoogle
from tests.helpers.servers.ollama import FakeOllama
from tests.helpers.servers.openai import FakeOpenAI
from tests.helpers.servers.openai_responses import FakeResponses
from tests.helpers.servers.scripted_http_server import Failure, Reply

FAR = "http://models.test/v1"


def test_an_imitation_of_ollama_works(atelier: ProviderCli, tmp_path: Path) -> None:
    server = FakeOllama()
    with serving(server):
        server.no_metadata = True
        server.script(Reply(text="Hello there"))
        added = atelier("providers", "add", "box", "--kind", "ollama", "--base-url", server.url)
        assert (added.status, added.err) == (0, "")
        done = atelier("run", "Hi", "--provider", "box", "--model", "test-model")
        assert (done.status, done.out.strip()) == (0, "Hello there")


class Service:
    """A provider of the command line whose key is in the environment, with the server behind it."""

    def __init__(self, atelier: ProviderCli, server: Any, name: str, kind: str, model: str, key: str) -> None:
        self.server, self.name, self.model, self._atelier = server, name, model, atelier
        self.key = server.api_key = key
        add = ["add", name, "--kind", kind, "--base-url", server.root, "--api-key-env", "SERVICE_KEY"]
        assert self("providers", *add).status == 0
        assert self("providers", "test", name, key="sk-ant-another-key").status == 1

    def __call__(self, *arguments: str, key: str = "") -> Any:
        return self._atelier(*arguments, SERVICE_KEY=key or self.key)

    def models(self, *fields: str) -> list[tuple[Any, ...]]:
        listed = json.loads(self("models", "list", "--provider", self.name, "--json").out)
        return [tuple(each[field] for field in fields) for each in listed]

    def total_of_a_run(self, usage: dict[str, Any], *prices: str) -> dict[str, Any]:
        prices = ("--price-in", "2", "--price-out", "10", "--price-cache-read", "0.2", *prices)
        assert self("models", "edit", self.name, self.model, *prices).status == 0
        self.server.script(Reply(text="Hello there", usage=usage))
        done = self("run", "Hi", "--provider", self.name, "--model", self.model, "--effort", "low")
        assert (done.status, done.out.strip()) == (0, "Hello there")
        return dict(json.loads(self("usage", "--json").out)["total"])

    def check_refusal(self, message: str, model: str = "", key: str = "") -> None:
        refused = self("run", "Hi", "--provider", self.name, "--model", model or self.model, key=key)
        assert refused.status == 1
        assert message in refused.err
        assert (key or self.key) not in refused.err


def test_claude_with_a_cache(atelier: ProviderCli) -> None:
    usage = {
        "input_tokens": 50,
        "cache_creation_input_tokens": 200,
        "cache_read_input_tokens": 4000,
        "output_tokens": 30,
    }
    server = FakeAnthropic()
    with serving(server):
        claude = Service(atelier, server, "Claude", "anthropic", "claude-sonnet-5", "sk-ant-" + "k" * 24)
        assert "2" in claude("providers", "test", "Claude").out
        assert claude.models("label", "context_window") == [
            ("Claude Sonnet 5", 1_000_000),
            ("Claude Haiku 4.5", 200_000),
        ]
        total = claude.total_of_a_run(usage, "--price-cache-write", "2.5")
        assert server.of("/v1/messages")[0].json["output_config"] == {"effort": "low"}
        assert (total["tokens_input"], total["tokens_cached"], total["tokens_stored"]) == (4250, 4000, 200)
        assert (total["cost"], total["saved"]) == (0.0017, 0.0071)
        assert "$0.0071 saved by the cache" in atelier("usage").out
        server.script(Failure(401, error_body("authentication_error", "invalid x-api-key")))
        claude.check_refusal("refused the API key")


def test_gemini_with_a_cache(atelier: ProviderCli) -> None:
    usage = {
        "promptTokenCount": 4250,
        "cachedContentTokenCount": 4000,
        "candidatesTokenCount": 18,
        "thoughtsTokenCount": 12,
    }
    server = FakeGoogle()
    with serving(server):
        gemini = Service(atelier, server, "Gemini", "google", "gemini-3.5-flash", "AIza" + "k" * 24)
        assert "2" in gemini("providers", "test", "Gemini").out
        assert gemini.models("label", "context_window", "supports_thinking") == [
            ("Gemini 3.5 Flash", 1_048_576, True),
            ("Gemini 2.5 Flash-Lite", 1_048_576, True),
        ]
        total = gemini.total_of_a_run(usage)
        assert server.chats[-1]["generationConfig"]["thinkingConfig"]["thinkingLevel"] == "LOW"
        assert (total["tokens_input"], total["tokens_output"], total["tokens_cached"]) == (4250, 30, 4000)
        assert (total["cost"], total["saved"]) == (0.0016, 0.0072)
        gemini.check_refusal("does not have the model gemini-0-gone", model="gemini-0-gone")
        gemini.check_refusal("refused the API key", key="AIza-expired-key")


def test_responses_with_a_cache(atelier: ProviderCli) -> None:
    """Also where neither streams nor summaries are allowed."""
    usage = {
        "input_tokens": 4250,
        "input_tokens_details": {"cached_tokens": 4000, "cache_write_tokens": 200},
        "output_tokens": 30,
    }
    server = FakeResponses()
    with serving(server):
        server.verified = False
        lab = Service(atelier, server, "Lab", "responses", "gpt-5.5", "sk-" + "k" * 24)
        assert lab.models("name", "supports_thinking") == [("gpt-5.5", True), ("gpt-4.1", False)]
        total = lab.total_of_a_run(usage, "--price-cache-write", "2.5")
        assert server.chats[-1]["reasoning"] == {"effort": "low"}
        assert (total["tokens_input"], total["tokens_cached"], total["tokens_stored"]) == (4250, 4000, 200)
        assert (total["cost"], total["saved"]) == (0.0017, 0.0071)
        lab.check_refusal("does not have the model gpt-0-gone", model="gpt-0-gone")
        lab.check_refusal("refused the API key", key="sk-expired-key")


def test_azure_with_custom_headers(atelier: ProviderCli, tmp_path: Path) -> None:
    server = FakeOpenAI()
    with serving(server):
        server.prefix, server.models_page = "/openai/deployments/gpt", False
        server.api_key, server.key_header = "k" * 24, "api-key"
        server.script(Reply(text="Hello there"))
        add = ["providers", "add", "azure", "--kind", "openai", "--base-url", f"{server.url}?api-version=2024-10-21"]
        options = ["--api-key-env", "AZURE_KEY", "--key-style", "api-key", "--header", "X-Team: $TEAM_TOKEN"]
        env = {"AZURE_KEY": "k" * 24, "TEAM_TOKEN": "t" * 24}
        added = atelier(*add, *options, "--json", **env)
        assert added.status == 0
        shown = json.loads(added.out)
        assert (shown["api_version"], shown["headers"], shown["key_style"]) == (
            "2024-10-21",
            {"X-Team": "$TEAM_TOKEN"},
            "api-key",
        )
        done = atelier("run", "Hi", "--provider", "azure", "--model", "gpt", "--json", **env)
        assert done.status == 0
        (request,) = [
            request for request in server.of("/openai/deployments/gpt/chat/completions") if "messages" in request.json
        ]
        assert (request.query, request.headers["x-team"], request.headers["api-key"]) == (
            "api-version=2024-10-21",
            "t" * 24,
            "k" * 24,
        )
        unset = atelier("providers", "test", "azure", AZURE_KEY="k" * 24)
        assert unset.status == 1
        assert "TEAM_TOKEN" in unset.err
    assert not [
        path
        for path in tmp_path.rglob("*")
        if path.is_file() and (b"k" * 24 in path.read_bytes() or b"t" * 24 in path.read_bytes())
    ]
