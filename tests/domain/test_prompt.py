"""Which prompts can be stored, and the messages about the others."""

from __future__ import annotations

import pytest

from atelier_desk.domain import limits
from atelier_desk.domain.errors import LimitError, UsageError
from atelier_desk.domain.prompt import PromptDraft


@pytest.mark.parametrize(
    "name", ["review", "Écrire-mail", "a.b_c-2", "/review", " review ", "x" * limits.PROMPT_NAME, "2fast", "日本"]
)
def test_valid_names_are_accepted(name: str) -> None:
    assert PromptDraft(name=name, content="x").checked().name == name.strip().removeprefix("/")


@pytest.mark.parametrize(
    "name", ["", " ", "/", "two words", "a:b", "-a", ".a", "a/b", "a\nb", "a\u202eb", "{{a}}", "a@b", "//a"]
)
def test_invalid_names_are_refused_with_what_is_allowed(name: str) -> None:
    with pytest.raises(UsageError, match="letters, digits"):
        PromptDraft(name=name, content="x").checked()


@pytest.mark.parametrize(
    ("field", "most"),
    [("name", limits.PROMPT_NAME), ("description", limits.PROMPT_DESCRIPTION), ("content", limits.PROMPT_CONTENT)],
)
def test_too_long_text_is_refused_with_its_limit(field: str, most: int) -> None:
    fields = {"name": "a", "content": "x"}
    assert PromptDraft(**{**fields, field: "x" * most}).checked()
    with pytest.raises(LimitError, match=f"{most + 1} characters; at most {most}"):
        PromptDraft(**{**fields, field: "x" * (most + 1)}).checked()


def test_texts_are_stripped_and_get_plain_line_ends() -> None:
    draft = PromptDraft(name="e\u0301t\u00e9", description=" a\n b ", content="\r\n  One\r\ntwo\rthree \n").checked()
    assert draft == PromptDraft(name="\u00e9t\u00e9", description="a b", content="One\ntwo\nthree")
    with pytest.raises(UsageError, match="no text"):
        PromptDraft(name="a", content=" \n ").checked()
