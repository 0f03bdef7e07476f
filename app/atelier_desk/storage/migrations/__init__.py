"""The migrations, a module ``mNNNN_name`` each, in the order of their numbers.

A released one is never changed: a new one follows it. Each has its own statements and imports nothing but what registers and
runs it, so that no later change of the program changes what it does to an old folder.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module


def load() -> None:
    """Import every migration, which registers it."""
    for module in pkgutil.iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
