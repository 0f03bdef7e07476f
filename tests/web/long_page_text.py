"""Pages of a server, and refusals."""

from __future__ import annotations

LONG = (
    "A sentence that says something about the subject of the page, and goes on for a while so that there is "
    "something to read. "
) * 4


def no(host: str, port: int) -> bool:
    return False
