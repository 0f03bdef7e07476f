"""Data files that a change makes unparseable, and cells of notebooks."""

from __future__ import annotations

import json

import pytest

from atelier_desk.domain.errors import ToolError
from atelier_desk.workspace.format_checks_and_notebook_cells import warning, with_cell
from atelier_desk.workspace.text_files import Text
from tests.helpers.error_codes import raises_code

NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "id": "a1", "metadata": {}, "source": ["# Été\n"]},
        {
            "cell_type": "code",
            "execution_count": 3,
            "id": "b2",
            "metadata": {"tags": ["keep"]},
            "outputs": [{"name": "stdout", "output_type": "stream", "text": ["hi\n"]}],
            "source": ["import math\n", "x = 1"],
        },
        {"cell_type": "code", "id": "3", "metadata": {}, "outputs": [], "source": "one text"},
    ],
    "metadata": {},
    "nbformat": 4,
    "nbformat_minor": 5,
}


@pytest.mark.parametrize(
    ("path", "before", "after", "told"),
    [
        ("a.ipynb", b'{"cells": []}', b'{"cells": [}', "JSON"),
        ("a.ipynb", b"{", b'{"cells": [}', "JSON"),
        ("a.ipynb", None, b"print(1)", "notebook"),
        ("a.ipynb", b'{"cells": []}', b"[]", "cells"),
        ("a.ipynb", b'{"cells": []}', b'{"cells": [{}]}', ""),
        ("A.JSON", b"{}", b"{", "JSON"),
        ("a.json", b"// with comments\n{}", b"// other\n{}", ""),
        ("a.json", None, b"{", ""),
        ("a.toml", b"a = 1", b"a = ", "TOML"),
        ("a.toml", b"a = 1", b"a = 2", ""),
        ("a.yaml", b"a: 1", b"a: [", "YAML"),
        ("a.yml", b"--- 1\n--- 2\n", b"--- !own 1\n--- 2\n", ""),
        ("a.txt", b"{}", b"{", ""),
        ("json", b"{}", b"{", ""),
    ],
)
def test_a_file_that_a_change_made_unparseable_is_reported(
    path: str, before: bytes | None, after: bytes, told: str
) -> None:
    said = warning(path, before, after)
    assert bool(said) is bool(told)
    assert told in said
    assert not said or path in said


@pytest.mark.parametrize("indent", [1, 2, 4, "\t", None])
@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_only_the_given_cell_is_changed(indent: int | str | None, ascii_only: bool, end: str, newline: str) -> None:
    text = (json.dumps(NOTEBOOK, indent=indent, ensure_ascii=ascii_only) + end).replace("\n", newline)
    after = with_cell(Text(text), "b2", "import os\nprint('\"')\n", "a.ipynb")
    wanted = json.loads(text)
    wanted["cells"][1]["source"] = ["import os\n", "print('\"')\n"]
    assert after.text == (json.dumps(wanted, indent=indent, ensure_ascii=ascii_only) + end).replace("\n", newline)


@pytest.mark.parametrize(("cell", "place"), [("a1", 0), ("0", 0), ("1", 1), ("3", 2), ("2", 2)])
def test_a_cell_is_addressed_by_its_id_or_number(cell: str, place: int) -> None:
    after = json.loads(with_cell(Text(json.dumps(NOTEBOOK)), cell, "new", "a.ipynb").text)
    assert [each["source"] in ("new", ["new"]) for each in after["cells"]].index(True) == place


def test_missing_cells_and_other_files_are_refused() -> None:
    with raises_code(ToolError, "no_cell", match="a1, b2, 3"):
        with_cell(Text(json.dumps(NOTEBOOK)), "zz", "new", "a.ipynb")
    for text in ("{", "[]", '{"cells": 1}', "3"):
        with raises_code(ToolError, "bad_notebook"):
            with_cell(Text(text), "0", "new", "a.ipynb")
