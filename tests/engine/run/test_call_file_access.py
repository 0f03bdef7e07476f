"""What a call accesses on the disk: links, working folders of commands, contents of a folder, and named agents."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.agent import ApprovalMode
from atelier_desk.domain.approval import ApprovalKind
from atelier_desk.domain.call_presentation_and_subjects import Subjects
from atelier_desk.domain.permission import Action
from atelier_desk.engine.run.call_facts import facts
from atelier_desk.engine.run.call_verdict import Judge, verdict
from atelier_desk.engine.run.permission_rules import rules
from atelier_desk.policy.permissions.call_facts import CallFacts
from atelier_desk.policy.permissions.path_denials import bans
from atelier_desk.tools.base import Call, Effect, Risk
from atelier_desk.workspace.path_restrictions import Denials
from tests.engine.run.judged_calls import call_of, judged, run_in
from tests.engine.run.judged_run_states import started, state, write

ALLOW, ASK, DENY = Action.ALLOW, Action.ASK, Action.DENY


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace with a denied file, links to it and out of the workspace, and a repository."""
    work = tmp_path / "work"
    for name in ("sub", "private", ".git", "other/.git"):
        (work / name).mkdir(parents=True)
    (tmp_path / "out" / "deep").mkdir(parents=True)
    for name in (".env", "a.txt", "sub/b.txt"):
        (work / name).write_text("x")
    (tmp_path / "out" / "run").write_text("x")
    (work / "link").symlink_to(work / ".env")
    (work / "sub" / "link").symlink_to(work / ".env")
    (work / "tools").symlink_to(tmp_path / "out")
    (work / "door").symlink_to(tmp_path / "out" / "deep")
    return work


def command(
    folder: Path, text: str, *said: tuple[Action, str], cwd: str = "", mode: ApprovalMode = ApprovalMode.MANUAL
) -> Action:
    return judged(
        run_in(folder, *said, mode=mode), "run_command", command=text, modifies_files=True, cwd=cwd
    ).verdict.action


def found(folder: Path, text: str, *denied: str, cwd: str = "") -> CallFacts:
    run = run_in(folder, *((DENY, each) for each in denied))
    described = call_of("run_command", command=text, modifies_files=True, cwd=cwd)
    return facts(
        run, started(tool="run_command"), described, repaired=False, denials=Denials(bans(rules(run)), run.workspace)
    )


@pytest.mark.parametrize(("text", "cwd", "denied"), [
    ("cat .env", "", True), ("cat link", "", True), ("cat {folder}/.env", "", True), ("cat {folder}/link", "", True),
    ("cat a.txt", "", False),
    ("cd sub && cat link", "", True), ("cat link", "sub", True), ("cat ../.env", "sub", True),
    ("cat b.txt", "sub", False),
    ("cd sub && cat b.txt", "", False), ("cat nothing", "", False),
])  # fmt: skip
def test_a_command_rule_covers_every_spelling_of_its_files(folder: Path, text: str, cwd: str, denied: bool) -> None:
    said = command(folder, text.format(folder=folder), (DENY, "run_command(cat .env)"), cwd=cwd, mode=ApprovalMode.AUTO)
    assert (said is DENY) is denied


def test_words_that_name_no_file_have_no_other_spelling(folder: Path) -> None:
    (one,) = found(folder, "git push origin").commands
    assert one.also == ()
    (one,) = found(folder, "cat -n a.txt nothing").commands
    assert one.also == ((), (), (f"{folder}/a.txt",), ())


@pytest.mark.parametrize(("text", "cwd", "folders"), [
    ("make", "", [""]), ("make", "sub", ["sub"]), ("cd sub && make", "", ["", "sub"]),
    ("cd {out} && make", "", ["", "{out}"]),
    ("cd door && make", "", ["", "{out}/deep"]), ("cd door/.. && make", "", ["", None]),
    ("cd sub || ls; make", "", ["", None, None]),
])  # fmt: skip
def test_working_folders_of_commands_with_links_resolved(
    folder: Path, text: str, cwd: str, folders: list[str | None]
) -> None:
    out = str(folder.parent / "out")
    seen = [one.folder for one in found(folder, text.format(out=out), cwd=cwd).commands]
    assert seen == [each and each.format(out=out) for each in folders]


def test_the_parent_of_a_link_is_outside(folder: Path) -> None:
    """A program goes up from where the link led to, whatever the words look like."""
    run = state(ApprovalMode.EDIT, workspace=(str(folder),))
    assert [verdict(run, started(), write(path), repaired=False).action for path in ("sub/../x", "door/../x")] == [
        ALLOW,
        ASK,
    ]
    assert (
        str(folder.parent / "out" / "x") in facts(run, started(), write("door/../x"), repaired=False).paths[0].spellings
    )


def test_a_rule_for_words_covers_neither_input_files_nor_a_program_behind_a_link(folder: Path) -> None:
    for text, rule, said in (
        ("wc -l < a.txt", "run_command(wc -l)", ALLOW), ("wc -l < /etc/passwd", "run_command(wc -l)", ASK),
        ("wc -l < /etc/passwd", "run_command(wc:*)", ASK), ("wc -l < /etc/passwd", "run_command", ALLOW),
        ("python tools/run", "run_command(python:*)", ASK),
        ("python tools/run", "run_command(python tools/run)", ALLOW),
        ("python sub/b.txt", "run_command(python:*)", ALLOW),
        ("cd sub && python ../tools/run", "run_command(cd sub && python:*)", ASK),
    ):  # fmt: skip
        assert command(folder, text, (ALLOW, rule)) is said, (text, rule)


def test_a_reason_for_approval_names_the_part_it_concerns(folder: Path) -> None:
    def said(text: str) -> tuple[str, str]:
        found = judged(run_in(folder, mode=ApprovalMode.AUTO), "run_command", command=text, modifies_files=True).verdict
        return found.reason, found.about

    assert said("ls && sudo id") == ("opaque", "sudo id")
    assert said("ls > log && touch sub/[ab]") == ("unparsed", "sub/[ab]")
    assert said("touch sub/[ab] > log") == ("unparsed", "sub/[ab]")


def test_agents_of_a_call_are_compared_with_the_rules(folder: Path) -> None:
    run = run_in(folder, (DENY, "DelegateTaskTool(Ann)"), (ALLOW, "DelegateTaskTool(Bob)"))
    for names, said in ((("Ann",), DENY), (("Bob",), ALLOW), (("Bob", "Ann"), DENY), (("Eve",), ASK)):
        call = Call(Effect.SPAWN, Risk.MEDIUM, ApprovalKind.SUB_AGENT, subjects=Subjects(agents=names))
        assert verdict(run, started(tool="DelegateTaskTool"), call, repaired=False).action is said


@pytest.mark.parametrize(("text", "named"), [
    ("python .env", [".env"]), ("python --file=.env", [".env"]), ("python nothing", []), ("python a.txt", []),
    ("cat a.txt", []),
    ("git show HEAD:.env", [".env"]), ("/usr/bin/git show HEAD:.env", [".env"]), ("git show HEAD:a.txt", ["a.txt"]),
])  # fmt: skip
def test_denied_files_whose_names_a_program_may_reveal(folder: Path, text: str, named: list[str]) -> None:
    assert [path.spellings[0] for path in found(folder, text, "read_file(.env)", "read_file(nothing)").revealed] == [
        f"{folder}/{name}" for name in named
    ]


@pytest.mark.parametrize(("name", "arguments", "said"), [
    ("move_file", {"source": "a.txt", "destination": "private"}, DENY),
    ("copy_file", {"source": "a.txt", "destination": "private"}, DENY),
    ("move_file", {"source": "a.txt", "destination": "sub"}, ALLOW),
    ("move_file", {"source": "a.txt", "destination": "b.txt"}, ALLOW),
    ("move_file", {"source": "sub/b.txt", "destination": "private"}, ALLOW), ("read_file", {"path": "a.txt"}, ALLOW),
    ("write_file", {"path": "private/a.txt", "content": "x"}, DENY),
    ("write_file", {"path": "private/b", "content": "x"}, ALLOW),
    ("delete_path", {"path": "sub"}, ALLOW),
])  # fmt: skip
def test_a_file_moved_into_a_folder_is_compared_by_its_new_name(
    folder: Path, name: str, arguments: dict[str, Any], said: Action
) -> None:
    run = run_in(folder, (DENY, "write_file(/private/a.txt)"), mode=ApprovalMode.AUTO)
    assert judged(run, name, **arguments).verdict.action is said


def test_protected_names_of_a_command_are_relative_to_its_working_folder(folder: Path) -> None:
    judge, run = Judge(), run_in(folder)
    for cwd in ("", "other"):
        judged(run, "run_command", judge, command="cp a .git/hooks/pre-commit", modifies_files=True, cwd=cwd)
        targets = judge.findings.protected.get("c")
        assert targets is not None
        assert [each for each in targets.below if not each.startswith(str(folder / cwd / ".git"))] == []
        assert targets.below


def test_a_command_that_only_names_an_existing_file_is_treated_like_a_plain_call(folder: Path) -> None:
    run = replace(run_in(folder, (DENY, "read_file(.env)")), trusted=(str(folder),))
    said = judged(run, "read_file", path="a.txt")
    assert (said.verdict.action, said.reads) == (ALLOW, "")
