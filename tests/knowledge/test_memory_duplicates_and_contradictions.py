"""Which memories are duplicates, and which contradict each other."""

from __future__ import annotations

import pytest

from atelier_desk.knowledge.memory_duplicates_and_contradictions import relation


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("The server is called heron.", "the server is called Heron", "same"),
        ("The server is called heron.", "The staging server is called heron since May.", "same"),
        ("The server listens on port 8443.", "The server listens on port 9000.", "against"),
        ("Marion eats fish.", "Marion does not eat fish.", "against"),
        ("Marion mange du poisson.", "Marion ne mange pas de poisson.", "against"),
        ("The server is called heron.", "Invoices are paid after thirty days.", ""),
        ("Karim likes jazz and long walks in the hills.", "Karim was born in Lille.", ""),
    ],
)
def test_two_texts(first: str, second: str, expected: str) -> None:
    assert relation(first, second) == expected
    assert relation(second, first) == expected
