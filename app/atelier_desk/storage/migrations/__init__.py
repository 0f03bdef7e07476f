"""The tables of the first version, the migration to it, and one module for each later version.

A released migration is never changed; a new one follows it. Each contains its own statements and imports only what
registers and runs it, so that later changes of the program do not alter what it does to an old folder.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module


def load() -> None:
    """Import and thereby register every migration."""
    for module in pkgutil.iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
