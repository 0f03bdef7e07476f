"""Patterns of file names: what they match, and that none takes long."""

from __future__ import annotations

import pytest

from atelier_desk.domain.errors import ToolError
from atelier_desk.workspace.globs import compiled


@pytest.mark.parametrize(
    ("pattern", "fits", "not_"),
    [
        ("**/*.py", ["a.py", "a/b/c.py"], ["a.pyc"]),
        ("src/**/test/*.py", ["src/test/a.py", "src/a/b/test/c.py"], ["src/a.py", "test/a.py"]),
        ("**/a/**/b/**", ["a/b/x", "x/a/a/y/b/b/z"], ["b/a/x", "a/b"]),
        ("**/**/x", ["x", "a/b/x"], ["x/y"]),
        ("a/**", ["a/b", "a/b/c"], ["b/a"]),
    ],
)
def test_stars_over_folders(pattern: str, fits: list[str], not_: list[str]) -> None:
    read = compiled(pattern)
    assert [name for name in (*fits, *not_) if read.fullmatch(name)] == fits


@pytest.mark.parametrize("pattern", ["**/" * 40 + "x", "**/a/" * 40 + "x"])
def test_many_stars_over_a_deep_path_take_no_longer_than_one(pattern: str) -> None:
    assert compiled(pattern).fullmatch("a/" * 300 + "b") is None


@pytest.mark.parametrize(
    ("pattern", "fits", "not_"),
    [
        ("[{]x[}]", ["{x}"], ["x", "]x["]),
        ("[{]a,b[}]", ["{a,b}"], ["a", "b"]),
        ("{a,[{]}", ["a", "{"], ["a,{"]),
        ("{[}],a}.py", ["}.py", "a.py"], ["[}].py"]),
        ("{a[,;]b,c}", ["a,b", "a;b", "c"], ["a[", "ab"]),
        ("{a,{b,c}}", ["a", "b", "c"], ["{a"]),
    ],
)
def test_a_brace_or_comma_in_a_set_is_literal(pattern: str, fits: list[str], not_: list[str]) -> None:
    read = compiled(pattern)
    assert [name for name in (*fits, *not_) if read.fullmatch(name)] == fits


def test_an_unclosed_brace_around_many_sets_is_parsed_quickly() -> None:
    with pytest.raises(ToolError, match="without its other half"):
        compiled("{" + "[a]" * 500)
