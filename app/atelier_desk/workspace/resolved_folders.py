"""Folders with links resolved."""

from __future__ import annotations

import os
from collections.abc import Sequence


def resolved_paths(folders: Sequence[str]) -> tuple[str, ...]:
    """Return folders with links resolved: a folder's rule must not move along when a link is redirected."""
    return tuple(os.path.realpath(folder) for folder in folders)
