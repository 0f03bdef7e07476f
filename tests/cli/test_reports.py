"""Reports on the command line."""

from __future__ import annotations

from pathlib import Path

from atelier_desk.domain.model_messages import ToolCall
from tests.cli.conftest import Cli


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
