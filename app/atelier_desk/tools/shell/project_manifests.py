"""Project files that tools read implicitly; rules that deny them apply here too."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path

from atelier_desk.workspace.commands.link_resolution import inside

_MOST_BYTES = 256 * 1024


def manifest(root: Path, name: str, tells: Callable[[str], bool]) -> dict[str, object] | None:
    """Return the content of ``package.json`` or of a TOML file in the folder.

    None if it is missing, damaged, larger than 256 KiB, a link to elsewhere, or denied by ``tells``.
    """
    path = root / name
    try:
        if (
            not inside(path, root)
            or not path.is_file()
            or path.stat().st_size > _MOST_BYTES
            or not tells(path.as_posix())
        ):
            return None
        text = path.read_text("utf-8")
        found = json.loads(text) if name.endswith(".json") else tomllib.loads(text)
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
