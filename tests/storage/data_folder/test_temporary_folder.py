"""A folder for the time of one command."""

from __future__ import annotations

import stat

import pytest

from atelier_desk.storage.data_folder.temporary_folder import temporary_folder


async def test_it_is_private_and_goes_with_all_its_content_even_after_an_error() -> None:
    with pytest.raises(RuntimeError, match="failed"):
        async with temporary_folder() as folder:
            (folder / "below").mkdir()
            (folder / "below" / "file").write_text("x", encoding="utf-8")
            assert not stat.S_IMODE(folder.stat().st_mode) & 0o077
            raise RuntimeError("failed")
    assert not folder.exists()
