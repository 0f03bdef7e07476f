"""Loads the scripts of the packaging folder, which is not a package."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """A function that returns a freshly loaded ``packaging/<name>.py``."""
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))

    def load_script(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(name, ROOT / "packaging" / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        return module

    return load_script
