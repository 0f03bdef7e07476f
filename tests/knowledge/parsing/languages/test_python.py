"""Python: definitions, imports and calls as Python itself resolves them."""

from __future__ import annotations

from tests.knowledge.parsing.parse_helpers import (
    bindings,
    docs,
    imports,
    project,
    read,
    references,
    relations,
    scopes,
    signatures,
)

SOURCE = """
    '''What this file is for.'''
    from __future__ import annotations
    import os.path as p, json
    from .store import (Store as S,  # the best
        Other)
    from .store import *
    from importlib import resources
    from . import sibling
    LIMIT: int = 3

    @decorate(1)
    class Keeper(Base, meta.Other[int], metaclass=Meta):
        # a comment first
        "Keeps\\x41 things."
        store: S | None

        def __init__(self, store: Optional[Store], *names: str):
            self.store = store
            self.made = Thing(store)[0]

        @property
        async def size(self) -> "Size":
            \"\"\"How many.

                Indented.
                  More.
            \"\"\"
            with open(self.path) as file:
                return await self.store.load(file).count()

        def save(self): return [each.go() for each in self.items]
        def save(self): ...
        # trailing

    async def run(*, keeper: list[Keeper] = ()):
        def inner(): keeper[0].save()
        for each in keeper:
            each.save()
"""


def test_definitions_have_names_lines_and_nesting() -> None:
    found = read("a.py", SOURCE)
    assert scopes(found) == [
        ("constant", "LIMIT", 9, 9),
        ("class", "Keeper", 12, 32),
        ("method", "Keeper.__init__", 17, 19),
        ("method", "Keeper.size", 22, 29),
        ("method", "Keeper.save", 31, 31),
        ("method", "Keeper.save#2", 32, 32),
        ("function", "run", 35, 38),
        ("function", "run.inner", 36, 36),
    ]
    assert found.error_lines == []
    assert [found.scopes[index].parent for index in (2, 3, 7)] == [1, 1, 6]


def test_docstrings_are_without_quotes_and_indentation() -> None:
    found = read("a.py", SOURCE)
    assert docs(found) == {"Keeper": "KeepsA things.", "Keeper.size": "How many.\n\nIndented.\n  More."}
    assert found.text == "What this file is for."


def test_signatures_are_one_line_without_the_body() -> None:
    found = signatures(read("a.py", SOURCE))
    assert found["Keeper"] == "class Keeper(Base, meta.Other[int], metaclass=Meta)"
    assert found["Keeper.size"] == 'async def size(self) -> "Size"'
    assert found["Keeper.__init__"] == "def __init__(self, store: Optional[Store], *names: str)"


def test_imports_with_comments_aliases_and_dots() -> None:
    assert imports(read("a.py", SOURCE)) == [
        ("__future__", "annotations", "annotations"),
        ("os.path", "", "p"),
        ("json", "", "json"),
        (".store", "Store", "S"),
        (".store", "Other", "Other"),
        (".store", "*", ""),
        ("importlib", "resources", "resources"),
        (".", "sibling", "sibling"),
    ]


def test_calls_bases_and_the_targets_of_names() -> None:
    found = read("a.py", SOURCE)
    assert references(found) >= {
        ("", "decorate"),
        ("Keeper.__init__", "Thing"),
        ("Keeper.size", "self.store.load"),
        ("Keeper.size", "self.store.load().count"),
        ("run.inner", "keeper[].save"),
        ("run", "each.save"),
    }
    assert references(found, "inherits") == {("Keeper", "Base"), ("Keeper", "meta.Other")}
    assert bindings(found) >= {
        ("Keeper", "store", "S()"),
        ("Keeper.__init__", "store", "Store()"),
        ("Keeper.__init__", "self.store", "store"),
        ("Keeper.size", "()", "Size()"),
        ("run", "keeper[]", "Keeper()"),
        ("run", "each", "keeper[]"),
    }


def test_calls_are_resolved_across_files() -> None:
    found = relations(
        project(
            {
                "shop/__init__.py": "from .core import Core\n",
                "shop/base.py": "class Base:\n    def ping(self): ...\n    def size(self) -> int: ...\n",
                "shop/core.py": """
                    from shop import base
                    from shop.base import Base as B
                    from .maker import make
                    class Core(B):
                        def __init__(self, other: "Core | None"):
                            self.other = other
                            self.made = make()
                        def go(self):
                            self.ping(); self.other.stop(); self.made.spin(); super().size()
                            base.Base()
                        def stop(self): print(len("x"))
                """,
                "shop/maker.py": "class Wheel:\n    def spin(self): ...\n\ndef make() -> Wheel:\n    return Wheel()\n",
                "main.py": """
                    import shop
                    from shop import Core
                    core = Core(None)
                    core.go()
                    shop.Core(None).stop()
                    for each in [Core(None)]:
                        each.ping()
                """,
            }
        ),
        "calls",
    )
    assert found == {
        ("shop/core.py:Core.__init__", "shop/maker.py:make"): 1.0,
        ("shop/core.py:Core.go", "shop/base.py:Base.ping"): 0.9,
        ("shop/core.py:Core.go", "shop/core.py:Core.stop"): 1.0,
        ("shop/core.py:Core.go", "shop/maker.py:Wheel.spin"): 1.0,
        ("shop/core.py:Core.go", "shop/base.py:Base.size"): 1.0,
        ("shop/core.py:Core.go", "shop/base.py:Base"): 1.0,
        ("shop/maker.py:make", "shop/maker.py:Wheel"): 1.0,
        ("main.py:core", "shop/core.py:Core"): 1.0,
        ("main.py", "shop/core.py:Core.go"): 1.0,
        ("main.py", "shop/core.py:Core"): 1.0,
        ("main.py", "shop/core.py:Core.stop"): 1.0,
        ("main.py", "shop/base.py:Base.ping"): 0.5,
    }
