"""Indexing a project: what is found, what changes, what is left out, and how it continues after an interruption."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from atelier_desk.domain.errors import NotFoundError, ToolError, UsageError
from atelier_desk.domain.project import Direction, EntityKind, IngestStage, Project, RelationKind
from atelier_desk.engine import Atelier
from atelier_desk.engine.projects.file_reader_client import Reader
from atelier_desk.knowledge.projects import index_cache
from atelier_desk.storage.project_graph_rows import project_key
from atelier_desk.workspace.confined_root import ConfinedRoot
from tests.engine.conftest import Opener
from tests.engine.projects.conftest import STORE, USE
from tests.engine.services.indexed_projects import indexed, named, read


async def test_code_and_documents_are_found_and_related(code: Path, atelier: Atelier) -> None:
    project = await indexed(atelier, code)
    assert [each.path for each in await atelier.projects.files(project.id)] == [
        "docs/guide.md",
        "store.py",
        "use.py",
    ]
    [problem] = await atelier.projects.problems(project.id)
    assert (problem.path, problem.skipped) == ("secrets.json", True)
    first = (await atelier.projects.find("refuse blank rows"))[0]
    assert (first.entity.qualified, first.project) == ("check", "code")
    assert first.entity.docstring == "Refuse a row that is blank."
    check = await named(atelier, project, "check")
    around = await atelier.projects.explore(check, direction=Direction.IN, relations=[RelationKind.CALLS])
    assert {each.entity.qualified for each in around.neighbours} == {"Store.save", "main"}
    text, start, end = await atelier.projects.source(check)
    assert text.split("\n")[start - 1 : end][0] == "def check(row: str) -> None:"
    assert "raise ValueError(row)" in (await atelier.projects.entity(check)).text
    statistics = await atelier.projects.statistics(project.id)
    assert statistics.entities[EntityKind.SCOPE] == 4
    assert statistics.relations[RelationKind.CALLS] == 2
    assert statistics.texts == statistics.vectors > 0


@pytest.mark.parametrize("below", [(), ("store.py", "use.py", "docs")])
async def test_an_emptied_folder_deletes_nothing_without_confirmation(
    code: Path, below: Sequence[str], atelier: Atelier
) -> None:
    """The empty mount point of a removed drive looks like a folder whose files were deleted."""
    project = await indexed(atelier, code)
    before = await atelier.projects.statistics(project.id)
    away = code.rename(code.with_name("away"))
    code.mkdir()
    for force in (False, True):  # agents may request another indexing, too
        await atelier.projects.ingest(project.id, below, force=force)
        state = await atelier.projects.wait(project.id)
        assert state is not None
        assert state.stage is IngestStage.FAILED
        assert "There are no longer any files in" in state.error
        assert await atelier.projects.statistics(project.id) == before
    code.rmdir()
    away.rename(code)
    (code / "use.py").unlink()
    await read(atelier, project)
    state = (await atelier.projects.states())[project.id]
    assert (state.changed, state.unchanged, state.removed) == (0, 2, 1)
    shutil.rmtree(code)
    code.mkdir()
    await atelier.projects.ingest(project.id, emptied=True)
    await atelier.projects.wait(project.id)
    assert (await atelier.projects.statistics(project.id)).files == 0


@pytest.mark.parametrize("below", [(), ("docs",), ("docs/guide.md",)])
async def test_a_folder_that_becomes_unreadable_is_named_and_its_entities_stay(
    open_atelier: Opener, code: Path, below: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ConfinedRoot.names

    def denied(root: ConfinedRoot, path: str = "") -> object:
        if path == "docs":
            raise ToolError("{path}: the system does not allow it.", code="denied", path=path)
        return names(root, path)

    async with open_atelier() as atelier:
        project = await indexed(atelier, code)
        with monkeypatch.context() as closed:
            closed.setattr(ConfinedRoot, "names", denied)
            await read(atelier, project, *below)
        assert [each.path for each in await atelier.projects.files(project.id)] == [
            "docs/guide.md",
            "store.py",
            "use.py",
        ]
        problems = {each.path: each for each in await atelier.projects.problems(project.id)}
        if below != ("docs/guide.md",):  # nothing is reported about the one file that changed there
            assert "cannot be read" in problems["docs"].reason
        await read(atelier, project)
        assert [each.path for each in await atelier.projects.problems(project.id)] == ["secrets.json"]


async def test_a_request_during_indexing_is_performed_afterwards(code: Path, atelier: Atelier) -> None:
    project = await indexed(atelier, code)
    await atelier.projects.ingest(project.id)
    await atelier.projects.ingest(project.id, ["use.py"], force=True)
    state = await atelier.projects.wait(project.id)
    assert state is not None
    assert (state.stage, state.changed) == (IngestStage.DONE, 1)


async def test_only_changed_files_are_indexed_again_and_ids_stay(code: Path, atelier: Atelier) -> None:
    project = await indexed(atelier, code)
    check = await named(atelier, project, "check")
    (code / "store.py").write_text("# A new first line.\n" + STORE)
    (code / "docs" / "guide.md").unlink()
    await read(atelier, project)
    state = (await atelier.projects.states())[project.id]
    assert (state.changed, state.unchanged, state.removed) == (1, 1, 1)
    around = await atelier.projects.explore(check, direction=Direction.IN, relations=[RelationKind.CALLS])
    assert {each.entity.qualified for each in around.neighbours} == {"Store.save", "main"}
    assert (await atelier.projects.entity(check)).start_line == 13
    (code / "store.py").write_text(STORE.replace("def check", "def inspect").replace("check(row)", "inspect(row)"))
    await read(atelier, project, "store.py")
    with pytest.raises(NotFoundError):
        await atelier.projects.entity(check)
    inspect = await named(atelier, project, "inspect")
    around = await atelier.projects.explore(inspect, direction=Direction.IN, relations=[RelationKind.CALLS])
    assert {each.entity.qualified for each in around.neighbours} == {"Store.save"}


async def test_another_start_finds_the_same(open_atelier: Opener, code: Path) -> None:
    async with open_atelier() as atelier:
        project = await indexed(atelier, code)
        before = await atelier.projects.find("check")
        check = await named(atelier, project, "check")
        seen = await atelier.projects.explore(check, depth=5)
    async with open_atelier() as atelier:
        assert await atelier.projects.find("check") == before
        again = await atelier.projects.explore(check, depth=5)
        assert {each.entity.id for each in again.neighbours} == {each.entity.id for each in seen.neighbours}
        assert sorted(again.relations, key=str) == sorted(seen.relations, key=str)


async def test_deleting_a_project_leaves_no_row(code: Path, atelier: Atelier) -> None:
    before = await atelier.store.counts()
    project = await atelier.projects.create("code", str(code))
    await read(atelier, project)
    assert await atelier.projects.delete(project.id) > 20
    assert await atelier.store.counts() == before
    assert not list(atelier.datadir.root.glob(f"*{project_key(project.id)}*"))
    assert await atelier.projects.find("check") == []


async def test_a_pause_keeps_what_was_indexed_and_the_next_start_continues(open_atelier: Opener, code: Path) -> None:
    for number in range(200):
        (code / f"more_{number}.py").write_text(f"def number_{number}() -> int:\n    return {number}\n")
    async with open_atelier() as atelier:
        project = await atelier.projects.create("code", str(code), watched=False)
        await atelier.projects.ingest(project.id)
        await asyncio.sleep(0)
        await atelier.projects.stop(project.id)
        assert (await atelier.projects.states())[project.id].stage is IngestStage.PAUSED
        assert (await atelier.projects.get(project.id)).pending
    async with open_atelier() as atelier:
        await atelier.projects.resume_pending()
        state = await atelier.projects.wait(project.id)
        assert state is not None
        assert state.stage is IngestStage.DONE
        assert not (await atelier.projects.get(project.id)).pending
        assert len(await atelier.projects.files(project.id)) == 203


async def test_a_restored_file_is_no_longer_an_external_package(open_atelier: Opener, code: Path) -> None:
    async def packages(atelier: Atelier, project: Project) -> set[str]:
        found, _total = await atelier.projects.query(project.id, EntityKind.PACKAGE, {}, "name")
        return {each.name for each in found}

    store = (code / "store.py").read_text()
    async with open_atelier() as atelier:
        project = await indexed(atelier, code)
        others = await packages(atelier, project)
        (code / "store.py").unlink()
        await read(atelier, project)
        assert await packages(atelier, project) - others == {"store"}
        (code / "store.py").write_text(store)
        await read(atelier, project)
        assert await packages(atelier, project) == others
    async with open_atelier() as atelier:
        assert await packages(atelier, project) == others


async def test_nothing_outside_the_folder_is_indexed(open_atelier: Opener, code: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.py").write_text("def outside(): pass\n")
    (code / "link.py").symlink_to(tmp_path / "outside.py")
    async with open_atelier() as atelier:
        project = await indexed(atelier, code)
        assert "link.py" not in {each.path for each in await atelier.projects.files(project.id)}
        with pytest.raises(UsageError, match="is not in the project folder"):
            await atelier.projects.ingest(project.id, ["../outside.py"])


@pytest.mark.skipif(sys.platform != "linux", reason="names are text here")
async def test_an_undecodable_name_is_skipped_and_reported(open_atelier: Opener, code: Path) -> None:
    with open(os.path.join(os.fsencode(code), b"bad\xff.py"), "wb") as file:  # noqa: PTH118, PTH123 - the name is bytes
        file.write(b"def bad(): pass\n")
    async with open_atelier() as atelier:
        project = await atelier.projects.create("code", str(code), watched=False)
        for _time in range(2):
            await read(atelier, project)
            assert await named(atelier, project, "check")
            problems = {each.path: each.reason for each in await atelier.projects.problems(project.id)}
            assert set(problems) == {"bad\\udcff.py", "secrets.json"}
            assert "UTF-8" in problems["bad\\udcff.py"]


async def test_files_matching_a_later_secret_rule_are_removed(
    code: Path, monkeypatch: pytest.MonkeyPatch, atelier: Atelier
) -> None:
    project = await indexed(atelier, code)
    first = await named(atelier, project, "check")
    monkeypatch.setattr("atelier_desk.engine.projects.file_selection.is_secret_name", lambda part: part == "store.py")
    await read(atelier, project)
    found = await atelier.projects.find("check", project_ids=[project.id])
    assert first not in {each.entity.id for each in found}
    assert "store.py" in {each.path for each in await atelier.projects.problems(project.id)}


async def test_a_changed_file_is_indexed_automatically(code: Path, atelier: Atelier) -> None:
    project = await atelier.projects.create("code", str(code))
    await read(atelier, project)
    done = asyncio.Event()
    states = atelier.projects._ingestions.states
    atelier.bus.on_changed(
        lambda _topic, _key: done.set() if states[project.id].changed and states[project.id].stage == "done" else None
    )
    states[project.id] = states[project.id].model_copy(update={"changed": 0})
    async with asyncio.timeout(20):
        while not done.is_set():  # until the watch is active
            (code / "fresh.py").write_text(f"def fresh():\n    return {asyncio.get_running_loop().time()}\n")
            await asyncio.wait([asyncio.create_task(done.wait())], timeout=1)
    assert await named(atelier, project, "fresh")


async def test_possible_secrets_are_named_and_not_indexed(open_atelier: Opener, tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    (folder / ".ssh").mkdir(parents=True)
    key = "-----BEGIN OPENSSH PRIVATE KEY-----\nheronheron\n-----END OPENSSH PRIVATE KEY-----\n"
    for name in (".env", ".env.local", "server.pem", ".ssh/config", "id_ed25519", "backup.txt"):
        (folder / name).write_text(key)
    (folder / ".env.example").write_text("HERON=\n")
    (folder / "store.py").write_text(f'KEY = """{key}"""\n')
    async with open_atelier() as atelier:
        project = await atelier.projects.create("keys", str(folder), watched=False)
        await read(atelier, project)
        problems = await atelier.projects.problems(project.id)
        assert [each.path for each in problems] == [
            ".env",
            ".env.local",
            ".ssh",
            "backup.txt",
            "id_ed25519",
            "server.pem",
        ]
        assert {(each.reason, each.skipped) for each in problems} == {("Skipped: it seems to contain a secret.", True)}
        assert [each.path for each in await atelier.projects.files(project.id)] == ["store.py"]
        (folder / "backup.txt").write_text("No key any more.\n")
        await read(atelier, project)
        assert "backup.txt" in {each.path for each in await atelier.projects.files(project.id)}


@pytest.mark.parametrize("harm", ["truncated", "random", "foreign", "older", "gone"])
async def test_a_damaged_index_is_rebuilt_from_the_database(
    open_atelier: Opener, code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: str
) -> None:
    monkeypatch.setattr(index_cache, "FILE_FROM", 1)
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "other.py").write_text("def kingfisher():\n    return 1\n")
    async with open_atelier() as atelier:
        other = await atelier.projects.create("else", str(tmp_path / "else"), watched=False)
        await read(atelier, other)
        project = await indexed(atelier, code)
        root = atelier.datadir.root
    file, foreign = (root / f"project-index-{project_key(each.id)}.bin" for each in (project, other))
    kept = file.read_bytes()
    async with open_atelier() as atelier:
        (code / "use.py").write_text(USE.replace("main", "begin"))
        await read(atelier, project)
        before = await atelier.projects.find("check")
        check = await named(atelier, project, "check")
        around = await atelier.projects.explore(check, depth=5)
    whole = file.read_bytes()
    assert whole != kept
    middle = len(whole) // 2
    harmed = {
        "truncated": whole[:middle],
        "random": whole[:middle] + bytes(255 - byte for byte in whole[middle : middle + 64]) + whole[middle + 64 :],
        "foreign": foreign.read_bytes(),
        "older": kept,
        "empty": b"",
    }
    if harm == "gone":
        file.unlink()
    else:
        file.write_bytes(harmed[harm])
    async with open_atelier() as atelier:
        assert await atelier.projects.find("check") == before
        again = await atelier.projects.explore(check, depth=5)
        assert (sorted(again.relations, key=str), len(again.neighbours)) == (
            sorted(around.relations, key=str),
            len(around.neighbours),
        )
        found = await atelier.projects.find("kingfisher", project_ids=[project.id], limit=100)
        assert "kingfisher" not in {each.entity.name for each in found}
        (code / "use.py").write_text(USE)
        await read(atelier, project)
    async with open_atelier() as atelier:
        indexes = atelier.projects._indexes
        made = []
        monkeypatch.setattr(indexes, "_from_rows", lambda id: made.append(id))
        assert (await atelier.projects.find("main", project_ids=[project.id]))[0].entity.name == "main"
        assert made == [], "the file is whole again"


async def test_two_projects_with_the_same_content_stay_separate(
    open_atelier: Opener, code: Path, tmp_path: Path
) -> None:
    twin = tmp_path / "deeper" / "code"
    shutil.copytree(code, twin)
    async with open_atelier() as atelier:
        first = await atelier.projects.create("code", str(code), watched=False)
        await read(atelier, first)
        await atelier.projects.answer(str(tmp_path), yes=False)  # the decision remains, like any setting
        whole, alone = await atelier.projects.find("check", limit=100), await atelier.store.counts()
        offered = await atelier.projects.answer(str(twin), yes=True)
        assert offered is not None
        await atelier.projects.wait(offered.id)
        assert (first.name, offered.name) == ("code", "code 2")
        ids = {}
        for project in (first, offered):
            found = await atelier.projects.find("check", project_ids=[project.id], limit=100)
            assert {each.entity.project_id for each in found} == {project.id}
            ids[project.id] = {each.entity.id for each in found}
            around = await atelier.projects.explore(await named(atelier, project, "check"), depth=5)
            assert {each.entity.project_id for each in around.neighbours} == {project.id}
        assert not ids[first.id] & ids[offered.id]
        assert len(ids[first.id]) == len(ids[offered.id])
        (twin / "store.py").write_text("def changed():\n    pass\n")
        await read(atelier, offered)
        assert await atelier.projects.find("check", project_ids=[first.id], limit=100) == whole
        await atelier.projects.delete(offered.id)
        assert await atelier.projects.find("check", limit=100) == whole
        assert await atelier.store.counts() == alone


async def test_a_worker_that_died_with_its_symbols_gets_them_again(
    open_atelier: Opener, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Reader.update_symbols

    async def killed_after(reader: Reader, symbols: Mapping[str, str | None], *, settled: bool = False) -> None:
        await told(reader, symbols, settled=settled)
        monkeypatch.setattr(Reader, "update_symbols", told)
        await reader.aclose()

    async with open_atelier() as atelier:
        project = await atelier.projects.create("code", str(code), watched=False, embedded=False)
        monkeypatch.setattr(Reader, "update_symbols", killed_after)
        await read(atelier, project)
        around = await atelier.projects.explore(await named(atelier, project, "main"), relations=[RelationKind.CALLS])
        assert [each.entity.qualified for each in around.neighbours] == ["check"]


async def test_a_too_large_file_is_not_reported_as_changed_each_time(open_atelier: Opener, code: Path) -> None:
    (code / "large.json").write_text("1" * (4 * 1024 * 1024 + 1))
    async with open_atelier() as atelier:
        project = await atelier.projects.create("code", str(code))
        await read(atelier, project)
        await read(atelier, project)
        assert atelier.projects._ingestions.states[project.id].changed == 0
        assert "large.json" in [each.path for each in await atelier.projects.problems(project.id)]


async def test_the_relations_among_entities_are_returned(code: Path, atelier: Atelier) -> None:
    project = await atelier.projects.create("code", str(code))
    await read(atelier, project)
    main, check, save = [await named(atelier, project, name) for name in ("main", "check", "save")]
    found = await atelier.projects.among([main, check, save])
    assert {(each.source, each.kind, each.target) for each in found} == {
        (main, RelationKind.CALLS, check),
        (save, RelationKind.CALLS, check),
    }
    assert [each.source for each in await atelier.projects.among([main, check, save], [main])] == [main]
    assert await atelier.projects.among([]) == []
