"""Fixtures: memories to search."""

from __future__ import annotations

from tests.support import memories

embedder, repos, search, workflow = memories.embedder, memories.repos, memories.search, memories.workflow
