"""A corpus of typical edits by models: exact ones are applied, all others are refused with the closest text.

``data/model_edits.json`` has the files, and for each edit the resulting file, or the code of the refusal and the
line it must name.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.errors import ToolError
from atelier_desk.tools.files.editing import EditInput, _edited
from atelier_desk.workspace.patch import applied, parse
from atelier_desk.workspace.text_files import decode

CORPUS: dict[str, Any] = json.loads((Path(__file__).parent / "data" / "model_edits.json").read_text())
EXACT = [case for case in CORPUS["edits"] if "after" in case]
FAULTY = [case for case in CORPUS["edits"] if "after" not in case]


def edited(case: dict[str, Any]) -> str:
    """The file after the edit."""
    text = decode(CORPUS["files"][case["file"]].encode())
    assert text is not None
    edit = case["edit"]
    if "patch" in edit:
        (patch,) = parse(edit["patch"])
        return applied(text, patch).encoded().decode()
    return _edited(text, EditInput(path="f", **edit), "f").encoded().decode()


def test_an_exact_edit_is_applied_and_keeps_line_ends() -> None:
    wrong = [case["pattern"] for case in EXACT if edited(case) != case["after"]]
    assert wrong == []
    assert (len(EXACT), len(FAULTY)) == (30, 34), "30 of 64 apply: nothing is taken by likeness"


def test_an_inexact_edit_is_refused_with_the_closest_text_and_its_line() -> None:
    silent: list[str] = []
    for case in FAULTY:
        with pytest.raises(ToolError) as refused:
            edited(case)
        said = str(refused.value)
        if case["code"] and refused.value.code != case["code"]:
            silent.append(f"{case['pattern']}: {refused.value.code}, not {case['code']}")
        named = {int(number) for number in re.findall(r"(?:line |lines |^ *|, )(\d+)", said, re.MULTILINE)}
        if "line" in case and case["line"] not in named:
            silent.append(f"{case['pattern']}: {said}")
    assert silent == []
