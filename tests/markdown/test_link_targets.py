"""Targets of links in texts of models and other people."""

from __future__ import annotations

import pytest

from atelier_desk.markdown.link_targets import safe_target

TARGETS = [
    ("https://a.example/?attach=x", "https://a.example/?attach=x"),
    ("mailto:a@b.example", "mailto:a@b.example"),
    ("mailto:a@b.example?subject=Why?&body=x%26y", "mailto:a@b.example?subject=Why?&body=x%26y"),
    ("mailto:a@b.example?attach=/etc/passwd", "mailto:a@b.example"),
    ("mailto:a@b.example?subject=x&attachment=~/.ssh/id_rsa", "mailto:a@b.example?subject=x"),
    ("mailto:?to=a@b.example&ATTACH=/etc/passwd&body=y", "mailto:?to=a@b.example&body=y"),
    ("mailto:a@b.example?%61ttach=/etc/passwd", "mailto:a@b.example"),
    ("mailto:a@b.example?%20attach=/etc/passwd", "mailto:a@b.example"),
    ("mailto:a@b.example?attach", "mailto:a@b.example"),
    ("mailto:a@b.example?insert=/etc/passwd", "mailto:a@b.example"),
    ("file:///etc/passwd", ""),
    ("smb://host/share", ""),
]


@pytest.mark.parametrize(("target", "safe"), TARGETS)
def test_a_link_adds_no_file_to_a_mail(target: str, safe: str) -> None:
    assert safe_target(target) == safe
