"""The files of a command line: read, written, given as input and redirected, in the folder that ``cd`` led to."""

# equivalent: judge.py File.first_glob: `min(default=0)` → `min()`
#   It is asked for patterns alone, and each has one of the marks.
from __future__ import annotations

import pytest

from atelier_desk.workspace.commands.judge import File, Kind, judge

HOME = "/home/ann"


def names(files: tuple[File, ...]) -> str:
    return " ".join(file.name for file in files)


@pytest.mark.parametrize(("line", "reads", "writes", "redirected", "fed"), [
    ("cat a - /dev/null", "a", "", "", ""), ("cat < in", "in", "", "", "in"), ("cat a > out", "a", "out", "out", ""),
    ("sort a > out 2>/dev/null < b", "a b", "out", "out", "b"), ("cp a b > log", "", "a b log", "log", ""),
    ("cat a >> /dev/null", "a", "", "", ""), ("cat < /dev/null", "", "", "", ""), ("cat ./a/.//b", "a/b", "", "", ""),
    ("cat link/../a", "link/../a", "", "", ""), ('cat ""', "", "", "", ""), ("cat ~/a", "/home/ann/a", "", "", ""),
])  # fmt: skip
def test_the_files_a_command_reads_and_writes(line: str, reads: str, writes: str, redirected: str, fed: str) -> None:
    judgement = judge(line, HOME)
    (one,) = judgement.commands
    assert (names(one.reads).strip(), names(one.writes), names(one.redirected), names(one.fed)) == (
        reads,
        writes,
        redirected,
        fed,
    )
    assert judgement.files == (*one.reads, *one.writes)
    assert (judgement.writes, judgement.redirected) == (one.writes, one.redirected)


@pytest.mark.parametrize(("line", "folders", "files"), [
    ("cat a", [("",)], "a"), ("cd sub && cat ../a > x", [("",), ("sub",)], "sub sub/../a sub/x"),
    ("cd a && cd b && cat c", [("",), ("a",), ("a/b",)], "a a/b a/b/c"),
    ("cd a || ls; cat b", [("",), ("", "a"), ("", "a")], "a b a/b"),
    ("cd a | cat b", [("",), ("", "a")], "a b a/b"), ("cat x && cd a; cat b", [("",), ("",), ("", "a")], "x a b a/b"),
])  # fmt: skip
def test_the_working_folder_and_files_of_each_command(line: str, folders: list[tuple[str, ...]], files: str) -> None:
    judgement = judge(line, HOME)
    assert [judgement.folders(one) for one in judgement.commands] == folders
    assert names(judgement.files) == files
    for one, where in zip(judgement.commands, folders, strict=True):
        assert (one.folder is None) is (len(where) > 1)
        assert ("unclear" in one.reason) is (one.folder is None)


@pytest.mark.parametrize(("line", "safe", "contained"), [
    ("cat a", True, True), ("cat *.py", True, True), ("cat src/*.py", True, True), ("cat x/*/y", False, False),
    ("cat x[a]/b", False, False),
    ("cat a/b*", True, True), ("cat */b", False, False), ("cat x?/b", False, False), ("cat '*'/b", True, True),
    ("cat xx/b*", True, True),
    ("cat /a", False, False), ("cat ../a", False, False), ("cat a..b", True, True), ("touch a", False, True),
    ("touch a*", False, False),
    ("touch /a", False, False), ("rm a", False, False), ("cat a > b", False, True), ("cat a > /b", False, False),
    ("make", False, False),
])  # fmt: skip
def test_lines_that_run_without_approval_and_those_that_do_where_writing_is_allowed(
    line: str, safe: bool, contained: bool
) -> None:
    (one,) = judge(line, HOME).commands
    assert (one.safe, one.contained) == (safe, contained)


@pytest.mark.parametrize(("line", "changes"), [
    ("git config user.name x", True), ("git config user.name x && git status", True),
    ("git status && git config user.name x", True),
    ("ls && git config user.name x", True), ("make && git config user.name x", False),
    ("git config user.name x > log", False),
    ("git status", False), ("ls", False), ("git config user.name x && git push", False), ("git config $(id) x", False),
])  # fmt: skip
def test_lines_that_only_change_repository_settings(line: str, changes: bool) -> None:
    assert judge(line, HOME).changes_repositories is changes


@pytest.mark.parametrize("line", [
    "strings @args", "xxd -ac in out", "tree -Lo 2 out", "date -d 'TZ=\":../x\" now'", "touch -d 'TZ=\":/x\" now' a",
    "date 1200",
    "printf '%n' a", "jq 'import \"x\" as $x; .' a", "find . -newermt 'TZ=\":/x\" now'",
])  # fmt: skip
def test_programs_with_their_own_argument_syntax(line: str) -> None:
    (one,) = judge(line, HOME).commands
    assert (one.kind, one.safe, one.contained) == (Kind.RUNS, False, False)


def test_a_quoted_star_is_no_pattern() -> None:
    assert not File("*/b").outside
    assert File("*/b", globs=True).outside
