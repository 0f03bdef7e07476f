"""Desktop integration: tray icon, global shortcut for quick ask, notifications with buttons."""

from __future__ import annotations

import sys

from PySide6.QtGui import QKeySequence, QShowEvent

from atelier_desk.desktop.main_window.action_registry import refusal, registry_of
from atelier_desk.desktop.settings.declarative_page import RowsPage, Section
from atelier_desk.desktop.settings.fields import Toggle
from atelier_desk.desktop.settings.registry import settings_page
from atelier_desk.desktop.settings.setting_rows_and_footer import Row
from atelier_desk.desktop.settings.shortcut_field import KeyField
from atelier_desk.desktop.system.global_shortcut import KeyState
from atelier_desk.desktop.system.linux_notifications import REPLY
from atelier_desk.desktop.system.notifications_tray_shortcut import SystemLink, system_link
from atelier_desk.desktop.system.tray_icon import there_is_a_tray
from atelier_desk.desktop.widgets import bind_text
from atelier_desk.desktop.widgets.language_theme_bindings import made, text_of
from atelier_desk.domain.settings import Settings
from atelier_desk.support.i18n import N_, _

COMMAND = "atelier quick"
WAYS = {
    "portal": N_("Registered with your desktop: {keys}. Change it in the desktop's keyboard settings."),
    "windows": N_("Registered in Windows: {keys}. Other programs cannot use this shortcut."),
}


def tray_words() -> str:
    """What the icon does, or why there is none."""
    if there_is_a_tray():
        return _(
            "Click the icon to open the “Quick ask” window. The icon's menu can show the window, start a "
            "workflow or quit Atelier."
        )
    return _("This desktop has no notification area: the icon cannot be shown here.")


def shortcut_text(state: KeyState, keys: str) -> str:
    """How the shortcut is registered, or why it is not."""
    match state.kind:
        case "off":
            return _("Off: no system-wide shortcut.")
        case "asking":
            return _("Registering {keys}… Your desktop may ask for confirmation.", keys=keys)
        case "held":
            return _(WAYS[state.way], keys=state.shown or keys)
        case "taken":
            return _(
                "{keys} is used by another program. Choose another shortcut, or free this one in that program and "
                "try again.",
                keys=keys,
            )
        case "refused":
            return text_of(state.reason)
        case _:
            return _("Not available here. {reason}", reason=text_of(state.reason))


def answer_text(link: SystemLink | None) -> str:
    """What this desktop's notifications support."""
    if link is None or (can := link.notifications.capabilities) is None:
        reason = text_of(link.notifications.reason) if link is not None else ""
        words = _("Not available here: click a notification to open the request and answer it there.")
        return " ".join(filter(None, (words, reason)))
    if "actions" not in can:
        return _("Notifications have no buttons on this desktop; answer in the window.")
    words = _(
        "Buttons let you allow or reject a call, or choose an option. High-risk calls can be allowed "
        "only in the window."
    )
    return " ".join((words, _("You can type a short answer in the notification."))) if REPLY in can else words


@settings_page("quick", order=11, icon="zap", title=N_("Desktop"), part_of="general")
class QuickPage(RowsPage):
    """``tray-icon``; ``quick-key-on``, ``shortcut-quick-key``, ``quick-key-again``, ``quick-command``;
    ``notification-answers``.
    """

    sections = (
        Section(N_("Notification area"), Toggle("tray", N_("Icon in the notification area"), tray_words, "tray-icon")),
    )

    def build(self) -> None:
        self._keys = Settings().quick_key
        self._link: SystemLink | None = None
        super().build()
        on = Toggle(
            "quick_key_on",
            N_("Quick ask shortcut"),
            N_("Opens the “Quick ask” window from any program."),
            "quick-key-on",
        )
        self._card = self.add(Section(N_("System-wide shortcut"), on))
        self.field = KeyField("quick-key", N_("Quick ask from any program"), self)
        self.field.recorded.connect(self._recorded)
        self.field.reset_requested.connect(lambda: self.store("quick_key", Settings().quick_key))
        self._key_row = self.row(self._card, self.field, N_("Shortcut"), self._key_words)
        self.again = self.button("quick-key-again", N_("Try again"), self._again)
        self.button_row(self._card, self.again)
        self._card.body.addSpacing(8)
        words = N_(
            "If no shortcut can be registered, assign one to the command below in your system's keyboard "
            "settings. The command opens the “Quick ask” window and starts Atelier if needed."
        )
        self.add_text(self._card, words, look="small")
        self.command = self.add_text(self._card, self.command_line, "quick-command", look="mono", copied=True)
        bind_text(self.command, name=N_("Quick ask command"))
        self.copy = self.button("quick-command-copy", N_("Copy"), lambda: self.copy_text(self.command_line()))
        self.button_row(self._card, self.copy)
        answers = Toggle(
            "notification_answers",
            N_("Answer in notifications"),
            lambda: answer_text(self._link),
            "notification-answers",
        )
        self._answers = self.add(Section(N_("Notifications"), answers))

    def showEvent(self, event: QShowEvent) -> None:
        """Subscribe to the window's desktop link, which is known once the page has its window."""
        super().showEvent(event)
        if self._link is None and (link := system_link(self)) is not None:
            self._link = link
            link.shortcut.changed.connect(self._update_states)
            link.notifications.changed.connect(self._update_states)
        self._update_states()

    def show_settings(self, settings: Settings) -> None:
        super().show_settings(settings)
        self._keys = settings.quick_key
        self.field.show_keys(QKeySequence(self._keys), self._keys == Settings().quick_key)
        self.field.setEnabled(settings.quick_key_on)
        self._update_states()

    @staticmethod
    def command_line() -> str:
        """The command line as it works for this installation."""
        return COMMAND if not getattr(sys, "frozen", False) else f'"{sys.executable}" quick'

    @property
    def _state(self) -> KeyState:
        return self._link.shortcut.state if self._link is not None else KeyState()

    def _key_words(self) -> str:
        return shortcut_text(self._state, QKeySequence(self._keys).toString(QKeySequence.SequenceFormat.NativeText))

    def _update_states(self) -> None:
        """Update what depends on the system."""
        self._key_row.set_texts(N_("Shortcut"), self._key_words)
        for row in self._answers.findChildren(Row):
            row.set_texts(N_("Answer in notifications"), lambda: answer_text(self._link))
        self.again.setVisible(self._state.kind in ("taken", "refused", "missing"))

    def _recorded(self, keys: QKeySequence) -> None:
        """Set the recorded keys, or show in the row why they are refused; none disables the shortcut."""
        if why := refusal(keys, registry_of(self), "quick-ask"):
            self._key_row.set_texts(N_("Shortcut"), made(why))
        elif keys.isEmpty():
            self.store("quick_key_on", False)
        else:
            self.store("quick_key", keys.toString(QKeySequence.SequenceFormat.PortableText))

    def _again(self) -> None:
        if self._link is not None:
            self._link.shortcut.again()
