"""The Qt desktop: the only package that imports Qt.

Qt's binding puts a function of its own in place of Python's import. For its optional names (``from __feature__ import snake_case``), which
nothing here uses, that one reads the source of every module that is imported from then on, and Python keeps what was read: a tenth of the
time of a start and 8 MB. The binding keeps the function it took the place of; that one is put back.
"""

from __future__ import annotations

import builtins

import PySide6  # noqa: F401 - takes the place of the import

if hasattr(builtins, "__orig_import__"):
    builtins.__import__ = builtins.__orig_import__
