"""Caps on what one reply with tool calls in text may hold."""

from typing import Final

CALL_CHARACTERS: Final = 1_000_000
"""Most characters of one call's arguments."""
CALL_DEPTH: Final = 64
"""Deepest nesting of one call's arguments."""
CALLS: Final = 32
"""Most calls in one reply; the call after that becomes an error, all others are dropped."""
REPAIR_BYTES: Final = 16_384
"""Longest argument text that is mended: json_repair takes 50 ms for this much and half a second for 100 kB."""
