"""Refused arguments, explained in the reader's language."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, ValidationError, field_validator

from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.mcp import McpServer
from atelier_desk.domain.settings import MediaSettings, WebSettings
from atelier_desk.presentation.argument_error_text import explain
from atelier_desk.support import i18n
from atelier_desk.support.i18n import _
from atelier_desk.tools.calls.argument_validation import InvalidArgumentsError, validate
from atelier_desk.tools.registry.default_registry import create_default_tool_registry


class Sample(BaseModel):
    mode: Literal["a or b", 'it\'s "c"', 3] = 3
    only: Literal["x"] = "x"
    name: str = Field(default="ab", min_length=1, max_length=2)
    tags: Annotated[list[str], Field(min_length=1, max_length=2)] = ["t"]
    even: int = 2

    @field_validator("even")
    @classmethod
    def _is_even(cls, value: int) -> int:
        if value % 2:
            raise ValueError("must be even")
        return value


@pytest.fixture
def french() -> Iterator[None]:
    i18n.set_language("fr")
    yield
    i18n.set_language("en")


def problem(**fields: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        Sample(**fields)
    return explain(caught.value)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"mode": "d"}, 'mode must be one of these: "a or b", "it\'s \\"c\\"", 3.'),
        ({"only": "y"}, 'only must be "x".'),
        ({"name": ""}, "name must have at least 1 character."),
        ({"name": "abc"}, "name is too long: 3 characters; the maximum is 2."),
        ({"tags": []}, "tags must have at least 1 entry."),
        ({"tags": ["a", "b", "c"]}, "tags has too many entries: 3; the maximum is 2."),
        ({"even": 1}, "even was refused (must be even)."),
        ({"even": "x"}, "even must be a whole number."),
    ],
)
def test_each_kind_of_problem(fields: dict[str, Any], told: str) -> None:
    assert problem(**fields) == told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "it is not JSON (EOF while parsing a value at line 1 column 0)."),
        ("[1]", "the whole value must be an object."),
    ],
)
def test_arguments_that_are_no_object_are_reported_as_such(text: str, told: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Sample.model_validate_json(text)
    assert explain(caught.value) == told


def test_no_regular_expression_is_shown() -> None:
    with pytest.raises(ValidationError) as caught:
        McpServer(name="x", command="y", env={"A B": "1"})
    assert explain(caught.value).startswith("“A B” must be the name of a variable: letters")
    with pytest.raises(ValidationError) as caught:
        WebSettings(address="no address", key_env="2 words")
    assert explain(caught.value).startswith("address must be an address such as https://example.org/v1, ")
    assert "key_env must be the name of a variable" in explain(caught.value)
    with pytest.raises(ValidationError) as caught:
        MediaSettings(sees="model")
    assert explain(caught.value) == "sees must be a provider and one of its models, as PROVIDER/MODEL."


def test_only_the_first_problems_are_reported() -> None:
    assert problem(mode="d", only="y", name="", tags=[]).endswith("; and 1 more.")


@pytest.mark.usefixtures("french")
def test_values_are_listed_without_english_words() -> None:
    assert problem(mode="d") == 'mode doit être l’une de ces valeurs\u00a0: "a or b", "it\'s \\"c\\"", 3.'


@pytest.mark.usefixtures("french")
def test_a_nested_error_is_in_the_same_language() -> None:
    tool = create_default_tool_registry().get_tool("TodoTool")
    assert tool is not None
    with pytest.raises(InvalidArgumentsError) as caught:
        validate(tool, {"operation": "create"})
    outer = UsageError("{problems}", problems=caught.value)
    assert outer.localized(_) == "il manque le champ name."
    assert "is required" in str(outer)
