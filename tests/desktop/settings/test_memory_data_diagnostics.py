"""The pages of memory, data and diagnostics."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QMessageBox, QPushButton

from atelier_desk.desktop.settings.application_language import switch_language
from atelier_desk.desktop.settings.pages.diagnostics import LOG_LINES, log_tail
from atelier_desk.desktop.settings.window import SettingsWindow
from atelier_desk.desktop.widgets import Toast
from atelier_desk.domain.errors import StorageError, UsageError
from atelier_desk.domain.imported_grant import HeldGrant, HeldKind
from atelier_desk.domain.settings import EmbedderSettings
from atelier_desk.engine.maintenance.system_checks import Check
from atelier_desk.llm.embedders import install_sentence_transformers
from atelier_desk.workspace.checkpoints.cleaning import Cleaned, KeptRecord
from tests.desktop.settings.conftest import Engine, announced
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import FakeBridge, settle

Find = Callable[[str], Any]
INFO = SimpleNamespace(counts={"message": 120, "workflow": 5, "task": 0}, size=3_000_000, own=True)


async def test_the_embedder_is_chosen_with_its_settings(window: SettingsWindow, find: Find, atelier: Engine) -> None:
    window.show_page("memory")
    await settle()
    assert not find("embedder-model").isVisible()
    assert not find("embedder-apply").isEnabled()
    find("embedder-kind").setCurrentIndex(find("embedder-kind").findData("ollama"))
    assert find("embedder-provider").currentText() == "Ollama"
    assert not find("embedder-apply").isEnabled()
    find("embedder-model").setText("nomic-embed-text")
    find("embedder-apply").click()
    await settle()
    assert atelier.stored.embedder == EmbedderSettings(kind="ollama", provider="Ollama", model="nomic-embed-text")
    assert "recomputed in the background" in window.page("memory").busy.text.text()


async def test_an_embedder_whose_package_is_missing_is_installed_by_a_button(
    window: SettingsWindow, find: Find, atelier: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed: list[bool] = []
    monkeypatch.setattr(install_sentence_transformers, "installed", lambda: bool(installed))
    window.show_page("memory")
    await settle()
    page: Any = window.page("memory")
    assert not find("embedder-install").isVisible()
    find("embedder-kind").setCurrentIndex(find("embedder-kind").findData("sentence-transformers"))
    assert find("embedder-install").isVisible()
    assert f"{install_sentence_transformers.DOWNLOAD_MB:,} MB" in page._install_row.hint.text()
    atelier.set("settings", "update", install_sentence_transformers.missing())
    find("embedder-apply").click()
    await settle()
    assert "is not installed" in page.busy.text.text()
    assert atelier.stored.embedder == EmbedderSettings()
    resume = asyncio.Event()

    async def install(on_progress: Callable[[str], None]) -> None:
        on_progress("Collecting torch")
        await resume.wait()
        installed.append(True)

    atelier.set("settings", "install_embedder", install)
    find("embedder-install").click()
    await settle()
    page.busy._show_time()
    assert page.busy.text.text().startswith("Installing: Collecting torch")
    page.busy.stop.click()
    await settle()
    assert (page.busy.text.text(), find("embedder-install").isEnabled()) == ("Stopped.", True)
    resume.set()
    find("embedder-install").click()
    await settle()
    assert page.busy.text.text() == "Installed. Choose “Save” to switch to it."
    assert not find("embedder-install").isVisible()
    installed.clear()
    monkeypatch.setattr(install_sentence_transformers, "can_install", lambda: False)
    page._show_fields()
    assert not find("embedder-install").isVisible()
    assert "run Atelier from source: make run EXTRAS=sentence-transformers" in page._install_row.hint.text()


async def test_memory_statistics_and_reembedding(
    window: SettingsWindow, find: Find, atelier: Engine, bridge: FakeBridge
) -> None:
    window.show_page("memory")
    await settle()
    assert find("memory-stats").text() == "3 memories that apply to all workflows\nDecision: 3\n#work (2)"
    page: Any = window.page("memory")
    atelier.set("memories", "reembed_progress", (20, 80))
    bridge.changed.emit("memory", "reembed")
    await settle()
    assert (page.busy._bar.value(), page.busy._bar.maximum()) == (20, 80)
    atelier.set("memories", "reembed", 80)
    find("memory-reembed").click()
    await settle()
    assert page.busy.text.text() == "80 embeddings computed"
    atelier.set("memories", "reembed", UsageError("No embedder is chosen."))
    find("memory-reembed").click()
    await settle()
    assert page.busy.text.text() == "No embedder is chosen."


async def test_embedding_progress_is_shown_at_any_rate_of_events(
    window: SettingsWindow, find: Find, atelier: Engine, bridge: FakeBridge
) -> None:
    """The page is opened during embedding, started by this program or an earlier one; each batch emits a change."""
    atelier.set("memories", "reembed_state", {"state": "running", "left": 9_000, "embedder": "b", "searched": "a"})
    atelier.set("memories", "reembed_progress", (3_000, 12_000))
    window.show_page("memory")
    await settle()
    page: Any = window.page("memory")
    assert page.busy.text.text() == "Embeddings computed: 3,000 of 12,000. Search keeps working."
    assert (page.busy.isVisible(), page.busy._bar.value(), find("memory-reembed").isEnabled()) == (True, 3_000, False)
    read = len(atelier.calls("memories.describe"))
    atelier.set("memories", "reembed_progress", (3_064, 12_000))
    bridge.changed.emit("memory", "reembed")
    await settle()
    assert (page.busy._bar.value(), len(atelier.calls("memories.describe"))) == (3_064, read)
    atelier.set("memories", "reembed_progress", None)
    atelier.set("memories", "reembed_state", {"state": "whole", "left": 0, "embedder": "b", "searched": "b"})
    bridge.changed.emit("memory", "reembed")
    await settle()
    assert (page.busy.text.text(), page.busy._bar.isVisible()) == ("All memories have embeddings.", False)
    assert find("memory-reembed").isEnabled()


async def test_the_page_explains_why_there_are_no_embeddings(
    window: SettingsWindow, atelier: Engine, bridge: FakeBridge
) -> None:
    state = {"state": "unreached", "left": 0, "embedder": "", "searched": ""}
    atelier.set("memories", "reembed_state", state)
    window.show_page("memory")
    await settle()
    page: Any = window.page("memory")
    assert page.busy.text.text() == "The embedder has not responded yet: searches match words only."
    atelier.set("memories", "reembed_progress", (20, 80))
    atelier.set("memories", "reembed_state", state | {"state": "running"})
    bridge.changed.emit("memory", "reembed")
    await settle()
    atelier.set("memories", "reembed_progress", None)
    atelier.set("memories", "reembed_state", state | {"state": "waiting", "left": 1_060})
    bridge.changed.emit("memory", "reembed")
    await settle()
    assert page.busy.text.text() == "Stopped with 1,060 left. Choose “Recompute embeddings” to continue."


async def test_a_page_is_shown_even_if_changes_come_faster_than_it_loads(
    window: SettingsWindow, find: Find, atelier: Engine, bridge: FakeBridge
) -> None:
    window.show_page("memory")
    await settle()
    gate = asyncio.Event()

    async def slow(*_args: Any) -> dict[str, Any]:
        await gate.wait()
        return {"total": 7_000}

    atelier.set("memories", "describe", slow)
    read = len(atelier.calls("memories.describe"))
    for _change in range(4):
        bridge.changed.emit("memory", "m")
        await asyncio.sleep(0)
    gate.set()
    await settle()
    assert find("memory-stats").text() == "7,000 memories that apply to all workflows"
    assert len(atelier.calls("memories.describe")) == read + 2, (
        "once for the first of them, once for those that came meanwhile"
    )


async def test_an_import_shows_that_it_runs_and_why_it_failed(
    window: SettingsWindow, atelier: Engine, tmp_path: Path
) -> None:
    window.show_page("memory")
    await settle()
    page: Any = window.page("memory")
    gate = asyncio.Event()

    async def import_(*_args: Any) -> dict[str, int]:
        await gate.wait()
        raise UsageError("Invalid memory file: version must be 1")

    atelier.set("memories", "import_", import_)
    (tmp_path / "m.json").write_text("{}")
    page.import_from(tmp_path / "m.json")
    await settle()
    assert (page.moving.isVisible(), page.moving.stop.isVisible()) == (True, True)
    assert page.moving.text.text().startswith("Importing…")
    gate.set()
    await page.jobs.settled()
    assert (page.moving.text.text(), page.moving.stop.isVisible()) == (
        "Invalid memory file: version must be 1",
        False,
    )


async def test_memories_are_exported_and_imported(window: SettingsWindow, atelier: Engine, tmp_path: Path) -> None:
    window.show_page("memory")
    await settle()
    page: Any = window.page("memory")
    atelier.set("memories", "export", '{"memories": []}')
    atelier.set("memories", "import_", {"added": 2, "overwritten": 0, "skipped": 1})
    page.export_to(tmp_path / "m.json")
    await page.jobs.settled()
    page.import_from(tmp_path / "m.json")
    await page.jobs.settled()
    assert atelier.calls("memories.import_") == [(('{"memories": []}',), {})]
    assert announced(window) == "2 added, 0 overwritten, 1 skipped"


async def test_a_backup_is_written_checked_and_errors_stay_in_place(
    window: SettingsWindow, atelier: Engine, tmp_path: Path
) -> None:
    window.show_page("data")
    await settle()
    page: Any = window.page("data")
    atelier.set("data", "backup_create", INFO)
    page.create_backup(tmp_path / "b.zip")
    await settle()
    assert atelier.calls("data.backup_create") == [((tmp_path / "b.zip", page.backup_busy.report), {})]
    assert page.backup_busy.text.text() == "Backup written and checked: 5 workflows, 120 messages (2.9\u202fMB)."
    atelier.set("data", "backup_verify", SimpleNamespace(counts={"message": 1}, size=0, damaged=("w/Plan.md",)))
    page.verify_backup(tmp_path / "b.zip")
    await settle()
    assert "The report w/Plan.md was damaged" in page.backup_busy.text.text()
    assert page.backup_busy.text.property("variant") == "error"
    atelier.set("data", "backup_verify", StorageError("The backup {path} cannot be used.", path="b.zip"))
    page.verify_backup(tmp_path / "b.zip")
    await settle()
    assert page.backup_busy.text.text() == "The backup b.zip cannot be used."
    assert page.backup_busy.text.property("variant") == "error"


@pytest.mark.parametrize("own", [True, False])
async def test_restore_confirms_closes_the_engine_and_reopens_it(
    window: SettingsWindow,
    bridge: FakeBridge,
    atelier: Engine,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    own: bool,
) -> None:
    window.show_page("data")
    await settle()
    page: Any = window.page("data")
    done: list[Any] = []

    async def restore(path: Path, root: Path, progress: Any, *, from_elsewhere: bool) -> Any:
        done.append((path, root, bridge.stopped, from_elsewhere))
        return SimpleNamespace(**{**vars(INFO), "own": own})

    monkeypatch.setattr("atelier_desk.desktop.settings.pages.data.restore_backup", restore)
    atelier.set("data", "backup_is_own", own)
    reopened: list[bool] = []
    bridge.engine_opened.connect(lambda: reopened.append(True))
    page._ask_restore(tmp_path / "b.zip")
    await settle()
    assert done == []
    box = child(window, QMessageBox)
    assert ("earlier version or another installation" in box.informativeText()) is not own
    child(box, QPushButton, "confirm-yes").click()
    await settle()
    assert done == [(tmp_path / "b.zip", tmp_path, True, not own)]
    assert reopened == [True]
    assert page.backup_busy.text.text().startswith("Restored: 5 workflows, 120 messages")
    assert ("rules under “Permissions”" in page.backup_busy.text.text()) is not own


async def test_compacting_confirms_closes_the_engine_and_reopens_it(
    window: SettingsWindow, bridge: FakeBridge, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, find: Find
) -> None:
    window.show_page("data")
    await settle()
    page: Any = window.page("data")
    done: list[Any] = []

    async def compact(root: Path, progress: Any) -> Any:
        done.append((root, bridge.stopped))
        return SimpleNamespace(before=3_000_000, after=1_000_000)

    monkeypatch.setattr("atelier_desk.desktop.settings.pages.data.compact_database", compact)
    reopened: list[bool] = []
    bridge.engine_opened.connect(lambda: reopened.append(True))
    find("data-compact").click()
    await settle()
    assert done == []
    child(child(window, QMessageBox), QPushButton, "confirm-yes").click()
    await settle()
    assert done == [(tmp_path, True)]
    assert reopened == [True]
    assert page.compact_busy.text.text() == "Compacted: 2.9\u202fMB before, 976.6\u202fkB now."


async def test_a_restore_tells_how_far_it_is_and_can_be_stopped_until_it_replaces(
    window: SettingsWindow, bridge: FakeBridge, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    window.show_page("data")
    await settle()
    page: Any = window.page("data")
    busy = page.backup_busy
    shown: list[tuple[int, bool]] = []

    async def restore(path: Path, root: Path, progress: Any, *, from_elsewhere: bool) -> Any:
        for done in (300, 1_000):
            progress(done, 1_000)
            busy._show_time()
            shown.append((busy._bar.value(), busy.stop.isVisibleTo(busy)))
        progress(300, 1_000)
        busy._show_time()
        busy.stop.click()
        await asyncio.sleep(60)

    monkeypatch.setattr("atelier_desk.desktop.settings.pages.data.restore_backup", restore)
    reopened: list[bool] = []
    bridge.engine_opened.connect(lambda: reopened.append(True))
    page.restore_backup(tmp_path / "b.zip")
    assert not busy.stop.isVisibleTo(busy), "the engine is closing"
    await settle()
    assert shown == [(300, True), (1_000, False)]
    assert busy.text.text() == "Stopped."
    assert reopened == [True]


async def test_export_and_import_of_everything(window: SettingsWindow, atelier: Engine, tmp_path: Path) -> None:
    window.show_page("data")
    await settle()
    page: Any = window.page("data")
    atelier.set("data", "export_jsonl", SimpleNamespace(counts={"workflow": 2}))
    page.export_to(tmp_path)
    await settle()
    assert page.move_busy.text.text() == "Exported: 2 workflows."
    atelier.set("data", "import_jsonl", SimpleNamespace(counts={}))
    page.import_from(tmp_path)
    await settle()
    assert page.move_busy.text.text().startswith("Imported: nothing.\nConfirm what you trust: ")


async def test_diagnostics_show_checks_versions_and_log_and_copy_them(
    window: SettingsWindow, find: Find, atelier: Engine, tmp_path: Path
) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "atelier.log").write_text(
        "".join(f"line {n}\n" for n in range(LOG_LINES + 50)), encoding="utf-8"
    )

    atelier.checks = [
        Check(name="disk", title="Disk space", status="warn", message="0.5 GB are free.", fix="Free up some space.")
    ]
    window.show_page("diagnostics")
    await settle()
    assert find("log-tail").toPlainText().splitlines()[0] == "line 50"
    find("diagnostics-copy").click()
    copied = QGuiApplication.clipboard().text()
    assert "Python 3." in copied
    assert "warn Disk space: 0.5 GB are free." in copied
    assert log_tail(tmp_path / "nowhere") == ""
    assert not find("notices-text").isVisible()
    find("notices-show").click()
    assert "surrealdb-embedded" in find("notices-text").toPlainText()
    assert find("notices-text").isVisible()
    find("notices-show").click()
    assert not find("notices-text").isVisible()


async def test_damaged_configuration_is_discarded_after_confirmation(
    window: SettingsWindow, find: Find, atelier: Engine
) -> None:
    atelier.set("data", "remove_damaged", [])
    atelier.checks = [Check(name="configuration", title="Configuration", status="ok", message="All whole.")]
    window.show_page("diagnostics")
    await settle()
    assert not find("doctor-remove-damaged").isVisible()
    atelier.checks = [
        Check(name="configuration", title="Configuration", status="fail", message="The agent x is damaged.")
    ]
    find("doctor-again").click()
    await settle()
    find("doctor-remove-damaged").click()
    (box,) = window.findChildren(QMessageBox)
    assert "The agent x is damaged." in box.informativeText()
    assert atelier.calls("data.remove_damaged") == []
    atelier.checks = []
    child(box, QPushButton, "confirm-yes").click()
    await settle()
    assert len(atelier.calls("data.remove_damaged")) == 1
    assert not find("doctor-remove-damaged").isVisible()


async def test_undo_data_is_shown_limited_and_deleted(window: SettingsWindow, find: Find, atelier: Engine) -> None:
    atelier.set("files", "undo_storage", KeptRecord(12_582_912, 40, datetime(2026, 11, 1, tzinfo=UTC)))
    window.show_page("data")
    await settle()
    page: Any = window.page("data")
    assert page._stored_row.hint.text() == "12\u202fMB for 40 changes that can be undone, the oldest from 2026-11-01"
    assert page._place.hint.text().endswith("\n3 attachments and tool outputs: 2\u202fkB")
    assert find("checkpoint-mb").suffix() == "\u202fMB"
    switch_language("fr")
    assert find("checkpoint-mb").suffix() == "\u202fMo"
    switch_language("en")
    find("checkpoint-days").setValue(7)
    await settle()
    assert atelier.stored.checkpoint_days == 7
    atelier.set("files.cleaning", "clean", Cleaned(3_145_728, 2))
    atelier.set("files", "undo_storage", KeptRecord())
    find("checkpoints-clean").click()
    await settle()
    assert page.clean_busy.text.text() == "3\u202fMB freed. 2 changes can no longer be undone."
    assert page._stored_row.hint.text() == "0 bytes; there is nothing to undo"


async def test_reembedding_is_paused_and_continued(
    window: SettingsWindow, find: Find, atelier: Engine, bridge: FakeBridge
) -> None:
    window.show_page("memory")
    await settle()
    assert find("memory-reembed-pause").isHidden()
    page: Any = window.page("memory")
    for name in ("pause_reembed", "resume_reembed"):
        atelier.set("memories", name, None)
    state = {"state": "running", "left": 60, "embedder": "new", "searched": "old"}
    atelier.set("memories", "reembed_state", state)
    atelier.set("memories", "reembed_progress", (20, 80))
    bridge.changed.emit("memory", "reembed")
    await settle()
    atelier.set("memories", "reembed_state", state | {"state": "paused"})
    atelier.set("memories", "reembed_progress", None)
    find("memory-reembed-pause").click()
    await settle()
    assert len(atelier.calls("memories.pause_reembed")) == 1
    assert page.busy.text.text() == "Paused: 60 memories left."
    assert find("memory-reembed-pause").text() == "Continue"
    find("memory-reembed-pause").click()
    await settle()
    assert len(atelier.calls("memories.resume_reembed")) == 1


async def test_the_time_of_memory_extraction_is_a_setting(window: SettingsWindow, find: Find, atelier: Engine) -> None:
    window.show_page("memory")
    await settle()
    choice = find("memory-at-end")
    assert choice.currentText() == "When I say something about myself"
    choice.setCurrentIndex(choice.findText("Never"))
    choice.activated.emit(choice.currentIndex())
    await settle()
    assert atelier.stored.memories_at_end == "off"


async def test_contents_of_a_backup_from_elsewhere_are_listed_and_confirmed(
    window: SettingsWindow, find: Find, atelier: Engine, bridge: FakeBridge
) -> None:
    window.show_page("data")
    await settle()
    page: Any = window.page("data")
    assert page.waiting.isHidden()
    grants = [
        HeldGrant(kind=HeldKind.PROVIDER, name="Ollama", about=("http://192.0.2.1", "X-Key: $HOME")),
        HeldGrant(kind=HeldKind.SEARCH, about=("https://search.example",)),
        HeldGrant(kind=HeldKind.WORKSPACE, name="00ff", about=("/a", "/b"), workflows=("w1", "w2")),
    ]

    def confirm(*ids: str) -> list[HeldGrant]:
        grants[:] = [each for each in grants if each.id not in ids]
        return []

    atelier.set("imported_data", "list", lambda: list(grants))
    atelier.set("imported_data", "confirm", confirm)
    bridge.changed.emit("settings", "held")
    await settle()
    rows = {row.objectName(): row.accessibleName() for row in page.held.children() if row.objectName()}
    assert rows == {
        "held-provider:Ollama": "Provider Ollama: http://192.0.2.1\nX-Key: $HOME",
        "held-search": "Web search: https://search.example",
        "held-workspace:00ff": "Workspace folders of 2 workflows: /a\n/b",
    }
    assert not page.waiting.isHidden()
    for name, id in (("web", "search"), ("providers", "provider:Ollama")):
        window.show_page(name)
        await settle()
        other: Any = window.page(name)
        if name == "providers":
            other.list.setCurrentRow([each.name for each in other.things].index("Ollama"))
        child(other.held, QPushButton, f"held-confirm-{id}").click()
        await settle()
        assert other.held.isHidden()
    window.show_page("data")
    await settle()
    child(page.held, QPushButton, "held-confirm-workspace:00ff").click()
    await settle()
    assert page.waiting.isHidden()
    assert not grants


async def test_a_folder_that_no_program_opens_is_named(
    window: SettingsWindow, find: Find, atelier: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda _url: False)
    folders = {"data": ("data-folder", atelier.folders.root), "tools": ("own-tools-open", atelier.folders.tools)}
    for name, (button, folder) in folders.items():
        window.show_page(name)
        await settle()
        find(button).click()
        toast = window.findChildren(Toast)[-1]
        assert toast.accessibleName() == f"Could not open {folder}"
        toast.button.click()
        assert QGuiApplication.clipboard().text() == str(folder)
