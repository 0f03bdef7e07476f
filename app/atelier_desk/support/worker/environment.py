"""The environment of Atelier's own child processes: helpers, model servers, tools."""

from __future__ import annotations

import os
from pathlib import Path

_NEEDED = ("HOME", "LANG", "LANGUAGE", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PATH", "PATHEXT", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR",
           "TZ", "USERPROFILE", "VIRTUAL_ENV", "WINDIR")  # fmt: skip
_NEEDED_BEGINNINGS = "ATELIER_", "LC_", "PYTHON"


def environment() -> dict[str, str]:
    """This process's environment, with this very package importable whatever the child's working directory is."""
    root = str(Path(__file__).resolve().parents[3])
    inherited = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([root, inherited] if inherited else [root])}


def reader_environment() -> dict[str, str]:
    """The same with nothing but what a Python needs to start: children that read what strangers wrote should find no keys there."""
    given = environment()
    return {name: given[name] for name in given if name.upper() in _NEEDED or name.upper().startswith(_NEEDED_BEGINNINGS)}
