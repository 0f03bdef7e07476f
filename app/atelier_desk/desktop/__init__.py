"""The Qt desktop: the only package that imports Qt.

PySide6 replaces Python's ``__import__`` with a function of its own, for an optional feature that nothing here uses
(``from __feature__ import snake_case``). That function reads the source of every module imported afterwards, and
Python caches it: a tenth of the start-up time and 8 MB. PySide6 keeps a reference to the original function, which is
restored here.
"""

from __future__ import annotations

import builtins

import PySide6  # noqa: F401 - takes the place of the import

if hasattr(builtins, "__orig_import__"):
    builtins.__import__ = builtins.__orig_import__
