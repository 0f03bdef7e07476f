"""Backups and permanent deletion on the command line."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

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
