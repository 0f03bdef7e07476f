"""The key file: created only on request, excluded from whatever leaves the data folder, named by the diagnostics,
and deleted again.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.provider import KeyPlace, KeyState, ProviderConfig
from atelier_desk.engine import Atelier
from atelier_desk.engine.maintenance.doctor import checks
from tests.engine.conftest import Opener

KEY = "sk-file-0123456789"


def holding(folder: Path) -> list[str]:
    """The files that contain the key, plain or packed; archives are searched separately."""
    return sorted(path.name for path in folder.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes())


async def test_keys_survive_the_program_only_in_a_file_on_request(open_atelier: Opener, tmp_path: Path) -> None:
    async with open_atelier() as atelier:
        await atelier.providers.save(ProviderConfig(name="Mistral", kind="mistral"))
        assert await atelier.providers.set_key("Mistral", KEY) is False
        assert (await atelier.keys.states())["Mistral"] is KeyState.SESSION
    async with open_atelier() as atelier:
        assert holding(tmp_path) == []
        assert (await atelier.keys.states())["Mistral"] is KeyState.REQUIRED
        await atelier.providers.set_key("Mistral", KEY)
        store = await atelier.keys.use_file(True)
        assert (store.place, Path(store.file)) == (KeyPlace.FILE, tmp_path / "data" / "keys.json")
    async with open_atelier() as atelier:
        assert (await atelier.keys.states())["Mistral"] is KeyState.SAVED
        found = {check.name: check for check in await checks(atelier)}
        assert (found["keyring"].status, store.file in found["keyring"].message) == ("warn", True)
        await atelier.data.backup_create(tmp_path / "copy.zip")
        await atelier.data.export_jsonl(tmp_path / "export")
        assert holding(tmp_path) == ["keys.json"]
        assert "keys.json" not in {path.name for path in (tmp_path / "export").rglob("*")}
        assert b"keys.json" not in (tmp_path / "copy.zip").read_bytes()
        await atelier.keys.use_file(False)
        assert holding(tmp_path) == []
        assert (await atelier.keys.states())["Mistral"] is KeyState.SESSION
    async with open_atelier() as atelier:
        assert (await atelier.keys.states())["Mistral"] is KeyState.REQUIRED


async def test_an_unreadable_key_file_is_named_and_left_alone(tmp_path: Path, atelier: Atelier) -> None:
    await atelier.providers.save(ProviderConfig(name="Mistral", kind="mistral", has_key=True))
    (tmp_path / "data" / "keys.json").write_text("{", "utf-8")
    assert (await atelier.keys.states())["Mistral"] is KeyState.REQUIRED
    found = {check.name: check for check in await checks(atelier)}
    assert "cannot be read" in found["keyring"].message
    with pytest.raises(StorageError, match="delete it and enter the keys again"):
        await atelier.keys.use_file(True)
    assert (tmp_path / "data" / "keys.json").read_text("utf-8") == "{"


async def test_leftovers_of_a_killed_write_are_deleted_at_the_next_start(open_atelier: Opener, tmp_path: Path) -> None:
    class Killed(BaseException):
        pass

    async with open_atelier() as atelier:
        await atelier.providers.save(ProviderConfig(name="Mistral", kind="mistral"))
        await atelier.providers.set_key("Mistral", KEY)
        with pytest.MonkeyPatch.context() as patch, pytest.raises(Killed):
            patch.setattr("pathlib.Path.replace", lambda *_: (_ for _ in ()).throw(Killed))
            patch.setattr("pathlib.Path.unlink", lambda *_, **__: None)
            atelier.vault.store_in_file()
    assert len(holding(tmp_path)) == 1
    async with open_atelier():
        assert holding(tmp_path) == []


async def test_a_new_provider_does_not_get_an_old_key_of_its_name(atelier: Atelier) -> None:
    atelier.vault.set("Mistral", KEY)
    atelier.vault.set_header("Mistral", "X-Team", KEY)
    config = await atelier.providers.save(
        ProviderConfig(name="Mistral", kind="mistral", headers={"X-Team": ""}), new=True
    )
    assert atelier.vault.resolve(config) is None
    assert atelier.vault.get("Mistral/x-team") is None
