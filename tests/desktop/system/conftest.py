"""A session bus for tests, and waiting for its messages."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from tests.helpers.fake_dbus_services import session

WAIT_S = 20.0
"""Far more seconds than needed: a busy machine must not make a test fail."""


async def until(holds: Callable[[], object]) -> None:
    """Wait for a condition caused by a message of another process."""

    async def wait() -> None:
        while not holds():
            await asyncio.sleep(0.005)

    await asyncio.wait_for(wait(), WAIT_S)


@pytest.fixture
async def daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[subprocess.Popen[bytes]]:
    async with session(tmp_path, monkeypatch) as process:
        yield process
