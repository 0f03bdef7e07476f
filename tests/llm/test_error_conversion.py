"""Every form of error body gives a code and a sentence, without any key."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain.errors import ContextOverflowError, ProviderError
from atelier_desk.llm.error_conversion import ErrorLocation, parse_body, payload_error, response_error, retry_after
from atelier_desk.llm.secrets import remember
from atelier_desk.support.i18n import _
from tests.llm.provider_requests import JSON

WHERE = ErrorLocation("Server", "big-model")
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def error(status: int, body: Any, **headers: str) -> ProviderError:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return response_error(WHERE, status, headers, data, NOW)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"error": {"code": 500, "message": "broken", "type": "server_error"}}, "broken"),
        ({"error": {"message": "broken", "type": "t", "param": None, "code": None}}, "broken"),
        ({"message": "broken", "request_id": "1"}, "broken"),
        (
            {"object": "error", "message": {"detail": [{"loc": ["body", "x"], "msg": "broken", "type": "t"}]}},
            "x: broken",
        ),
        ({"detail": "broken"}, "broken"),
        (
            {"detail": [{"loc": ["body", "messages", 0], "msg": "broken"}, {"loc": [], "msg": "too"}]},
            "messages.0: broken; too",
        ),
        ({"error": "broken"}, "broken"),
        ({"error": {"code": 1}}, '{"error": {"code": 1}}'),
        ("broken", "broken"),
        (["broken"], '["broken"]'),
        (b"broken", "broken"),
        (b"<html><body>502</body></html>", ""),
        (b"", ""),
        (b"\xff\xfe", "\ufffd\ufffd"),
    ],
)
def test_all_forms_of_error_bodies(body: Any, message: str) -> None:
    assert parse_body(body if isinstance(body, bytes) else json.dumps(body).encode()).message == message


@pytest.mark.parametrize(
    ("status", "body", "code", "recoverable"),
    [
        (401, {"detail": "Unauthorized"}, "auth", False),
        (401, {"message": "You have exceeded your monthly quota"}, "quota", False),
        (403, {"error": "no"}, "auth", False),
        (402, {"error": {"message": "Insufficient credits", "code": 402}}, "quota", False),
        (429, {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}, "quota", False),
        (429, {"message": "Requests rate limit exceeded"}, "rate_limited", True),
        (404, {"error": "model 'big-model' not found"}, "not_found", False),
        (400, {"error": '"big-model" does not support chat'}, "bad_request", False),
        (422, {"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}, "bad_request", False),
        (408, {"error": {"message": "timed out", "code": 408}}, "timeout", True),
        (500, {"error": "x"}, "server_error", True),
        (502, b"<html>", "server_error", True),
        (503, {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}, "loading", True),
        (503, {"error": {"message": "No slot is free", "code": 503}}, "overloaded", True),
        (409, {"error": {"message": "lock timeout"}}, "overloaded", True),
        (504, b"", "server_error", True),
        (529, {"error": {"message": "overloaded"}}, "overloaded", True),
        (
            400,
            {
                "error": {
                    "type": "invalid_request_error",
                    "message": "Your credit balance is too low to access the API.",
                }
            },
            "quota",
            False,
        ),
        (499, {"error": "request canceled"}, "bad_request", False),
    ],
)
def test_codes(status: int, body: Any, code: str, recoverable: bool) -> None:
    found = error(status, body)
    assert (found.code, found.recoverable, found.status) == (code, recoverable, status)
    assert "Server" in found.localized(_)


@pytest.mark.parametrize(
    ("status", "body", "n_ctx"),
    [
        (
            400,
            {
                "error": {
                    "code": 400,
                    "type": "exceed_context_size_error",
                    "message": "m",
                    "n_prompt_tokens": 6031,
                    "n_ctx": 4096,
                }
            },
            4096,
        ),
        (
            400,
            {
                "error": {
                    "message": "This model's maximum context length is 8192 tokens. However",
                    "code": "context_length_exceeded",
                }
            },
            8192,
        ),
        (
            400,
            {
                "object": "error",
                "message": "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
            },
            32768,
        ),
        (400, {"error": "the input length exceeds the context length"}, None),
        (500, {"error": "prompt is too long: 210000 tokens > 200000 maximum"}, 200_000),
        (
            400,
            {
                "error": {
                    "message": "input length and `max_tokens` exceed context limit: 195000 + 8192 > 200000, decrease"
                }
            },
            200_000,
        ),
    ],
)
def test_overflow(status: int, body: Any, n_ctx: int | None) -> None:
    found = error(status, body)
    assert isinstance(found, ContextOverflowError)
    assert (found.code, found.n_ctx) == ("context_overflow", n_ctx)
    assert "big-model" in str(found)


def test_the_prompt_size_is_stored() -> None:
    found = error(
        400, {"error": {"type": "exceed_context_size_error", "message": "m", "n_prompt_tokens": 6031, "n_ctx": 4096}}
    )
    assert isinstance(found, ContextOverflowError)
    assert found.n_prompt == 6031


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"type": "error", "error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}},
        {
            "error": {
                "message": "Request Entity Too Large",
                "type": "invalid_request_error",
                "code": "request_too_large",
            }
        },
    ],
)
def test_a_request_with_too_many_bytes_is_not_reported_as_a_too_long_workflow(body: Any) -> None:
    found = error(413, body)
    assert found.code == "bad_request"
    assert "The request is too large" in str(found)


@pytest.mark.parametrize("text", ["max_tokens exceeds the limit of 4096", "the context of the question is unclear"])
def test_other_refusals_are_not_an_overflow(text: str) -> None:
    assert not isinstance(error(400, {"error": text}), ContextOverflowError)


def test_a_missing_model_and_a_wrong_address_are_distinguished() -> None:
    assert "big-model" in str(
        error(404, {"error": {"message": "The model `big-model` does not exist", "code": "model_not_found"}})
    )
    assert "Check the address" in str(error(404, b"404 page not found"))
    assert "Check the address" in str(error(501, b"Not Implemented"))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Thu, 01 Jan 2026 00:01:30 GMT"}, 90.0),
        ({"retry-after": "Wed, 31 Dec 2025 00:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({}, None),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds
    assert retry_after({}, NOW + timedelta(days=1)) is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Please try again in 1.5s.", 1.5),
        ("try again in 20ms", 0.02),
        ("later", None),
        ("Please try again in 7m12.5s.", 432.5),
        ("Please try again in 1h2m3s. Visit us.", 3723.0),
        ("retry in 2 hours and 5 minutes", 7500.0),
        ("Please try again in 1d.", 86_400.0),
        ("try again in 3 minutes.", 180.0),
        ("try again in 3 moments", None),
    ],
)
def test_a_delay_given_in_words(text: str, seconds: float | None) -> None:
    assert error(429, {"error": {"message": f"Rate limit reached. {text}"}}).retry_after_s == seconds


@pytest.mark.parametrize("status", [429, 503])
def test_a_long_delay_is_given_as_a_date(status: int) -> None:
    there = (NOW + timedelta(days=2)).astimezone().strftime("%Y-%m-%d %H:%M")
    assert f"after {there}" in error(status, {"error": {"message": "no"}}, **{"retry-after": "172800"}).localized(_)
    assert f"after {there}" in error(
        status, {"error": {"message": "no"}}, **{"retry-after": "Sat, 03 Jan 2026 00:00:00 GMT"}
    ).localized(_)
    for wait in ("30", "1e12", ""):
        assert "again" in error(status, {"error": {"message": "no"}}, **{"retry-after": wait}).localized(_)
    assert f"after {there}" in error(
        429, {"error": {"message": "Rate limit reached. Please try again in 48h."}}
    ).localized(_)


def test_an_error_in_the_middle_of_a_stream() -> None:
    assert payload_error(WHERE, {"choices": [], "error": None}) is None
    assert payload_error(WHERE, ["x"]) is None
    found = payload_error(WHERE, {"error": {"code": 429, "message": "slow down"}})
    assert found is not None
    assert (found.code, found.status) == ("rate_limited", 429)
    vague = payload_error(WHERE, {"error": "out of memory"})
    assert vague is not None
    assert (vague.code, vague.status) == ("server_error", None)
    mistral = payload_error(WHERE, {"object": "error", "message": "m", "code": "3000", "raw_status_code": 503})
    assert mistral is not None
    assert mistral.code == "overloaded"


def test_the_servers_message_is_redacted_cut_and_on_one_line() -> None:
    remember("sk-sentinel-0123456789")
    found = error(400, {"error": f"bad\nkey\tsk-sentinel-0123456789 \x1b[31m {'x' * 900}"})
    detail = str(found.params["detail"])
    assert "sentinel" not in str(found)
    assert detail.startswith("bad key [redacted] [31m")
    assert len(detail) == 400


@given(
    JSON | st.dictionaries(st.sampled_from(["error", "message", "detail"]), JSON, max_size=3),
    st.sampled_from([400, 401, 404, 422, 429, 500]),
)
def test_any_body_gives_an_error_with_a_sentence(body: Any, status: int) -> None:
    found = error(status, body)
    assert found.status == status
    assert str(found)
    if isinstance(body, dict):
        payload_error(WHERE, body)


def test_an_error_of_only_digits_is_parsed_once() -> None:
    assert error(400, {"error": {"message": "9" * 300_000}}).code == "bad_request"


@pytest.mark.parametrize(
    ("status", "body", "expired"),
    [
        (400, {"error": {"message": "API key expired. Please renew the API key.", "status": "INVALID_ARGUMENT"}}, True),
        (401, {"error": {"message": "Your API key has expired.", "code": "expired_api_key"}}, True),
        (401, {"error": {"message": "Incorrect API key provided."}}, False),
        (401, {"error": {"message": "Invalid key: wrong, or not expired but disabled"}}, False),
    ],
)
def test_an_expired_key_is_distinguished_from_a_wrong_one(status: int, body: Any, expired: bool) -> None:
    found = error(status, body)
    assert found.code == "auth"
    assert ("has expired" in found.template) is expired
