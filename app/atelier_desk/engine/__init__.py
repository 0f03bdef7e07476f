"""The engine: journal, reducer, driver, context, and the services called by the screens. No Qt.

``Atelier`` is imported on first access: a command that only checks who holds the data folder, and the window's first
paint, do not need it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from atelier_desk.engine.atelier import Atelier

__all__ = ["Atelier"]


def __getattr__(name: str) -> object:
    if name == "Atelier":
        from atelier_desk.engine.atelier import Atelier

        return Atelier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
