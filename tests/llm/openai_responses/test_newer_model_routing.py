"""OpenAI's newer models with a compatible provider: the Responses API where the server has it, otherwise chat
completions.
"""

from __future__ import annotations

import pytest

from atelier_desk.domain.errors import SETTINGS_CHANGED, ProviderError
from atelier_desk.domain.provider import ProviderConfig
from atelier_desk.llm.http_provider_factory import create_http_provider
from atelier_desk.llm.openai_responses.newer_model_routing import ASK_AGAIN_S
from atelier_desk.llm.secrets import KeyVault
from tests.helpers.error_codes import raises_code
from tests.helpers.manual_clock import ManualClock
from tests.helpers.servers.openai import FakeOpenAI
from tests.helpers.servers.openai_responses import FakeResponses
from tests.helpers.servers.scripted_http_server import Failure, Reply, Request, Response
from tests.llm.provider_requests import answer, send


async def pages(server: FakeOpenAI, *models: str) -> list[str]:
    """The endpoints that were requested for replies of these models, in order."""
    provider = create_http_provider(
        ProviderConfig(name="mine", kind="openai", base_url=server.url), KeyVault(environ={}), ManualClock()
    )
    server.script(*[Reply(text="Well.") for _model in models])
    try:
        for model in models:
            assert (await answer(provider, "Hi", model=model)).content == "Well."
    finally:
        await provider.aclose()
    return [request.path.rpartition("/v1")[2] for request in server.requests if request.method == "POST"]


async def test_newer_models_use_the_responses_api() -> None:
    async with FakeResponses() as server:
        assert await pages(server, "gpt-6-astra", "gpt-6.1-sol") == ["/responses", "/responses"]


@pytest.mark.parametrize("model", ["gpt-6-astra", "gpt-5.5"])
async def test_a_closed_provider_uses_neither(model: str) -> None:
    async with FakeResponses() as server:
        provider = create_http_provider(
            ProviderConfig(name="mine", kind="openai", base_url=server.url), KeyVault(environ={}), ManualClock()
        )
        await provider.aclose()
        with raises_code(ProviderError, SETTINGS_CHANGED):
            await answer(provider, "Hi", model=model)
        assert not server.requests


async def test_a_server_without_it_gets_chat_completions_and_that_is_remembered() -> None:
    async with FakeOpenAI() as server:
        found = await pages(server, "gpt-6-astra", "gpt-6-astra", "openai/gpt-6-astra", "gpt-5.5")
    assert found == ["/responses", *["/chat/completions"] * 4]


MODEL = "gpt-6-astra"
RESPONSES, CHAT = "/responses", "/chat/completions"
REMEMBERED = [RESPONSES, CHAT, CHAT, RESPONSES, CHAT]
EACH_TIME = [RESPONSES, CHAT] * 3
REFUSED = [RESPONSES] * 3


class WithoutResponses(FakeOpenAI):
    """Chat completions, and ``refusal`` below ``/responses``."""

    def __init__(self, refusal: Failure) -> None:
        super().__init__()
        self.refusal = refusal

    async def handle(self, request: Request, out: Response) -> None:
        if request.path.endswith(RESPONSES):
            await out.failure(self.refusal)
        else:
            await super().handle(request, out)


def said(message: str, **fields: object) -> dict[str, object]:
    return {"error": {"message": message, **fields}}


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (404, {"detail": "Not Found"}, REMEMBERED),  # FastAPI: vLLM, LiteLLM, SGLang
        (404, said("File Not Found", code=404, type="not_found_error"), REMEMBERED),  # llama.cpp
        (404, b"404 page not found", REMEMBERED),  # Ollama
        (404, b"Not Found", REMEMBERED),
        (404, b"Cannot POST /v1/responses", REMEMBERED),  # Express
        (404, {"error": "Unexpected endpoint or method. (POST /v1/responses)"}, REMEMBERED),  # LM Studio
        (404, said("Invalid URL (POST /v1/responses)", type="invalid_request_error"), REMEMBERED),  # OpenAI
        (
            404,
            said("Unknown request URL: POST /openai/v1/responses. Check the URL for typos.", code="unknown_url"),
            REMEMBERED,
        ),  # Groq
        (404, {"message": "no Route matched with those values"}, REMEMBERED),  # Kong: Mistral
        (404, said("Resource not found", code="404"), REMEMBERED),  # Azure
        (404, {"timestamp": 1, "status": 404, "error": "Not Found", "path": "/v1/responses"}, REMEMBERED),  # Spring
        (405, {"detail": "Method Not Allowed"}, REMEMBERED),
        (501, b"Not Implemented", REMEMBERED),
        (
            404,
            said(f"The model `{MODEL}` does not exist or you do not have access to it.", code="model_not_found"),
            REFUSED,
        ),  # OpenAI
        (404, {"object": "error", "message": f"The model `{MODEL}` does not exist.", "code": 404}, REFUSED),  # vLLM
        (404, said(f'model "{MODEL}" not found, try pulling it first', type="api_error"), REFUSED),  # Ollama
        (404, said(f"No endpoints found for {MODEL}.", code=404), REFUSED),  # OpenRouter
        # Azure
        (404, said("The API deployment for this resource does not exist.", code="DeploymentNotFound"), REFUSED),
        (404, said(f"models/{MODEL} is not found for API version v1beta", status="NOT_FOUND"), REFUSED),  # Google
        (404, b"", EACH_TIME),
        (404, b"<html><head><title>404 Not Found</title></head></html>", EACH_TIME),  # nginx
        (404, said("This model is not supported in the v1/responses endpoint."), EACH_TIME),
        (404, said("Nothing to see here."), EACH_TIME),
    ],
)
async def test_only_an_error_about_the_endpoint_means_that_it_is_missing(
    status: int, body: object, expected: list[str]
) -> None:
    """The third message comes so much later that the endpoint is tried again."""
    clock = ManualClock()
    async with WithoutResponses(Failure(status, body)) as server:
        provider = create_http_provider(
            ProviderConfig(name="mine", kind="openai", base_url=server.url), KeyVault(environ={}), clock
        )
        try:
            for wait_s in (ASK_AGAIN_S / 2, ASK_AGAIN_S / 2, 0.0):
                server.script(Reply(text="Well."))
                if expected is REFUSED:
                    with raises_code(ProviderError, "not_found"):
                        await send(provider, "Hi", model=MODEL)
                else:
                    assert (await answer(provider, "Hi", model=MODEL)).content == "Well."
                await clock.advance(wait_s)
        finally:
            await provider.aclose()
    assert [request.path.rpartition("/v1")[2] for request in server.requests] == expected


async def test_an_address_containing_models_is_not_taken_for_the_model() -> None:
    clock = ManualClock()
    async with WithoutResponses(Failure(404, b"Cannot POST /models/v1/responses")) as server:
        server.prefix = "/models/v1"
        config = ProviderConfig(name="mine", kind="openai", base_url=f"{server.root}/models/v1")
        provider = create_http_provider(config, KeyVault(environ={}), clock)
        server.script(Reply(text="Well."), Reply(text="Well."))
        try:
            for _message in range(2):
                await send(provider, "Hi", model=MODEL)
        finally:
            await provider.aclose()
    assert [request.path.rpartition("/v1")[2] for request in server.requests] == [RESPONSES, CHAT, CHAT]
