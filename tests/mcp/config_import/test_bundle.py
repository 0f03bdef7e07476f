"""Bundles: shown before they are unpacked, unpacked into their own folder, and never outside it."""

from __future__ import annotations

import json
import stat
import zipfile
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.errors import UsageError
from atelier_desk.mcp.config_import import bundle

MANIFEST: dict[str, Any] = {
    "manifest_version": "0.3",
    "name": "my files",
    "version": "1.0.0",
    "description": "Files.",
    "server": {
        "type": "python",
        "entry_point": "server.py",
        "mcp_config": {
            "command": "python3",
            "args": ["${__dirname}/server.py", "--dir", "${user_config.folder}"],
            "env": {"API_KEY": "${user_config.key}", "HOME_OF": "${HOME}"},
        },
    },
    "user_config": {
        "folder": {"type": "directory", "title": "Folder", "required": True, "default": "${HOME}/data"},
        "key": {
            "type": "string",
            "title": "Key",
            "description": "from your account",
            "sensitive": True,
            "required": True,
        },
    },
}


def made(path: Path, files: dict[str, str], manifest: Any = MANIFEST) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        if manifest is not None:
            archive.writestr("manifest.json", manifest if isinstance(manifest, str) else json.dumps(manifest))
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def test_a_bundle_is_shown_with_the_command_it_would_run(tmp_path: Path) -> None:
    found = bundle.read(made(tmp_path / "a.mcpb", {"server.py": ""}), tmp_path / "place")
    assert found.config is not None
    assert (found.name, found.config.command) == ("my-files", "python3")
    assert found.config.args == (f"{tmp_path}/place/server.py", "--dir", "${CONFIG_FOLDER}")
    assert found.config.env["API_KEY"] == "${CONFIG_KEY}"
    assert found.config.env["CONFIG_KEY"] == ""
    assert [(ask.key, ask.told, ask.secret) for ask in found.open] == [
        ("env:CONFIG_KEY", "Key – from your account", True)
    ]
    assert not (tmp_path / "place").exists()


def test_a_bundle_is_unpacked(tmp_path: Path) -> None:
    bundle.unpack(made(tmp_path / "a.mcpb", {"server.py": "print(1)", "lib/x.py": ""}), tmp_path / "place")
    assert (tmp_path / "place" / "server.py").read_text() == "print(1)"
    assert (tmp_path / "place" / "lib" / "x.py").exists()


@pytest.mark.parametrize("name", ["../evil.py", "/evil.py", "a/../../evil.py", "..\\evil.py", "C:/evil.py"])
def test_nothing_is_written_outside_and_nothing_is_left_behind(tmp_path: Path, name: str) -> None:
    path = made(tmp_path / "a.mcpb", {"good.py": "", name: "x"})
    with pytest.raises(UsageError, match="outside"):
        bundle.unpack(path, tmp_path / "in" / "place")
    assert not (tmp_path / "in" / "place").exists()
    assert not list(tmp_path.rglob("evil.py"))


def test_an_existing_folder_is_not_overwritten(tmp_path: Path) -> None:
    path = made(tmp_path / "a.mcpb", {"server.py": "print(1)"})
    (tmp_path / "place").mkdir()
    (tmp_path / "place" / "server.py").write_text("another one's")
    with pytest.raises(UsageError, match="Open the bundle file again"):
        bundle.unpack(path, tmp_path / "place")
    assert (tmp_path / "place" / "server.py").read_text() == "another one's"


def test_a_link_is_refused(tmp_path: Path) -> None:
    path = made(tmp_path / "a.mcpb", {})
    link = zipfile.ZipInfo("link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(UsageError, match="outside"):
        bundle.unpack(path, tmp_path / "place")


def test_a_too_large_bundle_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "MOST_BYTES", 10)
    with pytest.raises(UsageError, match="more than"):
        bundle.unpack(made(tmp_path / "a.mcpb", {"a": "x" * 11}), tmp_path / "place")


@pytest.mark.parametrize("manifest", [None, "{", "[]", "{}", '{"server": 5}', '{"server": {"mcp_config": []}}'])
def test_a_file_that_is_no_bundle_is_refused_with_the_reason(tmp_path: Path, manifest: str | None) -> None:
    with pytest.raises(UsageError, match=r"a\.mcpb is not a"):
        bundle.read(made(tmp_path / "a.mcpb", {}, manifest), tmp_path / "place")
    (tmp_path / "b.mcpb").write_text("no archive")
    with pytest.raises(UsageError, match=r"b\.mcpb"):
        bundle.read(tmp_path / "b.mcpb", tmp_path / "place")
