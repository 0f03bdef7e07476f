"""The rows of projects' graphs: written, found by ids of any form, and deleted in parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from atelier_desk.domain.errors import NotFoundError
from atelier_desk.domain.project import Project
from atelier_desk.storage.project_graph_rows import (
    Edge,
    EntityRow,
    FileState,
    FileWrite,
    entity_id,
    file_entity,
    file_key,
)
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.repositories import projects as module


def entity(own: str, parent: str = "", path: str = "a.py") -> EntityRow:
    terms = b"\x01\x00\x00\x80"
    return EntityRow(
        own, "scope", "function", "f", f"f{own}", path, "python", 1, 2, "f()", "says", "text", parent, "digest", terms
    )


async def write(repos: Repositories, project: Project, path: str, others: list[str]) -> list[str]:
    """Write a file with these entities, each of which calls the file; returns all ids."""
    home = file_entity(file_key(project.id, path))
    rows = [entity(home, path=path), *(entity(each, home, path) for each in others)]
    await repos.projects.write_files(
        project.id, [FileWrite(FileState(path, "h", 1, "code", "python", False, "", False), "s", rows)]
    )
    await repos.projects.write_relations(project.id, [path], [Edge(each, home, "calls", 1.0, 1) for each in others], [])
    return [home, *others]


async def test_an_entity_with_an_id_of_digits_is_found(repos: Repositories) -> None:
    project = Project(id="01234567890123456789012312345678", name="p")
    await repos.projects.save(project)
    path = next(path for path in map("m{}.py".format, range(10_000)) if file_key(project.id, path).isdigit())
    key = file_key(project.id, path)
    ids = await write(repos, project, path, [key + "00000012", key + "12345678", key + "1e345678"])
    found = await repos.projects.entities(ids, project.id)
    assert [each.id for each in found] == ids
    assert [each.parent for each in found] == ["", *[ids[0]] * 3]
    assert [each.id for each in await repos.projects.light(project.id)] == sorted(ids)
    assert [each.path for each in await repos.projects.files_at(project.id, [path])] == [path]
    edges, _after = await repos.projects.edges(project.id)
    assert [(each.source, each.target) for each in edges] == [(each, ids[0]) for each in sorted(ids[1:])]
    await write(repos, project, path, [key + "12345678"])
    assert await repos.projects.counts(project.id) == {"project_file": 1, "entity": 4, "relates": 1}
    await repos.projects.remove_files(project.id, [path])
    assert set((await repos.projects.counts(project.id)).values()) == {0}


@pytest.mark.parametrize("at_once", [1, 3, 40, 1_000])
async def test_only_the_given_project_is_deleted_in_parts(
    repos: Repositories, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(module, "DELETED", at_once)
    one, other = Project(name="one"), Project(name="other")
    for project in (one, other):
        await repos.projects.save(project)
        for number in range(20):
            key = file_key(project.id, f"m{number}.py")
            await write(repos, project, f"m{number}.py", [entity_id(key, "scope", f"f{each}") for each in range(3)])
    before = await repos.projects.counts(other.id)
    assert before == {"project_file": 20, "entity": 80, "relates": 60}
    assert await repos.projects.delete(one.id) == sum(before.values()) + 1
    assert set((await repos.projects.counts(one.id)).values()) == {0}
    assert await repos.projects.counts(other.id) == before
    assert [each.id for each in await repos.projects.list()] == [other.id]


async def test_rows_written_while_a_project_is_deleted_are_deleted_too(
    repos: Repositories, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project(name="p")
    await repos.projects.save(project)
    await write(repos, project, "a.py", [])

    async def meanwhile() -> int:
        await write(repos, project, "late.py", [entity_id(file_key(project.id, "late.py"), "scope", "f")])
        return 0

    monkeypatch.setattr(repos.projects, "drop_unused_vectors", meanwhile)
    await repos.projects.delete(project.id)
    assert set((await repos.projects.counts(project.id)).values()) == {0}
    with pytest.raises(NotFoundError):
        await write(repos, project, "later.py", [])


async def test_a_vector_created_while_others_are_dropped_stays(
    repos: Repositories, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project(name="p")
    await repos.projects.save(project)
    await repos.projects.save_vectors("e", {"gone": np.ones(2)})
    pages = repos.projects._pages

    async def read_and_then(table: str, columns: str, key: str) -> Any:
        async for rows in pages(table, columns, key):
            yield rows
        if repos.projects._pages is not pages:  # after the first of two tables was read
            monkeypatch.setattr(repos.projects, "_pages", pages)
            await write(repos, project, "a.py", [])
            await repos.projects.save_vectors("e", {"digest": np.ones(2)})

    monkeypatch.setattr(repos.projects, "_pages", read_and_then)
    assert await repos.projects.drop_unused_vectors() == 1
    assert set(await repos.projects.vectors("e", ["digest", "gone"])) == {"digest"}
