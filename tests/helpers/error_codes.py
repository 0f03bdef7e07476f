"""Errors that are to be raised with a certain code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest

E = TypeVar("E", bound=Exception)


@contextmanager
def raises_code(error: type[E], code: str, match: str | None = None) -> Iterator[pytest.ExceptionInfo[E]]:
    """As ``pytest.raises``; the error must have this code, too."""
    with pytest.raises(error, match=match) as caught:
        yield caught
    error_found: Any = caught.value
    assert error_found.code == code
