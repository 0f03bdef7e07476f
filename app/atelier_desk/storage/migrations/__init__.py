"""The migrations, one module each, in the order of their numbers. A released migration is never changed: a new one follows it."""

from __future__ import annotations


def load() -> None:
    """Import every migration, which registers it."""
    from atelier_desk.storage.migrations import m0001_first_tables, m0002_teams  # noqa: F401
