"""The process that reads files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.engine.projects import worker
from atelier_desk.knowledge.projects import reading


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limits")
def test_a_word_document_is_read_with_a_bound_of_memory_and_what_comes_after_it_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tree of 90 kB of them took more memory than the machine had; the symbols of a large project may take more than the bound."""
    import resource

    (tmp_path / "a.docx").write_bytes(b"PK")
    (tmp_path / "b.md").write_text("b")
    before = resource.getrlimit(resource.RLIMIT_AS)
    bounds: dict[str, int] = {}

    def read(_key: str, path: str, _data: bytes) -> dict[str, Any]:
        bounds[path] = resource.getrlimit(resource.RLIMIT_AS)[0]
        raise MemoryError if path == "a.docx" else RecursionError

    monkeypatch.setattr(reading, "read", read)
    process = worker.Worker()
    list(process.answer({"root": str(tmp_path), "closed": [], "key": "0" * 8, "readable": []}))
    with pytest.raises(MemoryError):
        list(process.answer({"read": [["a.docx", ""]]}))
    list(process.answer({"read": [["b.md", ""]]}))
    assert bounds == {"a.docx": worker.MEMORY, "b.md": before[0]}
    assert resource.getrlimit(resource.RLIMIT_AS) == before
