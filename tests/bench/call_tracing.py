"""A pytest plugin that records which functions of a package call which during tests: ``-p call_tracing``, with its
folder on the path.

``TRACED_FOLDER`` is the package's folder, ``TRACED_CALLS`` the file to write: caller's file, line of the call, callee's
file, its first line, its name.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from types import FrameType

FOLDER = os.environ.get("TRACED_FOLDER", "\0")
_found: set[tuple[str, int, str, int, str]] = set()


def profile(frame: FrameType, event: str, _argument: object) -> None:
    if event != "call":
        return
    code, caller = frame.f_code, frame.f_back
    if caller is not None and code.co_filename.startswith(FOLDER) and caller.f_code.co_filename.startswith(FOLDER):
        _found.add((caller.f_code.co_filename, caller.f_lineno, code.co_filename, code.co_firstlineno, code.co_name))


def pytest_sessionstart() -> None:
    sys.setprofile(profile)
    threading.setprofile(profile)


def pytest_sessionfinish() -> None:
    sys.setprofile(None)
    Path(os.environ["TRACED_CALLS"]).write_text(json.dumps(sorted(_found)))
