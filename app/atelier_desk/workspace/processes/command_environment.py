"""Environment of a command: only allowed variables, and programs from outside the workspace."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from shutil import which

from atelier_desk.workspace.commands.link_resolution import inside

ALLOWED = (
    "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LC_NUMERIC", "LC_TIME", "LC_COLLATE", "TZ",
    "TMPDIR",
    "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "JAVA_HOME", "CARGO_HOME", "RUSTUP_HOME",
    "GOPATH", "GOROOT",
    "PYENV_ROOT", "NVM_DIR", "VOLTA_HOME", "DOTNET_ROOT", "ANDROID_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES",
)  # fmt: skip
"""Variables that are passed on: places and languages.

All others may contain secrets, above all tokens, or make a program load code (``GIT_*``, ``LD_*``, ``PYTHON*``,
``NODE_OPTIONS``, ``BASH_ENV``, ``EDITOR``).
"""
PROXIES = tuple(
    each for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY") for each in (name, name.lower())
)
"""Passed on if they contain no user name and password."""
FIXED = {"TERM": "dumb", "PAGER": "cat", "PYTHONUNBUFFERED": "1", "NO_COLOR": "1"}
SYSTEM_FOLDERS = (
    "/usr/bin",
    "/bin",
    "/usr/sbin",
    "/sbin",
    "/usr/local/bin",
    "/opt/homebrew/bin",
    "/opt/local/bin",
    "/run/current-system/sw/bin",
)
"""Folders of programs that run unasked.

A version manager's programs read files of the current folder (CVE-2022-35861).
"""


def environment(root: Path | None) -> dict[str, str]:
    """Return the environment of a command in a workspace."""
    variables = {name: os.environ[name] for name in ALLOWED if name in os.environ}
    variables |= {
        name: os.environ[name] for name in PROXIES if "@" not in os.environ.get(name, "@")
    }  # also excludes ``name:password@host``
    return {**variables, **FIXED, "PATH": path(root)}


def path(root: Path | None) -> str:
    """Return ``PATH`` without relative and workspace folders: programs there must be named by path."""
    folders = [Path(each) for each in os.environ.get("PATH", os.defpath).split(os.pathsep) if each]
    return os.pathsep.join(
        str(each) for each in folders if each.is_absolute() and (root is None or not inside(each, root))
    )


def system_path(root: Path | None) -> str:
    """Return the system folders of that path."""
    if sys.platform == "win32":
        return path(root)
    return os.pathsep.join(each for each in SYSTEM_FOLDERS if Path(each).is_dir())


def program(name: str, folder: Path, root: Path | None, *, system: bool = False) -> str:
    """Return the absolute path of the program that a command's first word means; empty if there is none.

    A name with a slash is relative to ``folder``, others are looked up outside the workspace; ``system``: only in
    system folders.
    """
    if "/" in name or (os.sep != "/" and os.sep in name):
        named = folder / name
        return str(named) if named.is_file() and os.access(named, os.X_OK) else ""
    found = which(name, path=system_path(root) if system else path(root))
    return found if found and (root is None or not inside(Path(found), root)) else ""
