"""Details of a verdict: rules offered for the future, sources read, the facts it is based on, and calls nobody is
asked about.
"""

# judges: app/atelier_desk/engine/run/call_facts.py
# judges: app/atelier_desk/engine/run/permission_rules.py
# equivalent: call_verdict.py telling.known: `pattern.parse(rule.text).argument` → `True`
#   ``bars`` passes over rules without an argument anyway.
# equivalent: call_verdict.py telling.known: `rule.action is not Action.ALLOW` → `True`
#   ``bars`` passes over rules that allow anyway.
# equivalent: call_verdict.py telling.known: `@cache` → ``
#   It saves reading the rules again; they do not change.
from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from atelier_desk.domain.agent import ApprovalMode
from atelier_desk.domain.permission import Action, Verdict
from atelier_desk.domain.skill import SkillUse
from atelier_desk.engine.run.call_facts import facts
from atelier_desk.engine.run.call_verdict import (
    REPOSITORY_REFUSAL,
    Judge,
    disclosure_filter,
    refusal,
    unreachable,
)
from atelier_desk.engine.run.permission_rules import rules
from atelier_desk.engine.run.reducer.conversation_entries import ContextEntry, EntryKind
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.policy.permissions.call_facts import Concern
from atelier_desk.policy.permissions.path_denials import bans
from atelier_desk.workspace.checkpoints.tainted_file_marks import TaintMarks
from atelier_desk.workspace.denied_file_search import home_folder
from atelier_desk.workspace.diffs import digest
from atelier_desk.workspace.path_restrictions import Denials
from tests.engine.run.judged_calls import REGISTRY, call_of, judged, run_in
from tests.engine.run.judged_run_states import started


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def test_a_permanent_rule_is_offered_only_for_calls_the_mode_asks_about(folder: Path) -> None:
    def always(run: RunState) -> tuple[str, ...]:
        return judged(run, "write_file", path="a.txt", content="x").always

    assert always(run_in(folder)) == (f"write_file(//{str(folder).lstrip('/')}/a.txt)",)
    assert always(run_in(folder, (Action.ASK, "write_file"))) == ()
    assert judged(run_in(folder), "write_file", path=".git/config", content="x").always == ()
    assert always(run_in(folder, (Action.DENY, "write_file"))) == ()
    assert always(run_in(folder, mode=ApprovalMode.AUTO)) == ()


def test_a_call_that_cannot_be_inspected_is_recorded_as_such(folder: Path) -> None:
    for effect, found in (
        ("write_file", judged(run_in(folder), "write_file", path="a\0b", content="x")),
        ("read_file", judged(run_in(folder), "read_file", path="a\0b")),
    ):
        assert (found.verdict.action, found.verdict.reason, found.always) == (Action.ASK, "unparsed", ())
        assert (found.reads, found.grounds.unread, found.grounds.changes) == (effect, True, effect == "write_file")
    assert not judged(run_in(folder), "read_file", path="a").grounds.unread


def test_a_file_written_after_reading_outside_content_counts_as_such(folder: Path, tmp_path: Path) -> None:
    (folder / "notes.md").write_bytes(b"x")
    marks = TaintMarks(tmp_path / "taint.jsonl")
    marks.wrote(folder, "notes.md", ("evil.example",), digest(b"x"))
    run = replace(run_in(folder), trusted=(str(folder),))
    assert [judged(run, "read_file", judge, path="notes.md").reads for judge in (Judge(), Judge(marks=marks))] == [
        "",
        "evil.example",
    ]
    assert Judge(marks=marks).blocks(run, "read_file", call_of("read_file", path="notes.md"))
    assert not Judge().blocks(run, "read_file", call_of("read_file", path="notes.md"))


def test_sending_needs_approval_after_the_team_read_outside_content(folder: Path) -> None:
    run = run_in(folder, (Action.ALLOW, "*"))
    outside = f"{folder.parent}/a"
    found = judged(run, "write_file", tainted=("evil.example",), path=outside, content="x").verdict
    assert (found.action, found.reason, found.about) == (Action.ASK, "tainted", "evil.example")
    assert judged(run, "write_file", path=outside, content="x").verdict.action is Action.ALLOW


def test_the_protected_names_of_a_command_are_those_of_its_last_judgement(folder: Path) -> None:
    judge, run = Judge(), run_in(folder)
    assert judge.findings.protected.get("c") is None
    judged(run, "run_command", judge, command="cp a .git/hooks/pre-commit", modifies_files=True)
    found = judge.findings.protected.get("c")
    assert found is not None
    assert ".git" in found.about
    judge.begin()
    assert judge.findings.protected.get("c") is None


@pytest.mark.parametrize(("path", "reads", "writes"), [
    ("a.txt", True, True), ("skills/a.txt", True, True), ("{skill}/a.txt", True, False), ("{home}/a.txt", False, False),
])  # fmt: skip
def test_nobody_is_asked_about_files_outside_of_granted_folders(
    folder: Path, path: str, reads: bool, writes: bool
) -> None:
    skill = folder.parent / "skill"
    skill.mkdir()
    run = replace(
        run_in(folder), entries=(ContextEntry(0, EntryKind.USER, "x", skill=SkillUse(name="s", folder=str(skill))),)
    )
    path = path.format(skill=skill, home=folder.parent / "home")
    for name, described, fine in (
        ("read_file", call_of("read_file", path=path), reads),
        ("write_file", call_of("write_file", path=path, content="x"), writes),
    ):  # fmt: skip
        tool = REGISTRY.get_tool(name)
        assert tool is not None
        assert (unreachable(run, tool, described) is None) is fine
        assert unreachable(replace(run, workspace=()), tool, described) is None, (
            "the tool itself says that there is no folder"
        )


def test_the_model_is_told_why_git_does_not_run_in_plan() -> None:
    said = Verdict(action=Action.DENY, reason=Concern.REPOSITORY.value, about="core.fsmonitor")
    assert refusal(said) == f"{REPOSITORY_REFUSAL} It is about core.fsmonitor."


@pytest.mark.parametrize(("text", "hidden"), [
    ("rag_ops(drafts/**)", ["drafts/a.md"]), ("semantic_search(drafts/**)", ["drafts/a.md"]),
    ("file_ops(*.sql)", ["all.sql"]),
    ("read_file(~/notes/**)", ["~/notes/a"]), ("web_ops(domain:x.org)", ["https://x.org/"]),
    ("*(domain:y.org)", ["http://y.org/a"]),
    ("fetch_web_page(domain:x.org)", ["https://x.org/"]), ("web_ops", []), ("read_file", []), ("write_file(*.sql)", []),
])  # fmt: skip
def test_what_a_result_must_not_reveal(folder: Path, text: str, hidden: list[str]) -> None:
    for action in (Action.DENY, Action.ASK, Action.ALLOW):
        tells = disclosure_filter(run_in(folder, (action, text)), "semantic_search", "rag_ops")
        places = {
            place: place.replace("~", home_folder()) for place in ("~/notes/a", "https://x.org/", "http://y.org/a")
        }
        places |= {name: f"{folder}/{name}" for name in ("drafts/a.md", "all.sql")}
        assert [name for name, place in places.items() if not tells(place)] == (
            hidden if action is not Action.ALLOW else []
        )


def test_denied_paths_are_searched_from_the_workspace_and_the_home(folder: Path) -> None:
    run = run_in(
        folder, (Action.DENY, "read_file(/.env)"), (Action.DENY, "file_ops(~/.ssh)"), (Action.ALLOW, "read_file(a)")
    )
    found = Denials(bans(rules(run)), run.workspace)
    places = (f"{folder}/.env", f"{home_folder()}/.ssh/id", f"{folder}/sub/.env", f"{folder}/a")
    assert [found.covers(place) for place in places] == [True, True, False, False]
    assert not bans(rules(run_in(folder, (Action.ALLOW, "read_file(a)"))))
    about = facts(
        run,
        started(tool="run_command"),
        call_of("run_command", command="cat .env", modifies_files=False),
        repaired=False,
        denials=found,
    )
    assert f"{folder}/.env" in [path.spellings[0] for path in about.paths]
