"""Patterns of a command line, expanded as bash does."""

from __future__ import annotations

from pathlib import Path

import pytest

from atelier_desk.workspace import glob_expansion
from atelier_desk.workspace.glob_expansion import Patterns, TooManyError


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("a/one.txt", "a/two.txt", "b/one.txt", ".hidden/one.txt", "b/.secret"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("*/one.txt", ["a/one.txt", "b/one.txt"]),
        ("a/*", ["a/one.txt", "a/two.txt"]),
        ("?/t*", ["a/two.txt"]),
        (".h*/*", [".hidden/one.txt"]),
        ("b/.*", ["b/.secret"]),
        ("*/none", []),
        ("none/*", []),
        ("a/one.txt/*", []),
    ],
)
def test_a_pattern_matches_what_bash_finds(tree: Path, pattern: str, names: list[str]) -> None:
    assert sorted(Patterns(str(tree), 10).names(pattern)) == names
    whole = f"{tree.as_posix()}/{pattern}"
    assert sorted(Patterns("", 10).names(whole)) == [f"{tree.as_posix()}/{name}" for name in names]


def test_too_many_matches_are_reported(tree: Path) -> None:
    with pytest.raises(TooManyError):
        Patterns(str(tree), 1).names("a/*")


def test_a_search_through_the_disk_is_abandoned_and_limits_apply_to_the_line(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(glob_expansion, "MAX_STEPS", 5)
    patterns = Patterns(str(tree), 10)
    assert patterns.names("a/*x") == []
    with pytest.raises(TooManyError):
        patterns.names("*/*x")
