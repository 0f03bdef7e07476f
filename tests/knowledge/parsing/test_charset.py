"""The character encoding of a file."""

from __future__ import annotations

import codecs

import pytest

from atelier_desk.knowledge.parsing.charset import decode, is_binary

FRENCH = "Où l’été déçoit-il ? À Noël, « ça » coûte 5 €."
RUSSIAN = "Съешь же ещё этих мягких французских булок, да выпей чаю. " * 8


@pytest.mark.parametrize(
    ("text", "encoding", "mark"),
    [
        (FRENCH, "utf-8", b""),
        (FRENCH, "utf-8", codecs.BOM_UTF8),
        (FRENCH, "utf-16-le", codecs.BOM_UTF16_LE),
        (FRENCH, "utf-16-be", codecs.BOM_UTF16_BE),
        (FRENCH, "utf-32-le", codecs.BOM_UTF32_LE),
        (FRENCH, "cp1252", b""),
        (RUSSIAN, "utf-8", b""),
        (RUSSIAN, "cp1251", b""),
    ],
)
def test_text_is_decoded_by_its_mark_then_utf8_then_windows_then_guessing(
    text: str, encoding: str, mark: bytes
) -> None:
    assert decode(mark + text.encode(encoding)) == text


def test_an_invalid_character_becomes_a_replacement() -> None:
    assert decode(codecs.BOM_UTF16_LE + b"a\0b").startswith("a")
    assert isinstance(decode(bytes(range(128, 256))), str)


def test_zero_bytes_and_control_characters_are_binary() -> None:
    assert is_binary(b"\x7fELF\x02\x00\x00")
    assert is_binary(b"\x01\x02\x03\x04abc")
    assert not is_binary(b"a\tb\r\n\x1b[0m")
    assert not is_binary(codecs.BOM_UTF16_LE + "abc".encode("utf-16-le"))
    assert not is_binary(b"")
