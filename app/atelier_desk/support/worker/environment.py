"""Environment variables of Atelier's own child processes: helpers, model servers, tools."""

from __future__ import annotations

import os
from pathlib import Path

_NEEDED = ("HOME", "LANG", "LANGUAGE", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PATH", "PATHEXT", "SYSTEMROOT", "TEMP",
"TMP", "TMPDIR",
           "TZ", "USERPROFILE", "VIRTUAL_ENV", "WINDIR")  # fmt: skip
_NEEDED_BEGINNINGS = "ATELIER_", "LC_", "PYTHON"


def environment() -> dict[str, str]:
    """This process's environment, with this package importable from any working directory."""
    root = str(Path(__file__).resolve().parents[3])
    inherited = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([root, inherited] if inherited else [root])}


def reader_environment() -> dict[str, str]:
    """A minimal environment without keys, for children that read untrusted data."""
    given = environment()
    return {
        name: given[name] for name in given if name.upper() in _NEEDED or name.upper().startswith(_NEEDED_BEGINNINGS)
    }
