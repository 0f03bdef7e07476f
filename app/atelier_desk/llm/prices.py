"""List prices of hosted models, each with the day it was checked: a starting point that the user can edit for every model.

Source of the numbers: the makers' public price pages, mistral.ai/pricing and openai.com/api/pricing. A model that is not here has no known
price, rather than a wrong one.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from atelier_desk.domain.provider import ProviderKind


class Prices(NamedTuple):
    """US dollars for a million tokens; ``checked`` is the ISO date the numbers were compared with the price page."""

    input: float
    output: float
    checked: str = ""


_DATE = r"(-\d{4}-\d{2}-\d{2})?$"

# The pattern must match the whole name (lower case, without owner).
_MISTRAL = (
    (r"mistral-large-(latest|2512)", Prices(0.5, 1.5, "2026-06-09")),
    (r"mistral-large-(2407|2411)", Prices(2.0, 6.0, "2025-07-04")),
    (r"mistral-medium-(latest|3[-.]5)", Prices(1.5, 7.5, "2026-08-24")),
    (r"mistral-medium-(2505|2508)", Prices(0.4, 2.0, "2026-08-24")),
    (r"mistral-small-(latest|2603)", Prices(0.15, 0.6, "2026-06-09")),
    (r"mistral-small-(2501|2503|2506)", Prices(0.1, 0.3, "2025-07-04")),
    (r"magistral-medium-\w+", Prices(2.0, 5.0, "2025-08-12")),
    (r"magistral-small-\w+", Prices(0.5, 1.5, "2025-08-12")),
    (r"codestral-(latest|2501|2508)", Prices(0.3, 0.9, "2026-06-09")),
    (r"devstral-2512", Prices(0.4, 2.0, "2026-06-09")),
    (r"ministral-14b-(latest|2512)", Prices(0.2, 0.2, "2026-06-09")),
    (r"ministral-8b-(latest|2512)", Prices(0.15, 0.15, "2026-08-24")),
    (r"ministral-8b-2410", Prices(0.1, 0.1, "2026-08-24")),
    (r"ministral-3b-(latest|2512)", Prices(0.1, 0.1, "2026-06-09")),
    (r"open-mistral-nemo(-\d+)?", Prices(0.15, 0.15, "2025-07-04")),
    (r"mistral-embed(-\d+)?", Prices(0.1, 0.0, "2025-07-04")),
)
_OPENAI = (
    (r"gpt-5(\.1)?(-chat-latest|-codex)?", Prices(1.25, 10.0, "2025-11-13")),
    (r"gpt-5-mini", Prices(0.25, 2.0, "2025-11-13")),
    (r"gpt-5-nano", Prices(0.05, 0.4, "2025-11-13")),
    (r"gpt-4\.1", Prices(2.0, 8.0, "2025-07-04")),
    (r"gpt-4\.1-mini", Prices(0.4, 1.6, "2025-07-04")),
    (r"gpt-4\.1-nano", Prices(0.1, 0.4, "2025-07-04")),
    (r"gpt-4o", Prices(2.5, 10.0, "2025-07-04")),
    (r"gpt-4o-mini", Prices(0.15, 0.6, "2025-07-04")),
    (r"o3", Prices(2.0, 8.0, "2025-07-04")),
    (r"o[34]-mini", Prices(1.1, 4.4, "2025-07-04")),
    (r"text-embedding-3-small", Prices(0.02, 0.0, "2025-07-04")),
    (r"text-embedding-3-large", Prices(0.13, 0.0, "2025-07-04")),
)
_TABLES = {ProviderKind.MISTRAL: _MISTRAL, ProviderKind.OPENAI: _OPENAI}


def price_of(kind: ProviderKind, name: str) -> Prices | None:
    """The list price of a hosted model by its bare name, with or without a date at its end; None when it is not known."""
    table = _TABLES.get(kind, ())
    return next((prices for pattern, prices in table if re.match(f"(?:{pattern}){_DATE}", name)), None)
