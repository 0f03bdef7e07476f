"""Messages about misconfigured servers, proxies and certificates, in a real environment."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from atelier_desk.llm.secrets import KeyVault
from tests.cli.conftest import Cli, Result
from tests.cli.server_thread import serving
from tests.helpers.servers.anthropic import FakeAnthropic, error_body
from tests.helpers.servers.google import FakeGoogle
from tests.helpers.servers.ollama import FakeOllama
from tests.helpers.servers.openai import FakeOpenAI
from tests.helpers.servers.openai_responses import FakeResponses
from tests.helpers.servers.proxies import FakeProxy
from tests.helpers.servers.scripted_http_server import Failure, Reply

FAR = "http://models.test/v1"
VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")


Run = Callable[..., Result]


@pytest.fixture
def atelier(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command line with the providers' own models, no keyring, and only the given proxy variables."""

    def run(*argv: str, **env: str) -> Result:
        with monkeypatch.context() as patch:
            for name in VARIABLES:
                patch.delenv(name, raising=False)
                patch.delenv(name.lower(), raising=False)
            for name, value in env.items():
                patch.setenv(name, value)
            return cli(*argv, options={"model_factory": None, "vault": KeyVault()})

    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    return run


def test_add_and_test_give_the_same_message_with_the_servers_address(atelier: Run, tmp_path: Path) -> None:
    server = FakeOpenAI()
    with serving(server):
        added = atelier("providers", "add", "lab", "--kind", "openai", "--base-url", f"{server.root}/api")
        tested = atelier("providers", "test", "lab")
        assert (added.status, tested.status) == (0, 1)
        assert added.err == tested.err
        assert len(tested.err.splitlines()) == 1
        assert f"{server.root}/api/models" in tested.err
        assert f"There is a model server at {server.url}: use that address." in tested.err
        as_json = atelier("providers", "test", "lab", "--json")
        assert json.loads(as_json.out)["found_url"] == server.url
        french = atelier("--lang", "fr", "providers", "test", "lab")
        assert f"Un serveur de modèles répond à l’adresse {server.url}" in french.err


@pytest.mark.parametrize(
    ("url", "env", "words"),
    [
        (FAR, {"ALL_PROXY": "foo:bar"}, ("ALL_PROXY", "foo:bar", "http://host:port", "NO_PROXY")),
        (FAR, {"http_proxy": "http://127.0.0.1:1"}, ("http_proxy", "http://127.0.0.1:1", "Connection refused")),
        (FAR, {"ALL_PROXY": "socks5://127.0.0.1:1"}, ("ALL_PROXY", "socks5://127.0.0.1:1")),
        (
            "https://127.0.0.1:1/v1",
            {"SSL_CERT_FILE": "/nowhere/ca.pem"},
            ("SSL_CERT_FILE", "/nowhere/ca.pem", "--ca-file"),
        ),
    ],
)
def test_an_unreachable_server_is_reported_with_the_reason(
    atelier: Run, url: str, env: dict[str, str], words: tuple[str, ...]
) -> None:
    assert atelier("providers", "add", "lab", "--kind", "openai", "--base-url", url, "--no-test", **env).status == 0
    tested = atelier("providers", "test", "lab", **env)
    assert tested.status == 1
    assert len(tested.err.splitlines()) == 1
    for word in words:
        assert word in tested.err


def test_a_run_through_a_proxy_with_unusual_environment_variables(atelier: Run, tmp_path: Path) -> None:
    server, proxy = FakeOpenAI(), FakeProxy(socks=True)
    with serving(server, proxy):
        proxy.target = server.port
        server.models_page = False
        server.script(Reply(text="Hello there"))
        env = {"ALL_PROXY": f"socks://{proxy.address}/", "HTTPS_PROXY": "foo:bar", "SSL_CERT_FILE": "/nowhere/ca.pem"}
        added = atelier("providers", "add", "lab", "--kind", "openai", "--base-url", FAR, **env)
        assert added.status == 0
        assert "does not list its models" in added.out
        done = atelier("run", "Hi", "--provider", "lab", "--model", "some/model:q4", **env)
        assert (done.status, done.out.strip()) == (0, "Hello there")
        assert proxy.asked
        refused = atelier(
            "run", "Hi", "--provider", "lab", "--model", "some/model:q4", **{**env, "ALL_PROXY": "foo:bar"}
        )
        assert refused.status == 1
        assert "ALL_PROXY" in refused.err


def test_a_server_that_loads_its_model_is_reported(atelier: Run, tmp_path: Path) -> None:
    loading = Failure(503, {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}})
    server = FakeOpenAI()
    with serving(server):
        server.script(loading, Reply(text="Hello there"))
        atelier("providers", "add", "lab", "--kind", "openai", "--base-url", server.url)
        done = atelier("run", "Hi", "--provider", "lab", "--model", "test-model")
    assert (done.status, done.out.strip()) == (0, "Hello there")
    assert "Loading the model. The server is not ready yet; retrying in " in done.err
    assert "Trying again" not in done.err


def test_an_imitation_of_ollama_works(atelier: Run, tmp_path: Path) -> None:
    server = FakeOllama()
    with serving(server):
        server.no_metadata = True
        server.script(Reply(text="Hello there"))
        added = atelier("providers", "add", "box", "--kind", "ollama", "--base-url", server.url)
        assert (added.status, added.err) == (0, "")
        done = atelier("run", "Hi", "--provider", "box", "--model", "test-model")
        assert (done.status, done.out.strip()) == (0, "Hello there")


def test_claude_with_a_cache(atelier: Run) -> None:
    server = FakeAnthropic()
    env = {"CLAUDE_KEY": "sk-ant-" + "k" * 24}
    server.api_key = env["CLAUDE_KEY"]
    usage = {
        "input_tokens": 50,
        "cache_creation_input_tokens": 200,
        "cache_read_input_tokens": 4000,
        "output_tokens": 30,
    }
    with serving(server):
        add = [
            "providers",
            "add",
            "Claude",
            "--kind",
            "anthropic",
            "--base-url",
            server.root,
            "--api-key-env",
            "CLAUDE_KEY",
        ]
        assert atelier(*add, **env).status == 0
        assert "2" in atelier("providers", "test", "Claude", **env).out
        assert atelier("providers", "test", "Claude", CLAUDE_KEY="sk-ant-another-key").status == 1
        listed = json.loads(atelier("models", "list", "--provider", "Claude", "--json", **env).out)
        assert [(each["label"], each["context_window"]) for each in listed] == [
            ("Claude Sonnet 5", 1_000_000),
            ("Claude Haiku 4.5", 200_000),
        ]
        prices = ["--price-in", "2", "--price-out", "10", "--price-cache-read", "0.2", "--price-cache-write", "2.5"]
        assert atelier("models", "edit", "Claude", "claude-sonnet-5", *prices, **env).status == 0
        server.script(Reply(text="Hello there", usage=usage))
        done = atelier("run", "Hi", "--provider", "Claude", "--model", "claude-sonnet-5", "--effort", "low", **env)
        assert (done.status, done.out.strip()) == (0, "Hello there")
        assert server.of("/v1/messages")[0].json["output_config"] == {"effort": "low"}
        total = json.loads(atelier("usage", "--json").out)["total"]
        assert (total["tokens_input"], total["tokens_cached"], total["tokens_stored"]) == (4250, 4000, 200)
        assert (total["cost"], total["saved"]) == (0.0017, 0.0071)
        assert "$0.0071 saved by the cache" in atelier("usage").out
        server.script(Failure(401, error_body("authentication_error", "invalid x-api-key")))
        refused = atelier("run", "Hi", "--provider", "Claude", "--model", "claude-sonnet-5", **env)
        assert refused.status == 1
        assert "refused the API key" in refused.err
        assert env["CLAUDE_KEY"] not in refused.err


def test_gemini_with_a_cache(atelier: Run) -> None:
    server = FakeGoogle()
    env = {"GEMINI_KEY": "AIza" + "k" * 24}
    server.api_key = env["GEMINI_KEY"]
    usage = {
        "promptTokenCount": 4250,
        "cachedContentTokenCount": 4000,
        "candidatesTokenCount": 18,
        "thoughtsTokenCount": 12,
    }
    with serving(server):
        add = [
            "providers",
            "add",
            "Gemini",
            "--kind",
            "google",
            "--base-url",
            server.root,
            "--api-key-env",
            "GEMINI_KEY",
        ]
        assert atelier(*add, **env).status == 0
        assert "2" in atelier("providers", "test", "Gemini", **env).out
        assert atelier("providers", "test", "Gemini", GEMINI_KEY="sk-ant-another-key").status == 1
        listed = json.loads(atelier("models", "list", "--provider", "Gemini", "--json", **env).out)
        assert [(each["label"], each["context_window"], each["supports_thinking"]) for each in listed] == [
            ("Gemini 3.5 Flash", 1_048_576, True),
            ("Gemini 2.5 Flash-Lite", 1_048_576, True),
        ]
        prices = ["--price-in", "2", "--price-out", "10", "--price-cache-read", "0.2"]
        assert atelier("models", "edit", "Gemini", "gemini-3.5-flash", *prices, **env).status == 0
        server.script(Reply(text="Hello there", usage=usage))
        done = atelier("run", "Hi", "--provider", "Gemini", "--model", "gemini-3.5-flash", "--effort", "low", **env)
        assert (done.status, done.out.strip()) == (0, "Hello there")
        assert server.chats[-1]["generationConfig"]["thinkingConfig"]["thinkingLevel"] == "LOW"
        total = json.loads(atelier("usage", "--json").out)["total"]
        assert (total["tokens_input"], total["tokens_output"], total["tokens_cached"]) == (4250, 30, 4000)
        assert (total["cost"], total["saved"]) == (0.0016, 0.0072)
        gone = atelier("run", "Hi", "--provider", "Gemini", "--model", "gemini-0-gone", **env)
        assert gone.status == 1
        assert "does not have the model gemini-0-gone" in gone.err
        refused = atelier(
            "run", "Hi", "--provider", "Gemini", "--model", "gemini-3.5-flash", GEMINI_KEY="AIza-expired-key"
        )
        assert refused.status == 1
        assert "refused the API key" in refused.err
        assert "AIza-expired-key" not in refused.err


def test_responses_with_a_cache(atelier: Run) -> None:
    server = FakeResponses()
    env = {"OPENAI_KEY": "sk-" + "k" * 24}
    server.api_key, server.verified = env["OPENAI_KEY"], False
    usage = {
        "input_tokens": 4250,
        "input_tokens_details": {"cached_tokens": 4000, "cache_write_tokens": 200},
        "output_tokens": 30,
    }
    with serving(server):
        add = [
            "providers",
            "add",
            "Lab",
            "--kind",
            "responses",
            "--base-url",
            server.root,
            "--api-key-env",
            "OPENAI_KEY",
        ]
        assert atelier(*add, **env).status == 0
        assert atelier("providers", "test", "Lab", OPENAI_KEY="AIza-another-key").status == 1
        listed = json.loads(atelier("models", "list", "--provider", "Lab", "--json", **env).out)
        assert [(each["name"], each["supports_thinking"]) for each in listed] == [("gpt-5.5", True), ("gpt-4.1", False)]
        prices = ["--price-in", "2", "--price-out", "10", "--price-cache-read", "0.2", "--price-cache-write", "2.5"]
        assert atelier("models", "edit", "Lab", "gpt-5.5", *prices, **env).status == 0
        server.script(Reply(text="Hello there", usage=usage))
        done = atelier("run", "Hi", "--provider", "Lab", "--model", "gpt-5.5", "--effort", "low", **env)
        assert (done.status, done.out.strip()) == (0, "Hello there"), (
            "also where neither streams nor summaries are allowed"
        )
        assert server.chats[-1]["reasoning"] == {"effort": "low"}
        total = json.loads(atelier("usage", "--json").out)["total"]
        assert (total["tokens_input"], total["tokens_cached"], total["tokens_stored"]) == (4250, 4000, 200)
        assert (total["cost"], total["saved"]) == (0.0017, 0.0071)
        gone = atelier("run", "Hi", "--provider", "Lab", "--model", "gpt-0-gone", **env)
        assert gone.status == 1
        assert "does not have the model gpt-0-gone" in gone.err
        refused = atelier("run", "Hi", "--provider", "Lab", "--model", "gpt-5.5", OPENAI_KEY="sk-expired-key")
        assert refused.status == 1
        assert "refused the API key" in refused.err
        assert "sk-expired-key" not in refused.err


def test_azure_with_custom_headers(atelier: Run, tmp_path: Path) -> None:
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


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--header", "X-Team: a-secret-value"], "keyring"),
        (["--header", "X-Team"], "NAME: $VARIABLE"),
        (["--header", "Host: $HOME"], "Host"),
        (["--ca-file", "missing.pem"], "missing.pem"),
        (["--api-version", "a b"], "api_version"),
    ],
)
def test_unusable_options_are_refused(atelier: Run, options: list[str], word: str) -> None:
    added = atelier("providers", "add", "lab", "--kind", "openai", "--no-test", *options)
    assert added.status == 2
    assert word in added.err
    assert "a-secret-value" not in added.err


@pytest.mark.parametrize(
    ("language", "words"), [("en", "“Name” may contain letters"), ("fr", "« Nom » ne peut comporter que des lettres")]
)
def test_an_error_names_the_field_as_the_window_does(cli: Cli, language: str, words: str) -> None:
    failed = cli("--lang", language, "providers", "add", "a/b", "--kind", "openai", "--no-test")
    assert words in failed.err.replace("\xa0", " ")
