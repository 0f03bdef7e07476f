# ruff: noqa: PTH112, PTH114, PTH116, PTH118, PTH120
"""Small pointer files of a repository, read like git does (setup.c, object-file.c). A leaf: the launcher loads it as a
file.

They may be hostile: reading never blocks, as a pipe in their place would.
"""

import os
import re
import stat
from collections.abc import Iterator

MOST_BYTES = 1 << 20
"""Maximum bytes of one file: git itself accepts no larger ``.git``."""
_QUOTED = re.compile(rb'"((?:[^"\\]|\\(?:[abfnrtv"\\]|[0-3][0-7]{2}))*)"')
_ESCAPE = re.compile(rb'\\(?:([abfnrtv"\\])|([0-3][0-7]{2}))')
_LETTERS = dict(zip(b'abfnrtv"\\', b'\a\b\f\n\r\t\v"\\', strict=True))


def content(path: str, most: int = MOST_BYTES) -> bytes | None:
    """Return the first bytes of a plain file, following links; None for anything else."""
    try:
        handle = os.open(
            path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        )
    except (OSError, ValueError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(most)
    except OSError:
        return None
    finally:
        os.close(handle)


def target(path: str, name: str) -> str:
    """Return the target of a pointer: a file ``.git`` (``gitdir: …``), a file ``commondir``, or a link; empty if
    invalid.

    ``path``: of the pointer itself; ``name``: ``.git`` or ``commondir``.
    """
    if name == ".git" and os.path.islink(path) and os.path.isdir(path):
        return path
    text = os.fsdecode(content(path) or b"").rstrip("\r\n")
    if name == ".git":
        start, _space, text = text.partition("gitdir: ")
        text = "" if start else text
    # For git, text ends at a zero byte.
    text = text.partition("\0")[0]
    return os.path.join(os.path.dirname(path), text) if text else ""


def led_to(path: str) -> str:
    """Return the repository that a ``.git`` (folder, file or link) leads to, links resolved.

    Empty for anything else.
    """
    found = path if os.path.isdir(path) else target(path, ".git")
    return os.path.realpath(found) if found else ""


def work_trees(folder: str) -> Iterator[str]:
    """Yield the folder and its parents that contain a ``.git``."""
    here, above = folder, os.path.dirname(folder)
    while True:
        if os.path.lexists(os.path.join(here, ".git")):
            yield here
        if above == here:
            return
        here, above = above, os.path.dirname(above)


def alternates(objects: str) -> list[str]:
    """Return the folders from which an object folder borrows, links resolved (gitrepository-layout(5),
    "objects/info/alternates").
    """
    entries = _entries(content(os.path.join(objects, "info/alternates")) or b"")
    return [os.path.realpath(os.path.join(objects, os.fsdecode(entry))) for entry in entries if entry]


def _entries(data: bytes) -> Iterator[bytes]:
    """Yield the entries of such a list, one per line.

    A quoted one ends at its closing quote, and the rest is the next.
    """
    data = data.partition(b"\0")[0]
    while data:
        quoted = _QUOTED.match(data)
        end = quoted.end() if quoted else len(data.partition(b"\n")[0])
        if quoted:
            yield _ESCAPE.sub(
                lambda found: bytes((_LETTERS[found[1][0]] if found[1] else int(found[2], 8),)), quoted[1]
            )
        elif not data.startswith(b"#"):
            yield data[:end]
        data = data[end + 1 :]


def below(path: str, folder: str) -> bool:
    """Whether a path is the folder or in it."""
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def owned(path: str) -> bool:
    """Whether it belongs to the user of this process."""
    try:
        return os.stat(path, follow_symlinks=False).st_uid == os.geteuid()
    except OSError:
        return False
