"""Which browser of this machine can run the programs of a page."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

_COMMANDS = (
    ("Chromium", ("chromium", "chromium-browser")),
    ("Google Chrome", ("google-chrome", "google-chrome-stable", "chrome")),
    ("Microsoft Edge", ("microsoft-edge", "microsoft-edge-stable")),
    ("Brave", ("brave-browser", "brave")),
)
_MAC = "Chromium", "Google Chrome", "Microsoft Edge", "Brave Browser"
KNOWN = "Chromium, Google Chrome, Microsoft Edge, Brave"
"""Those that are looked for. Firefox is driven by a port that every program of the machine could use, so it is not."""
SUPPORTED = sys.platform != "win32"
"""A browser is spoken to by two inherited pipes, which Windows has in another form."""


@dataclass(frozen=True, slots=True)
class Installed:
    """A browser: what people call it, and its program."""

    name: str
    program: str


def find(path: str = "") -> Installed | None:
    """The browser at a path, or else the first that is installed; None when there is none. Looks into folders."""
    if not SUPPORTED:
        return None
    if path:
        found = shutil.which(path)
        return Installed(_name_of(found), found) if found else None
    for name, commands in _COMMANDS:
        for command in commands:
            program = shutil.which(command)
            if program is not None:
                return Installed(name, program)
    if sys.platform == "darwin":
        for name in _MAC:
            file = Path(f"/Applications/{name}.app/Contents/MacOS/{name}")
            if file.is_file():
                return Installed(name, str(file))
    return None


def _name_of(program: str) -> str:
    command = Path(program).name
    return next((name for name, commands in _COMMANDS if command in commands), command)


def is_root() -> bool:
    """Whether this process is the administrator's: a browser's own sandbox does not work for that user, so that none is started."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


__all__ = ["KNOWN", "SUPPORTED", "Installed", "find", "is_root"]
