"""Project files that tools read on their own: only regular files of the folder, up to a size."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from atelier_desk.tools.shell.project_manifests import manifest


def test_a_manifest_is_read_where_it_may_be(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"name": "a"}')
    (tmp_path / "pyproject.toml").write_text('project = {name = "a"}')
    assert manifest(tmp_path, "package.json", lambda _path: True) == {"name": "a"}
    assert manifest(tmp_path, "pyproject.toml", lambda _path: True) == {"project": {"name": "a"}}
    assert manifest(tmp_path, "package.json", lambda path: not path.endswith("package.json")) is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes in folders")
def test_a_pipe_without_a_writer_is_not_a_manifest(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "package.json")
    assert manifest(tmp_path, "package.json", lambda _path: True) is None
