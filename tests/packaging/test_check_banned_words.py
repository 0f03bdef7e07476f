"""The check for banned words in names, and its list of exceptions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

TABLE = "# a comment\nkept: stored\nlook: inspect\nallow old.py kept\nallow gone.py look\n"


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("def look_up(): ...", ["look_up"]),
        ("class C:\n    async def _look(self): ...", ["_look"]),
        ("class FirstLook: ...", ["FirstLook"]),
        ("class C:\n    is_kept: bool = False", ["is_kept"]),
        ("class C:\n    def __init__(self):\n        self._kept, other.kept = 1, 2", ["_kept"]),
        ("MOST_KEPT = 4", ["MOST_KEPT"]),
        ("def f(kept):\n    look = 1", []),
        ("lookup, outlook, keptness = 1, 2, 3", []),
        ("NUMBERS = [kept for kept in range(3)]", []),
    ],
)
def test_a_banned_word_is_found_in_visible_names(
    load: Callable[[str], ModuleType], tmp_path: Path, source: str, names: list[str]
) -> None:
    (tmp_path / "module.py").write_text(source)
    wrong = load("check_banned_names").problems(tmp_path, "kept: stored\nlook: inspect")
    assert [each.split(": ")[1] for each in wrong] == names


def test_a_module_name_is_checked_and_the_replacement_is_reported(
    load: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    (tmp_path / "first_look.py").write_text("")
    assert load("check_banned_names").problems(tmp_path, TABLE.splitlines()[2]) == [
        "first_look.py:1: first_look: instead of 'look' use inspect"
    ]


def test_an_exception_covers_one_module_and_is_reported_when_unneeded(
    load: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    for name in ("old.py", "new.py"):
        (tmp_path / name).write_text("kept = 1")
    assert [each.partition(": ")[0] for each in load("check_banned_names").problems(tmp_path, TABLE)] == [
        "new.py:1",
        "packaging/banned_names.txt",
    ]
