"""Files created by tools: found by their hash, and never returned when the content differs."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from atelier_desk.domain.errors import StorageError
from atelier_desk.storage.data_folder import atomic_files
from atelier_desk.storage.data_folder.artefacts import Artefacts
from atelier_desk.storage.data_folder.datadir import DataDir
from tests.helpers.error_codes import raises_code


@pytest.fixture
def datadir(tmp_path: Path) -> DataDir:
    return DataDir(tmp_path).ensure()


async def test_a_stored_file_is_read_again_and_stored_once(datadir: DataDir) -> None:
    artefacts = Artefacts(datadir)
    part = await artefacts.store("w1", "a.png", b"bytes", "image/png")
    again = await artefacts.store("w1", "other name", b"bytes", "image/png")
    assert (part.size, part.sha256) == (5, again.sha256)
    assert await artefacts.read("w1", part) == b"bytes"
    assert len(list((datadir.attachments / "w1").iterdir())) == 1


async def test_a_damaged_or_missing_file_is_an_error(datadir: DataDir) -> None:
    artefacts = Artefacts(datadir)
    part = await artefacts.store("w1", "a.png", b"bytes", "image/png")
    path = datadir.attachments / "w1" / part.sha256
    path.write_bytes(b"bytez")
    with raises_code(StorageError, "damaged_file", match=r"a\.png"):
        await artefacts.read("w1", part)
    path.unlink()
    with pytest.raises(StorageError):
        await artefacts.read("w1", part)
    with pytest.raises(StorageError):
        await artefacts.read("w2", part)


async def test_a_copy_belongs_to_the_other_workflow(datadir: DataDir) -> None:
    artefacts = Artefacts(datadir)
    part = await artefacts.store("w1", "a", b"x", "")
    await artefacts.copy("w1", "w2", part)
    await artefacts.copy("w3", "w2", part)
    assert await artefacts.read("w2", part) == b"x"


async def test_an_unwritable_folder_is_reported(datadir: DataDir) -> None:
    (datadir.attachments / "w1").write_text("in the way")
    with pytest.raises(StorageError):
        await Artefacts(datadir).store("w1", "a", b"x", "")


async def test_a_full_disk_is_reported_but_an_existing_file_needs_no_space(
    datadir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    artefacts = Artefacts(datadir)
    part = await artefacts.store("w1", "a", b"x", "")

    def full(*_given: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(atomic_files, "write_atomic", full)
    assert await artefacts.store("w1", "a", b"x", "") == part
    for attempt in (artefacts.store("w1", "b", b"y", ""), artefacts.copy("w1", "w2", part)):
        with raises_code(StorageError, "disk_full"):
            await attempt
