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
from os.path import realpath
from pathlib import Path
from typing import Any, Literal

from atelier_desk.workspace.processes import confine, seatbelt
from atelier_desk.workspace.processes.process import SUPERVISED

FOLDERS = "atelier-commands-"
"""What the names of the folders of commands begin with, in the system's folder for temporary files."""
Kind = Literal["reading", "workspace", "network", "none"]
"""What a command is kept in, from the strictest on; ``none`` is no sandbox."""

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/opt", "/nix", "/run/current-system", "/proc", "/dev")
"""What programs need to run; ``/proc`` of other processes and devices are kept out by Landlock and by their own rights."""
NOWHERE = ("/dev/null", "/dev/zero", "/dev/full")
"""Files that may be written: nothing stays in them."""
DEVICES = ("/dev/random", "/dev/urandom", "/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr")
SECRETS = (
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", "_netrc", ".git-credentials", ".npmrc", ".yarnrc.yml", ".pypirc",
    ".pgpass", ".my.cnf", ".s3cfg", ".boto", ".vault-token", ".terraform.d", ".password-store", ".electrum", ".bitcoin", ".mozilla",
    ".thunderbird", ".bash_history", ".zsh_history", ".python_history", ".psql_history", ".mysql_history", ".node_repl_history",
    ".claude", ".claude.json", ".codex", ".gemini", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials",
    ".m2/settings.xml", ".gradle/gradle.properties", ".config/gh", ".config/hub", ".config/glab-cli", ".config/gcloud",
    ".config/git/credentials", ".config/op", ".config/rclone", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware",
    ".config/microsoft-edge", ".config/atelier", ".local/share/atelier", ".local/share/keyrings", ".local/share/kwalletd",
    ".local/share/gnome-keyring", ".local/state/atelier", ".cache/mozilla", ".cache/google-chrome", ".cache/chromium",
)  # fmt: skip
"""Below the home folder: keys, passwords, sessions and what was typed. Nothing of it can be read in the sandbox."""
_CLOSED = ("/dev", "/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/sudoers.d", "/run/user", "/run/secrets", "/var/run/secrets")
KEPT = (".git/hooks", ".git/config", ".gitmodules")
"""Below a workspace: what a sandboxed command cannot change where the system can hold it; elsewhere it is put back (see ``kept``)."""


def available() -> bool:
    """Whether commands can be confined on this system."""
    return SUPERVISED and (confine.available() or seatbelt.available())


def means() -> str:
    """What confines commands on this system, by its name; empty for nothing."""
    if not available():
        return ""
    return "sandbox-exec" if seatbelt.available() else f"Landlock {confine.abi()} + seccomp"


def reading(root: Path, *, everything: bool = False, masked: Iterable[Path] = (), temporary: Path | None = None) -> dict[str, Any] | None:
    """A sandbox that reads the workspace and the system's programs; None where there is no sandbox.

    Args:
        everything: it reads all files; git needs its owner's settings, and the repository may begin above the workspace.
        masked: as for ``working``.
    """
    if not available():
        return None
    empty = sorted({realpath(each) for each in masked})
    if seatbelt.available():
        read = ["/"] if everything else [*seatbelt.SYSTEM, realpath(root)]
        return {"kind": "reading", "profile": seatbelt.profile(read, ["/dev/null", "/dev/zero"], closed=empty)}
    masks = _masks(empty)
    if masks:
        masks["shared"] = masks["empty_folder"]
    return {"kind": "reading", "read": ["/"] if everything else [*SYSTEM, realpath(root)], "write": list(NOWHERE), **masks}


def working(
    roots: Sequence[Path],
    temporary: Path,
    hidden: Iterable[Path] = (),
    *,
    network: bool = False,
    shown: Iterable[Path] = (),
    read_only: Iterable[Path] = (),
    masked: Iterable[Path] = (),
    pinned: Iterable[Path] = (),
) -> dict[str, Any] | None:
    """A sandbox that writes in the workspace and in ``temporary``, and reads all but secrets; None where there is no sandbox.

    Args:
        hidden: folders besides that cannot be read: the program's own data.
        network: it may open connections.
        shown: folders that are read although they lie beside secrets, as those of skills do; without links.
        read_only: files and folders below ``roots`` that cannot be changed where the system has mounts (``has_mounts``).
        masked: files and folders in whose place the command sees an empty one. They need mounts: without them it does not start.
        pinned: folders below ``roots`` that keep their names and places, and are written as before; they need mounts.
    """
    if not available():
        return None
    home = Path.home()
    closed = {realpath(path) for path in [*map(Path, _CLOSED), *(home / name for name in SECRETS), *hidden]}
    written = [realpath(root) for root in roots]
    (temporary / "shm").mkdir(parents=True, exist_ok=True, mode=0o700)
    kind = "network" if network else "workspace"
    keep = [path for root in written for name in KEPT if os.path.lexists(path := f"{root}/{name}")]
    keep += [path for each in read_only if os.path.exists(path := realpath(each)) and path not in keep]  # noqa: PTH110
    empty = sorted({realpath(each) for each in masked})
    closed |= {realpath(_nothing())} if empty else set()
    # What a command can write it could put a link in the place of.
    opened = [str(each) for each in shown if not _below(each, written) or _below(each, closed)]
    if seatbelt.available():
        # Devices are left to the rights of their files.
        limits = seatbelt.profile(
            ["/"],
            [*written, "/dev/null", "/dev/zero"],
            keep=keep,
            closed=sorted({*closed, *empty} - {"/dev"}),
            own=[realpath(temporary)],
            shown=opened,
            network=network,
        )
        return {"kind": kind, "roots": written, "profile": limits}
    return {
        "kind": kind,
        "works": True,
        "network": network,
        "roots": written,
        "read": [*_without("/", closed), *DEVICES, *opened],
        "write": [*(found for root in written for found in _without(root, closed)), realpath(temporary), *NOWHERE],
        "keep": keep,
        "pinned": sorted({realpath(each) for each in pinned}),
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


@cache
def has_mounts() -> bool:
    """Whether a command gets a view of the disk of its own, in which files can be masked and made read-only. Tried once in a process of its
    own; some 50 ms."""
    if not available() or sys.platform != "linux":
        return False
    tried = subprocess.run((sys.executable, "-I", "-S", confine.__file__), stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return tried.returncode == 0


def _below(path: Path, folders: Iterable[str]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _without(path: str, closed: set[str]) -> list[str]:
    """The folders and files that together hold all of ``path`` but what is closed.

    Links are left out where something is closed beside them: what they lead to is there under its own name, or closed.
    """
    below = {each for each in closed if each == path or each.startswith(path.rstrip("/") + "/")}
    if path in below or any(path.startswith(each.rstrip("/") + "/") for each in closed):
        return []
    if not any(os.path.lexists(each) for each in below):
        return [path]
    try:
        names = sorted(os.listdir(path))  # noqa: PTH208 (plain names: there may be thousands)
    except OSError:
        return []
    inner = (os.path.join(path, name) for name in names)  # noqa: PTH118
    return [found for each in inner if not os.path.islink(each) for found in _without(each, below)]  # noqa: PTH114
