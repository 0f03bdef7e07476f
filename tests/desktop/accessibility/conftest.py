"""Fixtures shared with the tests of questions."""

from __future__ import annotations

from tests.desktop.questions.conftest import host

__all__ = ["host"]
