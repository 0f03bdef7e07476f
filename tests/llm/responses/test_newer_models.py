"""OpenAI's newer models by a provider of the compatible kind: the Responses API where the server has it, chat completions where not."""

from __future__ import annotations

from atelier_desk.domain.provider import ProviderConfig
from atelier_desk.llm.factory import create_http_provider
from atelier_desk.llm.secrets import KeyVault
from tests.llm.streams import ask, collect, reply_of
from tests.support.servers.base import Reply
from tests.support.servers.openai import FakeOpenAI
from tests.support.servers.responses import FakeResponses


async def pages(server: FakeOpenAI, *models: str) -> list[str]:
    """The pages that were asked for replies of these models, one after the other."""
    provider = create_http_provider(ProviderConfig(name="mine", kind="openai", base_url=server.url), KeyVault(environ={}), None)  # type: ignore[arg-type]
    server.script(*[Reply(text="Well.") for _model in models])
    try:
        for model in models:
            assert reply_of(await collect(provider.stream(ask("Hi", model=model)))).content == "Well."
    finally:
        await provider.aclose()
    return [request.path.rpartition("/v1")[2] for request in server.requests if request.method == "POST"]


async def test_newer_models_are_asked_by_responses() -> None:
    async with FakeResponses() as server:
        assert await pages(server, "gpt-6-astra", "gpt-6.1-sol") == ["/responses", "/responses"]


async def test_a_server_without_that_page_is_asked_by_chat_completions_and_that_is_remembered() -> None:
    async with FakeOpenAI() as server:
        found = await pages(server, "gpt-6-astra", "gpt-6-astra", "openai/gpt-6-astra", "gpt-5.5")
    assert found == ["/responses", *["/chat/completions"] * 4]
