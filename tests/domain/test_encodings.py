"""The marks that texts begin with."""

from __future__ import annotations

import pytest

from atelier_desk.domain.encodings import marked


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_a_mark_names_the_encoding_of_what_comes_after_it(encoding: str) -> None:
    data = "\ufeffété".encode(encoding)
    found = marked(data)
    assert found is not None
    mark, named = found
    assert (named, data[len(mark) :].decode(named)) == (encoding, "été"), "the mark of UTF-32 begins with that of UTF-16"


def test_a_text_without_a_mark_names_none() -> None:
    assert marked(b"plain") is None
    assert marked(b"") is None
