"""Atelier: a desktop workbench for teams of LLM agents.

    from atelier_desk import Atelier

    async with Atelier.open(temporary=True) as atelier:
        print(await atelier.ask("What is 12*7?"))

Everything is imported on first use: the command line imports this package at every start.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from atelier_desk.engine.atelier import Atelier
    from atelier_desk.engine.runs.answer_collector import Answer
    from atelier_desk.tools.custom import tool

__version__ = "0.1.0"

__all__ = ["Answer", "Atelier", "tool"]

_HOMES = {"Answer": "engine.runs.answer_collector", "Atelier": "engine.atelier", "tool": "tools.custom"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
