"""Check the shared libraries that Qt needs on Linux, name the packages of missing ones, and install them where
possible.

``--install``: install what is missing when running as root on Debian or Ubuntu; elsewhere the command is printed.
``--screen``: also check the virtual display that tests and screenshots use.

The status is 0 unless ``--strict`` is given, because Atelier's command line works without these libraries.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple


class Library(NamedTuple):
    """A shared library and its packages on Debian (also Ubuntu), Fedora and Arch."""

    soname: str
    apt: str
    dnf: str
    pacman: str


CORE = (
    Library("libglib-2.0.so.0", "libglib2.0-0", "glib2", "glib2"),
    Library("libGL.so.1", "libgl1", "libglvnd-glx", "libglvnd"),
    Library("libEGL.so.1", "libegl1", "libglvnd-egl", "libglvnd"),
    Library("libxkbcommon.so.0", "libxkbcommon0", "libxkbcommon", "libxkbcommon"),
    Library("libfontconfig.so.1", "libfontconfig1", "fontconfig", "fontconfig"),
    Library("libfreetype.so.6", "libfreetype6", "freetype", "freetype2"),
    Library("libdbus-1.so.3", "libdbus-1-3", "dbus-libs", "dbus"),
)
"""Libraries that importing Qt's widgets needs, even without a display."""

DISPLAY = (
    Library("libX11-xcb.so.1", "libx11-xcb1", "libX11-xcb", "libx11"),
    Library("libxcb-cursor.so.0", "libxcb-cursor0", "xcb-util-cursor", "xcb-util-cursor"),
    Library("libxcb-icccm.so.4", "libxcb-icccm4", "xcb-util-wm", "xcb-util-wm"),
    Library("libxcb-image.so.0", "libxcb-image0", "xcb-util-image", "xcb-util-image"),
    Library("libxcb-keysyms.so.1", "libxcb-keysyms1", "xcb-util-keysyms", "xcb-util-keysyms"),
    Library("libxcb-render-util.so.0", "libxcb-render-util0", "xcb-util-renderutil", "xcb-util-renderutil"),
    Library("libxcb-randr.so.0", "libxcb-randr0", "libxcb", "libxcb"),
    Library("libxcb-shape.so.0", "libxcb-shape0", "libxcb", "libxcb"),
    Library("libxcb-sync.so.1", "libxcb-sync1", "libxcb", "libxcb"),
    Library("libxcb-xfixes.so.0", "libxcb-xfixes0", "libxcb", "libxcb"),
    Library("libxcb-xkb.so.1", "libxcb-xkb1", "libxcb", "libxcb"),
    Library("libxkbcommon-x11.so.0", "libxkbcommon-x11-0", "libxkbcommon-x11", "libxkbcommon-x11"),
)
"""Further libraries that a window on X11 needs."""

SCREEN_PROGRAMS = {
    "Xvfb": ("xvfb", "xorg-x11-server-Xvfb", "xorg-server-xvfb"),
    "xauth": ("xauth", "xorg-x11-xauth", "xorg-xauth"),
}
"""Programs of the virtual display, with their packages."""

APT_TIMEOUT_S = 600


def loads(soname: str) -> bool:
    """Whether the dynamic linker finds and can load a library."""
    try:
        ctypes.CDLL(soname)
    except OSError:
        return False
    return True


def missing_libraries(present: Callable[[str], bool] = loads) -> list[Library]:
    """The libraries that cannot be loaded; none on systems where Qt includes all it needs (macOS, Windows)."""
    if not sys.platform.startswith("linux"):
        return []
    return [library for library in CORE + DISPLAY if not present(library.soname)]


def missing_programs() -> list[str]:
    return [name for name in SCREEN_PROGRAMS if shutil.which(name) is None]


def commands(libraries: Sequence[Library], programs: Sequence[str]) -> dict[str, str]:
    """The exact command for each package manager, Debian's first."""
    packages = {
        "Debian, Ubuntu": (
            "apt-get install -y",
            [x.apt for x in libraries] + [SCREEN_PROGRAMS[p][0] for p in programs],
        ),
        "Fedora": ("dnf install", [x.dnf for x in libraries] + [SCREEN_PROGRAMS[p][1] for p in programs]),
        "Arch": ("pacman -S", [x.pacman for x in libraries] + [SCREEN_PROGRAMS[p][2] for p in programs]),
    }
    return {system: f"{install} {' '.join(dict.fromkeys(names))}" for system, (install, names) in packages.items()}


def can_apt_install() -> bool:
    """Whether this is root on a Debian-like system, so that packages can be installed without a password."""
    return sys.platform.startswith("linux") and os.geteuid() == 0 and shutil.which("apt-get") is not None


def apt_install(packages: Sequence[str]) -> bool:
    """Install Debian packages without prompts; when that fails, refresh the package lists once and try again."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-y", "--no-install-recommends", *dict.fromkeys(packages)]
    for command in (install, ["apt-get", "update"], install):
        print(" ".join(command), flush=True)
        try:
            done = subprocess.run(
                command, env=environment, stderr=subprocess.PIPE, text=True, check=False, timeout=APT_TIMEOUT_S
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            print(f"apt-get did not finish: {error}", file=sys.stderr)
            return False
        if command is install and done.returncode == 0:
            return True
    print(f"apt-get could not install them: {done.stderr.strip()}", file=sys.stderr)
    return False


def report(libraries: Sequence[Library], programs: Sequence[str]) -> None:
    names = [x.soname for x in libraries] + list(programs)
    print(
        (
            f"Missing for the desktop: {', '.join(names)}. Without them Atelier works in the terminal only. To install "
            f"them:"
        ),
        file=sys.stderr,
    )
    for system, command in commands(libraries, programs).items():
        print(f"  {system}: {command}", file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--install", action="store_true")
    parser.add_argument("--screen", action="store_true")
    parser.add_argument("--strict", action="store_true", help="status 1 when something is still missing at the end")
    options = parser.parse_args(arguments)
    libraries, programs = missing_libraries(), missing_programs() if options.screen else []
    if (libraries or programs) and options.install and can_apt_install():
        apt_install([x.apt for x in libraries] + [SCREEN_PROGRAMS[p][0] for p in programs])
        # A new process checks again: the linker of this one remembers failures.
        screen = ["--screen"] if options.screen else []
        again = subprocess.run([sys.executable, str(Path(__file__)), *screen, "--strict"], check=False)
        return again.returncode if options.strict else 0
    if libraries or programs:
        report(libraries, programs)
    return int(options.strict and bool(libraries or programs))


if __name__ == "__main__":
    sys.exit(main())
