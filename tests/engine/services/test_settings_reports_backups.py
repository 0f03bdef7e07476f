"""Settings that take effect, reports with undo, backups and exports that can be restored."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain import limits
from atelier_desk.domain.errors import AtelierError, ConflictError, LimitError, NotFoundError, StorageError, UsageError
from atelier_desk.domain.permission import Action, PermissionRule
from atelier_desk.domain.settings import Settings
from atelier_desk.engine import Atelier
from atelier_desk.engine.services.data_folder_and_backups import POLL_S, restore_backup, verify_backup
from atelier_desk.support import i18n
from tests.engine.conftest import Opener, exported_workflow
from tests.helpers.error_codes import raises_code
from tests.helpers.manual_clock import ManualClock


async def test_settings_take_effect_and_are_stored(open_atelier: Opener) -> None:
    async with open_atelier() as atelier:
        heard: list[tuple[str, str]] = []
        # Built-in agents change with the language.
        atelier.bus.on_changed(lambda topic, id: heard.append((topic, id)) if topic != "agent" else None)
        await atelier.settings.update(
            language="fr", font_scale=150, workflows_running=5, theme="system", inactivity_s=40
        )
        assert i18n.language() == "fr"
        assert atelier.runs.live.slots.limit == 5
        assert atelier.in_force.applied.inactivity_s == 40
        names = ("language", "font_scale", "workflows_running", "inactivity_s")
        assert heard == [("settings", name) for name in names]
        assert await atelier.settings.update(font_scale=150) == await atelier.settings.get()
        assert len(heard) == 4
    async with open_atelier() as atelier:
        assert (await atelier.settings.get()).font_scale == 150
        assert atelier.in_force.applied.inactivity_s == 40
        assert i18n.language() == "fr"


@pytest.mark.parametrize(
    "fields",
    [
        {"font_scale": 20},
        {"language": "de"},
        {"colour": "red"},
        {"workflows_running": 0},
        {"embedder": {"kind": "magic"}},
    ],
)
async def test_settings_out_of_bounds_change_nothing(fields: dict[str, Any], atelier: Atelier) -> None:
    before = await atelier.settings.get()
    with pytest.raises(UsageError, match=next(iter(fields))):
        await atelier.settings.update(**fields)
    assert await atelier.settings.get() == before


async def test_one_setting_is_set_by_its_key_even_nested(atelier: Atelier) -> None:
    heard: list[tuple[str, str]] = []
    atelier.bus.on_changed(lambda topic, id: heard.append((topic, id)))
    before = (await atelier.settings.get()).approvals
    await atelier.settings.set("workflows_running", 7)
    after = await atelier.settings.set("approvals.flags.tools", True)
    assert after == await atelier.settings.get()
    assert after.workflows_running == atelier.runs.live.slots.limit == 7
    assert after.approvals == before.model_copy(update={"flags": before.flags.model_copy(update={"tools": True})})
    assert heard == [("settings", "workflows_running"), ("settings", "approvals")]


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("workflows_running", 99, "workflows_running"),
        ("approvals.timeout_s", 5, "between 30 and 300"),
        ("approvals.nothing", 1, "nothing"),
        ("nothing", 1, "nothing"),
        ("nothing.at.all", 1, "at.all"),
        ("fsync.deeper", 1, "deeper"),
        ("self", 1, "self"),
    ],
)
async def test_an_unknown_key_or_value_changes_nothing(key: str, value: object, said: str, atelier: Atelier) -> None:
    before = await atelier.settings.get()
    with pytest.raises(UsageError, match=said):
        await atelier.settings.set(key, value)
    assert await atelier.settings.get() == before


async def test_an_unusable_embedder_is_not_stored(atelier: Atelier) -> None:
    with pytest.raises(AtelierError):
        await atelier.settings.update(embedder={"kind": "openai", "provider": "missing", "model": "m"})
    assert (await atelier.settings.get()).embedder.kind == "builtin"


async def test_reports_are_files_that_can_be_edited_and_restored(atelier: Atelier) -> None:
    workflow = await atelier.workflows.create("x")
    await atelier.reports.write(workflow.id, "Plan.md", "# Plan")
    report = await atelier.reports.write(workflow.id, "Plan", "# Plan é")
    assert report.size == len("# Plan é".encode())
    assert [each.name for each in await atelier.reports.list(workflow.id)] == ["Plan"]
    path = await atelier.reports.path(workflow.id, "Plan")
    assert path.read_text("utf-8") == "# Plan é"
    gone = await atelier.reports.delete(workflow.id, "Plan")
    assert gone is not None
    assert not path.exists()
    await atelier.reports.write(workflow.id, "Plan", gone)
    assert await atelier.reports.read(workflow.id, "Plan") == "# Plan é"
    with pytest.raises(LimitError):
        await atelier.reports.write(workflow.id, "Long", "x" * (limits.REPORT + 1))
    for name in ("../up", "a/b", "", ".hidden", "nul", "x" * 200):
        with pytest.raises(UsageError):
            await atelier.reports.write(workflow.id, name, "text")
    with pytest.raises(NotFoundError):
        await atelier.reports.read(workflow.id, "Missing")
    with pytest.raises(NotFoundError):
        await atelier.reports.write("missing", "Plan", "text")


async def test_a_report_changed_by_another_program_is_refused_until_it_is_accepted(atelier: Atelier) -> None:
    workflow = await atelier.workflows.create("x")
    await atelier.reports.write(workflow.id, "Plan", "# Plan")
    path = await atelier.reports.path(workflow.id, "Plan")
    path.write_text("# Plan, by hand")
    heard: list[tuple[str, str]] = []
    atelier.bus.on_changed(lambda topic, id: heard.append((topic, id)))
    with raises_code(StorageError, "damaged_file"):
        await atelier.reports.read(workflow.id, "Plan")
    assert (await exported_workflow(atelier, workflow.id, "json"))["reports"][0]["text"] == "# Plan, by hand"
    copy = await atelier.workflows.duplicate(workflow.id)
    assert await atelier.reports.read(copy.id, "Plan") == "# Plan, by hand"
    assert await atelier.workflows.exporting.changed_reports(workflow.id) == ["Plan"]
    assert await atelier.workflows.exporting.changed_reports(copy.id) == []
    heard.clear()
    path.rename(path.with_suffix(".away"))
    assert (await exported_workflow(atelier, workflow.id, "json"))["reports"] == []
    assert await atelier.workflows.exporting.changed_reports(workflow.id) == ["Plan"]
    path.with_suffix(".away").rename(path)
    assert await atelier.reports.read(workflow.id, "Plan", check=False) == "# Plan, by hand"
    accepted = await atelier.reports.accept(workflow.id, "Plan")
    assert accepted.size == len("# Plan, by hand")
    assert heard == [("report", workflow.id)]
    assert await atelier.reports.read(workflow.id, "Plan") == "# Plan, by hand"
    path.write_text("x" * (limits.REPORT + 1))
    with pytest.raises(LimitError):
        await atelier.reports.accept(workflow.id, "Plan")
    assert await atelier.reports.delete(workflow.id, "Plan") == "x" * (limits.REPORT + 1)


async def test_a_report_without_its_file_can_be_deleted(atelier: Atelier) -> None:
    workflow = await atelier.workflows.create("x")
    await atelier.reports.write(workflow.id, "Plan", "# Plan")
    (await atelier.reports.path(workflow.id, "Plan")).unlink()
    assert await atelier.reports.delete(workflow.id, "Plan") is None
    assert await atelier.reports.list(workflow.id) == []


async def test_a_backup_is_verified_and_restored(open_atelier: Opener, tmp_path: Path) -> None:
    target = tmp_path / "backup.zip"
    async with open_atelier() as atelier:
        workflow = await atelier.workflows.create("Kept")
        await atelier.reports.write(workflow.id, "Plan", "# Plan")
        info = await atelier.data.backup_create(target)
        assert info.counts["workflow"] == 1
        with pytest.raises(ConflictError):
            await atelier.data.backup_create(target)
        await atelier.workflows.create("Made later")
        root = atelier.datadir.root
        with pytest.raises(AtelierError):
            await restore_backup(target, root)
    assert (await verify_backup(target)).counts == info.counts
    await restore_backup(target, root)
    async with open_atelier() as atelier:
        assert [each.name for each in await atelier.workflows.list()] == ["Kept"]
        assert await atelier.reports.read(workflow.id, "Plan") == "# Plan"


async def test_an_export_is_imported_only_into_an_empty_folder(open_atelier: Opener, tmp_path: Path) -> None:
    async with open_atelier() as atelier:
        workflow = await atelier.workflows.create("Exporté")
        await atelier.memories.add("a fact")
        written = await atelier.data.export_jsonl(tmp_path / "export")
        assert written.counts["workflow"] == 1
        names = [
            json.loads(line)["name"]
            for line in (tmp_path / "export" / "workflow.jsonl").read_text("utf-8").splitlines()
        ]
        assert names == ["Exporté"]
        with pytest.raises(ConflictError):
            await atelier.data.import_jsonl(tmp_path / "export")
        await atelier.workflows.purge(workflow.id)
        await atelier.memories.delete((await atelier.memories.list())[0].id)
        assert await atelier.repos.history.search("fact") == [], "its index is read before the import"
        heard: list[str] = []
        atelier.bus.on_changed(lambda topic, id: heard.append(topic))
        await atelier.data.import_jsonl(tmp_path / "export")
        assert [each.name for each in await atelier.workflows.list()] == ["Exporté"]
        assert len((await atelier.memories.search("fact")).hits) == 1
        assert "workflow" in heard
        assert len(await atelier.repos.history.search("fact")) == 1
    async with open_atelier() as atelier:
        assert len(await atelier.repos.history.search("fact")) == 1


async def test_a_moved_data_folder_and_its_return_are_each_reported_once(open_atelier: Opener, tmp_path: Path) -> None:
    clock = ManualClock()
    async with open_atelier(clock=clock) as atelier:
        root = Path(atelier.datadir.root)
        news: list[str] = []
        problems: list[BaseException] = []
        atelier.bus.on_changed(lambda topic, id: news.append(id) if topic == "data" else None)
        atelier.bus.on_failure(lambda _name, error: problems.append(error))
        watch = asyncio.create_task(atelier.data.watch_folder())
        for there in (True, False, False, True):
            if not there and root.exists():
                root.rename(tmp_path / "aside")
            elif there and not root.exists():
                (tmp_path / "aside").rename(root)
            await clock.advance(POLL_S)
        watch.cancel()
        assert news == ["moved", ""]
        (problem,) = problems
        assert isinstance(problem, StorageError)
        assert problem.code == "moved"


async def test_settings_are_read_once_and_again_after_each_change(
    monkeypatch: pytest.MonkeyPatch, atelier: Atelier
) -> None:
    reads: list[int] = []
    load = atelier.repos.settings.load

    async def counted() -> Settings:
        reads.append(1)
        return await load()

    await atelier.settings.get()
    monkeypatch.setattr(atelier.repos.settings, "load", counted)
    for _ in range(3):
        await atelier.settings.get()
    assert not reads
    await atelier.settings.update(audit_days=7)
    assert (await atelier.settings.get()).audit_days == 7
    reads.clear()
    await atelier.settings.set("audit_days", 8)
    assert len(reads) == 1
    (rule,) = await atelier.permissions.add(PermissionRule(text="read_file", action=Action.ALLOW))
    assert rule in (await atelier.settings.get()).approvals.rules
