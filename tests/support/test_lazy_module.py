"""A module that is imported when something of it is first used."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from atelier_desk.support.lazy_module import LateModule


def test_a_module_is_imported_with_the_first_use_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rarely_needed.py").write_text("ANSWER = 42\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "rarely_needed", raising=False)
    module = LateModule("rarely_needed")
    assert "rarely_needed" not in sys.modules
    assert module.ANSWER == 42
    assert "rarely_needed" in sys.modules
    with pytest.raises(AttributeError, match="no attribute 'QUESTION'"):
        _ = module.QUESTION
