"""Projects as a person sees them."""

from __future__ import annotations

from pathlib import Path

import pytest

from atelier_desk.domain.errors import ConflictError, NotFoundError, UsageError
from atelier_desk.engine import Atelier
from atelier_desk.engine.services.projects import OFFERED_FROM
from tests.engine.conftest import Opener


async def test_a_project_is_created_renamed_and_removed(open_atelier: Opener, tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    async with open_atelier() as atelier:
        heard: list[str] = []
        atelier.bus.on_changed(lambda topic, key: heard.append(key) if topic == "projects" else None)
        made = await atelier.projects.create("Heron", str(tmp_path / "code"))
        assert (made.name, made.root, made.loaded) == ("Heron", str(tmp_path / "code"), True)
        with pytest.raises(ConflictError):
            await atelier.projects.create("heron")
        changed = await atelier.projects.change(made.id, name="Egret", loaded=False)
        assert await atelier.projects.list() == [changed]
        assert (await atelier.projects.get("egret")).id == made.id
        assert await atelier.projects.delete(made.id) == 1
        assert await atelier.projects.list() == []
        assert set(heard) == {made.id}


async def test_missing_projects_are_reported(tmp_path: Path, atelier: Atelier) -> None:
    await atelier.projects.create("pages")
    with pytest.raises(NotFoundError, match="pages"):
        await atelier.projects.get("page")
    with pytest.raises(UsageError, match="does not exist"):
        await atelier.projects.create("gone", str(tmp_path / "gone"))
    with pytest.raises(UsageError, match="own data"):
        await atelier.projects.create("own", str(atelier.datadir.root))
    with pytest.raises(NotFoundError):
        await atelier.projects.delete("0" * 32)


def fill_folder(folder: Path, files: int = OFFERED_FROM) -> None:
    folder.mkdir(parents=True)
    for number in range(files):
        (folder / f"bird{number:02}.md").write_text(f"# {number}\n")


async def test_a_granted_folder_is_offered_once(open_atelier: Opener, tmp_path: Path) -> None:
    for name in ("heron", "egret"):
        fill_folder(tmp_path / name)
    async with open_atelier() as atelier:
        workflow = await atelier.workflows.create("birds")
        await atelier.workflows.set_workspace(workflow.id, (str(tmp_path / "heron"), str(tmp_path / "egret")))
        assert [each.name for each in await atelier.projects.offers()] == ["heron", "egret"]
        assert await atelier.projects.answer(str(tmp_path / "egret"), yes=False) is None
        project = await atelier.projects.answer(str(tmp_path / "heron"), yes=True)
        assert project is not None
        await atelier.projects.wait(project.id)
        assert len(await atelier.projects.files(project.id)) == OFFERED_FROM
        assert await atelier.projects.offers() == []


async def test_a_folder_is_offered_only_where_searching_pays(open_atelier: Opener, tmp_path: Path) -> None:
    fill_folder(tmp_path / "few", OFFERED_FROM - 1)
    (tmp_path / "few" / ".git").mkdir()
    (tmp_path / "few" / ".git" / "config").write_text("")  # not read, so not counted
    async with open_atelier() as atelier:
        folders = (str(tmp_path / "few"),)
        assert await atelier.projects.offers(folders) == []
        (tmp_path / "few" / "one more.md").write_text("# More\n")
        assert [each.name for each in await atelier.projects.offers(folders)] == ["few"], "nobody was asked before"


async def test_a_complete_home_or_disk_is_not_offered(
    open_atelier: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill_folder(tmp_path / "home" / "shop")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    async with open_atelier() as atelier:
        offered = await atelier.projects.offers(("/", str(tmp_path / "home"), str(tmp_path / "home" / "shop")))
    assert [each.name for each in offered] == ["shop"]
