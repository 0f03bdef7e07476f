"""The one file that may hold secrets: keys in plain text, for who chose that because the machine has no keyring.

Backups and exports take only what they know of the data folder, and leave it out; the data folder itself is closed to tools and to
commands in the sandbox, also where a granted folder holds it.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from atelier_desk.storage.folder.files import write_atomic

MODE = 0o600
"""Its owner alone reads and writes it; given again at each reading, in case a copy or an unpacked archive lost it."""
MAX_BYTES = 4 * 1024**2
"""A larger one is not ours: secrets are at most 16 KiB each."""


class KeyFile:
    """``keys.json``: an object of texts. Reads and writes as a keyring, whose ``service`` it ignores: it belongs to one data folder.

    Every method raises ``OSError``, also for a file that is a link, too large, or not as it was written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def there(self) -> bool:
        """Whether keys are kept in it: it is made and removed by its owner's choice alone."""
        return self.path.is_file() and not self.path.is_symlink()

    def write(self, entries: Mapping[str, str]) -> None:
        """Hold these and nothing else."""
        data = json.dumps(dict(entries), indent=1, sort_keys=True).encode()
        if len(data) > MAX_BYTES:
            raise OSError(errno.EFBIG, f"all secrets together are over {MAX_BYTES // 1024**2} MiB", str(self.path))
        write_atomic(self.path, data, f".{self.path.name}.")  # its temporary file has ``MODE``

    def sweep(self) -> None:
        """Delete what a kill in the middle of a write left. For who holds the data folder: it takes the file from a writer."""
        for left in self.path.parent.glob(f".{self.path.name}.*.tmp"):
            left.unlink(missing_ok=True)

    def entries(self) -> dict[str, str]:
        """All of them."""
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
        """Delete it; no error when it is not there."""
        self.path.unlink(missing_ok=True)

    def get_password(self, service: str, name: str) -> str | None:
        return self.entries().get(name)

    def set_password(self, service: str, name: str, value: str) -> None:
        self.write({**self.entries(), name: value})
