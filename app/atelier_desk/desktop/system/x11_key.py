"""A key by X11: a passive grab on the root window (``XGrabKey``), over a connection of our own by python-xlib."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Any

from PySide6.QtGui import QGuiApplication

from atelier_desk.desktop.system.keys import Keys
from atelier_desk.desktop.system.ways import KeyTaken, NotHere, Refused
from atelier_desk.i18n import _

CTRL, ALT, SHIFT, LOGO = 4, 8, 1, 64
"""Masks of X11's modifiers: Control, Mod1, Shift, Mod4."""
LOCKS = (0, 2, 16, 2 | 16)
"""A grab holds for exactly one state of the modifiers: Caps Lock (Lock) and Num Lock (Mod2) must not make the key another one."""


class X11Key:
    """One key of one X server. Its connection is made in a thread and read in the window's loop, which never waits for it."""

    def __init__(self) -> None:
        self.pressed: Callable[[], object] = lambda: None
        self.changed: Callable[[str], object] = lambda _text: None
        self._display: Any = None

    async def hold(self, keys: Keys) -> str:
        self.release()
        if QGuiApplication.platformName() != "xcb":
            raise NotHere(_("The screen is not an X11 screen."))
        if os.environ.get("WAYLAND_DISPLAY"):
            raise NotHere(_("Under Wayland only the desktop's portal can give a program a key."))
        taking = asyncio.get_running_loop().run_in_executor(None, _take, keys)
        try:
            there = self._display = await asyncio.shield(taking)
        except asyncio.CancelledError:
            taking.add_done_callback(lambda done: None if done.exception() is not None else done.result().close())
            raise
        asyncio.get_running_loop().add_reader(there.fileno(), self._read)
        self._read()  # what came while the key was taken was read with the answers
        return ""

    def release(self) -> None:
        there, self._display = self._display, None
        if there is not None:
            from Xlib import error

            try:
                asyncio.get_event_loop().remove_reader(there.fileno())
                there.close()  # the server gives back all grabs of a connection that ends
            except (error.ConnectionClosedError, OSError, RuntimeError):
                pass

    def _read(self) -> None:
        from Xlib import X, error

        try:
            while self._display is not None and self._display.pending_events():
                if self._display.next_event().type == X.KeyPress:
                    self.pressed()
        except (error.ConnectionClosedError, OSError):
            self.release()
            self.changed("")


def _take(keys: Keys) -> Any:
    """In a thread, because a server may be slow: a connection that holds the key."""
    from Xlib import XK, X, display, error

    there: Any = None
    try:
        there = display.Display()
        there.set_error_handler(lambda *_: None)
        code = there.keysym_to_keycode(XK.string_to_keysym(keys.keysym)) if keys.keysym else 0
        if not code:
            raise Refused(_("This key is not on the keyboard."))
        masks = {"Ctrl": CTRL, "Alt": ALT, "Shift": SHIFT, "Meta": LOGO}
        held, taken = sum(masks[name] for name in keys.held), error.CatchError(error.BadAccess)
        for lock in LOCKS:
            there.screen().root.grab_key(code, held | lock, True, X.GrabModeAsync, X.GrabModeAsync, onerror=taken)
        there.sync()
        if taken.get_error() is not None:
            raise KeyTaken
    except (error.DisplayError, error.ConnectionClosedError, error.XauthError, OSError) as why:
        raise NotHere(_("The X11 server does not answer ({error}).", error=why)) from None
    except (Refused, KeyTaken):
        there.close()
        raise
    return there
