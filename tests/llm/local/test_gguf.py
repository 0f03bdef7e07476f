"""The header of a GGUF file: its contents, and everything that can be wrong with it."""

from pathlib import Path

import pytest

from atelier_desk.llm.local.gguf import GgufFormatError, read_head
from atelier_desk.llm.local.model_files import STARTER_BYTES, packaged_starter
from tests.llm.local.conftest import gguf_bytes


def test_the_header_has_name_context_template_and_size(tmp_path: Path) -> None:
    data = gguf_bytes(context=4096, template="{% if tools %}", name="Tiny one")
    path = tmp_path / "tiny.gguf"
    path.write_bytes(data)
    head = read_head(path)
    assert (head.architecture, head.name, head.context_length) == ("llama", "Tiny one", 4096)
    assert "tools" in head.chat_template
    assert head.needed_bytes == len(data)
    assert "tokenizer.ggml.tokens" not in head.metadata


def test_the_real_starter_needs_exactly_its_size() -> None:
    path = packaged_starter()
    assert path is not None
    head = read_head(path)
    assert head.needed_bytes == STARTER_BYTES
    assert head.context_length == 8192


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "begin with GGUF"),
        (b"PK\x03\x04 something else", "begin with GGUF"),
        (b"GGUF\x01\0\0\0", "version 1"),
        (b"GGUF\x03\0\0\0", "incomplete"),
        (b"GGUF\x03\0\0\0" + b"\xff" * 16, "impossible"),
        (gguf_bytes()[:60], "incomplete"),
    ],
)
def test_an_invalid_gguf_is_refused_with_the_reason(tmp_path: Path, data: bytes, reason: str) -> None:
    path = tmp_path / "bad.gguf"
    path.write_bytes(data)
    with pytest.raises(GgufFormatError, match=reason):
        read_head(path)


def test_every_truncation_of_the_header_is_noticed(tmp_path: Path) -> None:
    data = gguf_bytes()
    path = tmp_path / "cut.gguf"
    head_end = len(data) - 256 * 4 - 32
    for size in range(0, head_end, 97):
        path.write_bytes(data[:size])
        with pytest.raises(GgufFormatError):
            read_head(path)
