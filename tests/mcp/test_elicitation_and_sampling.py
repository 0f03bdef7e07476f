"""Forms, pages and model requests of servers: what is accepted, what is refused, and that nothing is trusted."""

from __future__ import annotations

from typing import Any

import mcp_types as types
import pytest

from atelier_desk.domain.elicitation_form import FieldKind, Form
from atelier_desk.domain.question import QuestionAnswer
from atelier_desk.mcp import elicitation_and_sampling
from atelier_desk.presentation import elicitation_form_text
from atelier_desk.support.i18n import _, set_language
from tests.helpers.form_answers import form_answer
from tests.helpers.servers import mcp_elicitation_and_sampling


def form(**properties: Any) -> Form:
    return elicitation_and_sampling.form_of({"type": "object", "properties": properties})


def asked(schema: Any, message: str = "Please") -> Any:
    return elicitation_and_sampling.elicitation(
        types.ElicitRequestFormParams(message=message, requested_schema=schema), "shop"
    )


@pytest.mark.parametrize(
    ("schema", "typed", "value", "problem"),
    [
        ({"type": "string", "format": "email"}, "a@b.example", "a@b.example", ""),
        ({"type": "string", "format": "email"}, "a b@c", "a b@c", "email"),
        ({"type": "string", "format": "uri"}, "https://a.example/x", "https://a.example/x", ""),
        ({"type": "string", "format": "uri"}, "a.example", "a.example", "uri"),
        ({"type": "string", "format": "uri"}, "http://[", "http://[", "uri"),
        ({"type": "string", "format": "date"}, "2026-02-30", "2026-02-30", "date"),
        ({"type": "string", "format": "date-time"}, "2026-11-23T10:00:00Z", "2026-11-23T10:00:00Z", ""),
        ({"type": "string", "format": "date-time"}, "2026-11-23", "2026-11-23", "date-time"),
        ({"type": "string", "minLength": 3}, "ab", "ab", "short"),
        ({"type": "string", "maxLength": 1}, "ab", "ab", "long"),
        ({"type": "string"}, "x" * 4_001, "x" * 4_001, "long"),
        ({"type": "integer", "minimum": 0}, "-1", -1, "least"),
        ({"type": "integer"}, "1.5", "1.5", "integer"),
        ({"type": "integer"}, "9" * 400, "9" * 400, "integer"),
        ({"type": "number", "maximum": 2}, "2,5", 2.5, "most"),
        ({"type": "number"}, "inf", float("inf"), "number"),
        ({"type": "boolean"}, "oui", True, ""),
        ({"type": "boolean"}, "perhaps", "perhaps", "boolean"),
        ({"type": "string", "enum": ["a", "b"]}, "2", "b", ""),
        ({"type": "string", "enum": ["a", "b"]}, "c", "c", "choice"),
        ({"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 2}, "a", ["a"], "few"),
        ({"type": "array", "items": {"anyOf": [{"const": "a", "title": "Ay"}]}}, "ay, ay", ["a"], ""),
    ],
)
def test_each_kind_of_field(schema: Any, typed: str, value: Any, problem: str) -> None:
    made = form(x=schema)
    (field,) = made.fields
    assert (field.read(typed), field.problem(field.read(typed))) == (value, problem)
    if problem:
        for language in ("en", "fr"):
            set_language(language)
            said = elicitation_form_text.problem(made, "x", problem).localized(_)
            assert said
            assert "{" not in said


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "array"}, "no object"),
        ({"type": "object", "properties": []}, "no object"),
        (
            {"type": "object", "properties": {"x": {"type": "object", "properties": {}}}},
            "of a kind that forms do not have",
        ),
        ({"type": "object", "properties": {"x": 3}}, "has no schema"),
        ({"type": "object", "properties": {"x": {"type": "string", "enum": []}}}, "0 choices"),
        ({"type": "object", "properties": {f"x{n}": {"type": "string"} for n in range(51)}}, "51 fields"),
        ({"type": "object", "properties": {"": {"type": "string"}}}, "not valid"),
        (
            {"type": "object", "properties": {"x": {"type": "string", "enum": [str(n) for n in range(201)]}}},
            "201 choices",
        ),
    ],
)
def test_a_form_that_cannot_be_filled_in_is_refused(schema: Any, why: str) -> None:
    with pytest.raises(elicitation_and_sampling.UnsupportedRequest, match=why) as caught:
        asked(schema)
    assert not caught.value.declined


@pytest.mark.parametrize(
    "name",
    ["password", "userPassword", "api_key", "APIKey", "accessToken", "token", "mot_de_passe", "cvv", "private-key"],
)
def test_a_field_for_a_secret_is_declined(name: str) -> None:
    with pytest.raises(elicitation_and_sampling.UnsupportedRequest, match="asks for a secret") as caught:
        asked({"type": "object", "properties": {name: {"type": "string"}}})
    assert caught.value.declined


@pytest.mark.parametrize("name", ["name", "tokens_used", "spin", "keyboard", "passenger", "compass", "secretary"])
def test_harmless_fields_are_not_declined(name: str) -> None:
    assert asked({"type": "object", "properties": {name: {"type": "string"}}}).form is not None


def test_invalid_bounds_and_defaults_are_skipped() -> None:
    made = form(
        x={"type": "integer", "minimum": "low", "maximum": float("nan"), "default": "many"},
        y={"type": "string", "minLength": -1, "format": "colour", "default": {"a": 1}},
    )
    assert [(field.least, field.most, field.shortest, field.format) for field in made.fields] == [
        (None, None, None, ""),
        (None, None, None, ""),
    ]
    assert made.defaults() == {}


@pytest.mark.parametrize(
    "url",
    [
        "ftp://a.example",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "https://",
        "https://a.example\nx",
        "https://paypal.com@evil.example/",
        "https://[::1",
    ],
)
def test_an_address_that_is_no_web_page_is_refused(url: str) -> None:
    with pytest.raises(elicitation_and_sampling.UnsupportedRequest):
        elicitation_and_sampling.elicitation(types.ElicitRequestURLParams(message="Look", url=url), "shop")


def test_a_model_request_is_text_of_limited_length() -> None:
    picture = types.SamplingMessage(role="user", content=types.ImageContent(data="AAAA", mime_type="image/png"))
    long = types.SamplingMessage(role="user", content=types.TextContent(text="x" * 100_001))
    for message, why in ((picture, "not with image"), (long, "characters at most")):
        with pytest.raises(elicitation_and_sampling.UnsupportedRequest, match=why):
            elicitation_and_sampling.sampling(
                types.CreateMessageRequestParams(messages=[message], max_tokens=5), "shop", "m"
            )
    said = types.SamplingMessage(role="user", content=types.TextContent(text="x"))
    with pytest.raises(elicitation_and_sampling.UnsupportedRequest, match="not valid"):
        elicitation_and_sampling.sampling(types.CreateMessageRequestParams(messages=[said], max_tokens=0), "shop", "m")


def test_an_answer_is_validated_against_its_form() -> None:
    spec = asked(mcp_elicitation_and_sampling.FORM)
    assert form_answer({"name": "Ada", "seats": 1}).problem(spec) is None
    for wrong in ({"name": "Ada"}, {"name": "Ada", "seats": 1, "more": 1}, {"name": "Ada", "seats": "1"}):
        assert form_answer(wrong).problem(spec) == "form"
    assert QuestionAnswer(selected_options=("accept",), text_response="no JSON").problem(spec) == "form"
    assert QuestionAnswer(selected_options=("accept", "decline")).problem(spec) == "one"
    assert QuestionAnswer(selected_options=("decline",), text_response="because").problem(spec) == "no_text"
    assert QuestionAnswer(selected_options=("decline",)).problem(spec) is None
    assert spec.form is not None
    assert spec.form.given({"name": "Ada", "seats": 2.0, "mail": "", "tags": []}) == {"name": "Ada", "seats": 2}
    assert {field.kind for field in spec.form.fields} == set(FieldKind)
