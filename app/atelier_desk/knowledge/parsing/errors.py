"""Errors about unreadable files."""

from __future__ import annotations

from atelier_desk.domain.errors import AtelierError


class ParseError(AtelierError):
    """A file that cannot be read; the message says why."""

    code = "unreadable"
