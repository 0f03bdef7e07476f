"""Effects of importing the desktop on later imports."""

from __future__ import annotations

import importlib
import linecache
from pathlib import Path

import pytest
from PySide6.QtCore import QObject

import atelier_desk.desktop  # noqa: F401 - what is tested


def test_importing_a_module_does_not_cache_its_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "imported_after_qt.py"
    source.write_text("from PySide6.QtCore import QObject\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    exec("import imported_after_qt", {"__name__": "somebody"})
    module = importlib.import_module("imported_after_qt")
    assert module.QObject is QObject
    assert str(source) not in linecache.cache
