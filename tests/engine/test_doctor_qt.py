"""The one check that starts a process: importing Qt where it cannot end ours."""

from __future__ import annotations

import sys
from pathlib import Path

import PySide6
import pytest

from atelier_desk.engine import doctor


@pytest.mark.parametrize(
    ("module", "status", "words"),
    [
        ("", "ok", f"PySide6 {PySide6.__version__} can be imported."),
        ("raise ImportError('libEGL.so.1: cannot open')", "fail", "ImportError: libEGL.so.1: cannot open"),
        ("import os; os.abort()", "fail", "it ended its process before it was done (signal 6)"),
        ("import time; time.sleep(600)", "fail", "Importing PySide6 takes too long."),
    ],
)
async def test_it_is_imported_elsewhere_and_what_is_wrong_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, status: str, words: str
) -> None:
    if module:
        (tmp_path / "PySide6").mkdir()
        (tmp_path / "PySide6" / "__init__.py").write_text(module)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(doctor, "QT_IMPORT_S", 2.0 if "sleep" in module else 60.0)
    found = await doctor._qt(deep=True)
    assert (found.status, found.message) == (status, words)
    assert ("libegl1" in found.fix) == (status == "fail" and "too long" not in words)


async def test_without_being_asked_for_no_process_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere")
    assert (await doctor._qt(deep=False)).status == "ok"
