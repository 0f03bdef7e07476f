"""Read the header of a GGUF file: enough to describe the model and to detect truncated files.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md (versions 2 and 3, little endian). Only the header is
read (metadata and tensor list), never the weights.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

MAGIC = b"GGUF"
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_MAX_STRING = 16 * 1024 * 1024
_MAX_COUNT = 10_000_000
_MAX_ARRAY = 64
"""Longer arrays (vocabularies) are skipped."""

_BLOCKS = {
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 9: (32, 36),
    10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 15: (256, 292),
    16: (256, 66), 17: (256, 74), 18: (256, 98), 19: (256, 50), 20: (32, 18), 21: (256, 110), 22: (256, 82),
    23: (256, 136),
    24: (1, 1), 25: (1, 2), 26: (1, 4), 27: (1, 8), 28: (1, 8), 29: (256, 56), 30: (1, 2), 34: (256, 54), 35: (256, 66),
    39: (32, 17),
}  # fmt: skip
"""ggml type → (weights per block, bytes per block), from ggml.h and ggml-common.h.

An unknown type counts as one byte.
"""


class GgufFormatError(ValueError):
    """The file is not GGUF, or its header is incomplete or invalid."""


@dataclass(frozen=True, slots=True)
class GgufHead:
    """Content of the header.

    Attributes:
        metadata: the key-value pairs, without long arrays.
        needed_bytes: minimum size of a complete file, from the last tensor's offset and shape.
    """

    metadata: dict[str, object]
    needed_bytes: int

    @property
    def architecture(self) -> str:
        return str(self.metadata.get("general.architecture", ""))

    @property
    def name(self) -> str:
        return str(self.metadata.get("general.name", ""))

    @property
    def context_length(self) -> int | None:
        """Context in tokens that the model was trained for, None if unknown."""
        value = self.metadata.get(f"{self.architecture}.context_length")
        return value if isinstance(value, int) and value > 0 else None

    @property
    def chat_template(self) -> str:
        return str(self.metadata.get("tokenizer.chat_template", ""))


def read_head(path: Path) -> GgufHead:
    """Read a file's header.

    Raises:
        GgufFormatError: not a GGUF file of version 2 or 3, or a truncated header.
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        try:
            return _read(file)
        except (struct.error, EOFError, UnicodeDecodeError, MemoryError, OverflowError) as error:
            raise GgufFormatError(f"the head of {path.name} is incomplete: {error}") from error


def _read(file: BinaryIO) -> GgufHead:
    if file.read(4) != MAGIC:
        raise GgufFormatError("the file does not begin with GGUF")
    version = _scalar(file, "I")
    if version not in (2, 3):
        raise GgufFormatError(f"GGUF version {version} is not supported (2 and 3 are)")
    tensors, pairs = _scalar(file, "Q"), _scalar(file, "Q")
    if tensors > _MAX_COUNT or pairs > _MAX_COUNT:
        raise GgufFormatError("the head names an impossible number of entries")
    metadata = {}
    for _ in range(pairs):
        key = _string(file)
        value = _value(file, _scalar(file, "I"))
        if value is not None:
            metadata[key] = value
    end = 0
    for _ in range(tensors):
        _string(file)
        shape = [_scalar(file, "Q") for _ in range(_scalar(file, "I"))]
        kind, offset = _scalar(file, "I"), _scalar(file, "Q")
        end = max(end, offset + _tensor_bytes(kind, shape))
    alignment = metadata.get("general.alignment", 32)
    alignment = alignment if isinstance(alignment, int) and alignment > 0 else 32
    start = -(-file.tell() // alignment) * alignment
    return GgufHead(metadata, start + end if tensors else file.tell())


def _tensor_bytes(kind: int, shape: list[int]) -> int:
    weights = 1
    for size in shape:
        weights *= size
    block, block_bytes = _BLOCKS.get(kind, (0, 0))
    return weights // block * block_bytes if block else 1


def _scalar(file: BinaryIO, code: str) -> Any:
    layout = struct.Struct("<" + code)
    return layout.unpack(_read_exact(file, layout.size))[0]


def _read_exact(file: BinaryIO, size: int) -> bytes:
    data = file.read(size)
    if len(data) < size:
        raise EOFError(f"{size - len(data)} bytes are missing")
    return data


def _string(file: BinaryIO) -> str:
    size = _scalar(file, "Q")
    if size > _MAX_STRING:
        raise GgufFormatError("the head names an impossibly long text")
    return _read_exact(file, size).decode("utf-8", errors="replace")


def _value(file: BinaryIO, kind: int) -> object:
    """Read one value; None for a skipped array."""
    if kind == _STRING:
        return _string(file)
    if kind != _ARRAY:
        code = _SCALARS.get(kind)
        if code is None:
            raise GgufFormatError(f"unknown value type {kind}")
        return _scalar(file, code)
    inner, count = _scalar(file, "I"), _scalar(file, "Q")
    if count > _MAX_COUNT:
        raise GgufFormatError("the head names an impossibly long list")
    if count <= _MAX_ARRAY:
        return [_value(file, inner) for _ in range(count)]
    if inner in _SCALARS:
        file.seek(struct.calcsize("<" + _SCALARS[inner]) * count, 1)
    elif inner == _STRING:
        _pass_strings(file, count)
    else:
        for _ in range(count):
            _value(file, inner)
    return None


def _pass_strings(file: BinaryIO, count: int) -> None:
    """Skip a vocabulary without decoding its texts, which would take most of the time."""
    read, size_of = file.read, struct.Struct("<Q").unpack
    for _ in range(count):
        (size,) = size_of(read(8))
        if size > _MAX_STRING:
            raise GgufFormatError("the head names an impossibly long text")
        if len(read(size)) < size:
            raise EOFError("a text of a list is cut")
