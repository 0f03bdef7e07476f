"""Results are printed in one place: JSON for programs, text and tables for people."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from atelier_desk.cli.command_result import Note, Result, Shown, Table, print_note, report
from atelier_desk.cli.terminal_io import Terminal
from atelier_desk.domain.prompt import PromptDraft


@dataclass
class Row:
    name: str
    draft: PromptDraft


DRAFT = PromptDraft(name="a", content="b")


def terminal(*, as_json: bool) -> tuple[Terminal, io.StringIO, io.StringIO]:
    said, noted = io.StringIO(), io.StringIO()
    return Terminal(json=as_json, cwd=".", stdout=said, stderr=noted, stdin=io.StringIO()), said, noted


def never() -> Iterator[Shown]:
    pytest.fail("words for people are made for nobody")
    yield ""


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        ({"é": 1}, {"é": 1}),
        (DRAFT, DRAFT.model_dump(mode="json")),
        ({"drafts": (DRAFT, DRAFT)}, {"drafts": [DRAFT.model_dump(mode="json")] * 2}),
        ([Row("x", DRAFT)], [{"name": "x", "draft": DRAFT.model_dump(mode="json")}]),
        (None, None),
    ],
    ids=["plain document", "a model", "models in a document", "a dataclass", "nothing"],
)
def test_programs_get_exactly_one_line_of_json(value: Any, printed: Any) -> None:
    out, said, noted = terminal(as_json=True)
    print_note(out, "begun")
    assert report(out, Result(value, "words", Note("noted"), never(), status=3)) == 3
    assert (json.loads(said.getvalue()), said.getvalue().count("\n"), noted.getvalue()) == (printed, 1, "")
    assert "\\u" not in said.getvalue()


def test_people_get_lines_tables_and_notes_in_order() -> None:
    out, said, noted = terminal(as_json=False)
    print_note(out, "begun")
    table = Table(("id", "text"), [("1", "two\n lines"), ("22", "x" * 70), ("3", "")])
    nested: list[Shown] = ["nested", Note("low")]
    more: Iterator[Shown] = iter(["", nested])
    assert report(out, Result([], Note("high", "warn"), table, "whole\n", more)) == 0
    expected = ["begun", "id  text", "1   two lines", f"22  {'x' * 59}…", "3", "whole", "", "nested"]
    assert said.getvalue().splitlines() == expected
    assert noted.getvalue().splitlines() == ["high", "low"]


def test_a_result_without_text_is_printed_as_json_for_people_too() -> None:
    out, said, _noted = terminal(as_json=False)
    report(out, Result({"a": [1]}))
    assert said.getvalue() == '{\n  "a": [\n    1\n  ]\n}\n'
    report(out, Result({"a": [1]}, ()))
    assert said.getvalue().count("{") == 1, "a command that has said all is silent"
