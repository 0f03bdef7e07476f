"""The one check that starts a process: importing Qt where it cannot end ours."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from atelier_desk.engine.doctor import _qt


async def test_qt_is_imported_in_a_process_of_its_own() -> None:
    check = await _qt(deep=True)
    assert check.status == "ok"
    assert "6." in check.message


async def test_a_process_that_breaks_is_a_failed_check(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\necho 'ImportError: libEGL.so.1: cannot open shared object file' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    check = await _qt(deep=True)
    assert check.status == "fail"
    assert "libEGL.so.1" in check.message
    assert "libegl1" in check.fix


async def test_without_being_asked_for_no_process_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere")
    assert (await _qt(deep=False)).status == "ok"
