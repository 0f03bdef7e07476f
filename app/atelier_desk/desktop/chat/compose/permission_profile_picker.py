"""The control for the permission profile, in the composer."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QPushButton, QWidget

from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import bind, bind_text
from atelier_desk.desktop.widgets.picker import Picker, PickerItem
from atelier_desk.presentation.permission_profiles import ALL, Profile
from atelier_desk.support.i18n import _

_ICON = 14
"""Icon size in pixels at 100 %."""
WORDS = 12
"""Letters that a picker of the composer shows at least: a single word is never elided."""


def profile_choices() -> list[PickerItem]:
    """All profiles, the strictest first."""
    marks = (("triangle-alert", _("use with care")),)
    return [PickerItem(one.name, _(one.title), detail=_(one.allows), marks=marks if one.risky else ()) for one in ALL]


class ProfilePicker(Picker):
    """``profile-select``: the permission profile of the workflow in view, highlighted if it asks for little.

    ``chosen`` carries the profile's name.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("profile-select")
        self.letters = WORDS
        self._profile: Profile | None = None
        bind(self._show)
        self.show_profile(None)

    def show_profile(self, profile: Profile | None) -> None:
        """Show this profile; None hides the picker."""
        self._profile = profile
        self.setVisible(profile is not None)
        self._show()

    def _show(self) -> None:
        if (profile := self._profile) is None:
            return
        _apply_style(self, profile)
        self.set_choices(profile_choices(), profile.name)
        bind_text(
            self, tip=lambda: _tool_tip(profile), name=lambda: _("Permissions: {profile}", profile=_(profile.title))
        )


def _apply_style(button: QPushButton, profile: Profile) -> None:
    style = theme()
    mark(button, "picker-warn" if profile.risky else "picker")
    button.setIcon(style.icon(profile.icon, "warn" if profile.risky else "muted", _ICON))
    button.setIconSize(QSize(style.px(_ICON), style.px(_ICON)))


def _tool_tip(profile: Profile) -> str:
    holds = _("A stricter profile applies at once, a less strict one from your next message.")
    return "\n".join((_("{name}: {text}", name=_(profile.title), text=_(profile.allows)), holds))
