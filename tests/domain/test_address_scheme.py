"""Addresses without a scheme are completed; other text is left for the validation to refuse."""

from __future__ import annotations

import pytest

from atelier_desk.domain.address_scheme import with_scheme
from atelier_desk.domain.provider import ProviderConfig


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("api.example.com/v1", "https://api.example.com/v1"),
        (" api.example.com ", "https://api.example.com"),
        ("host.example:8443", "https://host.example:8443"),
        ("localhost:11434", "http://localhost:11434"),
        ("localhost", "http://localhost"),
        ("nas:8080/v1", "http://nas:8080/v1"),
        ("server.lan", "http://server.lan"),
        ("127.0.0.1:9000/v1", "http://127.0.0.1:9000/v1"),
        ("192.168.1.5", "http://192.168.1.5"),
        ("8.8.8.8", "https://8.8.8.8"),
        ("[::1]:8080", "http://[::1]:8080"),
        *(
            (same, same)
            for same in (
                "",
                "nonsense",
                "http://x",
                "HTTPS://X.org",
                "me:secret@host.org",
                "two words.org",
                "ftp://host.org",
                "a..b@c",
            )
        ),
    ],
)
def test_a_scheme_is_added_to_a_host(typed: str, completed: str) -> None:
    assert with_scheme(typed) == completed
    assert ProviderConfig(name="x", kind="openai", base_url=typed).base_url == completed
