"""The check that functions import only where a list with reasons allows it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("import os\nif TYPE_CHECKING:\n    import sys\ntry:\n    import json\nexcept ImportError:\n    pass", []),
        ("def f():\n    import os", [2]),
        ("class C:\n    async def f(self):\n        if self:\n            from os import path", [4]),
        ("def f():\n    import os\n    def g():\n        import sys\n        return os, sys", [2, 4]),
        ("class C:\n    import os", []),
        ("if TYPE_CHECKING:\n    import os\nelse:\n    os = LateModule('os')", [4]),
        ("def f():\n    return importlib.import_module(name)", []),
    ],
)
def test_imports_inside_functions_are_found(load: Callable[[str], ModuleType], source: str, lines: list[int]) -> None:
    assert load("check_late_imports").late_imports(source) == lines


def test_more_and_fewer_than_the_list_allows_are_reported(load: Callable[[str], ModuleType], tmp_path: Path) -> None:
    check = load("check_late_imports")
    for name, count in {"new.py": 1, "more.py": 2, "fewer.py": 1, "right.py": 1, "none.py": 0}.items():
        (tmp_path / name).write_text("def f():\n    return 1\n" + "    import os\n" * count)
    allowed = check.read_list(
        "more.py 1 an extra\n\nfewer.py  2  slow to load\nright.py 1 so\nnone.py 1 so\ngone.py 1 so\n"
    )
    assert allowed["fewer.py"] == (2, "slow to load")
    reported = [each.partition(":")[0] for each in check.problems(tmp_path, allowed)]
    assert reported == ["fewer.py", "more.py", "new.py", "none.py", "gone.py"]


def test_a_line_without_a_reason_is_refused(load: Callable[[str], ModuleType]) -> None:
    with pytest.raises(ValueError):
        load("check_late_imports").read_list("desktop/app.py 3\n")
