"""The run: journal, reducer, driver, context; and the services the screens call. No Qt."""

from app.engine.atelier import Atelier

__all__ = ["Atelier"]
