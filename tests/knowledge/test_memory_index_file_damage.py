"""The file of the index: a damaged one counts as missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from atelier_desk.knowledge import memory_index_file


@pytest.mark.parametrize("length", [2**64 - 1, 2**62, 200])
def test_a_damaged_length_allocates_no_memory(tmp_path: Path, length: int) -> None:
    file = tmp_path / "memory-index.bin"
    file.write_bytes(memory_index_file.MAGIC + length.to_bytes(8, "little") + bytes(4) + b"{}" * 40)
    assert memory_index_file.read(file, "stamp", None) is None
