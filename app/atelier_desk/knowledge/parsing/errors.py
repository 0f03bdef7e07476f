"""Why a file can't be read."""

from __future__ import annotations

from atelier_desk.domain.errors import AtelierError


class ParseError(AtelierError):
    """A file that can't be read, and why."""

    code = "unreadable"
