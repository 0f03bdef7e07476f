"""Keys: stored in the keyring when it encrypts, otherwise for this session, and nowhere else."""

from __future__ import annotations

import errno
import logging
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.errors import ProviderError, StorageError, UsageError
from atelier_desk.domain.provider import KeyPlace, KeyState, ProviderConfig
from atelier_desk.llm.secrets import KeyVault, redact, remember
from atelier_desk.storage.data_folder.plaintext_api_keys import KeyFile
from tests.helpers.error_codes import raises_code
from tests.helpers.memory_keyring import MemoryKeyring

KEY = "sk-vault-0123456789"


def config(**fields: Any) -> ProviderConfig:
    return ProviderConfig(**{"name": "Mistral", "kind": "mistral", **fields})


def test_the_keyring_stores_a_key_for_the_next_session() -> None:
    keyring = MemoryKeyring()
    vault = KeyVault(backend=keyring, environ={})
    assert vault.persistent
    assert vault.set("Mistral", f"  {KEY}\n")
    assert keyring.passwords == {("Atelier", "Mistral"): KEY}
    later = KeyVault(backend=keyring, environ={})
    assert later.get("Mistral") == KEY
    assert later.resolve(config()) == KEY
    later.delete("Mistral")
    assert (later.get("Mistral"), keyring.passwords) == (None, {})
    later.delete("Mistral")


def test_without_a_keyring_a_key_lasts_for_the_session() -> None:
    """The tests' environment has none."""
    vault = KeyVault(environ={})
    assert not vault.persistent
    assert vault.set("Mistral", KEY) is False
    assert vault.get("Mistral") == KEY
    vault.invalidate("Mistral")
    assert vault.get("Mistral") == KEY
    assert KeyVault(environ={}).get("Mistral") is None
    vault.delete("Mistral")
    assert vault.get("Mistral") is None


@pytest.mark.parametrize("module", ["keyring.backends.fail", "keyring.backends.null", "keyrings.alt.file"])
def test_keyrings_that_do_not_encrypt_are_not_used(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = type("Plain", (MemoryKeyring,), {"__module__": module})()
    monkeypatch.setattr("keyring.get_keyring", lambda: plain)
    assert not KeyVault(environ={}).persistent


def test_the_first_good_keyring_of_a_chain_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    good = MemoryKeyring()
    plain = type("Plain", (MemoryKeyring,), {"__module__": "keyrings.alt.file"})()
    chain = type("Chain", (), {"backends": [plain, good]})()
    monkeypatch.setattr("keyring.get_keyring", lambda: chain)
    vault = KeyVault(environ={})
    assert vault.set("a", KEY)
    assert good.passwords


def test_a_locked_keyring_is_abandoned_without_exposing_the_key(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    keyring = MemoryKeyring()
    keyring.locked = True
    vault = KeyVault(backend=keyring, environ={})
    assert vault.set("Mistral", KEY) is False
    assert not vault.persistent
    assert vault.get("Mistral") == KEY
    assert "session only" in caplog.text
    assert KEY not in caplog.text


def test_answers_are_cached_until_invalidated() -> None:
    keyring = MemoryKeyring()
    vault = KeyVault(backend=keyring, environ={})
    assert [vault.get("x"), vault.get("x"), keyring.asked] == [None, None, 1]
    keyring.passwords["Atelier", "x"] = KEY
    assert vault.get("x") is None
    vault.invalidate("x")
    assert vault.get("x") == KEY


async def test_coroutines_access_the_keyring_in_a_thread() -> None:
    keyring = MemoryKeyring()
    keyring.passwords["Atelier", "Mistral"] = KEY
    vault = KeyVault(backend=keyring, environ={})
    assert await vault.key_for(config()) == KEY
    assert keyring.threads == keyring.threads - {threading.get_ident()} != set()
    assert await vault.key_for(config()) == KEY
    assert keyring.asked == 1


def test_an_environment_variable_is_read_at_use() -> None:
    environ: dict[str, str] = {}
    vault = KeyVault(environ=environ)
    vault.set("Mistral", KEY)
    with raises_code(ProviderError, "auth", match="MISTRAL_KEY"):
        vault.resolve(config(api_key_env="MISTRAL_KEY"))
    environ["MISTRAL_KEY"] = " sk-from-environment \n"
    assert vault.resolve(config(api_key_env="MISTRAL_KEY")) == "sk-from-environment"
    assert redact("x sk-from-environment y") == "x [redacted] y"


@pytest.mark.parametrize("key", ["", "  ", "two words", "clé-secrète", "line\nbreak-secret", "x" * 9000])
def test_invalid_keys_are_refused(key: str) -> None:
    with raises_code(ProviderError, "auth") as caught:
        KeyVault(environ={}).set("Mistral", key)
    assert not key.strip() or key not in str(caught.value)


def test_redaction() -> None:
    remember("sk-with/slash+plus")
    remember("short")
    text = redact("a sk-with/slash+plus b sk-with%2Fslash%2Bplus c short")
    assert text == "a [redacted] b [redacted] c short"


def test_a_vault_does_not_show_its_keys() -> None:
    vault = KeyVault(environ={})
    vault.set("Mistral", KEY)
    assert KEY not in repr(vault)


def test_a_key_that_was_not_stored_is_asked_for_and_nothing_is_sent() -> None:
    """The second start on a machine without a keyring."""
    vault = KeyVault(environ={"MINE": KEY})
    lost = config(has_key=True)
    assert vault.state(lost) is KeyState.REQUIRED
    with raises_code(ProviderError, "auth", match="needs its API key again"):
        vault.resolve(lost)
    vault.set("Mistral", KEY)
    assert (vault.state(lost), vault.resolve(lost)) == (KeyState.SESSION, KEY)


@pytest.mark.parametrize(
    ("fields", "needed", "state"),
    [
        ({}, False, KeyState.NONE),
        ({}, True, KeyState.REQUIRED),
        ({"headers": {"X-Key": "$MINE"}}, True, KeyState.NONE),
        ({"api_key_env": "MINE"}, True, KeyState.VARIABLE),
        ({"api_key_env": "OTHER"}, False, KeyState.UNSET),
    ],
)
def test_the_state_of_a_key(fields: dict[str, Any], needed: bool, state: KeyState) -> None:
    assert KeyVault(environ={"MINE": KEY}).state(config(**fields), needed=needed) is state


def test_a_chosen_file_stores_keys_and_returns_them(tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "keys.json")
    vault = KeyVault(environ={})
    vault.use_file(file)
    assert vault.set("Mistral", KEY) is False
    assert not file.there
    vault.store_in_file()
    assert (vault.place, vault.set_header("Mistral", "X-Team", "blue-team-1")) == (KeyPlace.FILE, True)
    assert file.path.stat().st_mode & 0o777 == 0o600
    file.path.chmod(0o644)
    later = KeyVault(environ={})
    later.use_file(file)
    assert (later.get("Mistral"), later.state(config(has_key=True))) == (KEY, KeyState.SAVED)
    assert file.path.stat().st_mode & 0o777 == 0o600
    assert KEY not in redact(f"key {KEY}")
    later.leave_file()
    assert (file.there, later.place, later.get("Mistral")) == (False, KeyPlace.MEMORY, KEY)
    keyring = MemoryKeyring()
    moved = KeyVault(environ={}, backend=keyring)
    moved.use_file(file)
    file.write({"Mistral": KEY})
    moved.leave_file()
    assert keyring.passwords == {("Atelier", "Mistral"): KEY}
    with pytest.raises(UsageError, match="system keyring"):
        moved.store_in_file()


@pytest.mark.parametrize(
    "content",
    [b"{", b"[]", b'{"a": 1}', b"[" * 200_000, b"x" * (4 * 1024**2 + 1), None],
    ids=["cut", "list", "number", "deep", "large", "link"],
)
def test_a_damaged_key_file_is_unchanged(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "keys.json"
    if content is None:
        (tmp_path / "other").write_bytes(b"{}")
        path.symlink_to(tmp_path / "other")
    else:
        path.write_bytes(content)
    vault = KeyVault(environ={})
    vault.use_file(KeyFile(path))
    assert vault.set("Mistral", KEY) is False
    assert (vault.place, vault.get("Mistral")) == (KeyPlace.MEMORY, KEY)
    if content is not None:
        with pytest.raises(OSError, match="not a file of keys"):
            vault.store_in_file()
        assert path.read_bytes() == content
    else:
        assert (tmp_path / "other").read_bytes() == b"{}"


class FullDisk(KeyFile):
    """A key file on a disk that can be full."""

    full = False

    def write(self, entries: Mapping[str, str]) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")
        super().write(entries)


def on_disk(tmp_path: Path, backend: Any = None) -> tuple[FullDisk, KeyVault]:
    file = FullDisk(tmp_path / "keys.json")
    file.write({"Old": "sk-old-0123456789", "Other": "sk-other-0123456789"})
    vault = KeyVault(environ={}, backend=backend)
    vault.use_file(file)
    return file, vault


@pytest.mark.parametrize("keyring", [None, MemoryKeyring()], ids=["no keyring", "keyring by now"])
def test_a_full_disk_loses_no_key_and_hides_no_newer_one(tmp_path: Path, keyring: MemoryKeyring | None) -> None:
    """Keys in the file stay known; a key that is not in it is never reported as stored; a newer key is written
    with the file.
    """
    file, vault = on_disk(tmp_path, keyring)
    file.full = True
    assert vault.set("Old", KEY) is False, "the file would hide one in the keyring after the next start"
    assert (vault.place, vault.get("Old"), vault.get("Other")) == (KeyPlace.MEMORY, KEY, "sk-other-0123456789")
    with pytest.raises(StorageError, match="Free up disk space"):
        vault.delete("Other")
    assert vault.get("Other") == "sk-other-0123456789"
    file.full = False
    vault.leave_file()
    assert (vault.get("Old"), vault.get("Other")) == (KEY, "sk-other-0123456789")
    if keyring is not None:
        assert keyring.passwords == {("Atelier", "Old"): KEY, ("Atelier", "Other"): "sk-other-0123456789"}


def test_a_deleted_key_does_not_return_with_a_file_that_had_failed(tmp_path: Path) -> None:
    file, vault = on_disk(tmp_path)
    file.full = True
    vault.set("New", KEY)
    file.full = False
    vault.delete("Other")
    vault.store_in_file()
    assert file.entries() == {"Old": "sk-old-0123456789", "New": KEY}


def test_a_renamed_key_is_stored_or_nothing_changes(tmp_path: Path) -> None:
    file, vault = on_disk(tmp_path)
    file.full = True
    with pytest.raises(StorageError, match="Free up disk space"):
        vault.copy("Old", "New", ["X-Team"])
    assert set(file.entries()) == {"Old", "Other"}


def test_keys_are_in_the_keyring_before_their_file_is_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill between the two leaves them in both."""
    keyring = MemoryKeyring()
    file, vault = on_disk(tmp_path, keyring)

    def killed() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(file, "remove", killed)
    with pytest.raises(KeyboardInterrupt):
        vault.leave_file()
    assert (len(keyring.passwords), file.there) == (2, True)


def test_every_value_read_from_the_file_is_redacted(tmp_path: Path) -> None:
    file, vault = on_disk(tmp_path)
    file.write({"Mistral": "sk-never-asked-for-1"})
    vault.leave_file()
    assert "sk-never-asked-for-1" not in redact("sk-never-asked-for-1")


def test_a_file_that_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    file, _vault = on_disk(tmp_path)
    with pytest.raises(OSError, match="over 4 MiB"):
        file.write({f"n:{number}": "k" * 16_384 for number in range(300)})
    assert set(file.entries()) == {"Old", "Other"}


CRASH = """
import os, resource
above = resource.getrlimit(resource.RLIMIT_CORE)[1]
resource.setrlimit(resource.RLIMIT_CORE, (above, above))
from atelier_desk.llm.secrets import KeyVault
KeyVault(environ={}, session=True).set("lab", "zq-Core-" + "0123456789abcdef")
print(resource.getrlimit(resource.RLIMIT_CORE)[0], flush=True)
os.abort()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no core dumps")
def test_a_crash_leaves_no_core_dump_with_a_key(tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", CRASH], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == ("0\n", "")
    assert ran.returncode < 0
    assert list(tmp_path.iterdir()) == []
