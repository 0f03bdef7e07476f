"""Check whether a desktop can be opened, without Qt, which aborts without a display.

Imports nothing of Atelier. On Linux the shared libraries of the Qt package are opened with the dynamic
loader, which reports a missing system library as an ordinary error, and the display is contacted with the
client library that the Qt plugin uses.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from atelier_desk.support.i18n import N_

SCREENLESS = frozenset({"offscreen", "minimal", "vnc", "linuxfb", "eglfs", "minimalegl", "vkkhrdisplay"})
"""Qt platforms that need no X or Wayland display (``QT_QPA_PLATFORM``)."""
_PLUGINS = {"xcb": "libqxcb.so", "wayland": "libqwayland.so"}


class Problem(NamedTuple):
    """Why no window can be opened.

    ``code`` is ``no_qt``, ``library`` or ``no_display``; the sentence is English, to be translated.
    """

    code: str
    template: str
    params: dict[str, str]


def desktop_problem(environ: Mapping[str, str] | None = None) -> Problem | None:
    """What prevents a window from opening; None when nothing does."""
    environ = os.environ if environ is None else environ
    folder = qt_folder()
    if folder is None:
        return Problem(
            "no_qt",
            N_("PySide6, the GUI toolkit, is not installed. Install it with: pip install PySide6-Essentials"),
            {},
        )
    if not sys.platform.startswith("linux"):
        return None
    wanted = environ.get("QT_QPA_PLATFORM", "").split(";")[0].split(":")[0]
    platforms = [wanted] if wanted else _named(environ)
    if not platforms:
        return Problem("no_display", N_("There is no display (neither DISPLAY nor WAYLAND_DISPLAY is set)."), {})
    library = missing_library(folder, platforms[0])
    if library is not None:
        return Problem(
            "library",
            N_(
                "A system library needed to show windows is missing: {library}. Install it with your "
                "system's package manager."
            ),
            {"library": library},
        )
    if any(platform in SCREENLESS or _answers(platform) for platform in platforms):
        return None
    return Problem(
        "no_display",
        N_("The display {display} does not answer."),
        {"display": environ.get("WAYLAND_DISPLAY") or environ.get("DISPLAY", "")},
    )


def qt_folder() -> Path | None:
    """The folder of the installed Qt package, found without importing it, or None."""
    found = importlib.util.find_spec("PySide6")
    if found is None or not found.submodule_search_locations:
        return None
    return Path(next(iter(found.submodule_search_locations)))


def missing_library(folder: Path, platform: str = "") -> str | None:
    """A missing library of Qt's widgets and the platform's plugin; None when all are there.

    An empty ``platform`` checks the widgets alone.
    """
    wanted = [folder / "Qt" / "lib" / "libQt6Widgets.so.6"]
    if platform:
        wanted.append(
            folder / "Qt" / "plugins" / "platforms" / _PLUGINS.get(platform.split("-")[0], f"libq{platform}.so")
        )
    for path in wanted:
        if not path.exists():
            continue
        try:
            ctypes.CDLL(str(path))
        except OSError as error:
            return str(error).partition(":")[0]
    return None


def _named(environ: Mapping[str, str]) -> list[str]:
    """The platforms named in the environment, in the order Qt tries them."""
    platforms = ["wayland"] if environ.get("WAYLAND_DISPLAY") else []
    return platforms + (["xcb"] if environ.get("DISPLAY") else [])


def _answers(platform: str) -> bool:
    """Whether a display server answers; the client libraries were found before."""
    try:
        return _wayland_answers() if platform.startswith("wayland") else _x_answers()
    except (OSError, AttributeError):
        return False


def _x_answers() -> bool:
    xcb = ctypes.CDLL("libxcb.so.1")
    xcb.xcb_connect.restype = ctypes.c_void_p
    xcb.xcb_connection_has_error.argtypes = [ctypes.c_void_p]
    xcb.xcb_disconnect.argtypes = [ctypes.c_void_p]
    connection = xcb.xcb_connect(None, None)
    if not connection:
        return False
    failed = xcb.xcb_connection_has_error(connection)
    xcb.xcb_disconnect(connection)
    return not failed


def _wayland_answers() -> bool:
    wayland = ctypes.CDLL("libwayland-client.so.0")
    wayland.wl_display_connect.restype = ctypes.c_void_p
    wayland.wl_display_disconnect.argtypes = [ctypes.c_void_p]
    display = wayland.wl_display_connect(None)
    if not display:
        return False
    wayland.wl_display_disconnect(display)
    return True


def qt_version() -> str:
    """Version of PySide6, imported in a separate process: a broken library would end this one.

    Raises:
        ImportError: names the missing library.
    """
    import PySide6.QtWidgets

    return PySide6.__version__


if __name__ == "__main__":
    from atelier_desk.support.worker.child import serve

    serve(lambda _request, _data, _tell: qt_version())
