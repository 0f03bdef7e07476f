"""List prices of hosted models with the date of verification; users can edit them for every model.

The tables are in ``llm/provider_kinds``. A model in none of them has no known price, rather than a wrong one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple


class Prices(NamedTuple):
    """US dollars per million tokens; ``checked`` is the ISO date of comparison with the price page."""

    input: float
    output: float
    checked: str = ""


_DATE = r"(-\d{4}-\d{2}-\d{2})?$"


def price_of(table: Iterable[tuple[str, Prices]], name: str) -> Prices | None:
    """Return the list price of a model by bare name, with or without a trailing date; None if unknown.

    A pattern must match the whole name (lower case, without owner).
    """
    return next((prices for pattern, prices in table if re.match(f"(?:{pattern}){_DATE}", name)), None)
