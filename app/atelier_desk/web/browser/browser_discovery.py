"""Find an installed browser that can render pages."""

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
"""Supported browsers. Firefox is not: every program could use the port it is controlled by."""
SUPPORTED = sys.platform != "win32"
"""Windows has no inherited pipes of the needed form."""


@dataclass(frozen=True, slots=True)
class Installed:
    """A browser: its display name and its program."""

    name: str
    program: str


def find(path: str = "") -> Installed | None:
    """The browser at ``path``, or else the first one installed; None without one. Reads folders."""
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
    """Whether this process runs as root.

    A browser's own sandbox does not work for root, so none is started.
    """
    return hasattr(os, "geteuid") and os.geteuid() == 0


__all__ = ["KNOWN", "SUPPORTED", "Installed", "find", "is_root"]
