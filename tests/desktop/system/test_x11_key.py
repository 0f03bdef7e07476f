"""A key of a real X11 server: grabbed, pressed with Caps Lock and Num Lock on too, and refused where another program has it."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import AsyncIterator

import pytest
from PySide6.QtGui import QGuiApplication

from atelier_desk.desktop.system.keys import Keys
from atelier_desk.desktop.system.ways import KeyTaken, NotHere, Refused
from atelier_desk.desktop.system.x11_key import X11Key
from tests.desktop.system.conftest import until

Xlib = pytest.importorskip("Xlib.display", reason="python-xlib is for Linux")

KEYS = Keys.read("Ctrl+Alt+Space")


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[str]:
    """An X11 server of this process's own number; the window system of the program is said to be it."""
    program = shutil.which("Xvfb")
    if program is None:
        pytest.skip("Xvfb is not installed (Debian: apt install xvfb)")
    read, write = os.pipe()
    name = f":{1000 + os.getpid() % 50_000}"  # two servers that look for a free number at once can take the same
    arguments = [program, name, "-displayfd", str(write), "-screen", "0", "320x240x24", "-nolisten", "tcp", "-noreset"]
    process = subprocess.Popen(arguments, pass_fds=(write,), stderr=subprocess.DEVNULL)
    os.close(write)
    with os.fdopen(read) as told:  # the whole line: the server ends when nobody takes its end of it
        await asyncio.get_running_loop().run_in_executor(None, told.readline)
    monkeypatch.setenv("DISPLAY", name)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr(QGuiApplication, "platformName", staticmethod(lambda: "xcb"))
    yield name
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(5)


def press(display: str, *names: str) -> None:
    """Press keys and let go of them, as a keyboard does."""
    from Xlib import XK, X
    from Xlib.ext import xtest

    there = Xlib.Display(display)
    codes = [there.keysym_to_keycode(XK.string_to_keysym(name)) for name in names]
    for kind, order in ((X.KeyPress, codes), (X.KeyRelease, codes[::-1])):
        for code in order:
            xtest.fake_input(there, kind, code)
    there.sync()
    there.close()


async def test_it_is_told_of_its_key_whatever_is_locked(server: str) -> None:
    way, told = X11Key(), []
    way.pressed = lambda: told.append(True)
    assert await way.hold(KEYS) == ""
    press(server, "Control_L", "Alt_L", "space")
    await until(lambda: len(told) == 1)
    press(server, "Caps_Lock")
    press(server, "Control_L", "Alt_L", "space")
    await until(lambda: len(told) == 2)
    press(server, "Control_L", "space")
    press(server, "Control_L", "Alt_L", "space")
    await until(lambda: len(told) == 3)
    way.release()


async def test_a_key_of_another_program_is_taken_and_one_that_was_given_back_is_free(server: str) -> None:
    first, second = X11Key(), X11Key()
    await first.hold(KEYS)
    with pytest.raises(KeyTaken):
        await second.hold(KEYS)
    first.release()
    for _ in range(200):  # the server ends the first connection when it comes to it
        try:
            await second.hold(KEYS)
            break
        except KeyTaken:
            await asyncio.sleep(0.01)
    with pytest.raises(KeyTaken):
        await first.hold(KEYS)
    with pytest.raises(Refused):
        await first.hold(Keys.read("Ctrl+É"))
    second.release()


async def test_elsewhere_it_says_why_it_is_not_there(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    with pytest.raises(NotHere, match="Wayland"):
        await X11Key().hold(KEYS)
    monkeypatch.delenv("WAYLAND_DISPLAY")
    monkeypatch.setenv("DISPLAY", "nowhere")
    with pytest.raises(NotHere, match="does not answer"):
        await X11Key().hold(KEYS)
    monkeypatch.setattr(QGuiApplication, "platformName", staticmethod(lambda: "offscreen"))
    with pytest.raises(NotHere):
        await X11Key().hold(KEYS)
