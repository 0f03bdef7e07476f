"""Notifications of a Linux desktop, with buttons and a reply field if its server supports them.

Signatures: Desktop Notifications Specification 1.3 (specifications.freedesktop.org/notification-spec),
``Notify(susssasa{sv}i) → u``, ``GetCapabilities() → as``, ``CloseNotification(u)``, ``ActionInvoked(us)``,
``ActivationToken(us)``, ``NotificationClosed(uu)``. The field is Plasma's extension (plasma-workspace,
``libnotificationmanager/dbus/org.freedesktop.Notifications.xml``): capability and action ``inline-reply``, hints
``x-kde-reply-placeholder-text`` and ``x-kde-reply-submit-button-text``, ``NotificationReplied(us)``.
"""

from __future__ import annotations

import html
import os
from collections.abc import Callable

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QGuiApplication

from atelier_desk.desktop.bridge.jobs import Jobs
from atelier_desk.desktop.system.dbus_session import BusError, Call, Incoming, SessionBus
from atelier_desk.desktop.system.notification import Notice
from atelier_desk.desktop.widgets.language_theme_bindings import sentence
from atelier_desk.support.i18n import N_, _

SERVICE, PATH = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"
CLICK, REPLY = "default", "inline-reply"
SERVER_DECIDES = -1
"""``expire_timeout``: the display time is the user's own setting."""


class DesktopNotifications(QObject):
    """Shows and withdraws notifications, and runs their callbacks.

    ``changed``: ``capabilities`` or ``reason`` changed.

    Attributes:
        capabilities: of the server; None if unknown or without a server, for the reason in ``reason``.
    """

    changed = Signal()

    def __init__(self, bus: SessionBus, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.capabilities: frozenset[str] | None = None
        self.reason = ""
        self.jobs = Jobs(self, self._failed)
        self._bus = bus
        self._owner = ""
        self._listening = False
        self._shown: dict[int, Notice] = {}
        self.wanted: Callable[[str], bool] = lambda _about: True
        bus.lost = lambda: self._failed(sentence(N_("The D-Bus session has ended.")))

    def start(self) -> None:
        """Query the server's capabilities, without waiting."""
        self.jobs.start(self._ask(), "ask")

    @property
    def there(self) -> bool:
        return self.capabilities is not None

    def show(self, notice: Notice, otherwise: Callable[[], object]) -> None:
        self.jobs.start(self._show(notice, otherwise))

    def tidy(self) -> None:
        for number, notice in list(self._shown.items()):
            if notice.about and not self.wanted(notice.about):
                self._close(number)

    def stop(self) -> None:
        """The program ends: no answer could be handled any more."""
        for number in list(self._shown):
            self._close(number)

    async def _ask(self) -> None:
        try:
            await self._bus.connect()
            if not self._listening:
                await self._bus.listen(SERVICE, self._on_signal)
                self._listening = True
            answer = await self._bus.call(Call(SERVICE, PATH, SERVICE, "GetCapabilities"))
        except BusError as error:
            self._failed(error.reason)
            return
        if answer.sender != self._owner:
            self._owner = answer.sender
            self._shown.clear()  # another server, with its own numbers
        self.capabilities, self.reason = frozenset(answer.body[0]), ""
        self.changed.emit()

    async def _show(self, notice: Notice, otherwise: Callable[[], object]) -> None:
        """Query the server each time: it may have been replaced."""
        await self._ask()
        can = self.capabilities
        if can is None:
            otherwise()
            return
        actions: list[str] = []
        hints = {"desktop-entry": ("s", QGuiApplication.desktopFileName())}
        if "actions" in can:
            actions = [CLICK, _("Open")]
            for number, action in enumerate(notice.actions):
                actions += [str(number), action.label]
            if notice.reply is not None and REPLY in can:
                actions += [REPLY, _("Answer")]
                hints |= {
                    "x-kde-reply-placeholder-text": ("s", _("Your answer")),
                    "x-kde-reply-submit-button-text": ("s", _("Send")),
                }
        body = html.escape(notice.text, quote=False) if "body-markup" in can else notice.text
        call = Call(SERVICE, PATH, SERVICE, "Notify", "susssasa{sv}i")
        try:
            arguments = ("Atelier", 0, hints["desktop-entry"][1], notice.title, body, actions, hints, SERVER_DECIDES)
            answer = await self._bus.call(call, *arguments)
        except BusError:
            otherwise()
            return
        self._shown[answer.body[0]] = notice
        self.tidy()  # it may have been answered meanwhile

    def _close(self, number: int) -> None:
        del self._shown[number]
        self._bus.send(Call(SERVICE, PATH, SERVICE, "CloseNotification", "u"), number)

    def _on_signal(self, signal: Incoming) -> None:
        notice = self._shown.get(signal.body[0]) if signal.body else None
        if notice is None or signal.sender != self._owner:
            return
        value = signal.body[1]
        match signal.member:
            case "NotificationClosed":
                del self._shown[signal.body[0]]
            case "ActivationToken":
                os.environ["XDG_ACTIVATION_TOKEN"] = value  # Qt uses it when it activates the next window
            case "NotificationReplied" if notice.reply is not None:
                self._close(signal.body[0])
                notice.reply(value)
            case "ActionInvoked" if value == CLICK:
                self._close(signal.body[0])
                notice.open()
            case "ActionInvoked" if value.isdecimal() and int(value) < len(notice.actions):
                self._close(signal.body[0])
                notice.actions[int(value)].run()

    def _failed(self, reason: str) -> None:
        self.capabilities, self.reason = None, reason
        self._listening = self._listening and self._bus.open
        self._shown.clear()
        self.changed.emit()
