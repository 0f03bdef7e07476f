"""The detail of an audit entry: it contains no secret, and costs a bounded time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain.audit import DETAIL, MAX_SCANNED, cut, detail_of, hide_secrets
from atelier_desk.domain.call_presentation_and_subjects import Subjects

LONG = 300_000
"""Characters; with quadratic cost, scanning them would exceed the time limit of any test."""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("curl https://ada:hunter2@example.org/x", "curl https://•••@example.org/x"),
        ("curl -H 'Authorization: Bearer abc123def456'", "curl -H 'Authorization: Bearer •••'"),
        ("deploy --api-key hunter2 --to there", "deploy --api-key ••• --to there"),
        ("deploy --db-password='two words' --to there", "deploy --db-password=••• --to there"),
        ("MY_SECRET=hunter2 make", "MY_SECRET=••• make"),
        ('{"access_token": "hunter2", "name": "x"}', '{"access_token": •••, "name": "x"}'),
        ("git push https://github.com/x ghp_0123456789abcdef", "git push https://github.com/x •••"),
        ("login --password 'cut off before it en", "login --password •••"),
        ("sort --key 2 tokens.txt", "sort --key 2 tokens.txt"),
    ],
)
def test_what_looks_like_a_secret_is_hidden(text: str, shown: str) -> None:
    assert hide_secrets(text) == shown


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "-",
        "token-",
        "password",
        "eyJ",
        "password='",
        "basic ",
        "x://",
        "-----BEGIN ",
        "mysql -",
        "?key=",
        "a_token_",
    ],
)
def test_a_long_text_is_scanned_once(piece: str) -> None:
    assert hide_secrets(piece * (LONG // len(piece)))


@given(
    st.integers(min_value=MAX_SCANNED - 40, max_value=MAX_SCANNED + 40),
    st.sampled_from(["--token ", "password=", "TOKEN='"]),
)
def test_a_secret_at_the_end_of_the_scanned_part_is_hidden(before: int, name: str) -> None:
    said = detail_of(Subjects(command="x" * (before - len(name) - 1) + " " + name + "hunter2"), {})
    assert "hunter" not in said.split("x ")[-1]


def test_arguments_of_any_size_give_a_short_detail() -> None:
    arguments = {
        "note": "a" * LONG,
        "many": ["b" * 100] * LONG,
        "password": "hunter2",
        **{f"field_{n}": n for n in range(LONG // 100)},
    }
    said = cut(detail_of(Subjects(), arguments))
    assert len(said) <= DETAIL
    assert said.startswith('{"note": "aaa')


SECRET = "hunter2SECRETvalue99"


@pytest.mark.parametrize(
    "text",
    [
        "curl -u user:{} https://x.y", "curl -H 'Authorization: Token {}' h", "Authorization: Digest {}",
        "mysql -p{} db",
        "sshpass -p {} ssh h", "docker login -u a -p {}", "redis-cli -a {}", "https://h/?sig={}&a=1",
        "https://h/?key={}",
        "https://h/?X-Amz-Signature={}", "Server=a;Pwd={};", "SECRET_KEY={}", "secretKey: {}", "passwords={}",
        "PASSWORD_2={}",
        "TOKEN_GH={}", "password1 = {}", '--password=\\"{}\\"', "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END",
        "npm_{}", "sk_live_{}",
    ],
)  # fmt: skip
def test_secrets_in_the_forms_of_other_programs_are_hidden(text: str) -> None:
    assert SECRET not in hide_secrets(text.format(SECRET))


def test_text_that_only_mentions_tokens_and_keys_is_shown() -> None:
    for text in (
        "max_tokens: 4096",
        "--max-tokens 100",
        "sort -k 2 -u a.txt",
        "git log -p src",
        "https://h/?page=2&monkey=1",
        "keys: 3",
    ):
        assert hide_secrets(text) == text
