"""Limits on a reply with tool calls in text."""

from typing import Final

CALL_CHARACTERS: Final = 1_000_000
"""Maximum characters of one call's arguments."""
CALL_DEPTH: Final = 64
"""Maximum nesting of one call's arguments."""
CALLS: Final = 32
"""Maximum calls per reply; the next one becomes an error, all others are dropped."""
REPAIR_BYTES: Final = 16_384
"""Maximum bytes of arguments to repair: json_repair takes 50 ms for this, and 0.5 s for 100 kB."""
