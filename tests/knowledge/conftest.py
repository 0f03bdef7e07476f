"""Fixtures: memories to search."""

from __future__ import annotations

from tests.helpers import memory_fixtures

embedder, repos, search, workflow = (
    memory_fixtures.embedder,
    memory_fixtures.repos,
    memory_fixtures.search,
    memory_fixtures.workflow,
)
