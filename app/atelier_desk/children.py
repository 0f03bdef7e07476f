"""The environment of Atelier's own child processes: helpers, model servers, tools. A leaf module: it imports nothing of Atelier."""

from __future__ import annotations

import os
from pathlib import Path


def environment() -> dict[str, str]:
    """This process's environment, with this very package importable whatever the child's working directory is."""
    root = str(Path(__file__).resolve().parents[1])
    inherited = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([root, inherited] if inherited else [root])}
