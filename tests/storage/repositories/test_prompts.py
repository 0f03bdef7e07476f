"""Prompts in the database: unique names, and the mark of foreign ones."""

from __future__ import annotations

import pytest

from atelier_desk.domain.errors import ConflictError, NotFoundError
from atelier_desk.domain.prompt import Prompt
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.repositories.database_wide_taint import mark_contents, unmark_contents


async def test_prompts(repos: Repositories) -> None:
    first, second = (
        Prompt(name="review", description="Reads", content="Read {{file}}\n\n😀"),
        Prompt(name="Été", content="x"),
    )
    for each in (second, first):
        await repos.prompts.save(each)
    assert await repos.prompts.list() == [first, second]
    assert await repos.prompts.get(first.id) == await repos.prompts.named("REVIEW") == first
    assert await repos.prompts.named("none") is None
    with pytest.raises(ConflictError, match="REVIEW"):
        await repos.prompts.save(second.model_copy(update={"name": "REVIEW"}))
    await repos.prompts.delete(first.id)
    assert await repos.prompts.list() == [second]
    for gone in (repos.prompts.get, repos.prompts.delete):
        with pytest.raises(NotFoundError, match="no prompt"):
            await gone(first.id)


async def test_all_prompts_are_marked_and_unmarked(repos: Repositories) -> None:
    await repos.prompts.save(Prompt(name="a", content="x", tainted=("a page",)))
    await mark_contents(repos.store, ["a backup"])
    assert [each.tainted for each in await repos.prompts.list()] == [("a page", "a backup")]
    await unmark_contents(repos.store, ["a backup"])
    assert [each.tainted for each in await repos.prompts.list()] == [("a page",)]
