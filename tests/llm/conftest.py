"""Fake model servers, one of each kind."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.helpers.servers.anthropic import FakeAnthropic
from tests.helpers.servers.google import FakeGoogle
from tests.helpers.servers.mistral import FakeMistral
from tests.helpers.servers.ollama import FakeOllama
from tests.helpers.servers.openai import FakeOpenAI
from tests.helpers.servers.openai_responses import FakeResponses


@pytest.fixture
async def openai_server() -> AsyncIterator[FakeOpenAI]:
    async with FakeOpenAI() as server:
        yield server


@pytest.fixture
async def mistral_server() -> AsyncIterator[FakeMistral]:
    async with FakeMistral() as server:
        yield server


@pytest.fixture
async def anthropic_server() -> AsyncIterator[FakeAnthropic]:
    async with FakeAnthropic() as server:
        yield server


@pytest.fixture
async def google_server() -> AsyncIterator[FakeGoogle]:
    async with FakeGoogle() as server:
        yield server


@pytest.fixture
async def responses_server() -> AsyncIterator[FakeResponses]:
    async with FakeResponses() as server:
        yield server


@pytest.fixture
async def ollama_server() -> AsyncIterator[FakeOllama]:
    async with FakeOllama() as server:
        yield server
