"""PDF, read by a worker process."""

from __future__ import annotations

from typing import Any

import pytest

from atelier_desk.knowledge.parsing.documents import pdf
from atelier_desk.knowledge.parsing.parse import ParseError, parse
from atelier_desk.support.worker.errors import Ended, Failed, WorkerError
from tests.tools.files.sample_pdf import document


def test_each_page_is_a_section() -> None:
    found = parse("a.pdf", document("First page", "Second page"))
    assert (found.kind, found.language, found.lines) == ("document", "pdf", 2)
    assert [(each.title, each.start_line, each.end_line, each.text) for each in found.sections] == [
        ("First page", 1, 1, "First page"),
        ("Second page", 2, 2, "Second page"),
    ]


def _answers(monkeypatch: pytest.MonkeyPatch, *answers: dict[str, Any] | WorkerError) -> list[int]:
    """Replaces the worker process by these answers; returns the pages that were requested."""
    asked: list[int] = []

    def extracted(_data: bytes, first: int) -> dict[str, Any]:
        asked.append(first)
        answer = answers[len(asked) - 1]
        if isinstance(answer, WorkerError):
            raise answer
        return answer

    monkeypatch.setattr(pdf, "_extracted", extracted)
    return asked


def test_all_pages_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = _answers(monkeypatch, {"total": 3, "pages": ["a", "b"], "cut": 0}, {"total": 3, "pages": ["c"], "cut": 0})
    assert [section.text for section in pdf.read("a.pdf", b"").sections] == ["a", "b", "c"]
    assert asked == [1, 3]


def test_pages_read_before_an_error_are_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    _answers(monkeypatch, {"total": 3, "pages": ["a"], "cut": 0}, Ended("timeout"))
    found = pdf.read("a.pdf", b"")
    assert [section.text for section in found.sections] == ["a"]
    assert found.error_lines == [2]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (Failed("no", code="encrypted"), "has a password"),
        (Failed("no"), "is damaged"),
        (Ended("memory"), "too much memory"),
        (Ended("timeout"), "within 25 seconds"),
    ],
)
def test_an_unreadable_pdf_is_refused_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, error: WorkerError, words: str
) -> None:
    _answers(monkeypatch, error)
    with pytest.raises(ParseError, match=words):
        parse("a.pdf", b"%PDF-1.7")
