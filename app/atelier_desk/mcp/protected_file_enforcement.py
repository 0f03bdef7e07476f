"""Protected files changed by a sandboxed server: made read-only, restored, or held back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from atelier_desk.workspace.checkpoints.adopt_launcher_held_files import adopt
from atelier_desk.workspace.checkpoints.protected_file_guard import ProtectedFiles, settle_all
from atelier_desk.workspace.checkpoints.undoable_file_operations import Author, WorkspaceFiles
from atelier_desk.workspace.processes import sandbox_contents


class ServerProtectedFiles:
    """The protected files in a server's folder. All calls block.

    Args:
        files: stores changes for a person to review; None where nobody could.
        name: name of the server.
    """

    def __init__(self, files: WorkspaceFiles | None, name: str, roots: tuple[Path, ...]) -> None:
        self._files, self._name = files, name
        if files is not None:
            settle_all(files)
        self._protected = ProtectedFiles(files, roots, mounted=sandbox_contents.has_mounts())
        if roots:
            self._protected.begin(Author(""), by=name)
        self.read_only = self._protected.read_only
        """Paths the program must find read-only."""
        self._begun = bool(roots)

    def settle(self, held: Iterable[Mapping[str, str]]) -> None:
        """Handle changes after the program has ended.

        ``held``: files the launcher removed because git would run them.
        """
        if self._files is not None:
            adopt(self._files, Author(""), held, by=self._name)
        if self._begun:
            self._protected.settle()
            self._protected.close()
