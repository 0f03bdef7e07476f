"""What a person sees of servers, proxies and certificates that are not as they should be: separate processes with a real environment."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.servers.base import Failure, Reply
from tests.support.servers.ollama import FakeOllama
from tests.support.servers.openai import FakeOpenAI
from tests.support.servers.proxies import FakeProxy

ROOT = Path(__file__).resolve().parents[2]
FAR = "http://models.test/v1"
VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")


@dataclass
class Ended:
    status: int
    out: str
    err: str


async def atelier(data: Path, *argv: str, **env: str) -> Ended:
    """Run the program with no proxy variables but those given, and without a keyring."""
    clean = {name: value for name, value in os.environ.items() if name.upper() not in VARIABLES}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "atelier_desk", "--data-dir", str(data), *argv,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        env={**clean, "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring", **env}, cwd=ROOT,
    )  # fmt: skip
    out, err = await process.communicate()
    assert "Traceback" not in err.decode()
    return Ended(process.returncode or 0, out.decode(), err.decode())


async def test_add_and_test_say_the_same_and_where_the_server_is(tmp_path: Path) -> None:
    async with FakeOpenAI() as server:
        added = await atelier(tmp_path, "providers", "add", "lab", "--kind", "openai", "--base-url", f"{server.root}/api")
        tested = await atelier(tmp_path, "providers", "test", "lab")
        assert (added.status, tested.status) == (0, 1)
        assert added.err == tested.err
        assert len(tested.err.splitlines()) == 1
        assert f"{server.root}/api/models" in tested.err
        assert f"A model server answers at {server.url}: use that address." in tested.err
        as_json = await atelier(tmp_path, "providers", "test", "lab", "--json")
        assert json.loads(as_json.out)["found_url"] == server.url
        french = await atelier(tmp_path, "--lang", "fr", "providers", "test", "lab")
        assert french.err != tested.err
        assert server.url in french.err


@pytest.mark.parametrize(
    ("url", "env", "words"),
    [
        (FAR, {"ALL_PROXY": "foo:bar"}, ("ALL_PROXY", "foo:bar", "http://host:port", "NO_PROXY")),
        (FAR, {"http_proxy": "http://127.0.0.1:1"}, ("http_proxy", "http://127.0.0.1:1", "Connection refused")),
        (FAR, {"ALL_PROXY": "socks5://127.0.0.1:1"}, ("ALL_PROXY", "socks5://127.0.0.1:1")),
        ("https://127.0.0.1:1/v1", {"SSL_CERT_FILE": "/nowhere/ca.pem"}, ("SSL_CERT_FILE", "/nowhere/ca.pem", "--ca-file")),
    ],
)
async def test_a_run_that_cannot_reach_its_server_says_why(tmp_path: Path, url: str, env: dict[str, str], words: tuple[str, ...]) -> None:
    assert (await atelier(tmp_path, "providers", "add", "lab", "--kind", "openai", "--base-url", url, "--no-test")).status == 0
    tested = await atelier(tmp_path, "providers", "test", "lab", **env)
    assert tested.status == 1
    assert len(tested.err.splitlines()) == 1
    listed = await atelier(tmp_path, "providers", "models", "lab", **env)
    assert listed.status != 0
    for word in words:
        assert word in tested.err
        assert word in listed.err


async def test_a_run_through_a_proxy_of_an_odd_environment(tmp_path: Path) -> None:
    async with FakeOpenAI() as server, FakeProxy(server.port, socks=True) as proxy:
        server.models_page = False
        server.script(Reply(text="Hello there"))
        env = {"ALL_PROXY": f"socks://{proxy.address}/", "HTTPS_PROXY": "foo:bar", "SSL_CERT_FILE": "/nowhere/ca.pem"}
        added = await atelier(tmp_path, "providers", "add", "lab", "--kind", "openai", "--base-url", FAR, **env)
        assert added.status == 0
        assert "no list of models" in added.out
        done = await atelier(tmp_path, "run", "Hi", "--provider", "lab", "--model", "some/model:q4", **env)
        assert (done.status, done.out.strip()) == (0, "Hello there")
        assert proxy.asked


async def test_a_run_with_a_bad_proxy_ends_with_its_error(tmp_path: Path) -> None:
    env = {"ALL_PROXY": "foo:bar"}
    await atelier(tmp_path, "providers", "add", "lab", "--kind", "openai", "--base-url", FAR, "--no-test")
    done = await atelier(tmp_path, "run", "Hi", "--provider", "lab", "--model", "m", **env)
    assert done.status == 1
    assert "ALL_PROXY" in done.err


async def test_a_server_that_loads_its_model_is_said_to(tmp_path: Path) -> None:
    loading = Failure(503, {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}})
    async with FakeOpenAI() as server:
        server.script(loading, Reply(text="Hello there"))
        await atelier(tmp_path, "providers", "add", "lab", "--kind", "openai", "--base-url", server.url)
        done = await atelier(tmp_path, "run", "Hi", "--provider", "lab", "--model", "test-model")
    assert (done.status, done.out.strip()) == (0, "Hello there")
    assert "The server is loading the model; it is asked again in 1 s." in done.err
    assert "Trying again" not in done.err


async def test_an_imitation_of_ollama_answers(tmp_path: Path) -> None:
    async with FakeOllama() as server:
        server.no_metadata = True
        server.script(Reply(text="Hello there"))
        added = await atelier(tmp_path, "providers", "add", "box", "--kind", "ollama", "--base-url", server.url)
        assert (added.status, added.err) == (0, "")
        done = await atelier(tmp_path, "run", "Hi", "--provider", "box", "--model", "test-model")
        assert (done.status, done.out.strip()) == (0, "Hello there")


async def test_azure_with_headers_of_ones_own(tmp_path: Path) -> None:
    async with FakeOpenAI() as server:
        server.prefix, server.models_page = "/openai/deployments/gpt", False
        server.api_key, server.key_header = "k" * 24, "api-key"
        server.script(Reply(text="Hello there"))
        add = ["providers", "add", "azure", "--kind", "openai", "--base-url", f"{server.url}?api-version=2024-10-21"]
        options = ["--api-key-env", "AZURE_KEY", "--key-style", "api-key", "--header", "X-Team: $TEAM_TOKEN"]
        env = {"AZURE_KEY": "k" * 24, "TEAM_TOKEN": "t" * 24}
        added = await atelier(tmp_path, *add, *options, "--json", **env)
        assert added.status == 0
        shown = json.loads(added.out)
        assert (shown["api_version"], shown["headers"], shown["key_style"]) == ("2024-10-21", {"X-Team": "$TEAM_TOKEN"}, "api-key")
        done = await atelier(tmp_path, "run", "Hi", "--provider", "azure", "--model", "gpt", "--json", **env)
        assert done.status == 0
        (request,) = [request for request in server.of("/openai/deployments/gpt/chat/completions") if "messages" in request.json]
        assert (request.query, request.headers["x-team"], request.headers["api-key"]) == ("api-version=2024-10-21", "t" * 24, "k" * 24)
        unset = await atelier(tmp_path, "providers", "test", "azure", AZURE_KEY="k" * 24)
        assert unset.status == 1
        assert "TEAM_TOKEN" in unset.err
    assert not [
        path for path in tmp_path.rglob("*") if path.is_file() and (b"k" * 24 in path.read_bytes() or b"t" * 24 in path.read_bytes())
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
async def test_options_that_cannot_be_used(tmp_path: Path, options: list[str], word: str) -> None:
    added: Any = await atelier(tmp_path, "providers", "add", "lab", "--kind", "openai", *options)
    assert added.status == 2
    assert word in added.err
    assert "a-secret-value" not in added.err
