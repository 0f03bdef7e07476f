"""What a local MCP server in the sandbox does to files that are obeyed or run: read-only for it, put back, or held for a person."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from atelier_desk.workspace.checkpoints.files import Author, WorkspaceFiles
from atelier_desk.workspace.checkpoints.held_repositories import adopt
from atelier_desk.workspace.checkpoints.protected_files import ProtectedFiles, settle_all
from atelier_desk.workspace.processes import sandbox


class ProgramFiles:
    """The protected files of a server's folder. All calls block.

    Args:
        files: hold what it makes; None where nobody could answer.
        name: of the server.
    """

    def __init__(self, files: WorkspaceFiles | None, name: str, roots: tuple[Path, ...]) -> None:
        self._files, self._name = files, name
        if files is not None:
            settle_all(files)
        self._protected = ProtectedFiles(files, roots, mounted=sandbox.has_mounts())
        if roots:
            self._protected.begin(Author(""), by=name)
        self.read_only = self._protected.read_only
        """What the program must find read-only."""
        self._begun = bool(roots)

    def settle(self, held: Iterable[Mapping[str, str]]) -> None:
        """The program is over. ``held``: what its launcher took away because git would run it."""
        if self._files is not None:
            adopt(self._files, Author(""), held, by=self._name)
        if self._begun:
            self._protected.settle()
            self._protected.close()
