"""The permission profiles in words, for the window and the terminal alike: what agents may do without asking.

The names that are stored (``ApprovalMode``) are older and stay; people read and write the names here.
"""

from __future__ import annotations

from dataclasses import dataclass

from atelier_desk.domain.agent import ApprovalMode
from atelier_desk.support.i18n import N_


@dataclass(frozen=True, slots=True)
class Profile:
    """One profile.

    Attributes:
        name: how it is written on the command line.
        title, allows: what it is called and, in a sentence, what it allows; both to be translated.
        icon: its icon of the theme.
        risky: whether it is marked wherever it is shown, because hardly anything is asked about.
    """

    mode: ApprovalMode
    name: str
    title: str
    allows: str
    icon: str
    risky: bool = False


PROFILES = (
    Profile(ApprovalMode.PLAN, "plan", N_("Plan"), N_("Reads only; what would change something is refused."), "eye"),
    Profile(ApprovalMode.SELECTIVE, "ask", N_("Ask"), N_("Asks before it changes files, runs commands or starts agents."), "shield"),
    Profile(ApprovalMode.EDIT, "edit", N_("Edit"), N_("Also edits files in your folders and runs harmless commands."), "pencil"),
    Profile(
        ApprovalMode.AUTO,
        "free",
        N_("Free"),
        N_("Asks only about protected files, installs, repaired arguments, unknown commands."),
        "triangle-alert",
        risky=True,
    ),
)
"""The four to choose from, in this order. See docs/permissions.md."""
ASK_ALL = Profile(
    ApprovalMode.MANUAL, "ask-all", N_("Ask every time"), N_("Asks before every call, unless the settings allow low risks."), "shield"
)
"""A stricter Ask, for an agent that is not trusted with anything; offered in forms, and where it is in force."""
ALL = (*PROFILES[:2], ASK_ALL, *PROFILES[2:])
NAMES = tuple(profile.name for profile in ALL)
_BY_MODE = {profile.mode: profile for profile in ALL}
_BY_NAME = {profile.name: profile for profile in ALL}


def profile_of(mode: ApprovalMode) -> Profile:
    """The profile that a stored mode is."""
    return _BY_MODE[mode]


def mode_of(name: str) -> ApprovalMode:
    """The stored mode of a profile's name, one of ``NAMES``."""
    return _BY_NAME[name].mode
