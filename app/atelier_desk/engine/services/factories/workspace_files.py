"""Changes of workspace files."""

from __future__ import annotations

from atelier_desk.engine.services.lazy_services import LazyParts
from atelier_desk.workspace.checkpoints.undoable_file_operations import WorkspaceFiles


def workspace_files(engine: LazyParts) -> WorkspaceFiles:
    """Changes workspace files, and undoes changes."""
    folder, changed = engine.datadir, engine.bus.changed
    return WorkspaceFiles(folder.checkpoints, (folder.root,), engine.clock.now, lambda id: changed("file", id))
