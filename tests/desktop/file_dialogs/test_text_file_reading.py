"""Files imported by the settings."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from atelier_desk.desktop.file_dialogs.open_save_confirm import read_text
from atelier_desk.domain.errors import UsageError


async def test_a_byte_order_mark_is_not_part_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "agent.json").write_bytes(b"\xef\xbb\xbf{}")
    assert await read_text(tmp_path / "agent.json") == "{}"


async def test_a_text_in_another_encoding_is_reported_as_such(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_bytes("été".encode("cp1252"))
    with pytest.raises(UsageError, match="is not UTF-8 text"):
        await read_text(tmp_path / "notes.txt")


async def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "agent.json")
    with pytest.raises(UsageError, match="cannot be read"):
        await read_text(tmp_path / "agent.json")
