"""Tiny GGUF files, a store with them, and the real starter for tests that are worth its half second."""

import struct
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from atelier_desk.domain.clock import SystemClock
from atelier_desk.llm.local.model_files import ModelStore
from atelier_desk.llm.local.provider import LocalProvider


def gguf_bytes(*, context: int = 2048, template: str = "{{ tools }}", name: str = "Tiny", weights: int = 256) -> bytes:
    """A complete, if useless, GGUF file: three metadata pairs, a long vocabulary and one float32 tensor."""

    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value.encode())) + value.encode()

    pairs = b"".join(
        [
            text("general.architecture") + struct.pack("<I", 8) + text("llama"),
            text("general.name") + struct.pack("<I", 8) + text(name),
            text("llama.context_length") + struct.pack("<II", 4, context),
            text("tokenizer.chat_template") + struct.pack("<I", 8) + text(template),
            text("tokenizer.ggml.tokens")
            + struct.pack("<IIQ", 9, 8, 100)
            + b"".join(text(f"t{index}") for index in range(100)),
            text("tokenizer.ggml.scores") + struct.pack("<IIQ", 9, 6, 100) + struct.pack("<100f", *range(100)),
        ]
    )
    tensor = text("weights") + struct.pack("<IQIQ", 1, weights, 0, 0)
    head = b"GGUF" + struct.pack("<IQQ", 3, 1, 6) + pairs + tensor
    return head + b"\0" * (-len(head) % 32) + b"\1" * (weights * 4)


@pytest.fixture
def models_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "models"
    folder.mkdir()
    return folder


@pytest.fixture
def store(models_dir: Path) -> ModelStore:
    """A models folder without the starter."""
    return ModelStore(models_dir, starter_path=models_dir / "absent.gguf")


@pytest.fixture
async def provider(models_dir: Path) -> AsyncIterator[LocalProvider]:
    """The real provider with an empty folder: only the starter."""
    made = LocalProvider(models_dir, SystemClock())
    yield made
    await made.aclose()
