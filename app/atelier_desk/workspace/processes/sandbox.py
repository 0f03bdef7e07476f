"""Which sandbox a command gets.

What runs without being asked about may read, and can neither write nor talk to anybody. What a person or a rule allows may also write in
the workspace and in a temporary folder; the network is another yes, and running without a sandbox a third.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from functools import cache
from os.path import lexists, realpath
from pathlib import Path
from typing import Any, Literal

from atelier_desk.workspace.processes import confine, namespaces, seatbelt
from atelier_desk.workspace.processes.process import SUPERVISED
from atelier_desk.workspace.processes.secret_places import SECRETS

FOLDERS = "atelier-commands-"
"""What the names of the folders of commands begin with, in the system's folder for temporary files."""
Kind = Literal["reading", "workspace", "network", "none"]
"""What a command is kept in, from the strictest on; ``none`` is no sandbox."""

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/opt", "/nix", "/run/current-system", "/proc", "/dev")
"""What programs need to run; ``/proc`` of other processes and devices are kept out by Landlock and by their own rights."""
NOWHERE = ("/dev/null", "/dev/zero", "/dev/full")
"""Files that may be written: nothing stays in them."""
DEVICES = ("/dev/random", "/dev/urandom", "/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr")
_CLOSED = ("/dev", "/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/sudoers.d", "/run/user", "/run/secrets", "/var/run/secrets")
KEPT = (".git/hooks", ".git/config", ".git/config.worktree", ".git/commondir", ".gitmodules")
"""Below a workspace: what a sandboxed command cannot change where there are mounts; elsewhere it is restored (see ``guarded_files``)."""
PINNED = ".git"
"""What it cannot rename or replace there: a folder keeps its place, and a file, which leads to a repository, is read-only."""
HELD = "checkpoints/held/-launcher"
"""In the program's own data: what commands left that git would run, until a person says yes."""


def held_in(hidden: Sequence[Path]) -> Path | None:
    """Where a command's leavings are held: in the program's own data, which is the first of what no command can read."""
    return hidden[0] / HELD if hidden else None


def available() -> bool:
    """Whether commands can be confined on this system."""
    return SUPERVISED and (confine.available() or seatbelt.available())


def means() -> str:
    """What confines commands on this system, by its name; empty for nothing."""
    if not available():
        return ""
    return "sandbox-exec" if seatbelt.available() else f"Landlock {confine.abi()} + seccomp"


def reading(*roots: Path, hidden: Iterable[Path] = (), shown: Iterable[str] = (), masked: Iterable[Path] = ()) -> dict[str, Any] | None:
    """A sandbox that reads the granted folders, the system's programs and ``shown``, but no secrets beside the granted folders; None where
    there is no sandbox.

    Args:
        hidden: folders that cannot be read even inside a granted one: the program's own data, where its file of keys may be.
        shown: files and folders besides, as git needs its owner's settings, and a repository that begins above the workspace.
        masked: as for ``working``.
    """
    if not available():
        return None
    own = [realpath(root) for root in roots]
    data = {path for path in map(realpath, hidden) if _below(Path(path), own)}
    closed = {realpath(path) for path in [*map(Path, _CLOSED), *(Path.home() / name for name in SECRETS)]} - {"/dev"}
    more = [found for each in shown for found in _without(realpath(each), closed)]
    empty = sorted({*data, *map(realpath, masked)} if hides() else map(realpath, masked))
    if seatbelt.available():
        limits = seatbelt.profile([*seatbelt.SYSTEM, *own, *more], ["/dev/null", "/dev/zero"], closed=empty)
        return {"kind": "reading", "profile": limits}
    system = [found for each in SYSTEM for found in (_without(each, closed) if each == "/etc" else (each,))]
    masks = _masks(empty)
    if masks:
        masks["shared"] = masks["empty_folder"]
    if not hides():  # then what lies above is not listed either
        own = [found for root in own for found in _without(root, data)]
    return {"kind": "reading", "read": [*system, *own, *more], "write": list(NOWHERE), **masks}


def is_of_system(program: str) -> bool:
    """Whether a program, links followed, lies in the folders that every sandbox reads."""
    return bool(program) and _below(Path(realpath(program)), seatbelt.SYSTEM if seatbelt.available() else SYSTEM)


def working(
    roots: Sequence[Path],
    temporary: Path,
    hidden: Iterable[Path] = (),
    *,
    network: bool = False,
    shown: Iterable[Path] = (),
    read_only: Iterable[Path] = (),
    masked: Iterable[Path] = (),
    only: Iterable[Path] | None = None,
    held: Path | None = None,
    changes_repositories: bool = False,
    pinned: Iterable[Path] = (),
) -> dict[str, Any] | None:
    """A sandbox that writes in the workspace and in ``temporary``, and reads all but secrets, or ``only`` some files; None where there is
    no sandbox.

    Args:
        hidden: folders besides that cannot be read: the program's own data.
        network: it may open connections.
        shown: folders that are read although they lie beside secrets, as those of skills do; without links.
        read_only: files and folders below ``roots`` that cannot be changed where the system has mounts (``has_mounts``).
        only: what is read besides the system's programs, ``roots`` and ``shown``; None: everything but secrets.
        masked: files and folders in whose place the command sees an empty one. They need mounts: without them it does not start.
        held: where ``guarded_files`` puts what it takes away, out of the command's reach.
        changes_repositories: to change settings of repositories is what the command is for, and a person or a rule allowed it.
        pinned: folders below ``roots`` that keep their names and places, and are written as before; they need mounts.
    """
    if not available():
        return None
    home = Path.home()
    secret = [*map(Path, _CLOSED), *(home / name for name in SECRETS), *hidden]
    closed = {realpath(path) for path in secret if seatbelt.available() or lexists(path)}
    written = [realpath(root) for root in roots]
    (temporary / "shm").mkdir(parents=True, exist_ok=True, mode=0o700)
    # The folder for shared memory by itself: mounted over another one, it is no longer below the temporary folder.
    own = (temporary, temporary / "shm")
    kind = "network" if network else "workspace"
    fixed = KEPT[:1] if changes_repositories else KEPT
    keep = [path for root in written for name in fixed if lexists(path := f"{root}/{name}")]
    tops = [Path(root, PINNED) for root in written if PINNED and not changes_repositories]
    keep += [str(top) for top in tops if top.is_file() and not top.is_symlink()]
    pins = {realpath(each) for each in pinned} | {str(top) for top in tops if top.is_dir() and not top.is_symlink()}
    guard = {"roots": written, "held": str(held) if held is not None else "", "changes_repositories": changes_repositories}
    keep += [path for each in read_only if os.path.exists(path := realpath(each)) and path not in keep]  # noqa: PTH110
    empty = sorted({realpath(each) for each in masked})
    closed |= {realpath(_nothing())} if empty else set()
    # What a command can write it could put a link in the place of.
    readable = ["/"]
    if only is not None:
        readable = [*(seatbelt.SYSTEM if seatbelt.available() else SYSTEM), *written, *map(realpath, only)]
    opened = [str(each) for each in shown if not _below(each, written) or _below(each, closed)]
    if seatbelt.available():
        # Devices are left to the rights of their files.
        limits = seatbelt.profile(
            readable,
            [*written, "/dev/null", "/dev/zero"],
            keep=keep,
            closed=sorted({*closed, *empty} - {"/dev"}),
            own=[realpath(temporary)],
            shown=opened,
            network=network,
        )
        return {"kind": kind, **guard, "profile": limits}
    return {
        "kind": kind,
        "works": True,
        "network": network,
        **guard,
        "read": [*(found for each in readable for found in _without(each, closed)), *DEVICES, *opened],
        "write": [*(found for root in written for found in _without(root, _closed_in(root, closed))), *map(realpath, own), *NOWHERE],
        "keep": keep,
        "pinned": sorted(pins),
        "shared": realpath(temporary / "shm"),
        **_masks(empty),
    }


def _masks(masked: list[str]) -> dict[str, Any]:
    """What stands in the place of masked files and folders: an empty one that nobody can write."""
    if not masked:
        return {}
    file, folder = _nothing() / "file", _nothing() / "folder"
    folder.mkdir(exist_ok=True, mode=0o555)
    file.touch(0o444)
    return {"masked": masked, "empty_file": realpath(file), "empty_folder": realpath(folder)}


def _nothing() -> Path:
    """The folder of what is empty. No command can write in it: a link there would lead to what is to be hidden."""
    return Path(_empty().name)


@cache
def _empty() -> tempfile.TemporaryDirectory[str]:
    made = tempfile.TemporaryDirectory(prefix=FOLDERS)
    Path(made.name).chmod(0o711)
    return made


def hides() -> bool:
    """Whether files that a rule denies can be hidden from a command: by mounts of its own, or on macOS by its profile."""
    return has_mounts() or seatbelt.available()


def has_mounts() -> bool:
    """Whether a command gets a view of the disk of its own, in which files can be masked and made read-only."""
    return bool(_namespaces() & namespaces.MOUNTS)


def has_processes() -> bool:
    """Whether a command gets PID and IPC namespaces of its own, in which no other processes and no shared memory of others are."""
    return bool(_namespaces() & namespaces.PROCESSES)


def has_proc() -> bool:
    """Whether such a command gets a /proc that shows its own processes alone; in most containers it sees the others by name."""
    return bool(_namespaces() & namespaces.PROC)


def holds_signals() -> bool:
    """Whether commands can send signals to their own processes alone; for those that only read it is up to Landlock."""
    return confine.abi() >= 6 or seatbelt.available()


@cache
def _namespaces() -> int:
    """What a command gets here (``namespaces.try_all``). Tried once in a process of its own; some 50 ms."""
    if not available() or sys.platform != "linux":
        return 0
    tried = subprocess.run((sys.executable, "-I", "-S", namespaces.__file__), stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return tried.returncode if 0 <= tried.returncode <= namespaces.MOUNTS | namespaces.PROCESSES | namespaces.PROC else 0


def _below(path: Path, folders: Iterable[str]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _closed_in(root: str, closed: set[str]) -> set[str]:
    """What is closed of a workspace: one in shared memory lies among the devices, and is none."""
    return closed - {"/dev"} if root.startswith(f"{namespaces.SHARED}/") else closed


def _without(path: str, closed: set[str]) -> list[str]:
    """The folders and files that together hold all of ``path`` but what is closed.

    Links are left out where something is closed beside them: what they lead to is there under its own name, or closed.
    """
    below = {each for each in closed if each == path or each.startswith(path.rstrip("/") + "/")}
    if path in below or any(path.startswith(each.rstrip("/") + "/") for each in closed):
        return []
    if not any(lexists(each) for each in below):
        return [path]
    try:
        names = sorted(os.listdir(path))  # noqa: PTH208 (plain names: there may be thousands)
    except OSError:
        return []
    inner = (os.path.join(path, name) for name in names)  # noqa: PTH118
    return [found for each in inner if not os.path.islink(each) for found in _without(each, below)]  # noqa: PTH114
