"""LateModule: a module that is imported when something of it is first used."""

from __future__ import annotations

import importlib
from typing import Any


class LateModule:
    """Stands for a module that takes long to import, at the top of one that rarely needs it.

    Under ``TYPE_CHECKING`` the same name is an ordinary import, so that types are checked.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._name), name)
