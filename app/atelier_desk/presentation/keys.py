"""How a provider's key stands, in a person's words, for the window and the command line."""

from __future__ import annotations

from atelier_desk.domain.provider import KeyState
from atelier_desk.support.i18n import N_, _

_STATES = {
    KeyState.NONE: "",
    KeyState.SAVED: N_("key saved"),
    KeyState.SESSION: N_("key known until Atelier closes"),
    KeyState.VARIABLE: N_("key in ${variable}"),
    KeyState.UNSET: N_("${variable} is not set"),
    KeyState.REQUIRED: N_("API key required"),
}
MISSING = frozenset({KeyState.UNSET, KeyState.REQUIRED})
"""Nothing can be asked of the provider before a person does something."""


def shortcut_text(state: KeyState, variable: str) -> str:
    """The state in a few words, empty where no key is needed; ``variable`` is the name of the one that holds it, if any."""
    return _(_STATES[state], variable=variable)
