"""The macOS sandbox: a command's limits as a profile for ``sandbox-exec`` (sandbox-exec(1)), whose format Apple does
not document.

The content follows the profiles of Chromium and similar programs. The text depends only on the limits; whether this
machine enforces it is tested once before it is relied on.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from functools import cache
from os.path import realpath
from pathlib import Path

PROGRAM = "/usr/bin/sandbox-exec"
SYSTEM = (
    "/usr", "/bin", "/sbin", "/opt", "/nix", "/dev", "/System", "/Library", "/Applications", "/private/etc",
    "/private/var/db",
    "/private/var/select", "/private/var/run/resolv.conf",
)  # fmt: skip
"""Paths that programs need to run, links resolved: the names that the sandbox compares."""
TRIED_S = 5.0
_BASE = """\
(version 1)
(deny default)
(allow process-exec)
(allow process-fork)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow user-preference-read)
(allow ipc-posix-sem)
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))
(allow file-read-metadata)
(allow file-read-data (literal "/"))
(allow file-ioctl (literal "/dev/null") (literal "/dev/tty"))
"""
_NETWORK = """\
(allow network*)
(allow system-socket)
(allow mach-lookup (global-name "com.apple.dnssd.service") (global-name "com.apple.SystemConfiguration.configd")
 (global-name "com.apple.SystemConfiguration.DNSConfiguration") (global-name "com.apple.trustd.agent"))
"""


def profile(
    read: Iterable[str],
    write: Iterable[str],
    *,
    keep: Iterable[str] = (),
    closed: Iterable[str] = (),
    own: Iterable[str] = (),
    shown: Iterable[str] = (),
    network: bool = False,
) -> str:
    """Return the profile of a command. Paths are absolute and without links; of two matching rules the later one
    applies.

    Args:
        read, write: folders and files with everything below; writable ones are readable.
        keep: read-only, even below ``write``.
        closed: neither readable nor writable, even below these.
        own: readable and writable wherever it lies.
        shown: readable wherever it lies.
    """
    written = list(dict.fromkeys(write))
    lines = [_BASE, _rule("allow", "file-read*", [*read, *written]), _rule("allow", "file-write*", written)]
    lines += [_rule("deny", "file-write*", keep), _rule("deny", "file-read* file-write*", closed)]
    lines += [_rule("allow", "file-read* file-write*", own), _rule("allow", "file-read*", shown)]
    return "".join([*lines, _NETWORK if network else ""])


def _rule(action: str, operations: str, paths: Iterable[str]) -> str:
    filters = "".join(f"\n (subpath {_quoted(path)})" for path in dict.fromkeys(paths))
    return f"({action} {operations}{filters})\n" if filters else ""


def _quoted(path: str) -> str:
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'


@cache
def available() -> bool:
    """Whether this is macOS with a sandbox that enforces a profile: a test command may write in one folder and not in
    the other.

    Tested once, in a tenth of a second.
    """
    if sys.platform != "darwin" or not os.access(PROGRAM, os.X_OK):
        return False
    with tempfile.TemporaryDirectory() as made:
        folder = Path(realpath(made))
        inside, outside = folder / "in", folder / "out"
        inside.mkdir()
        limits = profile(SYSTEM, [str(inside), "/dev/null"])
        tries = [
            subprocess.run(
                (PROGRAM, "-p", limits, "/usr/bin/touch", str(each)), timeout=TRIED_S, capture_output=True, check=False
            ).returncode
            == 0
            for each in (inside / "a", outside)
        ]
        return tries == [True, False] and not outside.exists()
