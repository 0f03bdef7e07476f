"""Texts that are not valid rules. What a rule covers is in ``rule_coverage.txt``."""

# equivalent: rule_pattern.py last_names: `1` → `2`
#   More programs than the command's own only let more rules be looked at, which do not cover it.
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain.errors import UsageError
from atelier_desk.policy.permissions.call_facts import CommandFact, Path
from atelier_desk.policy.permissions.rule_pattern import covers_command, covers_path, folder, folders, parse


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "read file", "read_file(", "read_file()", "read_file( )", "read_file(:*)", "(x)", "section:",
        "section:a b",
        "read_file(../x)", "read_file(a/../../b)", "read_file(!secret)", "fetch(domain:)", "fetch(domain:a b)",
        "fetch(domain:*.*.x)",
        "fetch(domain:a/b)", "read_file(x) ", "read_file(x)y", "domain:x", "a\nb",
    ],
)  # fmt: skip
def test_invalid_rules_are_refused(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse(text)
    assert f"“{text}”" in str(refused.value)


@pytest.mark.parametrize("home", ["/home/ann", "/home/an n", "/home/a*n", "/home/a'n", "/home/a\\n"])
@pytest.mark.parametrize("argument", ["cat ~/x", "cat $HOME/x", "cat ${HOME}/x", 'cat "$HOME/x"'])
def test_a_home_folder_in_a_command_rule_is_compared_literally(argument: str, home: str) -> None:
    other = home.replace("*", "xx").replace(" ", "") + "x"
    for strictly in (True, False):
        for place, covered in ((home, True), (other, False), ("~", not strictly)):
            assert covers_command(argument, CommandFact(("cat", f"{place}/x")), home, strictly=strictly) is covered
        assert not covers_command("cat ~ann/x", CommandFact(("cat", f"{home}/x")), home, strictly=strictly)
        assert covers_command("cat ~", CommandFact(("cat", home)), home, strictly=strictly)
    assert not covers_command(argument, CommandFact(("cat", "/x")), "", strictly=True)


NAMES = st.sampled_from(["src", "SRC", "a.py", "b", "é", "x y", "A.PY", ".git", "..a"])
LINES = st.lists(
    NAMES | st.sampled_from(["**", "*", "*.py", "s?c", "[ab]", "", ".", "sr", "\\b", "b\\", "~", "//"]),
    min_size=1,
    max_size=4,
)


@given(
    argument=st.tuples(
        st.sampled_from(["", "/", "./", "//", "~/"]), LINES.map("/".join), st.sampled_from(["", "/", " "])
    ).map("".join),
    below=st.lists(NAMES, max_size=4).map("/".join),
    root=st.sampled_from(["/w", "/w/src", "/"]),
)
def test_the_path_prefix_of_a_rule_covers_its_paths(argument: str, below: str, root: str) -> None:
    path = Path((f"{root.rstrip('/')}/{below}".rstrip("/") or "/",), (root,))
    for strictly in (True, False):
        if covers_path(argument, path, "/home/ann", strictly=strictly):
            assert folder(argument) in {"", *folders(path)}


@pytest.mark.parametrize(
    ("argument", "begins"),
    [
        ("src/**", "src"), ("/src/a.py", "src/a.py"), ("./src/Lib/*.py", "src/lib"), ("/a.py", "a.py"),
        ("src/fi*", "src"), ("/fi*", ""),
        ("src/", ""), ("src", ""), ("*.py", ""), ("**/src/a", ""), ("//etc/**", ""), ("~/src/a", ""), ("a/../b", ""),
        ("src/a b/c", "src"),
        ("src/a/", "src/a"), ("a//b", ""), ("/", ""), ("", ""),
    ],
)  # fmt: skip
def test_the_path_prefix_of_a_rule(argument: str, begins: str) -> None:
    assert folder(argument) == begins
