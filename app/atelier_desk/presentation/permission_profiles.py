"""Permission profiles: what agents may do without approval.

The stored names (``ApprovalMode``) are older and stay; people read and type the names here.
"""

from __future__ import annotations

from dataclasses import dataclass

from atelier_desk.domain.agent import ApprovalMode
from atelier_desk.support.i18n import N_


@dataclass(frozen=True, slots=True)
class Profile:
    """A permission profile.

    Attributes:
        name: spelling on the command line.
        title, allows: its name, and a sentence about what it allows; untranslated.
        icon: its icon in the theme.
        risky: shown with a warning, because hardly anything needs approval.
    """

    mode: ApprovalMode
    name: str
    title: str
    allows: str
    icon: str
    risky: bool = False


PROFILES = (
    Profile(ApprovalMode.PLAN, "plan", N_("Plan"), N_("Only reads; every change is refused."), "eye"),
    Profile(
        ApprovalMode.SELECTIVE,
        "ask",
        N_("Ask"),
        N_("Asks before it changes files, runs commands or starts agents."),
        "shield",
    ),
    Profile(
        ApprovalMode.EDIT,
        "edit",
        N_("Edit"),
        N_("Also edits files in your folders and runs safe commands."),
        "pencil",
    ),
    Profile(
        ApprovalMode.AUTO,
        "free",
        N_("Free"),
        N_("Asks only about protected files, installations, repaired arguments and unknown commands."),
        "triangle-alert",
        risky=True,
    ),
)
"""The four profiles to choose from, in this order. See docs/permissions.md."""
ASK_ALL = Profile(
    ApprovalMode.MANUAL,
    "ask-all",
    N_("Ask every time"),
    N_("Asks before every call, unless the settings allow low-risk calls."),
    "shield",
)
"""A stricter Ask for agents that are not trusted at all.

Offered in forms, and shown where it is in force.
"""
ALL = (*PROFILES[:2], ASK_ALL, *PROFILES[2:])
NAMES = tuple(profile.name for profile in ALL)
_BY_MODE = {profile.mode: profile for profile in ALL}
_BY_NAME = {profile.name: profile for profile in ALL}


def profile_of(mode: ApprovalMode) -> Profile:
    """The profile of a stored mode."""
    return _BY_MODE[mode]


def mode_of(name: str) -> ApprovalMode:
    """The stored mode of a profile, by one of ``NAMES``."""
    return _BY_NAME[name].mode
