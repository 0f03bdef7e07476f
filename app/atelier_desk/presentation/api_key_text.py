"""Text about the state of a provider's key."""

from __future__ import annotations

from atelier_desk.domain.provider import KeyState
from atelier_desk.support.i18n import N_, _

_STATES = {
    KeyState.NONE: "",
    KeyState.SAVED: N_("key saved"),
    KeyState.SESSION: N_("key kept until Atelier closes"),
    KeyState.VARIABLE: N_("key in ${variable}"),
    KeyState.UNSET: N_("${variable} is not set"),
    KeyState.REQUIRED: N_("API key required"),
}
MISSING = frozenset({KeyState.UNSET, KeyState.REQUIRED})
"""The provider cannot be used until a key is entered."""


def shortcut_text(state: KeyState, variable: str) -> str:
    """Short state of a key, empty where none is needed; ``variable`` holds the key, if any."""
    return _(_STATES[state], variable=variable)
