"""What a failed connection test shows."""

from __future__ import annotations

import pytest

from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.provider import ProviderHealth
from atelier_desk.llm.error_conversion import TEMPLATES
from atelier_desk.presentation.provider_test_text import problem_text
from atelier_desk.support import i18n

BODY = '{"error": "Incorrect API key provided"}'
REFUSED = ProviderError(TEMPLATES["auth"], code="auth", status=401, provider="Mistral", detail=BODY)
GONE = ProviderError("{provider} cannot be used ({detail}).", provider="Mistral", detail="Connection refused")
CASES = [
    (REFUSED, f"Mistral refused the API key, or needs one. Check or enter the key. Server message: “{BODY}”"),
    (GONE, "Mistral cannot be used. Details: “Connection refused”"),
    (ProviderError("It is off."), "It is off."),
]


@pytest.mark.parametrize(("error", "shown"), CASES)
def test_our_sentence_comes_before_the_words_of_the_server(error: ProviderError, shown: str) -> None:
    assert problem_text(ProviderHealth.failed(error)) == shown


def test_the_sentence_is_french_and_the_server_is_quoted() -> None:
    i18n.set_language("fr")
    try:
        first, second = problem_text(ProviderHealth.failed(REFUSED), "\n").split("\n")
    finally:
        i18n.set_language("en")
    assert "Incorrect" not in first
    assert second == f"Message du serveur\xa0: «\xa0{BODY}\xa0»"


def test_what_a_server_hides_in_its_words_is_visible() -> None:
    error = ProviderError("It failed ({detail}).", status=500, detail="a\u202eb")
    assert "⟨U+202E⟩" in problem_text(ProviderHealth.failed(error))
