"""Project files that tools read without being told their names: a rule that denies one holds for these, too."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path

from atelier_desk.workspace.commands.link_resolution import inside

_MOST_BYTES = 256 * 1024


def manifest(root: Path, name: str, tells: Callable[[str], bool]) -> dict[str, object] | None:
    """The content of ``package.json`` or of a TOML file of the folder; None for one that is not there, damaged, larger than 256 KiB, or a
    link to elsewhere, and for one whose content may not be told."""
    path = root / name
    try:
        if not inside(path, root) or not path.is_file() or path.stat().st_size > _MOST_BYTES or not tells(path.as_posix()):
            return None
        text = path.read_text("utf-8")
        found = json.loads(text) if name.endswith(".json") else tomllib.loads(text)
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
