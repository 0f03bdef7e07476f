"""The migrations, a module ``mNNNN_name`` each, in the order of their numbers. A released one is never changed: a new one follows it."""

from __future__ import annotations

import pkgutil
from importlib import import_module


def load() -> None:
    """Import every migration, which registers it."""
    for module in pkgutil.iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
