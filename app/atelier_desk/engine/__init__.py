"""The run: journal, reducer, driver, context; and the services the screens call. No Qt.

``Atelier`` is loaded when it is first asked for: a command that only looks whether another process holds the data folder, and the
window's first paint, need none of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from atelier_desk.engine.atelier import Atelier

__all__ = ["Atelier"]


def __getattr__(name: str) -> Any:
    if name == "Atelier":
        from atelier_desk.engine.atelier import Atelier

        return Atelier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
