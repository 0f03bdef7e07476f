"""Prompts as files: written files can be read again, and files of other programs become prompts with variables."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain.errors import AtelierError, UsageError
from atelier_desk.domain.prompt import Prompt, PromptDraft
from atelier_desk.workspace.skills.prompt_file import read, write

CLAUDE = (
    "---\ndescription: Fix an issue\nargument-hint: [issue]\nallowed-tools: Bash(git:*)\nmodel: opus\n---\nFix "
    "$ARGUMENTS, \\$1 or $2.\n"
)
COPILOT = (
    '---\nmode: agent\ndescription: "Write a form"\ntools: [edit]\n---\nMake ${input:formName:MyForm} of '
    "${selection}.\n"
)
GOOSE = """\
version: 1.0.0
title: Trip Planner!
description: Plans a trip
prompt: |
  Plan {{ days }} days in {{city}}.
parameters:
  - key: days
    input_type: number
    requirement: optional
    default: 3
  - key: city
    requirement: required
settings:
  temperature: 0.2
"""


@pytest.mark.parametrize(
    ("text", "file", "name", "description", "content", "ignored"),
    [
        (
            CLAUDE,
            "/x/fix.md",
            "fix",
            "Fix an issue",
            "Fix {{arguments}}, $1 or {{argument_2}}.",
            ("allowed-tools", "model"),
        ),
        (COPILOT, "form.prompt.md", "form", "Write a form", "Make {{formName}} of ${selection}.", ("mode", "tools")),
        (GOOSE, "trip.yaml", "trip", "Plans a trip", "Plan {{days=3}} days in {{city}}.", ("settings",)),
        ("It costs $5.00. {{who}}", "C:\\my prompts\\To do.md", "To-do", "", "It costs $5.00. {{who}}", ()),
        ("Write.", "-", "prompt", "", "Write.", ()),
        ("---\nname: été sur l’eau\n---\nWrite.", "a.md", "été-sur-l-eau", "", "Write.", ()),
    ],
)
def test_files_of_other_programs(
    text: str, file: str, name: str, description: str, content: str, ignored: tuple[str, ...]
) -> None:
    found = read(text, file)
    assert found.draft == PromptDraft(name=name, description=description, content=content)
    assert found.ignored == ignored


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ("", "a.md"),
        ("---\nname: a\n---\n", "a.md"),
        ("---\nname: a", "a.md"),
        ("title: x", "a.yaml"),
        ("- a", "a.yml"),
        ("{", "a.json"),
    ],
)
def test_files_without_a_prompt_are_refused(text: str, file: str) -> None:
    with pytest.raises(UsageError):
        read(text, file)


@given(
    st.text(max_size=40),
    st.text(max_size=80)
    | st.sampled_from(["---", "---\nname: x\n---", "$ARGUMENTS ${input:a}", "```md\nx\n```", "{{a=b}} $1"]),
)
def test_a_written_file_can_be_read_again(description: str, content: str) -> None:
    try:
        draft = PromptDraft(name="a", description=description, content=content).checked()
    except AtelierError:
        return
    assert read(write(Prompt(**draft.model_dump())), "other.md").draft == draft


@pytest.mark.parametrize(
    ("text", "file"), [("Go", "re\u0301sume\u0301.md"), ("---\nname: re\u0301sume\u0301\n---\nGo", "x.md")]
)
def test_a_name_with_decomposed_accents_is_unchanged(text: str, file: str) -> None:
    assert read(text, file).draft.name == "r\u00e9sum\u00e9"
