"""Detection of a text's language."""

from __future__ import annotations

import pytest

from atelier_desk.storage.language_detection import language


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("The server is called heron and listens on port 8443.", "en"),
        ("Le serveur s'appelle héron et écoute sur le port 8443.", "fr"),
        ("Where is the key?", "en"),
        ("Où est la clé ?", "fr"),
        ("clé cachée", "fr"),
        ("port 8443", ""),
        ("", ""),
    ],
)
def test_is_told_by_stop_words_and_accents(text: str, code: str) -> None:
    assert language(text) == code
