"""``atelier permissions``: rules are listed, added, tested, imported and removed; and the audit trail."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from datetime import timedelta
from pathlib import Path

import pytest

from atelier_desk.cli.command_arguments.permissions import moment
from atelier_desk.domain import limits
from atelier_desk.domain.base_model import utc_now
from atelier_desk.domain.permission import Action, PermissionRule
from atelier_desk.storage.data_folder.datadir import DataDir, default_data_dir
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.store import Store
from atelier_desk.workspace.commands.safe_command_descriptions import ABOUT
from tests.cli.conftest import Cli, Configure
from tests.cli.scripted_tool_calls import calculate
from tests.helpers.tool_calls import tool_call


def keep(*rules: PermissionRule) -> None:
    """Put rules with a history into the data folder."""

    async def save() -> None:
        datadir = DataDir(default_data_dir()).ensure()
        async with await Store.open(datadir.database, fsync=False) as store:
            await Repositories(store, datadir).rules.save(*rules)

    asyncio.run(save())


def test_rules_are_listed_by_last_use_and_unused_ones_marked(cli: Cli) -> None:
    now = utc_now()
    assert cli("permissions", "list", "--json").json == []
    keep(
        PermissionRule(id="a" * 32, text="old", action=Action.ALLOW, created_at=now - timedelta(days=31)),
        PermissionRule(id="b" * 32, text="new", action=Action.ASK, created_at=now - timedelta(days=2)),
        PermissionRule(
            id="c" * 32, text="used(x:*)", action=Action.DENY, created_at=now - timedelta(days=90),
            last_matched_at=now - timedelta(days=1)
        ),
        PermissionRule(
            id="d" * 32, text="stale", action=Action.DENY, created_at=now - timedelta(days=90),
            last_matched_at=now - timedelta(days=40)
        ),
    )  # fmt: skip
    listed = cli("permissions", "list", "--json").json
    assert [(rule["text"], rule["unused"]) for rule in listed] == [
        ("used(x:*)", False),
        ("new", False),
        ("old", True),
        ("stale", True),
    ]
    header, *rows = cli("permissions", "list").out.splitlines()
    assert " ".join(header.split()) == "id action rule scope applies to last used"
    used, new, old, stale = rows
    assert used.split() == ["c" * 32, "deny", "used(x:*)", "always", f"{now - timedelta(days=1):%Y-%m-%d}"]
    assert new.split()[1:] == ["ask", "new", "always", "–"]
    assert old.endswith("–, not used recently")
    assert stale.endswith(f"{now - timedelta(days=40):%Y-%m-%d}, not used recently")


def test_rules_are_added_with_scope_and_examples_and_errors_reported(cli: Cli) -> None:
    workflow = cli("run", "go", "--json", steps=["ok"]).events[0]["workflow_id"]
    added = cli(
        "permissions",
        "add",
        "run_command(git log:*)",
        "--action",
        "allow",
        "--match",
        "git log -1",
        "--not-match",
        "git push",
    )
    assert (added.status, added.out.split()[1:]) == (0, ["allow", "run_command(git", "log:*)"])
    again = cli("permissions", "add", "run_command(git log:*)", "--action", "allow")
    assert again.out.split()[0] == added.out.split()[0], "one that says the same is that one"
    narrow = cli(
        "permissions",
        "add",
        "write_file",
        "--action",
        "ask",
        "--scope",
        "workflow",
        "--workflow",
        workflow[:8],
        "--json",
    )
    [rule] = narrow.json
    assert (rule["text"], rule["action"], rule["scope"], rule["scope_id"]) == (
        "write_file",
        "ask",
        "workflow",
        workflow,
    )
    [stored, *_more] = cli("agents", "list", "--json").json
    agent = {"id": stored["id"], "name": stored["config"]["name"]}
    named = cli(
        "permissions", "add", "ReportTool", "--action", "deny", "--scope", "agent", "--agent", agent["name"], "--json"
    ).json[0]
    assert (named["scope"], named["scope_id"]) == ("agent", agent["id"])
    before = cli("permissions", "list", "--json").json
    for argv, said in (
        (["read file", "--action", "ask"], "is not a rule"),
        (
            ["run_command(git log:*)", "--action", "deny"],
            "The rule “run_command(git log:*)” already exists with the action allow.",
        ),
        (["run_command(ls)", "--action", "ask", "--match", "rm x"], "does not cover “rm x”"),
        (["x", "--action", "ask", "--scope", "workflow"], "Use --workflow and --scope workflow together"),
        (["ReportTool", "--action", "ask", "--scope", "workflow", "--workflow", "nothing"], "nothing"),
        (["x", "--action", "ask", "--agent", agent["name"]], "Use --agent and --scope agent together"),
        (["x", "--action", "ask", "--scope", "agent", "--agent", "Nobody"], "There is no agent Nobody."),
        (["x" * (limits.RULE_TEXT + 1), "--action", "ask"], f"{limits.RULE_TEXT:,}"),
        (["", "--action", "ask"], "Write tool, tool(argument)"),
        (["write_fil", "--action", "deny"], "There is no tool write_fil. Closest: write_file"),
        (["section:webs", "--action", "deny"], "Sections: "),
    ):
        refused = cli("permissions", "add", *argv)
        assert (refused.status, refused.out) == (2, ""), argv
        assert said in refused.err, argv
    assert cli("permissions", "list", "--json").json == before
    server = cli("permissions", "add", "mcp__github__search", "--action", "deny")
    assert (server.status, "There is no MCP server github" in server.err) == (0, True)


def test_the_deciding_rule_is_shown_and_nothing_is_run(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    cli("permissions", "add", "run_command(git push:*)", "--action", "deny")
    cli("permissions", "add", "write_file(docs/**)", "--action", "allow")
    push = json.dumps({"command": "touch made && git push --force", "modifies_files": True})
    assert cli("permissions", "test", "run_command", push).out == (
        "Deny: the rule “run_command(git push:*)” decides. (git push --force)\n"
    )
    assert not (tmp_path / "made").exists()
    said = cli("permissions", "test", "run_command", "-", "--json", piped=push).json
    assert (said["action"], said["reason"], said["rule"], said["about"]) == (
        "deny", "rule", "run_command(git push:*)", "git push --force"
    )  # fmt: skip
    write = json.dumps({"path": "docs/a.md", "content": ""})
    assert cli("permissions", "test", "write_file", write, "--workspace", "ws").out.startswith(
        "Allow: the rule “write_file(docs/**)”"
    )
    other = json.dumps({"path": "src/a.md", "content": ""})
    asks = cli("permissions", "test", "write_file", other, "--workspace", "ws").out
    assert asks == "Ask: no rule applies, so the profile “Ask” decides.\n"
    french = cli(
        "--lang", "fr", "permissions", "test", "write_file", other, "--workspace", "ws", "--profile", "free"
    ).out
    assert french == "Autoriser\u00a0: aucune règle ne s’applique, donc le profil «\u00a0Libre\u00a0» décide.\n"
    assert (
        cli("permissions", "test", "write_file", other, "--workspace", "ws", "--profile", "plan", "--json").json[
            "action"
        ]
        == "deny"
    )
    assert (
        cli("permissions", "test", "write_file", other, "--workspace", "ws", "--profile", "edit", "--json").json[
            "action"
        ]
        == "allow"
    )
    for argv, said in (
        (["no_tool", "{}"], "There is no tool no_tool."),
        (["write_file", "{"], "JSON"),
        (["write_file", "[]"], "JSON"),
        (["write_file", "{}"], "path"),
        (["write_file", write, "--agent", "Nobody"], "There is no agent Nobody."),
    ):
        refused = cli("permissions", "test", *argv)
        assert (refused.status, refused.out) == (2, ""), argv
        assert said in refused.err, argv


def test_rules_of_another_program_are_shown_line_by_line_and_then_imported(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text(
        json.dumps({"permissions": {"allow": ["Bash(npm run lint)"], "deny": ["Read(./secret/**)", "Nonsense(x)"]}})
    )
    shown = cli("permissions", "import", "settings.json", "--dry-run")
    assert shown.status == 0
    lint, secret, nonsense = shown.out.splitlines()
    assert lint.endswith("→  allow run_command(npm run lint)")
    assert "deny read_file(./secret/**)" in secret
    assert "Nonsense(x)" in nonsense
    assert "deny" not in nonsense.partition("→")[2], "what is not understood becomes no rule, and says so"
    assert cli("permissions", "list", "--json").json == []
    taken = cli("permissions", "import", "settings.json", "--json").json
    texts = {f"{rule['action']} {rule['text']}" for rule in taken["added"]}
    assert {"allow run_command(npm run lint)", "deny read_file(./secret/**)"} <= texts
    assert texts == {f"{rule['action']} {rule['text']}" for rule in cli("permissions", "list", "--json").json}
    assert [bool(line["problem"]) for line in taken["read"]] == [False, False, True]
    assert cli("permissions", "import", "settings.json").out.splitlines()[-1] == "Rules added: 0"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"no json", "JSON"),
        (b"{}", "rule"),
        (b"\xff\xfe{}", "cannot be read"),
        (
            b'{"permissions": {"allow": ["Read"]}}' + b" " * limits.RULE_FILE,
            f"too large: the maximum is {limits.RULE_FILE:,} bytes",
        ),
        (None, "cannot be read"),
    ],
)
def test_a_file_without_rules_or_with_too_many_is_refused(
    cli: Cli, tmp_path: Path, content: bytes | None, said: str
) -> None:
    if content is not None:
        (tmp_path / "rules.json").write_bytes(content)
    for more in ([], ["--dry-run"]):
        refused = cli("permissions", "import", "rules.json", *more)
        assert (refused.status, refused.out) == (2, "")
        assert said in refused.err
    assert cli("permissions", "list", "--json").json == []


def test_rules_are_removed_by_an_id_prefix(cli: Cli) -> None:
    keep(*(PermissionRule(id=id * 8, text=f"r_{id}", action=Action.ASK) for id in ("aaaa", "aaab", "bbbb")))
    ambiguous = cli("permissions", "remove", "aaa", "bbbb")
    assert (ambiguous.status, "aaa matches 2 rules" in ambiguous.err) == (2, True)
    assert len(cli("permissions", "list", "--json").json) == 3, "nothing is removed when one of them is not clear"
    assert cli("permissions", "remove", "bbbb", "aaab").out == "Removed: ask r_bbbb\nRemoved: ask r_aaab\n"
    [removed] = cli("permissions", "remove", "a", "--json").json["removed"]
    assert removed["text"] == "r_aaaa"
    assert cli("permissions", "list", "--json").json == []
    gone = cli("permissions", "remove", "a")
    assert (gone.status, "There is no rule a." in gone.err) == (2, True)


def test_the_audit_trail_shows_the_decision_on_each_call(cli: Cli, approvals: Configure, tmp_path: Path) -> None:
    approvals()
    workflow = cli("run", "go", "--json", "--on-approval", "allow", steps=[calculate("12*7"), "84"]).events[0][
        "workflow_id"
    ]
    cli("run", "go", "--on-approval", "deny", steps=[calculate("=1+1"), "then not"])
    cli("permissions", "add", "CalculatorTool", "--action", "deny")
    cli("run", "go", steps=[calculate("3*3"), "then not"])
    found = cli("permissions", "audit", "--json").json
    said = [(one["tool"], one["decision"], one["decided_by"], one["reason"], one["rule"]) for one in found]
    assert said == [
        ("CalculatorTool", "denied", "", "rule", "CalculatorTool"),
        ("CalculatorTool", "rejected", "nobody", "selective", ""),
        ("CalculatorTool", "approved", "user", "selective", ""),
    ]
    header, *rows = cli("permissions", "audit").out.splitlines()
    assert header.split() == ["when", "workflow", "agent", "call", "decision", "reason"]
    denied, rejected, approved = rows
    assert "3*3" in denied
    assert denied.split("}", 1)[1].split() == ["Denied", "Rule", "“CalculatorTool”"]
    assert "Rejected: nobody was available to ask" in rejected
    assert approved.rstrip().endswith("Profile “Ask”")
    for argv, count in (
        (["--workflow", workflow], 1),
        (["--decision", "approved"], 1),
        (["--agent", found[0]["agent_name"]], 3),
        (["--text", "12*7"], 1),
        (["--since", "2999-01-01"], 0),
        (["--until", "1h"], 0),
    ):
        assert len(cli("permissions", "audit", "--json", *argv).json) == count, argv
    limited = cli("permissions", "audit", "--limit", "2")
    assert len(limited.out.splitlines()) == 3
    assert "For more results" in limited.err
    written = cli("permissions", "audit", "--csv", "trail.csv")
    assert (written.status, written.out) == (0, "")
    rows_of = list(csv.DictReader(io.StringIO((tmp_path / "trail.csv").read_text("utf-8-sig"), newline="")))
    assert [(row["decision"], row["decided_by"]) for row in rows_of] == [
        ("Denied", ""), ("Rejected", "Nobody available"), ("Approved", "You")
    ]  # fmt: skip
    assert [(row["profile"], row["reason"], row["risk"]) for row in rows_of][1:] == [
        ("Ask", "Profile “Ask”", "medium risk")
    ] * 2
    assert cli("permissions", "audit", "--csv", "-", "--decision", "denied").out.count("\n") == 2
    for argv, said_wrong in (
        (["--since", "yesterday"], "must be a date"),
        (["--limit", "0"], "at least 1"),
        (["--workflow", "nothing"], "nothing"),
        (["--csv", str(tmp_path / "trail.csv" / "x.csv")], "cannot be written"),
    ):
        refused = cli("permissions", "audit", *argv)
        assert (refused.status, refused.out) == (2, ""), argv
        assert said_wrong in refused.err, argv
    assert cli("settings", "set", "audit_days", "1").status == 0


def test_the_listed_safe_commands_are_those_of_the_policy(cli: Cli) -> None:
    listed = cli("permissions", "commands", "--json").json
    assert {"command": "cd", "does": "reads", "about": ABOUT["cd"], "options": ""} in listed
    assert len(listed) == len(ABOUT)
    header, *rows = cli("--lang", "fr", "permissions", "commands", "deletes").out.splitlines()
    assert header.split() == ["commande", "fichiers", "effet", "options"]
    assert [row.split()[:4] for row in rows] == [
        ["rm", "deletes", "Supprime", "des"],
        ["rmdir", "deletes", "Supprime", "des"],
    ]


def test_a_time_is_a_date_a_time_or_an_age() -> None:
    day, time = moment("2026-11-23"), moment("2026-11-23T14:30")
    assert (day.hour, time.hour, time.minute) == (0, 14, 30)
    assert day.tzinfo is not None
    assert moment("2026-11-23T14:30+00:00") == moment("2026-11-23T15:30+01:00")
    assert timedelta(days=6, hours=23) < utc_now() - moment("7d") < timedelta(days=7, hours=1)


def test_a_replay_shows_what_todays_rules_would_have_decided(cli: Cli, approvals: Configure) -> None:
    approvals()
    workflow = cli("run", "go", "--json", "--on-approval", "allow", steps=[calculate("12*7"), "84"]).events[0][
        "workflow_id"
    ]
    same = cli("permissions", "replay", workflow)
    assert (same.status, same.out.strip(), same.err) == (0, "Decisions: 1; different under today's rules: 0", "")
    assert "asked (Profile)" in cli("permissions", "replay", workflow, "--all").out
    cli("permissions", "add", "CalculatorTool", "--action", "deny")
    header, row, said = cli("permissions", "replay", workflow).out.splitlines()
    assert header.split() == ["when", "agent", "call", "at", "the", "time", "today"]
    assert "asked (Profile)" in row
    assert row.rstrip().endswith("denied (Rule “CalculatorTool”)")
    assert said.endswith("rules: 1")
    first, *_again = cli("permissions", "replay", workflow, "--json").json
    assert (first["then"]["action"], first["today"]["action"], first["same"], first["differs"]) == (
        "ask",
        "deny",
        True,
        True,
    )
    assert cli("permissions", "replay", "ffff").status != 0


def test_a_test_gives_the_same_verdict_as_the_call(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    outside = {"path": str(tmp_path / "a.txt"), "content": "x"}
    argv = ("permissions", "test", "write_file", json.dumps(outside), "--workspace", "ws", "--profile", "free")
    assert (cli(*argv, "--json").json["action"], cli(*argv, "--json").json["reason"]) == ("deny", "outside")
    assert cli(*argv).out.startswith("Deny: This location is outside the workspace folders")
    call = tool_call("write_file", **outside)
    made = cli("run", "go", "--json", "--workspace", "ws", "--profile", "ask", steps=[[call], "done"])
    assert (made.status, made.of("validation_required")) == (0, []), "nobody is asked about what cannot be done"
    assert made.of("tool_end")[0]["result"]["code"] == "outside"


def test_a_rule_of_a_folder_is_added_and_listed(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    added = cli(
        "permissions", "add", "run_command(make)", "--action", "allow", "--scope", "folder", "--folder", "ws", "--json"
    ).json
    assert [(each["scope"], each["scope_id"]) for each in added] == [("folder", str(tmp_path / "ws"))]
    call = json.dumps({"command": "make", "modifies_files": True})
    for folder, action in ((["--workspace", "ws"], "allow"), ([], "ask")):
        assert cli("permissions", "test", "run_command", call, *folder, "--json").json["action"] == action
    assert cli("permissions", "add", "x", "--action", "allow", "--scope", "folder").status == 2
    assert "folder" in cli("permissions", "list").out


def test_a_rule_that_never_matches_is_reported_when_added_imported_and_listed(cli: Cli, tmp_path: Path) -> None:
    added = cli("permissions", "add", "run_command(cat a | grep b)", "--action", "deny")
    assert "never matches: it contains several commands" in added.err
    assert "never matches" not in cli("permissions", "add", "run_command(cat ~/a)", "--action", "deny").err
    never = {rule["text"]: rule["never"] for rule in cli("permissions", "list", "--json").json}
    assert never["run_command(cat ~/a)"] == ""
    assert never["run_command(cat a | grep b)"].startswith("it contains several commands")
    assert "never matches" in cli("permissions", "list").err
    file = tmp_path / "settings.json"
    file.write_text(json.dumps({"permissions": {"deny": ["Read(/etc/passwd)", "Read(//etc/passwd)"]}}))
    read = cli("permissions", "import", str(file), "--dry-run", "--json").json["read"]
    assert [bool(line["never"]) for line in read] == [True, False]
    assert "one slash" in cli("permissions", "import", str(file), "--dry-run").err
