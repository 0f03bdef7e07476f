"""Choose the sandbox of a command.

Commands that run unasked may read, but neither write nor use the network. Approved commands may also write in the
workspace and in a temporary folder; network access needs another approval, and running without a sandbox a third.
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

from atelier_desk.workspace.processes import landlock_sandbox, linux_namespaces, seatbelt
from atelier_desk.workspace.processes.command_process import SUPERVISED
from atelier_desk.workspace.processes.secret_locations import SECRETS

FOLDERS = "atelier-commands-"
"""Prefix of the folders of commands in the system's temporary folder."""
Kind = Literal["reading", "workspace", "network", "none"]
"""Kinds of sandbox, strictest first; ``none`` is no sandbox."""

SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/etc",
    "/opt",
    "/nix",
    "/run/current-system",
    "/proc",
    "/dev",
)
"""Paths that programs need to run.

``/proc`` of other processes and devices are protected by Landlock and by their permissions.
"""
NOWHERE = ("/dev/null", "/dev/zero", "/dev/full")
"""Writable files that store nothing."""
DEVICES = ("/dev/random", "/dev/urandom", "/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr")
_CLOSED = (
    "/dev",
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/run/user",
    "/run/secrets",
    "/var/run/secrets",
)
PROTECTED_GIT_FILES = (".git/hooks", ".git/config", ".git/config.worktree", ".git/commondir", ".gitmodules")
"""Workspace paths that a sandboxed command cannot change where mounts are available.

Elsewhere they are restored (see ``guarded_git_files``).
"""
PINNED = ".git"
"""Cannot be renamed or replaced there: as a folder it keeps its place, as a file (a pointer) it is read-only."""
HELD = "checkpoints/held/-launcher"
"""Folder in the program's own data: files of commands that git would execute, until a person decides."""


def held_in(hidden: Sequence[Path]) -> Path | None:
    """Return where files of a command are held: in the program's own data, the first hidden path."""
    return hidden[0] / HELD if hidden else None


def available() -> bool:
    """Whether commands can be sandboxed on this system."""
    return SUPERVISED and (landlock_sandbox.available() or seatbelt.available())


def means() -> str:
    """Return the name of this system's sandbox; empty if there is none."""
    if not available():
        return ""
    return "sandbox-exec" if seatbelt.available() else f"Landlock {landlock_sandbox.abi()} + seccomp"


def reading(
    *roots: Path, hidden: Iterable[Path] = (), shown: Iterable[str] = (), masked: Iterable[Path] = ()
) -> dict[str, Any] | None:
    """Return a sandbox that reads the granted folders, the system's programs and ``shown``; None where no sandbox is
    available.

    Secrets beside the granted folders are not readable.

    Args:
        hidden: folders that are unreadable even inside a granted one: the program's own data, which may contain keys.
        shown: further files and folders, such as the user's git settings, and a repository that begins above the
            workspace.
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
    if not hides():  # then parents cannot be listed either
        own = [found for root in own for found in _without(root, data)]
    return {"kind": "reading", "read": [*system, *own, *more], "write": list(NOWHERE), **masks}


def is_of_system(program: str) -> bool:
    """Whether a program, links resolved, lies in the folders that every sandbox reads."""
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
    """Return a sandbox that writes in the workspace and in ``temporary``, and reads everything except secrets, or
    ``only`` some paths.

    None where no sandbox is available.

    Args:
        hidden: further unreadable folders: the program's own data.
        network: allow connections.
        shown: folders that are readable although they lie beside secrets, such as those of skills; without links.
        read_only: files and folders below ``roots`` that cannot be changed where mounts are available (``has_mounts``).
        only: readable paths besides the system's programs, ``roots`` and ``shown``; None: everything except secrets.
        masked: files and folders that appear empty. They need mounts: without them the command does not start.
        held: where ``guarded_git_files`` puts what it removes, out of the command's reach.
        changes_repositories: changing repository settings is the purpose of the command, and was approved.
        pinned: writable folders below ``roots`` that cannot be renamed or moved; they need mounts.
    """
    if not available():
        return None
    home = Path.home()
    secret = [*map(Path, _CLOSED), *(home / name for name in SECRETS), *hidden]
    closed = {realpath(path) for path in secret if seatbelt.available() or lexists(path)}
    written = [realpath(root) for root in roots]
    (temporary / "shm").mkdir(parents=True, exist_ok=True, mode=0o700)
    # A separate folder for shared memory: once mounted elsewhere, it is no longer below the temporary folder.
    own = (temporary, temporary / "shm")
    kind = "network" if network else "workspace"
    fixed = PROTECTED_GIT_FILES[:1] if changes_repositories else PROTECTED_GIT_FILES
    protected = [path for root in written for name in fixed if lexists(path := f"{root}/{name}")]
    tops = [Path(root, PINNED) for root in written if PINNED and not changes_repositories]
    protected += [str(top) for top in tops if top.is_file() and not top.is_symlink()]
    pins = {realpath(each) for each in pinned} | {str(top) for top in tops if top.is_dir() and not top.is_symlink()}
    guard = {
        "roots": written,
        "held": str(held) if held is not None else "",
        "changes_repositories": changes_repositories,
    }
    protected += [path for each in read_only if os.path.exists(path := realpath(each)) and path not in protected]  # noqa: PTH110
    empty = sorted({realpath(each) for each in masked})
    closed |= {realpath(_nothing())} if empty else set()
    # The command could replace a writable path by a link.
    readable = ["/"]
    if only is not None:
        readable = [*(seatbelt.SYSTEM if seatbelt.available() else SYSTEM), *written, *map(realpath, only)]
    opened = [str(each) for each in shown if not _below(each, written) or _below(each, closed)]
    if seatbelt.available():
        # Devices are protected by their permissions.
        limits = seatbelt.profile(
            readable,
            [*written, "/dev/null", "/dev/zero"],
            keep=protected,
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
        "write": [
            *(found for root in written for found in _without(root, _closed_in(root, closed))),
            *map(realpath, own),
            *NOWHERE,
        ],
        "keep": protected,
        "pinned": sorted(pins),
        "shared": realpath(temporary / "shm"),
        **_masks(empty),
    }


def _masks(masked: list[str]) -> dict[str, object]:
    """Return what replaces masked files and folders: empty ones that nobody can write."""
    if not masked:
        return {}
    file, folder = _nothing() / "file", _nothing() / "folder"
    folder.mkdir(exist_ok=True, mode=0o555)
    file.touch(0o444)
    return {"masked": masked, "empty_file": realpath(file), "empty_folder": realpath(folder)}


def _nothing() -> Path:
    """Return the folder of empty items. No command can write to it: a link in it would expose hidden content."""
    return Path(_empty().name)


@cache
def _empty() -> tempfile.TemporaryDirectory[str]:
    made = tempfile.TemporaryDirectory(prefix=FOLDERS)
    Path(made.name).chmod(0o711)
    return made


def hides() -> bool:
    """Whether denied files can be hidden from a command: by its own mounts, or on macOS by its profile."""
    return has_mounts() or seatbelt.available()


def has_mounts() -> bool:
    """Whether a command gets its own view of the disk, in which files can be masked and made read-only."""
    return bool(_namespaces() & linux_namespaces.MOUNTS)


def has_processes() -> bool:
    """Whether a command gets its own PID and IPC namespaces, without other processes and their shared memory."""
    return bool(_namespaces() & linux_namespaces.PROCESSES)


def has_proc() -> bool:
    """Whether such a command gets a /proc that shows only its own processes; in most containers it also sees others."""
    return bool(_namespaces() & linux_namespaces.PROC)


def holds_signals() -> bool:
    """Whether commands can only signal their own processes; for read-only ones that depends on Landlock."""
    return landlock_sandbox.abi() >= 6 or seatbelt.available()


@cache
def _namespaces() -> int:
    """Return what a command gets here (``linux_namespaces.try_all``). Tested once in a process of its own: 50 ms."""
    if not available() or sys.platform != "linux":
        return 0
    tried = subprocess.run(
        (sys.executable, "-I", "-S", linux_namespaces.__file__),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    return (
        tried.returncode
        if 0 <= tried.returncode <= linux_namespaces.MOUNTS | linux_namespaces.PROCESSES | linux_namespaces.PROC
        else 0
    )


def _below(path: Path, folders: Iterable[str]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _closed_in(root: str, closed: set[str]) -> set[str]:
    """Return the closed parts of a workspace: one in shared memory lies among the devices, but is none."""
    return closed - {"/dev"} if root.startswith(f"{linux_namespaces.SHARED}/") else closed


def _without(path: str, closed: set[str]) -> list[str]:
    """Return the paths that together contain all of ``path`` except closed ones.

    Links beside closed paths are omitted: their targets are listed under their own names, or closed.
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
