"""Show stored values that no version of the program wrote, such as those of an edited export, as unreadable."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from typing import TypeVar

from atelier_desk.support.i18n import _

T = TypeVar("T")
log = logging.getLogger(__name__)
MISSHAPEN = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What a value of a wrong type, shape or size raises where it is used."""


def unreadable() -> str:
    """Return the sentence that stands for an unreadable value."""
    return _("This cannot be displayed: its stored data is not in a known format.")


def readable(make: Callable[[], T], otherwise: Callable[[], T]) -> T:
    """Return what ``make`` makes of stored values, or ``otherwise`` if they cannot be read; the log says why."""
    try:
        return make()
    except MISSHAPEN:
        # As text: a traceback would keep the widgets of its frames alive.
        log.warning("Stored data that cannot be displayed: %s", traceback.format_exc(limit=-3))
    return otherwise()
