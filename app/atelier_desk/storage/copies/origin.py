"""Whether a backup was made by the data folder it is restored into, and is as it was made.

Its list of contents, which has the hash of every file in it, is signed with a key that lies in the data folder and in
no backup. So a backup of another installation, one of a version that did not sign, and one that was rewritten look
alike: none has the signature.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import secrets
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from atelier_desk.storage.folder.files import sync_folder, write_atomic
from atelier_desk.support.i18n import N_

KEY = "backup.key"
KEY_BYTES = 32
SIGNATURE = "signature"
"""The field of the list of contents; it signs the others."""
MARKER = "from-elsewhere"
"""A file in the data folder: what was restored is from elsewhere, and what it grants has not been switched off yet
(``GRANTS``), or work that it would go on with has not been ended (``RUNS``)."""
GRANTS, RUNS = b"grants\n", b"runs\n"
FROM_ELSEWHERE = N_(
    "The backup {path} was made by an earlier version or another installation, or was changed since it was made. "
    "Restore it only if you trust where it is from: atelier backup restore --from-elsewhere FILE. Its permission rules, "
    "own tools, MCP servers, folders and addresses of services then stay off until you confirm each of them. Nothing was changed."
)


def signed(root: Path, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """A whole list of contents with its signature; the key of the folder is made when there is none.

    Unsigned while what was restored from elsewhere is not switched off: a backup made meanwhile, before its schema changes, still
    grants what nobody here confirmed.

    Raises:
        OSError: the key cannot be read or written.
    """
    if marked(root):
        return dict(manifest)
    return {**manifest, SIGNATURE: _signature(_key(root) or _new_key(root), manifest)}


def is_own(root: Path, manifest: Mapping[str, Any]) -> bool:
    """Whether this data folder made a backup with this list of contents. An unreadable key has signed none."""
    try:
        key = _key(root)
    except OSError:
        return False
    found = manifest.get(SIGNATURE)
    return key is not None and isinstance(found, str) and hmac.compare_digest(_signature(key, manifest).encode(), found.encode())


def made_here(path: Path, root: Path, name: str, most: int) -> bool:
    """The same of a backup's file, without looking at anything but its list of contents ``name`` (``most`` bytes at
    most): for the question that is asked before it is restored. False also for what is no backup."""
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.getinfo(name).file_size > most:
                return False
            manifest = json.loads(archive.read(name))
    except Exception:  # a damaged zip fails in many ways
        return False
    return isinstance(manifest, dict) and is_own(root, manifest)


def mark(folder: Path, stage: bytes = GRANTS) -> None:
    """Write down that the data in the folder is from elsewhere."""
    write_atomic(folder / MARKER, stage)


def marked(folder: Path) -> bytes:
    """What has still to be done with data from elsewhere; empty for data of this folder."""
    try:
        return (folder / MARKER).read_bytes() or GRANTS
    except FileNotFoundError:
        return b""


def unmark(folder: Path) -> None:
    """All of it is done."""
    with contextlib.suppress(FileNotFoundError):
        (folder / MARKER).unlink()
        sync_folder(folder)


def _signature(key: bytes, manifest: Mapping[str, Any]) -> str:
    said = {name: value for name, value in manifest.items() if name != SIGNATURE}
    return hmac.new(key, json.dumps(said, sort_keys=True).encode(), hashlib.sha256).hexdigest()


def _key(root: Path) -> bytes | None:
    try:
        key = (root / KEY).read_bytes()
    except FileNotFoundError:
        return None
    return key if len(key) == KEY_BYTES else None


def _new_key(root: Path) -> bytes:
    key = secrets.token_bytes(KEY_BYTES)
    write_atomic(root / KEY, key)
    with contextlib.suppress(OSError):
        os.chmod(root / KEY, 0o600)  # noqa: PTH101
    return key
