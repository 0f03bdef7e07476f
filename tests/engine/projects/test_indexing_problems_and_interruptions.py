"""A person's view of indexing and decisions about it: problems, limits, possible secrets, pauses and deletions."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.project import EntityKind, IngestStage
from atelier_desk.engine import Atelier
from atelier_desk.engine.projects import file_selection
from atelier_desk.presentation.project_text import cut_word
from atelier_desk.support.i18n import _, spoken
from tests.engine.conftest import Opener
from tests.engine.services.indexed_projects import indexed, read


@pytest.fixture
def code(tmp_path: Path) -> Path:
    folder = tmp_path / "code"
    (folder / "secrets").mkdir(parents=True)
    (folder / "heron.py").write_text("from egret import wade\n\n\ndef fly() -> None:\n    wade()\n")
    (folder / "egret.py").write_text("def wade() -> None:\n    pass\n")
    (folder / "secrets.py").write_text("def make_token() -> str:\n    return 'x'\n")
    (folder / "secrets" / "vault.py").write_text("def open_vault() -> None:\n    pass\n")
    (folder / "secrets" / ".env").write_text("KEY=1\n")
    return folder


async def test_problems_are_reported_in_the_readers_language(open_atelier: Opener, code: Path) -> None:
    (code / "large.py").write_text("x = 1\n" * 900_000)
    async with open_atelier() as atelier:
        project = await atelier.projects.create("code", str(code), watched=False)
        with spoken("fr"):
            await read(atelier, project)
        problems = {each.path: each for each in await atelier.projects.problems(project.id)}
        assert problems["large.py"].localized(_) == "Too large: 5.4 MB; the maximum is 4 MB."
        assert problems["secrets.py"].localized(_) == "Skipped: it seems to contain a secret."
        with spoken("fr"):
            assert "5,4 Mo" in problems["large.py"].localized(_).replace("\u202f", " ").replace("\u00a0", " ")


async def test_files_above_the_limit_are_reported(
    code: Path, monkeypatch: pytest.MonkeyPatch, atelier: Atelier
) -> None:
    project = await atelier.projects.create("code", str(code), watched=False)
    with monkeypatch.context() as patch:
        patch.setattr(file_selection, "FILES_MAX", 1)
        await read(atelier, project)
    assert (await atelier.projects.states())[project.id].cut == "files"
    assert "50,000" in cut_word((await atelier.projects.get(project.id)).cut)
    await read(atelier, project)
    assert (await atelier.projects.get(project.id)).cut == ""


async def test_a_possible_secret_is_indexed_on_request(open_atelier: Opener, code: Path) -> None:
    async def held(atelier: Atelier) -> tuple[set[str], set[str]]:
        await atelier.projects.wait(project.id)
        files = {each.path for each in await atelier.projects.files(project.id)}
        return files, {each.path for each in await atelier.projects.problems(project.id)}

    plain = {"heron.py", "egret.py"}
    async with open_atelier() as atelier:
        project = await indexed(atelier, code)
        assert await held(atelier) == (plain, {"secrets", "secrets.py"})
        await atelier.projects.allow(project.id, "secrets.py")
        assert await held(atelier) == (plain | {"secrets.py"}, {"secrets"})
        await atelier.projects.allow(project.id, "secrets")
        assert await held(atelier) == (plain | {"secrets.py", "secrets/vault.py"}, {"secrets/.env"}), (
            "what is inside is judged by its name"
        )
        await atelier.projects.allow(project.id, "secrets/.env")
        assert "secrets/.env" in (await held(atelier))[0]
        await read(atelier, project)
        assert "secrets/.env" in (await held(atelier))[0], "a whole reading keeps to it"
        for path in ("secrets.py", "secrets/.env", "secrets"):
            await atelier.projects.allow(project.id, path, yes=False)
            await atelier.projects.wait(project.id)
        assert await held(atelier) == (plain, {"secrets", "secrets.py"})
        assert not [
            each for each in await atelier.projects.find("open vault make token") if "secrets" in each.entity.path
        ]
        for path, yes in (("heron.py", True), ("../other", True), ("secrets.py", False)):
            with pytest.raises(UsageError):
                await atelier.projects.allow(project.id, path, yes=yes)


async def test_a_private_key_is_indexed_only_on_request(open_atelier: Opener, code: Path) -> None:
    (code / "sample.txt").write_text("-----BEGIN PRIVATE KEY-----\nexample of a heron\n")
    async with open_atelier() as atelier:
        project = await indexed(atelier, code)
        assert "sample.txt" not in {each.path for each in await atelier.projects.files(project.id)}
        await atelier.projects.allow(project.id, "sample.txt")
        await atelier.projects.wait(project.id)
        assert "sample.txt" in {each.path for each in await atelier.projects.files(project.id)}


async def test_an_interrupted_deletion_is_completed(
    open_atelier: Opener, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_atelier() as atelier:
        before = await atelier.store.counts()
        project = await indexed(atelier, code)

        async def killed() -> int:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(atelier.repos.projects, "drop_unused_vectors", killed)
            await atelier.projects.delete(project.id)
        assert await atelier.projects.list() == []
    async with open_atelier() as atelier:
        assert await atelier.projects.list() == []
        again = await atelier.projects.create("code", str(code), watched=False)
        await read(atelier, again)
        assert (await atelier.projects.statistics(again.id)).relations, "a new one of that name is whole"
        await atelier.projects.delete(again.id)
        assert await atelier.store.counts() == before


async def test_indexing_one_changed_file_does_not_end_a_pause(open_atelier: Opener, code: Path) -> None:
    for number in range(100):
        (code / f"more_{number}.py").write_text(f"def number_{number}() -> int:\n    return {number}\n")
    async with open_atelier() as atelier:
        project = await atelier.projects.create("code", str(code), watched=True)
        await atelier.projects.ingest(project.id)
        await asyncio.sleep(0)
        await atelier.projects.stop(project.id)
        await atelier.projects._ingestions._changed(project.id, ["egret.py"])
        await atelier.projects.wait(project.id)
        assert (await atelier.projects.states())[project.id].stage is IngestStage.PAUSED
        await atelier.projects.ingest(project.id, ["egret.py"])
        await atelier.projects.wait(project.id)
        assert len(await atelier.projects.files(project.id)) == 102, "what was paused is gone on with"


async def test_a_switch_takes_effect_at_once(code: Path, atelier: Atelier) -> None:
    project = await atelier.projects.create("code", str(code), watched=False, embedded=False)
    await atelier.projects.change(project.id, watched=True)
    assert await atelier.projects.states() == {}, "it was never read: a person begins that"
    await atelier.projects.change(project.id, watched=False)
    await read(atelier, project)
    (code / "egret.py").write_text("def stalk() -> None:\n    pass\n")
    await atelier.projects.change(project.id, watched=True)
    await atelier.projects.wait(project.id)
    assert "stalk" in {each.entity.name for each in await atelier.projects.find("stalk")}
    assert (await atelier.projects.statistics(project.id)).vectors == 0
    await atelier.projects.change(project.id, embedded=True)
    await atelier.projects.wait(project.id)
    statistics = await atelier.projects.statistics(project.id)
    assert statistics.vectors == statistics.texts > 0
    pages = await atelier.projects.create("pages", embedded=False)
    await atelier.projects.add_pages(pages.id, [("https://herons.example/", "Herons", "# Herons\n\nThey wade.\n")])
    await atelier.projects.change(pages.id, embedded=True)
    await atelier.projects.wait(pages.id)
    assert (await atelier.projects.statistics(pages.id)).vectors > 0


async def test_parallel_work_does_not_end_the_indexing(open_atelier: Opener, code: Path) -> None:
    for number in range(100):
        (code / f"more_{number}.py").write_text(f"def number_{number}() -> int:\n    return {number}\n")
    async with open_atelier() as atelier:
        project = await atelier.projects.create("code", str(code), watched=False)
        await atelier.projects.ingest(project.id)
        waiting = asyncio.create_task(atelier.projects.wait(project.id))
        await asyncio.sleep(0)
        pages = [
            (f"https://herons.example/{name}", name, f"# {name}\n\nAll about the {name}.\n")
            for name in ("egret", "bittern")
        ]
        await asyncio.gather(*(atelier.projects.add_pages(project.id, [page]) for page in pages))
        await atelier.projects.forget_path(project.id, pages[1][0])
        state = await waiting
        assert state is not None
        assert (state.stage, state.error) == (IngestStage.DONE, ""), "who waits for it is not told of a pause"
        held = {each.path for each in await atelier.projects.files(project.id, limit=200)}
        assert (len(held), pages[0][0] in held, pages[1][0] in held) == (103, True, False)
        assert not (await atelier.projects.get(project.id)).pending


async def test_a_folder_deleted_during_indexing_keeps_what_was_known(
    open_atelier: Opener, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = file_selection.scan

    def then_gone(*given: Any) -> file_selection.Scan:
        found = look(*given)
        code.rename(code.parent / "taken")
        code.write_text("no folder any more")
        return found

    async with open_atelier() as atelier:
        project = await indexed(atelier, code)
        held = await atelier.repos.projects.counts(project.id)
        with monkeypatch.context() as patch:
            patch.setattr(file_selection, "scan", then_gone)
            await atelier.projects.ingest(project.id, force=True)
            state = await atelier.projects.wait(project.id)
        assert state is not None
        assert (state.stage, "is missing" in state.error) == (IngestStage.FAILED, True)
        assert await atelier.repos.projects.counts(project.id) == held
        code.unlink()
        (code.parent / "taken").rename(code)
        await read(atelier, project)
        assert await atelier.repos.projects.counts(project.id) == held


async def test_two_consecutive_indexings_are_reported_as_one(open_atelier: Opener, code: Path) -> None:
    async with open_atelier() as atelier:
        project = await atelier.projects.create("code", str(code), watched=True)
        await read(atelier, project)
        (code / "heron.py").write_text("def fly() -> None:\n    pass\n")
        (code / "egret.py").unlink()
    async with open_atelier() as atelier:
        await atelier.projects.resume_pending()
        await read(atelier, project)
        state = (await atelier.projects.states())[project.id]
        assert (state.changed, state.unchanged, state.removed) == (1, 0, 1)
        assert (await atelier.projects.statistics(project.id)).entities[EntityKind.FILE] == 1
