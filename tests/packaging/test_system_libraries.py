"""The check of shared libraries reports what is missing, with commands, and never stops a set-up."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType, SimpleNamespace

import pytest

Load = Callable[[str], ModuleType]


@pytest.fixture
def script(load: Load, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = load("system_libraries")
    monkeypatch.setattr(module.sys, "platform", "linux")
    return module


def test_missing_libraries_are_reported_with_the_commands_of_three_systems(script: ModuleType) -> None:
    missing = script.missing_libraries(lambda soname: soname not in ("libEGL.so.1", "libxcb-cursor.so.0"))
    assert [library.soname for library in missing] == ["libEGL.so.1", "libxcb-cursor.so.0"]
    assert script.commands(missing, ["Xvfb"]) == {
        "Debian, Ubuntu": "apt-get install -y libegl1 libxcb-cursor0 xvfb",
        "Fedora": "dnf install libglvnd-egl xcb-util-cursor xorg-x11-server-Xvfb",
        "Arch": "pacman -S libglvnd xcb-util-cursor xorg-server-xvfb",
    }


def test_other_systems_need_no_libraries(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script.sys, "platform", "darwin")
    assert script.missing_libraries(lambda soname: False) == []


def test_a_library_that_does_not_exist_does_not_load(script: ModuleType) -> None:
    assert not script.loads("libno-such-library.so.99")
    assert script.loads("libc.so.6")


def test_without_root_the_commands_are_printed_and_the_status_is_0(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(script, "missing_libraries", lambda: [script.CORE[0]])
    monkeypatch.setattr(script, "can_apt_install", lambda: False)
    assert script.main(["--install"]) == 0
    assert script.main(["--strict"]) == 1
    printed = capsys.readouterr().err
    assert "libglib-2.0.so.0" in printed
    assert "apt-get install -y libglib2.0-0" in printed


def test_as_root_the_package_lists_are_refreshed_once_before_giving_up(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[str] = []

    def run(command: list[str], **options: object) -> SimpleNamespace:
        commands.append(" ".join(command[:2]))
        return SimpleNamespace(returncode=100, stderr="no such package")

    monkeypatch.setattr(script.subprocess, "run", run)
    assert script.apt_install(["libegl1", "libegl1"]) is False
    assert commands == ["apt-get install", "apt-get update", "apt-get install"]


def test_a_missing_apt_is_not_an_error(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: list[str], **options: object) -> None:
        raise FileNotFoundError("apt-get")

    monkeypatch.setattr(script.subprocess, "run", run)
    assert script.apt_install(["libegl1"]) is False
