"""The host of questions, from their own tests."""

from __future__ import annotations

from tests.desktop.questions.conftest import host

__all__ = ["host"]
