"""Ignore files from untrusted sources."""

from __future__ import annotations

from pathlib import Path

import pytest

from atelier_desk.workspace.confined_root import ConfinedRoot
from atelier_desk.workspace.gitignore_rules import rules_in
from atelier_desk.workspace.gitignore_walk import Walk


def test_an_empty_pattern_does_not_hide_a_folder(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("built/\n\\\n!\n[z-a]\n*.log\n")
    for name in ("kept.py", "left.log"):
        (tmp_path / name).write_text("x")
    assert [each.path for each in Walk(ConfinedRoot(tmp_path)).files()] == ["kept.py"]


@pytest.mark.parametrize(
    ("line", "path"), [("a*" * 40 + "b", "a" * 200), ("**/a*a*a*a*a*a*/**/a*a*a*a*a*a*b", "/".join(["a" * 60] * 20))]
)
@pytest.mark.timeout(20)
def test_matching_many_stars_is_bounded_in_time(line: str, path: str) -> None:
    """A match blocks the interpreter: without a bound these two took hours."""
    assert rules_in([line]).check_file(path).include is None


@pytest.mark.parametrize(
    ("line", "path", "left"),
    [
        ("*.py[cod]", "a/b.pyc", True),
        ("a*b*c", "aXbYbZc", True),
        ("a*b*c", "aXcYb", False),
        ("*a*a", "aba", True),
        ("*a*a", "ba", False),
        ("x*/y*z/*.log", "xx/yz/a.log", True),
        ("x*/y*z/*.log", "xx/y/z/a.log", False),
        ("a/**/b*d", "a/x/y/bcd", True),
        ("**/built", "one/two/built", True),
        ("[._]*.s[a-v][a-z]", ".x.sap", True),
        ("a?*?c", "abbc", True),
        ("a?*?c", "abc", False),
        (r"\*a*b*", "*aXb", True),
    ],
)
def test_stars_mean_the_same_as_in_git(line: str, path: str, left: bool) -> None:
    assert bool(rules_in([line]).check_file(path).include) is left
