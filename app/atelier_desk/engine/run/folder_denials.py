"""What permission rules deny in folders."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from atelier_desk.domain.permission import PermissionRule
from atelier_desk.policy.permissions import path_denials
from atelier_desk.workspace.denied_files import home_folder
from atelier_desk.workspace.path_restrictions import Denials


def folder_denials(rules: Iterable[PermissionRule], folders: Sequence[str]) -> Denials:
    """Return the paths that rules deny in granted folders, and in the places that they name."""
    return Denials(path_denials.bans(rules), folders, home_folder())
