"""The check for forwarding functions and for protocols with a single implementation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

Load = Callable[[str], ModuleType]

FUNCTIONS = {
    "a method": ("class A:\n    def f(self, a, b):\n        return self.part.f(a, b)", "self.part.f"),
    "awaiting method": (
        "class A:\n    async def f(self, a):\n        '''Says so.'''\n        await self._part.g(a)",
        "self._part.g",
    ),
    "by name": ("class A:\n    def f(self, a, *, b=1):\n        return self.part.f(a, b=b)", "self.part.f"),
    "star arguments": ("class A:\n    def f(self, *a, **b):\n        return self.part.f(*a, **b)", "self.part.f"),
    "no parameters": ("class A:\n    def f(self):\n        return self.part.f()", "self.part.f"),
    "a function": ("def f(a, b):\n    return other(a, b)", "other"),
    "one more parameter": ("class A:\n    def f(self, a):\n        return self.part.f(a, 1)", None),
    "one parameter less": ("class A:\n    def f(self, a, b):\n        return self.part.f(a)", None),
    "another name": ("class A:\n    def f(self, a):\n        return self.part.f(b=a)", None),
    "changed": ("class A:\n    def f(self, a):\n        return self.part.f(str(a))", None),
    "does something else": ("class A:\n    def f(self, a):\n        self.n += 1\n        return self.part.f(a)", None),
    "not awaited": ("class A:\n    async def f(self, a):\n        return self.part.f(a)", None),
    "own container": ("class A:\n    def f(self, a):\n        return self._parts.get(a)", None),
    "one use of a method with several": ("class A:\n    def f(self, a):\n        return self.change(a=a)", None),
    "registered": ("@on(Event)\ndef f(a):\n    return other(a)", None),
    "special": ("class A:\n    def __len__(self):\n        return self.part.length()", None),
    "inside another": ("def f(a):\n    def g(b):\n        return other(b)\n    return g", None),
}


@pytest.mark.parametrize("case", FUNCTIONS)
def test_forwarding_functions_are_found(load: Load, case: str) -> None:
    source, to = FUNCTIONS[case]
    assert [each.to for each in load("check_forwarding_and_protocols").functions("m.py", source)] == (
        [to] if to else []
    )


PROTOCOL = "from typing import Protocol\nclass Port(Protocol):\n    x: int\n    def f(self): ...\n"
ONE = "class One:\n    def __init__(self):\n        self.x = 1\n    def f(self): ...\n"
HALF = "class Up:\n    x: int\nclass One(Up):\n    def f(self): ..."
PROTOCOLS = {
    "one class in its package": ({"engine/a.py": PROTOCOL, "engine/b.py": ONE}, True),
    "no class": ({"engine/a.py": PROTOCOL}, True),
    "one class that inherits half of it": (
        {"engine/a.py": PROTOCOL, "engine/b.py": "class Up:\n    x: int\nclass One(Up):\n    def f(self): ..."},
        True,
    ),
    "two classes": ({"engine/a.py": PROTOCOL, "engine/b.py": ONE, "engine/c.py": ONE.replace("One", "Two")}, False),
    "one class in a higher package": ({"tools/a.py": PROTOCOL, "engine/b.py": ONE}, False),
    "callable": ({"engine/a.py": "class Call(Protocol):\n    def __call__(self): ..."}, False),
    "no protocol": ({"engine/a.py": PROTOCOL.replace("(Protocol)", "")}, False),
}


@pytest.mark.parametrize("case", PROTOCOLS)
def test_protocols_of_a_single_class_are_found(load: Load, tmp_path: Path, case: str) -> None:
    files, reported = PROTOCOLS[case]
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    module = load("check_forwarding_and_protocols")
    assert [name for name, _where in module.single_class_protocols(module.classes(tmp_path))] == (
        ["Port"] if reported else []
    )


def test_unlisted_cases_and_unneeded_entries_are_reported(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = load("check_forwarding_and_protocols")
    for name, text in {
        "ALLOWED": {"engine/gone.py:f": "so"},
        "PROTOCOLS": {"engine/gone.py:P": "so"},
        "REMAINING": {"cli": 1, "web": 0},
    }.items():
        monkeypatch.setattr(module, name, text)
    hands = "def f(a):\n    return other(a)\n"
    reads = "class S:\n    async def get(self, id):\n        return await self._context.repos.rows.get(id)\n"
    for path, text in {"engine/a.py": PROTOCOL + hands, "engine/services/s.py": reads, "web/a.py": hands}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert [each.partition(": ")[0] for each in module.problems(tmp_path)] == [
        "engine/a.py:5", "engine/a.py:2", "cli", "web", "engine/gone.py:f", "engine/gone.py:P",
    ]  # fmt: skip
