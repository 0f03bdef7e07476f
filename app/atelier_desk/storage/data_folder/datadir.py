"""Where Atelier keeps its files: one folder, private to its user."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from atelier_desk.domain.errors import StorageError
from atelier_desk.support.i18n import N_
from atelier_desk.support.threads import in_storage_thread


@dataclass(frozen=True)
class DataDir:
    """The layout of a data folder. Nothing is created before ``ensure`` is called.

    Attributes:
        root: the data folder itself, absolute.
    """

    root: Path

    @property
    def database(self) -> Path:
        """The SurrealDB directory."""
        return self.root / "database"

    @property
    def models(self) -> Path:
        """Weights of local models."""
        return self.root / "models"

    @property
    def model_list(self) -> Path:
        """The most recently fetched list of hosted models."""
        return self.root / "model-list.json"

    @property
    def keys(self) -> Path:
        """API keys in plain text; exists only if the user chose that. In no backup and no export."""
        return self.root / "keys.json"

    @property
    def reports(self) -> Path:
        """Report texts: ``<workflow id>/<name>.md``; the hash of each is in its row."""
        return self.root / "reports"

    @property
    def backups(self) -> Path:
        """Database copies made before migrations, and data replaced by a restore."""
        return self.root / "backups"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def tools(self) -> Path:
        """The user's own tool files; the hashes of confirmed ones are in the settings."""
        return self.root / "tools"

    @property
    def attachments(self) -> Path:
        """Files that tools made, one folder per workflow, and images that a person puts here for messages to show.

        Files sent with a message are in the database, in its events.
        """
        return self.root / "attachments"

    @property
    def checkpoints(self) -> Path:
        """What files in workspaces contained before agents changed them, and what agents deleted."""
        return self.root / "checkpoints"

    @property
    def web(self) -> Path:
        """Web pages that agents fetched recently."""
        return self.root / "web"

    @property
    def memory_index(self) -> Path:
        """The search index of the memories; built from the database, rebuilt when missing."""
        return self.root / "memory-index.bin"

    @property
    def history_index(self) -> Path:
        """The full-text index of the history; built from the database, rebuilt when missing."""
        return self.root / "history-index.sqlite3"

    @property
    def snapshots(self) -> Path:
        """Conversations of long workflows as they were after a run, one folder per workflow.

        Rebuilt from the journal when missing.
        """
        return self.root / "snapshots"

    @property
    def exports(self) -> Path:
        return self.root / "exports"

    @property
    def socket(self) -> Path:
        """The local socket of the process that holds the folder."""
        return self.root / "atelier.sock"

    def ensure(self) -> DataDir:
        """Create the folder and its parents, accessible only to the owner (mode 0700).

        Raises:
            StorageError: ``read_only`` when the folder cannot be made or written to.
        """
        folders = (
            self.root,
            self.models,
            self.reports,
            self.backups,
            self.logs,
            self.tools,
            self.attachments,
            self.exports,
        )
        try:
            for folder in folders:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(
                N_(
                    "Atelier cannot write to its data folder {path}: {reason}. Make it writable, or choose another "
                    "with --data-dir."
                ),
                code="read_only",
                path=self.root,
                reason=error.strerror or str(error),
            ) from error
        return self


def default_data_dir(named: str | None = None) -> Path:
    """Return what ``--data-dir`` named, else ``ATELIER_DATA_DIR``, else the platform's folder for user data."""
    chosen = named or os.environ.get("ATELIER_DATA_DIR")
    if chosen:
        return Path(chosen).expanduser().absolute()
    return Path(platformdirs.user_data_dir("Atelier", appauthor=False))


@asynccontextmanager
async def temporary_folder() -> AsyncIterator[Path]:
    """Create a private folder that is removed at the end with all its content."""
    folder = Path(await in_storage_thread(tempfile.mkdtemp, prefix="atelier-"))
    try:
        yield folder
    finally:
        await in_storage_thread(shutil.rmtree, folder, ignore_errors=True)
