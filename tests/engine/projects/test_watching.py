"""A watched project: changes of its folder are indexed automatically."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.project import EntityKind, IngestStage, Project
from atelier_desk.engine import Atelier
from atelier_desk.engine.projects import background_indexing
from tests.engine.conftest import Opener
from tests.engine.services.indexed_projects import indexed, named, read


async def until_found(atelier: Atelier, project: Project, name: str, *, there: bool = True) -> None:
    """Wait until a function of that name is found, or no longer found."""
    heard = asyncio.Event()
    atelier.bus.on_changed(lambda topic, _key: heard.set() if topic == "projects" else None)
    async with asyncio.timeout(20):
        while True:
            heard.clear()
            found = await atelier.projects.find(name, project_ids=[project.id], kinds=[EntityKind.SCOPE])
            if any(each.entity.name == name for each in found) is there:
                return
            await heard.wait()


async def test_a_folder_that_was_missing_is_watched_again(
    open_atelier: Opener, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background_indexing, "POLL_MS", 50)
    async with open_atelier() as atelier:
        project = await atelier.projects.create("code", str(code))
        await read(atelier, project)
        code.rename(code.with_name("away"))
        with pytest.raises(UsageError, match="is missing"):
            await atelier.projects.ingest(project.id)
        state = (await atelier.projects.states())[project.id]
        assert (state.stage, "is missing" in state.error) == (IngestStage.FAILED, True), "it is not told as up to date"
        shutil.copytree(code.with_name("away"), code)  # another folder of the same name, as after a restored backup
        (code / "back.py").write_text("def back(): pass\n")
        await until_found(atelier, project, "back")
        await atelier.projects.wait(project.id)
        (code / "later.py").write_text("def later(): pass\n")
        await until_found(atelier, project, "later")


async def test_a_changed_ignore_file_is_applied_at_once(code: Path, atelier: Atelier) -> None:
    project = await atelier.projects.create("code", str(code))
    await read(atelier, project)
    await until_watched(atelier, project, code)
    assert await named(atelier, project, "check")
    (code / ".gitignore").write_text("store.py\n")
    await until_found(atelier, project, "check", there=False)


async def until_watched(atelier: Atelier, project: Project, folder: Path) -> None:
    """Wait until the folder is watched."""
    done = asyncio.Event()
    states = atelier.projects._ingestions.states
    states[project.id] = states[project.id].model_copy(update={"changed": 0})
    off = atelier.bus.on_changed(
        lambda _topic, _key: done.set() if states[project.id].changed and states[project.id].stage == "done" else None
    )
    async with asyncio.timeout(20):
        while not done.is_set():
            (folder / "touched.py").write_text(f"TIME = {asyncio.get_running_loop().time()}\n")
            await asyncio.wait([asyncio.create_task(done.wait())], timeout=1)
    off()


async def test_watching_starts_when_it_is_enabled(code: Path, atelier: Atelier) -> None:
    project = await indexed(atelier, code)
    (code / "meanwhile.py").write_text("def meanwhile(): pass\n")
    await atelier.projects.change(project.id, watched=True)
    await until_found(atelier, project, "meanwhile")
    await until_watched(atelier, project, code)


async def test_a_failed_watch_restarts_with_the_next_indexing(
    open_atelier: Opener, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    follow = background_indexing.Ingestions._follow

    async def fails(*_about: object) -> None:
        raise OSError("too many folders")

    async with open_atelier() as atelier:
        project = await atelier.projects.create("code", str(code))
        monkeypatch.setattr(background_indexing.Ingestions, "_follow", fails)
        await read(atelier, project)
        await atelier.projects._ingestions._watches[project.id]
        monkeypatch.setattr(background_indexing.Ingestions, "_follow", follow)
        await read(atelier, project)
        await until_watched(atelier, project, code)
