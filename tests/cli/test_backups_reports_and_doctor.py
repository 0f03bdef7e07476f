"""Backups, permanent deletion, reports, and diagnostics on the command line."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from atelier_desk.domain.model_messages import ToolCall
from atelier_desk.storage.copies import backup_signature
from atelier_desk.storage.data_folder.datadir import default_data_dir
from tests.cli.conftest import Cli
from tests.cli.run_conversation import talk

ENDLESS = Path("/dev/zero")


def test_backups_are_created_verified_and_restored(cli: Cli, tmp_path: Path) -> None:
    workflow = talk(cli)
    made = cli("backup", "create", "b.zip", "--json")
    assert made.json["counts"]["workflow"] == 1
    assert cli("backup", "create", "b.zip").status == 2
    assert cli("backup", "verify", "b.zip", "--json").json["counts"] == made.json["counts"]
    assert cli("workflows", "delete", workflow).status == 0
    restored = cli("backup", "restore", "b.zip", "--json")
    assert restored.status == 0
    assert Path(restored.json["replaced"]).is_dir()
    assert cli("workflows", "show", workflow).status == 0
    (tmp_path / "broken.zip").write_bytes((tmp_path / "b.zip").read_bytes()[:-200])
    for name in ("broken.zip", "missing.zip"):
        for command in ("verify", "restore"):
            failed = cli("backup", command, name)
            assert failed.status == 1
            assert failed.err.splitlines()[-1].startswith("Error: ")
    with zipfile.ZipFile(tmp_path / "evil.zip", "w") as archive:
        archive.writestr("../evil.txt", "x")
    assert cli("backup", "restore", "evil.zip").status == 1
    assert not (tmp_path.parent / "evil.txt").exists()
    assert cli("workflows", "show", workflow).status == 0


@pytest.mark.skipif(not ENDLESS.exists(), reason="the system has no /dev/zero")
@pytest.mark.parametrize("action", ["verify", "restore"])
def test_a_path_that_is_no_file_is_refused_as_a_backup(cli: Cli, tmp_path: Path, action: str) -> None:
    for path in (ENDLESS, tmp_path):
        result = cli("backup", action, str(path))
        assert result.status == 1
        assert f"{path} is not a backup" in result.err


def test_permanently_deleted_data_leaves_the_disk_after_compacting(cli: Cli, tmp_path: Path) -> None:
    def left() -> list[Path]:
        return [file for file in tmp_path.rglob("*") if file.is_file() and b"zebraquartz" in file.read_bytes()]

    added = cli("memory", "add", "the word is zebraquartz", "--json").json
    gone = cli("memory", "delete", added["id"], "--for-good")
    assert gone.out == f"Permanently deleted: {added['id']}\n"
    assert gone.err.strip().endswith("until you run: atelier backup compact")
    assert left()
    assert cli("backup", "compact").out.startswith("Compacted: ")
    assert not left()
    again = cli("backup", "compact", "--json").json
    assert again["rows"] > 0
    assert again["before"] > 0


def test_a_foreign_backup_needs_an_option_and_its_rules_stay_inactive(cli: Cli, tmp_path: Path) -> None:
    assert cli("permissions", "add", "write_file", "--action", "allow").status == 0
    assert (
        cli("providers", "add", "Mine", "--kind", "openai", "--base-url", "http://192.0.2.1/v1", "--no-test").status
        == 0
    )
    assert cli("backup", "create", "b.zip").status == 0
    assert "another installation" not in cli("backup", "verify", "b.zip").err
    assert cli("backup", "restore", "b.zip", "--json").json["own"] is True
    (default_data_dir() / backup_signature.KEY).unlink()
    assert "another installation" in cli("backup", "verify", "b.zip").err
    refused = cli("backup", "restore", "b.zip")
    assert (refused.status, "--from-elsewhere" in refused.err) == (1, True)
    restored = cli("backup", "restore", "--from-elsewhere", "b.zip")
    assert (restored.status, "atelier permissions list" in restored.err) == (0, True)
    (rule,) = cli("permissions", "list", "--json").json
    assert rule["held"] is True
    assert "disabled: from another" in cli("permissions", "list").out
    assert "write_file" in cli("permissions", "confirm", rule["id"][:8]).out
    waiting = {each["id"]: each["about"] for each in cli("backup", "held", "--json").json}
    assert waiting["provider:Mine"] == ["http://192.0.2.1/v1"]
    assert "contents" in waiting
    assert "192.0.2.1" in cli("providers", "test", "Mine").err
    assert cli("backup", "confirm").status == 2
    assert "provider:Mine" in cli("backup", "confirm", "nothing").err
    assert "192.0.2.1" in cli("backup", "confirm", "provider:Mine").out
    assert [each["id"] for each in cli("backup", "confirm", "--all", "--json").json] == ["contents"]
    assert cli("backup", "held", "--json").json == []
    (rule,) = cli("permissions", "list", "--json").json
    assert rule["held"] is False


def test_reports_are_listed_shown_and_a_changed_one_accepted(cli: Cli, tmp_path: Path) -> None:
    write = ToolCall(id="c", name="ReportTool", arguments={"operation": "write", "name": "Plan", "content": "# Plan"})
    workflow = str(cli("run", "go", "--json", steps=[[write], "done"]).events[0]["workflow_id"])
    [listed] = cli("reports", "list", workflow, "--json").json
    assert (listed["name"], listed["size"], len(listed["sha256"])) == ("Plan", 6, 64)
    assert "Plan" in cli("reports", "list", workflow).out
    assert cli("reports", "show", workflow, "Plan").out == "# Plan\n"
    path = tmp_path / "atelier-data" / "reports" / workflow / "Plan.md"
    path.write_text("# PlaN")
    shown = cli("reports", "show", workflow, "Plan")
    assert (shown.status, shown.out) == (1, "")
    assert f"atelier reports accept {workflow} Plan" in shown.err
    exported = cli("workflows", "export", workflow)
    assert exported.json["reports"][0]["text"] == "# PlaN"
    assert "The report Plan was damaged or changed" in exported.err
    made = cli("backup", "create", "b.zip", "--json")
    assert (made.status, made.json["damaged_files"]) == (1, [f"{workflow}/Plan.md"])
    verified = cli("backup", "verify", "b.zip")
    assert (verified.status, f"{workflow}/Plan.md" in verified.err) == (1, True)
    assert {check["name"]: check["status"] for check in cli("doctor", "--json").json}["reports"] == "fail"
    assert cli("reports", "accept", workflow, "Plan").status == 0
    assert cli("reports", "show", workflow, "Plan", "--json").json == {"name": "Plan", "content": "# PlaN"}
    assert cli("backup", "create", "c.zip", "--json").json["damaged_files"] == []
    assert cli("reports", "show", workflow, "Missing").status == 2


def test_doctor_reports_on_a_healthy_folder(cli: Cli) -> None:
    result = cli("doctor", "--json")
    checks = {check["name"]: check for check in result.json}
    assert {"qt", "display", "data_folder", "disk", "database", "keyring", "embedder", "provider:local"} <= set(checks)
    assert all(check["status"] in ("ok", "warn", "fail") for check in checks.values())
    assert checks["database"]["status"] == "ok"
    assert all(check["fix"] for check in checks.values() if check["status"] == "fail")
    assert result.status == (1 if any(check["status"] == "fail" for check in checks.values()) else 0)


def test_doctor_examines_a_folder_that_cannot_be_opened(cli: Cli, tmp_path: Path) -> None:
    talk(cli)
    database = tmp_path / "atelier-data" / "database"
    for file in database.rglob("*anifest*"):
        for each in [file, *file.rglob("*")] if file.is_dir() else [file]:
            if each.is_file():
                each.unlink()
    assert cli("workflows", "list").status == 1
    result = cli("doctor", "--json")
    assert result.status == 1
    assert {check["name"]: check["status"] for check in result.json}["database"] == "fail"
