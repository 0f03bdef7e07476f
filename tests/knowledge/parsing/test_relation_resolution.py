"""Relations of documents, external packages, and which relations a change of one file affects."""

from __future__ import annotations

import pickle

from atelier_desk.knowledge.parsing.relation_resolution import Resolver, resolve
from atelier_desk.knowledge.parsing.symbols import symbols
from tests.knowledge.parsing.parse_helpers import project, read, relations

FILES = {
    "shop/__init__.py": "",
    "shop/base.py": "class Base:\n    def ping(self): ...\n",
    "shop/core.py": """
        from shop.base import Base
        import numpy as np
        class Core(Base):
            def go(self):
                self.ping()
                np.zeros(3)
    """,
    "alone.py": "def lonely(): print(1)\n",
    "docs/guide.md": """
        # Guide
        See [core](../shop/core.py) and [below](#more).

        ## More
        Call `Core.go` or lonely(); https://a.example/x is far.
    """,
    "README.md": "# Shop\n[guide](docs/guide.md#more) ![logo](logo.png)\n",
}


def test_imports_resolve_to_files_names_and_external_packages() -> None:
    assert relations(project(FILES), "imports") == {
        ("shop/core.py", "shop/base.py"): 1.0,
        ("shop/core.py", "shop/base.py:Base"): 1.0,
        ("shop/core.py", "numpy"): 1.0,
    }


def test_inheritance() -> None:
    assert relations(project(FILES), "inherits") == {("shop/core.py:Core", "shop/base.py:Base"): 1.0}


def test_documents_link_to_files_and_headings_and_mention_code() -> None:
    assert relations(project(FILES), "links_to") == {
        ("docs/guide.md:Guide", "shop/core.py"): 1.0,
        ("docs/guide.md:Guide", "docs/guide.md:More"): 1.0,
        ("README.md:Shop", "docs/guide.md:More"): 1.0,
    }
    assert relations(project(FILES), "mentions") == {
        ("docs/guide.md:More", "shop/core.py:Core.go"): 0.9,
        ("docs/guide.md:More", "alone.py:lonely"): 0.9,
    }


def test_a_standard_library_module_is_not_a_file_of_the_same_name() -> None:
    found = project(
        {
            "tools/json.py": "def dumps(): ...\n",
            "main.py": "import json\njson.dumps()\n",
            "tools/use.py": "import json\njson.dumps()\n",
        }
    )
    assert relations(found, "imports") == {("main.py", "json"): 1.0, ("tools/use.py", "tools/json.py"): 1.0}


def test_relative_imports_and_packages_without_init() -> None:
    files = {
        "a/b/c.py": "from ..d import x\nfrom . import e\nx(); e.y()\n",
        "a/d.py": "def x(): ...\n",
        "a/b/e.py": "def y(): ...\n",
    }
    assert set(relations(project(files), "calls")) == {("a/b/c.py", "a/d.py:x"), ("a/b/c.py", "a/b/e.py:y")}


def test_cyclic_names_are_resolved() -> None:
    files = {
        "a.py": "from b import x\nclass A(B): ...\nclass B(A): ...\ny = z\nz = y\nx(); y(); A().go()\n",
        "b.py": "from a import x\nfrom a import *\n",
    }
    assert set(relations(project(files), "inherits")) == {("a.py:A", "a.py:B"), ("a.py:B", "a.py:A")}


def test_a_change_affects_the_file_and_the_users_of_its_names() -> None:
    resolver = project(FILES)
    assert resolver.resolution().sources == set(FILES)
    assert resolver.resolution().sources == set()
    # the same names at other lines: no other file is affected
    resolver.update(symbols("shop/base.py", read("shop/base.py", "\n\nclass Base:\n    def ping(self): print(1)\n")))
    assert resolver.resolution().sources == {"shop/base.py"}
    # a method has another name
    resolver.update(symbols("shop/base.py", read("shop/base.py", "class Base:\n    def pong(self): ...\n")))
    resolution = resolver.resolution()
    assert resolution.sources == {"shop/base.py", "shop/core.py"}
    assert [each.kind for each in resolution.relations if each.kind == "calls"] == []
    # the file is deleted: what imported it now refers to an external package
    resolver.remove("shop/base.py")
    resolution = resolver.resolution()
    assert "shop/core.py" in resolution.sources
    assert {
        each.package for each in resolution.relations if each.kind == "imports" and each.source_path == "shop/core.py"
    } == {
        "shop",
        "numpy",
    }


def test_relations_after_changes_equal_those_of_a_fresh_start() -> None:
    changes = [
        ("shop/base.py", "class Base:\n    def pong(self): ...\n"),
        ("alone.py", "class Core: ...\ndef ping(): ...\n"),
        (
            "shop/core.py",
            (
                "from shop.base import Base\nfrom alone import ping\nclass Core(Base):\n    def go(self):\n        "
                "ping(); self.pong()\n"
            ),
        ),
        ("shop/base.py", None),
        ("docs/guide.md", "# Other\n`ping` and [x](../README.md#shop)\n"),
        ("shop/base.py", FILES["shop/base.py"]),
    ]
    files = dict(FILES)
    resolver = project(files)
    known = {path: resolver.of(path) for path in resolver.resolution().sources}
    for path, text in changes:
        if text is None:
            del files[path], known[path]
            resolver.remove(path)
        else:
            files[path] = text
            resolver.update(symbols(path, read(path, text)))
        for source in resolver.resolution().sources:
            known[source] = resolver.of(source)
        fresh = project(files)
        assert {path: set(each) for path, each in known.items()} == {path: set(fresh.of(path)) for path in files}


def test_resolve_in_one_call() -> None:
    kept = {path: symbols(path, read(path, text)) for path, text in FILES.items()}
    whole = resolve(kept)
    assert whole.sources == set(FILES)
    everything = list(whole.relations)
    part = resolve(kept, ["shop/base.py"])
    assert {"shop/base.py", "shop/core.py"} <= part.sources < set(FILES)
    assert set(part.relations) == {each for each in everything if each.source_path in part.sources}


def test_pickled_symbols_are_equal() -> None:
    one = symbols("a.py", read("a.py", FILES["shop/core.py"]))
    other = pickle.loads(pickle.dumps(one))
    assert other == one
    assert [(each.kind, each.chain) for each in other.refers] == [
        ("calls", ("self", "ping")),
        ("calls", ("np", "zeros")),
        ("inherits", ("Base",)),
    ]


def test_an_import_of_a_go_folder_resolves_to_its_files() -> None:
    files = {
        "go.mod": "module m.example/a\n",
        "b/b.go": "package b\nfunc F() {}\n",
        "b/b_test.go": "package b\n",
        "main.go": 'package main\nimport "m.example/a/b"\nfunc main() { b.F() }\n',
    }
    resolver = Resolver(symbols(path, read(path, text)) for path, text in files.items())
    assert relations(resolver, "imports") == {("main.go", "b/b.go"): 1.0}
