"""Which sandbox a command gets: what runs without being asked about may read, and can neither write nor talk to anybody."""

from __future__ import annotations

from os.path import realpath
from pathlib import Path
from typing import Any

from atelier_desk.workspace.processes import confine
from atelier_desk.workspace.processes.process import SUPERVISED

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/opt", "/nix", "/run/current-system", "/proc", "/dev")
"""What programs need to run; ``/proc`` of other processes and devices are kept out by Landlock and by their own rights."""
NOWHERE = ("/dev/null", "/dev/zero", "/dev/full")
"""Files that may be written: nothing stays in them."""


def available() -> bool:
    """Whether commands can be confined on this system."""
    return SUPERVISED and confine.available()


def reading(root: Path, *, everything: bool = False) -> dict[str, Any] | None:
    """A sandbox that reads the workspace and the system's programs; None where there is no sandbox.

    ``everything``: it reads all files; git needs its owner's settings, and the repository may begin above the workspace.
    """
    if not available():
        return None
    return {"read": ["/"] if everything else [*SYSTEM, realpath(root)], "write": list(NOWHERE)}
