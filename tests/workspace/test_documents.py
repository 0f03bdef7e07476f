"""Mails as a person reads them, whatever they are encoded in."""

from __future__ import annotations

import base64

import pytest

from atelier_desk.workspace.documents import is_mail, is_word, mail_text

HEAD = b"From: Ada <a@example.org>\r\nSubject: =?utf-8?q?R=C3=A9union?=\r\nMIME-Version: 1.0\r\n"


def mail(kind: str, encoding: str, body: bytes) -> bytes:
    return HEAD + f"Content-Type: {kind}\r\nContent-Transfer-Encoding: {encoding}\r\n\r\n".encode() + body


@pytest.mark.parametrize(
    "data",
    [
        mail("text/plain; charset=utf-8", "base64", base64.b64encode("lettre été".encode())),
        mail("text/plain; charset=utf-8", "quoted-printable", b"lettre =C3=A9t=C3=A9"),
        mail("text/plain; charset=iso-8859-1", "8bit", "lettre été".encode("latin-1")),
        mail("text/plain; charset=no-such-thing", "8bit", "lettre été".encode()),
    ],
)
def test_headers_and_text_are_decoded(data: bytes) -> None:
    assert mail_text(data) == "From: Ada <a@example.org>\nSubject: Réunion\n\nlettre été"


def test_what_is_attached_is_named() -> None:
    data = (
        HEAD + b'Content-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nsee there\r\n'
        b'--b\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename="plan.pdf"\r\n\r\nx\r\n--b--\r\n'
    )
    assert mail_text(data).endswith("see there\n\n[Attached and not read: plan.pdf]")


@pytest.mark.parametrize("data", [b"", b"\0\xff\xfe", b"no headers at all", HEAD + b"Content-Type: multipart/mixed\r\n\r\nno parts"])
def test_nothing_breaks_it(data: bytes) -> None:
    assert isinstance(mail_text(data), str)


def test_names_and_first_bytes_say_what_it_is() -> None:
    assert is_word("Plan.DOCX", b"PK\x03\x04")
    assert not is_word("plan.docx", b"text")
    assert not is_word("plan.zip", b"PK\x03\x04")
    assert is_mail("a.EML")
