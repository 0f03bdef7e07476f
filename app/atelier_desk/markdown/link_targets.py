"""Targets of links that other programs may open."""

from __future__ import annotations

from urllib.parse import unquote

LINKED = ("http://", "https://", "mailto:")
"""Allowed link targets: opening a network share or another program's link may reveal who a person is."""
_MAIL_FIELDS = {"to", "cc", "bcc", "subject", "body", "in-reply-to"}
"""What a link may fill in: some mail programs attach or insert the files that other fields name."""


def safe_target(target: str) -> str:
    """The target of a link without fields of a mail that could add a file; empty if it must not be a link."""
    if not target.startswith(LINKED):
        return ""
    return mail_without_files(target)


def mail_without_files(target: str) -> str:
    """A ``mailto:`` address without fields that could add a file; others unchanged."""
    if target[:7].lower() != "mailto:":
        return target
    address, _mark, fields = target.partition("?")
    return "?".join(filter(None, (address, "&".join(filter(_is_text, fields.split("&"))))))


def _is_text(field: str) -> bool:
    return unquote(field.partition("=")[0]).strip().lower() in _MAIL_FIELDS
