"""Diagnostics of the data folder on the command line."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Cli
from tests.cli.run_conversation import talk


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
