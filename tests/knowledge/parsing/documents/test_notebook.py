"""Notebooks."""

from __future__ import annotations

import json

import pytest

from atelier_desk.knowledge.parsing.parse import ParseError, parse

CELLS = [
    {"cell_type": "markdown", "source": ["# Title\n", "See [data](data.csv)."]},
    {
        "cell_type": "code",
        "source": "%magic\nimport numpy as np\ndef mean(x):\n    'The mean.'\n    return np.mean(x)",
        "outputs": ["no"],
    },
    {"cell_type": "markdown", "source": "## Part\ntext"},
    {"cell_type": "code", "source": []},
    {"cell_type": "code", "source": ["mean([1])"]},
]


def test_cells_are_sections_under_the_preceding_headings() -> None:
    found = parse("a.ipynb", json.dumps({"cells": CELLS}).encode())
    assert [(each.title, each.parent, each.start_line, each.end_line) for each in found.sections] == [
        ("Title", -1, 1, 2),
        ("%magic", 0, 3, 7),
        ("Part", 0, 8, 9),
        ("mean([1])", 2, 11, 11),
    ]
    assert [(each.target, each.section, each.line) for each in found.links] == [("data.csv", 0, 2)]


def test_definitions_in_code_cells_are_found() -> None:
    found = parse("a.ipynb", json.dumps({"cells": CELLS}).encode())
    assert [(each.name, each.start_line, each.docstring) for each in found.scopes] == [("mean", 5, "The mean.")]
    assert [(each.module, each.line) for each in found.imports] == [("numpy", 4)]
    assert {(each.chain, each.line) for each in found.references} == {(("np", "mean"), 7), (("mean",), 11)}


@pytest.mark.parametrize("data", [b"{", b"[]", b'{"cells": 3}', b'{"cells": [1]}', b"[" * 100_000])
def test_a_file_that_is_no_notebook_is_refused(data: bytes) -> None:
    with pytest.raises(ParseError, match="not valid JSON"):
        parse("a.ipynb", data)
