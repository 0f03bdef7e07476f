"""The only file that may contain secrets: API keys in plain text, for users who chose this because they have no
keyring.

Backups and exports copy only known parts of the data folder, and not this one. Tools and sandboxed commands have no
access to the data folder, even inside a granted folder.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from atelier_desk.storage.data_folder.atomic_files import write_atomic

MODE = 0o600
"""Readable and writable only by the owner; set again at each reading, in case a copy or an archive lost it."""
MAX_BYTES = 4 * 1024**2
"""A larger file is not ours: secrets are at most 16 KiB each."""


class KeyFile:
    """``keys.json``: an object of strings, with the interface of a keyring.

    Ignores ``service``, because the file belongs to one data folder. Every method raises ``OSError``, also for a file
    that is a link, too large, or damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def there(self) -> bool:
        """Whether the file exists: it is created and removed only by the user's choice."""
        return self.path.is_file() and not self.path.is_symlink()

    def write(self, entries: Mapping[str, str]) -> None:
        """Replace all entries."""
        data = json.dumps(dict(entries), indent=1, sort_keys=True).encode()
        if len(data) > MAX_BYTES:
            raise OSError(errno.EFBIG, f"all secrets together are over {MAX_BYTES // 1024**2} MiB", str(self.path))
        write_atomic(self.path, data, f".{self.path.name}.")  # the temporary file has ``MODE`` too

    def sweep(self) -> None:
        """Delete temporary files left by a kill.

        Only for the holder of the data folder: others might be writing one.
        """
        for left in self.path.parent.glob(f".{self.path.name}.*.tmp"):
            left.unlink(missing_ok=True)

    def entries(self) -> dict[str, str]:
        """Return all entries."""
        handle = os.open(self.path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(handle, "rb") as file:
            if os.name == "posix" and stat.S_IMODE(os.fstat(handle).st_mode) != MODE:
                os.fchmod(handle, MODE)
            data = file.read(MAX_BYTES + 1)
        try:
            found = json.loads(data) if len(data) <= MAX_BYTES else None
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
            raise OSError(errno.EINVAL, "not a file of keys", str(self.path))
        return found

    def remove(self) -> None:
        """Delete the file; a missing one is no error."""
        self.path.unlink(missing_ok=True)

    def get_password(self, service: str, name: str) -> str | None:
        return self.entries().get(name)

    def set_password(self, service: str, name: str, value: str) -> None:
        self.write({**self.entries(), name: value})
