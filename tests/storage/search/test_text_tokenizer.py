"""The searchable parts of a text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.storage.search.text_tokenizer import document_tokens, json_text, literal_tokens, query_tokens


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Le planning de l’été dernier", "été"),
        ("Le planning de l’été dernier", "ETE"),
        ("Port the parser to C++ today", "C++"),
        ("Port the parser to C++ today", "c"),
        ("F# and C#", "f#"),
        ("Meeting with Will and Don", "will"),
        ("HTTPServer and snake_case", "snake case http server"),
        ("病院は機能していない", "病院"),
        ("病院は機能していない", "機"),
        ("我们部署了新的数据库系统", "数据库"),
        ("서울에서 회의를 했습니다", "서울"),
        ("ผมกินข้าวที่บ้าน", "ข้าว"),
        ("हिन्दी में लिखा", "हिन्दी"),
        ("Œuvre complète", "oeuvre"),
        ("ﬁle", "file"),
        ("mixed数据abc", "abc"),
        ("getUserNameById failed", "GETUSERNAMEBYID"),
        ("HTTPServer", "httpserver"),
        ("utf8Decoder", "utf8decoder"),
        ("ship it 🚀 now", "🚀"),
        ("done 👍🏽", "👍"),
        ("I ❤️ it", "❤"),
        ("bon 🇫🇷", "🇫🇷"),
        ("20 € → 22 €", "€ →"),
        ("İstanbul ISPARTA", "ısparta"),
        ("İstanbul ISPARTA", "istanbul isparta"),
        ("ışık", "IŞIK"),
        ("Đà Nẵng", "đa nang"),
        ("GROẞ", "gross"),
        ("ΚΟΣΜΟΣ", "κοσμος"),
    ],
)
def test_a_word_of_a_text_is_found_in_it(text: str, query: str) -> None:
    assert query_tokens(query)
    assert set(query_tokens(query)) <= set(document_tokens(text))


def test_stop_words_count_only_when_there_is_nothing_else() -> None:
    assert query_tokens("the policy of IT") == ["policy"]
    assert query_tokens("IT") == ["it"]
    assert query_tokens(" ?! “…” — « » ") == []


def test_no_word_of_a_long_text_is_skipped() -> None:
    assert "w4999" in document_tokens(" ".join(f"w{number}" for number in range(5_000)))


def test_data_is_not_joined_into_words() -> None:
    assert "ab" * 32 in document_tokens("aB" * 32)
    assert "ab" * 33 not in document_tokens("aB" * 33)
    assert len(literal_tokens("aB" * 32)) < 10


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("the policy", ["the"]),
        ("getUserName", ["getuser", "getusername", "username"]),
        ("機能 🚀", ["機", "能", "🚀"]),
        ("plain words alone", []),
    ],
)
def test_literal_tokens_are_those_without_a_stem(text: str, tokens: list[str]) -> None:
    assert literal_tokens(text) == tokens


def test_json_contributes_its_values_and_field_names() -> None:
    assert json_text('{"query": "first\\nsecond", "n": [3, true, null]}').split() == [
        "query",
        "first",
        "second",
        "n",
        "3",
    ]
    assert json_text("plain {text") == "plain {text"


@given(st.text())
def test_every_text_finds_itself(text: str) -> None:
    assert set(query_tokens(text)) <= set(document_tokens(text))
    assert not any(" " in token or '"' in token for token in document_tokens(text))
