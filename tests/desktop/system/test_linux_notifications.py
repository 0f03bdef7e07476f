"""Notifications over a real session bus, answered by a fake server."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator

import pytest

from atelier_desk.desktop.system.dbus_session import SessionBus
from atelier_desk.desktop.system.linux_notifications import DesktopNotifications
from atelier_desk.desktop.system.notification import Action, Notice
from atelier_desk.desktop.widgets.language_theme_bindings import text_of
from atelier_desk.support import i18n
from tests.desktop.system.conftest import until
from tests.helpers.fake_dbus_services import FakeNotifications


class NotificationHarness:
    """A server, our client, and the actions performed."""

    def __init__(self, *capabilities: str) -> None:
        self.server = FakeNotifications(*capabilities)
        self.bus = SessionBus()
        self.ours = DesktopNotifications(self.bus)
        self.done: list[str] = []

    async def start(self) -> NotificationHarness:
        await self.server.start()
        self.ours.start()
        await until(lambda: self.ours.there or self.ours.reason)
        return self

    def notice(self, about: str = "q1") -> Notice:
        def does(what: str) -> Action:
            return Action(what.title(), lambda: self.done.append(what))

        written = lambda text: self.done.append(f"wrote {text}")  # noqa: E731
        return Notice(
            "Ada has a question",
            "Use <b>5</b> & more?",
            lambda: self.done.append("open"),
            about,
            (does("yes"), does("no")),
            written,
        )

    async def show(self, about: str = "q1") -> int:
        before = len(self.server.calls("Notify"))
        self.ours.show(self.notice(about), lambda: self.done.append("tray"))
        await until(lambda: len(self.server.calls("Notify")) > before)
        await self.ours.jobs.settled()
        return self.server.shown[-1][0]


@pytest.fixture
async def harness(daemon: subprocess.Popen[bytes]) -> AsyncIterator[NotificationHarness]:
    made = await NotificationHarness("actions", "body", "body-markup", "inline-reply").start()
    yield made
    made.bus.close()
    await made.server.stop()


async def test_a_notification_has_buttons_a_field_and_escaped_text(harness: NotificationHarness) -> None:
    await harness.show()
    name, replaces, _icon, title, text, actions, hints, _expires = harness.server.calls("Notify")[0]
    assert (name, replaces, title, text) == ("Atelier", 0, "Ada has a question", "Use &lt;b&gt;5&lt;/b&gt; &amp; more?")
    assert actions == ["default", "Open", "0", "Yes", "1", "No", "inline-reply", "Answer"]
    assert hints["x-kde-reply-placeholder-text"] == ("s", "Your answer")


@pytest.mark.parametrize(("key", "done"), [("0", "yes"), ("1", "no"), ("default", "open")])
async def test_a_button_and_a_click_act_once(harness: NotificationHarness, key: str, done: str) -> None:
    number = await harness.show()
    await harness.server.press(number, key)
    await harness.server.press(number, key)
    await until(lambda: harness.done and not harness.server.shown)
    await harness.show("q2")  # what was sent before has arrived
    assert harness.done == [done]


async def test_a_reply_is_received(harness: NotificationHarness) -> None:
    number = await harness.show()
    await harness.server.reply(number, "été")
    await until(lambda: harness.done)
    assert harness.done == ["wrote été"]


async def test_notifications_are_withdrawn_also_when_settled_in_between(harness: NotificationHarness) -> None:
    await harness.show("q1")
    await harness.show("q2")
    harness.ours.wanted = lambda about: about == "q2"
    harness.ours.tidy()
    await until(lambda: [values[0] for values in harness.server.calls("CloseNotification")] == [7])
    harness.ours.show(harness.notice("q3"), lambda: None)
    await until(
        lambda: [number for number, _values in harness.server.shown] == [8] and len(harness.server.calls("Notify")) == 3
    )
    harness.ours.stop()
    await until(lambda: not harness.server.shown)


async def test_another_program_cannot_answer_instead_of_the_desktop(harness: NotificationHarness) -> None:
    number = await harness.show()
    stranger = FakeNotifications()
    stranger.name = "org.example.Stranger"
    await stranger.start()
    await stranger.emit(stranger.path, FakeNotifications.name, "ActionInvoked", "us", number, "0")
    await stranger.stop()
    await harness.server.press(number, "1")
    await until(lambda: harness.done)
    assert harness.done == ["no"]


async def test_a_server_without_buttons_or_markup_gets_plain_text(daemon: subprocess.Popen[bytes]) -> None:
    harness = await NotificationHarness("body").start()
    await harness.show()
    assert harness.server.calls("Notify")[0][4:6] == ("Use <b>5</b> & more?", [])
    harness.bus.close()
    await harness.server.stop()


async def test_if_the_server_disappears_the_tray_is_used(harness: NotificationHarness) -> None:
    await harness.server.stop()
    harness.ours.show(harness.notice(), lambda: harness.done.append("tray"))
    await until(lambda: harness.done)
    assert harness.done == ["tray"]
    assert not harness.ours.there
    assert harness.ours.reason
    await harness.server.start()


async def test_without_a_server_or_a_bus_the_reason_is_given(
    daemon: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = DesktopNotifications(SessionBus())
    ours.start()
    await until(lambda: ours.reason)
    assert not ours.there
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS")
    alone = DesktopNotifications(SessionBus())
    alone.start()
    await until(lambda: alone.reason)
    assert alone.reason == "No D-Bus session is running here."
    i18n.set_language("fr")
    assert "D-Bus" in text_of(alone.reason) != alone.reason, "it follows the language"


async def test_a_bus_that_ends_is_noticed(harness: NotificationHarness, daemon: subprocess.Popen[bytes]) -> None:
    await harness.show()
    daemon.kill()
    await until(lambda: not harness.ours.there)
    assert harness.ours.reason == "The D-Bus session has ended."
