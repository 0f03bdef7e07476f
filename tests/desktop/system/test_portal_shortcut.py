"""A global shortcut by the desktop portal, over a real session bus."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator

import pytest

from atelier_desk.desktop.system.dbus_session import SessionBus
from atelier_desk.desktop.system.global_shortcut import GlobalShortcut, KeyState
from atelier_desk.desktop.system.portal_shortcut import PortalKey
from atelier_desk.desktop.widgets.language_theme_bindings import text_of
from atelier_desk.support import i18n
from tests.desktop.system.conftest import until
from tests.helpers.fake_dbus_services import FakePortal


class PortalHarness:
    """A portal and the shortcut of a window."""

    def __init__(self, portal: FakePortal) -> None:
        self.portal = portal
        self.bus = SessionBus()
        self.shortcut = GlobalShortcut([("portal", PortalKey(self.bus))])
        self.pressed = 0
        self.shortcut.pressed.connect(self._count)

    def _count(self) -> None:
        self.pressed += 1

    async def ask(self, keys: str = "Ctrl+Alt+Space") -> KeyState:
        self.shortcut.follow(True, keys)
        await self.shortcut.jobs.settled()
        return self.shortcut.state


@pytest.fixture
async def harness(daemon: subprocess.Popen[bytes]) -> AsyncIterator[PortalHarness]:
    made = PortalHarness(FakePortal())
    await made.portal.start()
    yield made
    made.shortcut.release()
    made.bus.close()
    await made.portal.stop()


async def test_the_desktops_own_name_of_the_key_is_shown(harness: PortalHarness) -> None:
    assert await harness.ask() == KeyState("held", "portal", "Press <Control><Alt>space")
    assert [method for method, _values in harness.portal.called] == [
        "Register",
        "Get",
        "CreateSession",
        "BindShortcuts",
    ]
    [(_session, [(name, about)], _parent, _options)] = harness.portal.calls("BindShortcuts")
    assert (name, about["preferred_trigger"]) == ("quick-ask", ("s", "CTRL+ALT+space"))


async def test_a_press_is_signalled_for_our_session_only(harness: PortalHarness) -> None:
    await harness.ask()
    await harness.portal.press(f"{harness.portal.session}0")
    await harness.portal.press()
    await until(lambda: harness.pressed)
    assert harness.pressed == 1


async def test_another_key_is_another_session_and_off_closes_it(harness: PortalHarness) -> None:
    await harness.ask()
    await harness.ask("Meta+Shift+F5")
    assert [values[1][0][1]["preferred_trigger"][1] for values in harness.portal.calls("BindShortcuts")] == [
        "CTRL+ALT+space",
        "SHIFT+LOGO+F5",
    ]
    harness.shortcut.follow(False, "Meta+Shift+F5")
    await harness.shortcut.jobs.settled()
    assert harness.shortcut.state == KeyState()
    await until(lambda: len(harness.portal.calls("Close")) == 2)
    assert len(harness.portal.calls("Register")) == 1


async def test_the_desktop_changes_and_revokes_the_key(harness: PortalHarness) -> None:
    await harness.ask()
    await harness.portal.change("Meta+Q")
    await until(lambda: harness.shortcut.state.shown == "Meta+Q")
    await harness.portal.close_session()
    await until(lambda: harness.shortcut.state.kind == "refused")


@pytest.mark.parametrize(("response", "words"), [(1, "declined"), (2, "did not grant")])
async def test_a_refusal_is_reported(harness: PortalHarness, response: int, words: str) -> None:
    harness.portal.response = response
    state = await harness.ask()
    assert state.kind == "refused"
    assert words in state.reason
    i18n.set_language("fr")
    assert text_of(state.reason) != state.reason, "it follows the language"
    harness.portal.response = 0
    harness.shortcut.again()
    await harness.shortcut.jobs.settled()
    assert harness.shortcut.state.kind == "held"


async def test_an_open_dialog_can_be_cancelled(harness: PortalHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    async def waits(*_: object) -> None:
        """The user has not decided."""

    monkeypatch.setattr(harness.portal, "after_BindShortcuts", waits)
    harness.shortcut.follow(True, "Ctrl+Alt+Space")
    await until(lambda: harness.portal.calls("BindShortcuts"))
    assert harness.shortcut.state.kind == "asking"
    harness.shortcut.follow(False, "Ctrl+Alt+Space")
    await harness.shortcut.jobs.settled()
    assert harness.shortcut.state == KeyState()
    await until(lambda: len(harness.portal.calls("Close")) == 2)  # the request's dialog, and the session


async def test_without_the_portal_the_reason_is_given(daemon: subprocess.Popen[bytes]) -> None:
    alone = PortalHarness(FakePortal())
    state = await alone.ask()
    assert state == KeyState("missing", reason="This desktop's portal does not support global shortcuts.")
    alone.bus.close()
