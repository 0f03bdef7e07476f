"""Mutation testing: which code is changed, which tests judge a mutant, and how survivors are reported."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

Load = Callable[[str], ModuleType]
ROOT = Path(__file__).resolve().parents[2]
SOURCE = '''
"""A module."""
import logging

log = logging.getLogger(__name__)
LEAST: int = 3


class Purse:
    """Holds coins."""

    def __repr__(self) -> str:
        return "purse"

    def may(self, coins: int, *, free: bool = False) -> bool:
        """Whether it is enough."""
        assert coins >= 0
        log.debug("asked %d", 7)
        return coins >= LEAST or not free
'''


def names(load: Load, tmp_path: Path, source: str) -> list[str]:
    path = tmp_path / "purse.py"
    path.write_text(source)
    return [mutant.name for mutant in load("mutant_generation").mutants_of(path)]


def test_conditions_numbers_and_returns_are_changed_but_texts_are_not(load: Load, tmp_path: Path) -> None:
    assert sorted(names(load, tmp_path, SOURCE)) == [
        "purse.py Purse.may: `False` → `True`",
        "purse.py Purse.may: `coins >= LEAST or not free` → `coins >= LEAST and (not free)`",
        "purse.py Purse.may: `coins >= LEAST` → `coins > LEAST`",
        "purse.py Purse.may: `not free` → `free`",
        "purse.py Purse.may: `return coins >= LEAST or not free` → `return None`",
        "purse.py module: `3` → `2`",
        "purse.py module: `3` → `4`",
    ]


def test_each_mutant_is_one_change_and_still_compiles(load: Load) -> None:
    file = ROOT / "app/atelier_desk/policy/budget.py"
    mutants = load("mutant_generation").mutants_of(file)
    assert len({mutant.name for mutant in mutants}) == len(mutants) > 40
    for mutant in mutants:
        compile(mutant.source, file.name, "exec")


def test_added_code_does_not_change_the_order_of_other_mutants(load: Load, tmp_path: Path) -> None:
    before = names(load, tmp_path, SOURCE)
    after = names(load, tmp_path, f"{SOURCE}\n    def pay(self) -> int:\n        return 1 + 1\n")
    assert [name for name in after if ".pay:" not in name] == before


def test_mirrored_tests_judge_first_then_those_marked_as_judges(load: Load) -> None:
    found = load("mutation_testing").judges(Path("app/atelier_desk/storage/writing/writer.py"))
    assert found[0] == Path("tests/storage/writing/test_writer.py")
    assert Path("tests/storage/test_database_failures.py") in found


def test_the_files_in_the_makefile_exist_and_have_tests(load: Load) -> None:
    listed = re.search(r"^CORE := ((?:.*\\\n)*.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert listed is not None
    files = [Path("app/atelier_desk") / name for name in listed[1].replace("\\", "").split()]
    assert len(files) >= 20
    assert [
        str(file) for file in files if not (ROOT / file).is_file() or not load("mutation_testing").judges(file)
    ] == []


def test_mutants_of_functions_are_patched_in_and_mutants_of_modules_are_not(load: Load, tmp_path: Path) -> None:
    path = tmp_path / "purse.py"
    path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("purse", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    purse, kept = module.Purse(), module.Purse.may.__code__
    assert [purse.may(coins) for coins in (2, 3)] == [True, True]
    assert [purse.may(coins, free=True) for coins in (2, 3)] == [False, True]
    found: dict[str, list[bool] | None] = {}
    for mutant in load("mutant_generation").mutants_of(path):
        places = load("mutation_testing").living(path, SOURCE, mutant.source)
        if places is None:
            found[mutant.name.partition(": ")[2]] = None
            continue
        for function, code in places:
            function.__code__ = code
        found[mutant.name.partition(": ")[2]] = [
            purse.may(2),
            purse.may(3),
            purse.may(2, free=True),
            purse.may(3, free=True),
        ]
        module.Purse.may.__code__ = kept
    assert found == {
        "`False` → `True`": None, "`3` → `2`": None, "`3` → `4`": None,
        "`coins >= LEAST or not free` → `coins >= LEAST and (not free)`": [False, True, False, False],
        "`coins >= LEAST` → `coins > LEAST`": [True, True, False, False],
        "`not free` → `free`": [False, True, True, True],
        "`return coins >= LEAST or not free` → `return None`": [None] * 4,
    }  # fmt: skip


@pytest.mark.timeout(400)
def test_a_run_counts_killed_mutants_and_leaves_the_tree_unchanged() -> None:
    file = "app/atelier_desk/policy/loop_guard.py"
    before = (ROOT / file).read_bytes()
    chosen = ("--count", "400", "--only", "digest_size=12", "--only", "`worst.count >= limits.LOOP_PAUSE`")
    command: list[str | Path] = [sys.executable, ROOT / "packaging" / "mutation_testing.py", *chosen, file]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=390, check=False)
    assert "1 of 1 killed (100%), 1 equivalent" in ran.stdout
    assert ran.returncode == 0
    assert (ROOT / file).read_bytes() == before
