"""The size limits: what counts, and that a limit is raised only with a reason."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

PROGRAM = Path(__file__).resolve().parents[2] / "packaging" / "check_code_size.py"


@pytest.fixture
def size(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The script on a program with a package of one module, and a limits file of its own."""
    spec = importlib.util.spec_from_file_location("size_program", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "size_program", module)
    spec.loader.exec_module(module)
    room = tmp_path / "app" / "atelier_desk" / "room"
    room.mkdir(parents=True)
    (room / "module.py").write_text("a = 1\n")
    monkeypatch.setattr(module, "LIMITS", tmp_path / "code_size_limits.txt")
    monkeypatch.setattr(module, "rooms", lambda real=module.rooms: real(tmp_path))
    return module


@pytest.mark.parametrize(
    ("source", "tokens"),
    [
        ("a = 1\n", 3),
        ("# a comment\n\n\na = 1  # and another\n", 3),
        ('"""Prose\nof two lines."""\na = 1\n', 3),
        ("from a import (\n    b,\n    c,\n)\nimport d\na = 1\n", 3),
        ("a = (\n    1\n)\n", 5),
        ('a = "text"\n', 3),
        ("def f():\n    '''Prose.'''\n    return 1\n", 7),
    ],
)
def test_code_counts_but_prose_layout_and_imports_do_not(size: ModuleType, source: str, tokens: int) -> None:
    assert size.tokens_of(source) == tokens


def test_a_limit_is_raised_only_with_a_reason(
    size: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert size.main(["check"]) == 1
    assert "app/room: 3 tokens" in capsys.readouterr().out
    assert size.main(["raise", "app/room", " "]) == 2
    assert size.main(["raise", "app/other", "there is none"]) == 2
    assert size.main(["raise", "app/room", "it is new"]) == 0
    assert (size.main(["check"]), size.LIMITS.read_text().split(maxsplit=2)) == (0, ["app/room", "3", "it is new\n"])
    module = tmp_path / "app" / "atelier_desk" / "room" / "module.py"
    module.write_text("a = 1 + 2\n")
    assert size.main(["lower"]) == 0
    assert size.main(["check"]) == 1
    module.write_text("a\n")
    assert size.main(["lower"]) == 0
    module.write_text("a = 1\n")
    assert size.main(["check"]) == 1
