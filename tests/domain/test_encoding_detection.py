"""Byte order marks at the start of texts."""

from __future__ import annotations

import pytest

from atelier_desk.domain.encoding_detection import guessed, marked


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_a_mark_names_the_encoding_of_the_text_after_it(encoding: str) -> None:
    data = "\ufeffété".encode(encoding)
    found = marked(data)
    assert found is not None
    mark, named = found
    assert (named, data[len(mark) :].decode(named)) == (encoding, "été"), (
        "the mark of UTF-32 begins with that of UTF-16"
    )


def test_a_text_without_a_mark_names_no_encoding() -> None:
    assert marked(b"plain") is None
    assert marked(b"") is None


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("日本語のテキスト\nkey=1\n", "cp932"),
        ("日本語のテキストです\n", "euc_jp"),
        ("中文内容测试\nkey=1\n", "gb18030"),
        ("姓名,价格\n张三,100\n", "gb18030"),
        ("中文內容測試，你好\n", "big5"),
        ("안녕하세요 세계\n이름,값\n", "cp949"),
        ("Привет мир\nkey=1\n", "cp1251"),
        ("Привет мир, как дела у нас\n", "koi8-r"),
        ("Καλημέρα κόσμε\n", "cp1253"),
        ("مرحبا بالعالم\n", "cp1256"),
        ("Déjà été à l’hôtel « été » — œuvre, 5 €\n", "cp1252"),
        ("Größe: überprüft, „Maß“\n", "cp1252"),
        ("été", "cp1252"),
        ("Não há ações à vista", "cp1252"),
        ("/* Copyright © 1999 Jörg */ int x;", "cp1252"),
        ("5 µm ± 2 °C", "cp1252"),
        ("LES ÉLÈVES DÉJÀ ARRIVÉS", "cp1252"),
    ],
)
def test_a_short_text_without_a_mark_is_decoded_correctly(text: str, encoding: str) -> None:
    data = text.encode(encoding)
    assert data.decode(guessed(data)) == text


def test_any_bytes_can_be_decoded_with_the_guessed_encoding() -> None:
    every = bytes(range(128, 256))
    assert len(every.decode(guessed(every))) > 0
