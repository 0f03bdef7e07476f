"""List prices of hosted models, each with the day it was checked: a starting point that the user can edit for every model.

The tables stand with the kinds of servers, in ``llm/providers``. A model that is in none has no known price, rather than a wrong one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple


class Prices(NamedTuple):
    """US dollars for a million tokens; ``checked`` is the ISO date the numbers were compared with the price page."""

    input: float
    output: float
    checked: str = ""


_DATE = r"(-\d{4}-\d{2}-\d{2})?$"


def price_of(table: Iterable[tuple[str, Prices]], name: str) -> Prices | None:
    """The list price of a hosted model by its bare name, with or without a date at its end; None when it is not known.

    A pattern of the table must match the whole name (lower case, without owner).
    """
    return next((prices for pattern, prices in table if re.match(f"(?:{pattern}){_DATE}", name)), None)
