"""The check that widgets follow language and style changes in one way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("class A:\n    def retranslate(self): ...", "retranslate"),
        ("class A:\n    def _retranslate_title(self): ...", "_retranslate_title"),
        ("class A:\n    async def _restyle(self): ...", "_restyle"),
        ("if event.type() == QEvent.Type.LanguageChange: ...", "LanguageChange"),
        ("theme().changed.connect(self._dress)", "theme().changed"),
        ("theme().changed.emit()\nself.changed.connect(f)\nself.translate()\nbind(self._fill)", None),
    ],
)
def test_other_ways_are_found(load: Callable[[str], ModuleType], source: str, what: str | None) -> None:
    assert [each for _line, each in load("check_language_theme_bindings").places(source)] == ([what] if what else [])


def test_a_package_over_its_allowance_and_an_unneeded_allowance_are_reported(
    load: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    for name, count in (("widgets/basic.py", 3), ("old/page.py", 2), ("done/page.py", 0), ("panes/new.py", 1)):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("def retranslate(): ...\n" * count)
    problems = load("check_language_theme_bindings").problems
    assert [each.partition(": ")[0] for each in problems(tmp_path, {"old/": (2, "so"), "done/": (1, "so")})] == [
        "desktop/panes/new.py:1",
        "desktop/done/",
    ]
    assert [each.partition(": ")[0] for each in problems(tmp_path, {"old/": (1, "so"), "panes/": (1, "so")})] == [
        "desktop/old/"
    ]
