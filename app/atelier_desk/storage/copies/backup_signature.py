"""Tell whether a backup was made by the data folder it is restored into, and is unchanged.

The manifest, which has the hash of every file in the backup, is signed with a key that lies in the data folder and in
no backup. A backup of another installation, one of a version that did not sign, and one that was rewritten all lack
this signature.
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

from atelier_desk.storage.data_folder.atomic_files import sync_folder, write_atomic
from atelier_desk.support.i18n import N_

KEY = "backup.key"
KEY_BYTES = 32
SIGNATURE = "signature"
"""Manifest field with the signature of all other fields."""
MARKER = "from-elsewhere"
"""File in the data folder that marks its data as foreign.

Its content is the next step: what the data grants has to be disabled (``GRANTS``), or the work it would resume has to
be ended (``RUNS``).
"""
GRANTS, RUNS = b"grants\n", b"runs\n"
FROM_ELSEWHERE = N_(
    "The backup {path} was made by an earlier version or another installation, or has been changed since "
    "it was made. Restore it only if you trust its source: atelier backup restore --from-elsewhere FILE. "
    "Its permission rules, tools, MCP servers, folders and service addresses then stay disabled until "
    "you confirm each of them. Nothing was changed."
)


def signed(root: Path, manifest: Mapping[str, object]) -> dict[str, object]:
    """Return a complete manifest with its signature; creates the folder's key if there is none.

    Left unsigned while the folder holds foreign data that is not disabled yet: a backup made at that point still grants
    what nobody here has confirmed.

    Raises:
        OSError: the key cannot be read or written.
    """
    if marked(root):
        return dict(manifest)
    return {**manifest, SIGNATURE: _signature(_key(root) or _new_key(root), manifest)}


def is_own(root: Path, manifest: Mapping[str, object]) -> bool:
    """Whether this data folder made a backup with this manifest. An unreadable key counts as no."""
    try:
        key = _key(root)
    except OSError:
        return False
    found = manifest.get(SIGNATURE)
    return (
        key is not None
        and isinstance(found, str)
        and hmac.compare_digest(_signature(key, manifest).encode(), found.encode())
    )


def made_here(path: Path, root: Path, name: str, most: int) -> bool:
    """Like ``is_own`` for a backup file, reading only its manifest ``name`` (at most ``most`` bytes).

    Used for the question before a restore. False for files that are no backup.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.getinfo(name).file_size > most:
                return False
            manifest = json.loads(archive.read(name))
    except Exception:  # a damaged zip fails in many ways
        return False
    return isinstance(manifest, dict) and is_own(root, manifest)


def mark(folder: Path, stage: bytes = GRANTS) -> None:
    """Record that the data in the folder comes from another installation."""
    write_atomic(folder / MARKER, stage)


def marked(folder: Path) -> bytes:
    """Return the next step for foreign data; empty for the folder's own data."""
    try:
        return (folder / MARKER).read_bytes() or GRANTS
    except FileNotFoundError:
        return b""


def unmark(folder: Path) -> None:
    """Remove the mark: all steps are done."""
    with contextlib.suppress(FileNotFoundError):
        (folder / MARKER).unlink()
        sync_folder(folder)


def _signature(key: bytes, manifest: Mapping[str, object]) -> str:
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
