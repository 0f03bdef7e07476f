"""Messages about misconfigured servers, proxies and certificates, in a real environment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, ProviderCli
from tests.cli.server_thread import serving
from tests.helpers.servers.openai import FakeOpenAI
from tests.helpers.servers.proxies import FakeProxy
from tests.helpers.servers.scripted_http_server import Failure, Reply

FAR = "http://models.test/v1"


def test_add_and_test_give_the_same_message_with_the_servers_address(atelier: ProviderCli, tmp_path: Path) -> None:
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
    atelier: ProviderCli, url: str, env: dict[str, str], words: tuple[str, ...]
) -> None:
    assert atelier("providers", "add", "lab", "--kind", "openai", "--base-url", url, "--no-test", **env).status == 0
    tested = atelier("providers", "test", "lab", **env)
    assert tested.status == 1
    assert len(tested.err.splitlines()) == 1
    for word in words:
        assert word in tested.err


def test_a_run_through_a_proxy_with_unusual_environment_variables(atelier: ProviderCli, tmp_path: Path) -> None:
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


def test_a_server_that_loads_its_model_is_reported(atelier: ProviderCli, tmp_path: Path) -> None:
    loading = Failure(503, {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}})
    server = FakeOpenAI()
    with serving(server):
        server.script(loading, Reply(text="Hello there"))
        atelier("providers", "add", "lab", "--kind", "openai", "--base-url", server.url)
        done = atelier("run", "Hi", "--provider", "lab", "--model", "test-model")
    assert (done.status, done.out.strip()) == (0, "Hello there")
    assert "Loading the model. The server is not ready yet; retrying in " in done.err
    assert "Trying again" not in done.err


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
def test_unusable_options_are_refused(atelier: ProviderCli, options: list[str], word: str) -> None:
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
