"""The tested address and a working alternative are shown; a list of models is never required."""

from __future__ import annotations

import pytest

from atelier_desk.domain.provider import ProviderHealth
from atelier_desk.llm.network.address_correction import EndpointAddress, candidates
from tests.helpers.manual_clock import ManualClock
from tests.helpers.servers.ollama import FakeOllama
from tests.helpers.servers.openai import FakeOpenAI
from tests.helpers.servers.scripted_http_server import Failure, FakeServer, Reply, Request, Response
from tests.llm.provider_requests import answer, provider, send

KEY = "secret-key-1"


class Redirecting(FakeServer):
    """Redirects every request elsewhere."""

    async def handle(self, request: Request, out: Response) -> None:
        await out.json({}, status=301, headers={"location": f"https://models.test{request.path}?token=secret-word"})


@pytest.fixture
async def gone() -> str:
    async with FakeOpenAI() as server:
        url = server.url
    return url


async def verdict(kind: str, url: str, clock: ManualClock, *, key: str = "") -> ProviderHealth:
    made = provider(kind, url, clock, key=key)
    try:
        return await made.test()
    finally:
        await made.aclose()


@pytest.mark.parametrize(
    ("prefix", "given"),
    [
        ("/v1", "/v2"),
        ("/v1", "/v1/v1"),
        ("/v1", "/api"),
        ("/v1", "/api/v1"),
        ("/v1", "/v1/models"),
        ("/lab/v1", "/lab"),
        ("/api/v1", "/v1"),
        ("/api", "/v1"),
        ("/openai/v1", "/openai"),
    ],
)
async def test_the_right_address_is_found(
    openai_server: FakeOpenAI, clock: ManualClock, prefix: str, given: str
) -> None:
    openai_server.prefix, openai_server.api_key = prefix, KEY
    health = await verdict("openai", openai_server.root + given, clock, key=KEY)
    right = f"{openai_server.root}{prefix}"
    if given == "/v2":
        assert health.found_url in ("", right)
        return
    assert (health.ok, health.found_url, health.found_kind) == (False, right, "openai")
    assert f"There is a model server at {right}" in health.message
    assert f"{openai_server.root}{given}/models" in health.message


async def test_a_web_page_is_not_a_model_server(openai_server: FakeOpenAI, clock: ManualClock) -> None:
    openai_server.web_page = True
    openai_server.script(Reply(raw=b"\n<!doctype html><title>Chat</title>", content_type="text/html"))
    health = await verdict("openai", f"{openai_server.root}/chat", clock)
    assert (health.ok, health.code, health.found_url) == (False, "bad_response", openai_server.url)
    assert "web page" in health.message
    chat = provider("openai", openai_server.url, clock)
    with pytest.raises(Exception, match="web page") as caught:
        await send(chat)
    assert getattr(caught.value, "recoverable", True) is False
    assert len(openai_server.of("/v1/chat/completions")) == 1


async def test_a_server_of_another_kind_is_recognised(
    openai_server: FakeOpenAI, ollama_server: FakeOllama, clock: ManualClock
) -> None:
    health = await verdict("ollama", openai_server.root, clock)
    assert (health.ok, health.found_url, health.found_kind) == (False, openai_server.url, "openai")
    health = await verdict("openai", f"{ollama_server.root}/v1", clock)
    assert (health.ok, health.found_url, health.found_kind) == (False, ollama_server.root, "ollama")


async def test_an_address_without_a_server(gone: str, clock: ManualClock) -> None:
    health = await verdict("openai", gone, clock)
    assert (health.ok, health.code, health.found_url) == (False, "unreachable", "")
    assert f"{gone}/models" in health.message
    assert health.detail == "Connection refused"


async def test_a_redirect_is_reported_and_not_followed(clock: ManualClock) -> None:
    async with Redirecting() as server:
        health = await verdict("openai", f"{server.root}/v1", clock, key=KEY)
    assert not health.ok
    assert "https://models.test/v1/models" in health.message
    assert "secret-word" not in health.message


@pytest.mark.parametrize("page", [False, {"status": "fine"}, "nothing", {"object": "list"}])
async def test_a_server_without_a_model_list_passes(
    openai_server: FakeOpenAI, clock: ManualClock, page: object
) -> None:
    openai_server.models_page = page
    health = await verdict("openai", openai_server.url, clock)
    assert (health.ok, health.models, health.code) == (True, 0, "")
    assert "does not list its models" in health.message


@pytest.mark.parametrize(
    ("status", "kind", "body", "well"),
    [
        (200, "text/event-stream", b'data: {"choices": []}\n\ndata: [DONE]\n\n', True),
        (200, "application/json", b'{"choices": []}', True),
        (
            404,
            "application/json",
            b'{"object": "error", "message": "The model `None` does not exist.", "code": 404}',
            True,
        ),
        (422, "application/json", b'{"detail": [{"loc": ["body", "messages"], "msg": "Field required"}]}', True),
        (404, "application/json", b'{"detail": "Not Found"}', False),
        (404, "text/plain", b"Cannot POST /v1/chat/completions", False),
        (405, "text/html", b"<html>405</html>", False),
        (200, "text/html", b"<!doctype html><title>Chat</title>", False),
        (200, "text/plain", b"", False),
    ],
)
async def test_without_a_model_list_the_chat_endpoint_is_tested(
    clock: ManualClock, status: int, kind: str, body: bytes, well: bool
) -> None:
    class Plain(FakeServer):
        async def handle(self, request: Request, out: Response) -> None:
            if request.method == "POST" and request.path == "/v1/chat/completions":
                await out.body(body, kind, status=status)
            else:
                await out.json({"detail": "Not Found"}, status=404)

    async with Plain() as server:
        health = await verdict("openai", f"{server.root}/v1", clock)
    assert health.ok is well
    assert ("does not list its models" in health.message) is well


async def test_without_a_model_list_a_wrong_key_is_still_reported(
    openai_server: FakeOpenAI, clock: ManualClock
) -> None:
    openai_server.models_page, openai_server.api_key = False, "another-key"
    health = await verdict("openai", openai_server.url, clock, key=KEY)
    assert (health.ok, health.code) == (False, "auth")


@pytest.mark.parametrize("page", [[{"id": "a"}, {"id": "b"}], ["a", "b"], {"data": ["a", "b"]}])
async def test_a_model_list_as_a_bare_array(openai_server: FakeOpenAI, clock: ManualClock, page: object) -> None:
    openai_server.models_page = page
    made = provider("openai", openai_server.url, clock)
    assert [info.name for info in await made.list_models()] == ["a", "b"]


async def test_a_missing_page_is_not_an_empty_list(openai_server: FakeOpenAI, clock: ManualClock) -> None:
    openai_server.models_page = False
    made = provider("openai", openai_server.url, clock)
    assert await made.list_models() == []
    info = await made.model_info("gpt-4o")
    assert (info.context_window, info.source) == (128_000, "profile")


async def test_an_imitation_of_ollama_passes(ollama_server: FakeOllama, clock: ManualClock) -> None:
    ollama_server.no_metadata = True
    health = await verdict("ollama", ollama_server.root, clock)
    assert (health.ok, health.models) == (True, 0)


async def test_for_a_server_that_is_loading_no_alternative_is_searched(
    openai_server: FakeOpenAI, clock: ManualClock
) -> None:
    class Starting(FakeOpenAI):
        async def handle(self, request: Request, out: Response) -> None:
            await out.failure(
                Failure(503, {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}})
            )

    async with Starting() as server:
        health = await verdict("openai", server.url, clock)
        assert (health.ok, health.code) == (False, "loading")
        assert "still loading the model" in health.message
        assert len(server.requests) == 1


async def test_azure(openai_server: FakeOpenAI, clock: ManualClock) -> None:
    openai_server.prefix, openai_server.models_page = "/openai/deployments/gpt", False
    openai_server.api_key, openai_server.key_header = KEY, "api-key"
    openai_server.script(Reply(text="Hello"))
    url = f"{openai_server.url}/chat/completions?api-version=2024-10-21"
    made = provider("openai", url, clock, key=KEY, key_style="api-key")
    assert (made.config.api_version, made.http.base_url) == ("2024-10-21", openai_server.url)
    assert (await answer(made)).content == "Hello"
    assert (await made.test()).ok
    for request in openai_server.requests:
        assert request.query == "api-version=2024-10-21"
        assert "authorization" not in request.headers


@pytest.mark.parametrize(
    ("url", "base", "header"),
    [
        ("https://lab.openai.azure.com", "https://lab.openai.azure.com/openai/v1", "api-key"),
        (
            "https://lab.openai.azure.com/openai/deployments/gpt",
            "https://lab.openai.azure.com/openai/deployments/gpt",
            "api-key",
        ),
        ("https://api.example.test", "https://api.example.test/v1", "authorization"),
    ],
)
async def test_the_header_of_the_key_follows_the_host(clock: ManualClock, url: str, base: str, header: str) -> None:
    made = provider("openai", url, clock, key=KEY)
    assert made.http.base_url == base
    assert list(await made._credentials()) == [header]


async def test_headers_are_sent_and_their_values_redacted(openai_server: FakeOpenAI, clock: ManualClock) -> None:
    headers = {"X-Gateway": "", "X-Token": "Bearer $GATE_TOKEN"}
    made = provider(
        "openai", openai_server.url, clock, key=KEY, headers=headers, environ={"GATE_TOKEN": "gate-token-value"}
    )
    made._vault.set_header("Server", "X-Gateway", "gateway value 12345")
    assert (await made.test()).ok
    assert openai_server.requests[0].headers["x-gateway"] == "gateway value 12345"
    assert openai_server.requests[0].headers["x-token"] == "Bearer gate-token-value"
    openai_server.script(Failure(400, {"error": "bad gateway value 12345, bad gate-token-value"}))
    with pytest.raises(Exception, match="redacted") as caught:
        await send(made)
    assert "12345" not in str(caught.value)
    assert "gate-token-value" not in str(caught.value)


@pytest.mark.parametrize("headers", [{"X-Gateway": ""}, {"X-Gateway": "$NOT_SET"}])
async def test_a_header_without_its_value_is_named(
    openai_server: FakeOpenAI, clock: ManualClock, headers: dict[str, str]
) -> None:
    health = await provider("openai", openai_server.url, clock, headers=headers).test()
    assert (health.ok, health.code) == (False, "auth")
    assert "X-Gateway" in health.message
    assert not openai_server.requests


def test_the_same_path_with_v1_is_tried_first() -> None:
    places = candidates(EndpointAddress("openai", "http://host:1/api"))
    assert places[0] == EndpointAddress("openai", "http://host:1/v1")
    assert len(places) == len(set(places)) <= 12
