"""Mistral's own API."""

from __future__ import annotations

from atelier_desk.domain.image_limits import PictureLimits
from atelier_desk.llm.prices import Prices
from atelier_desk.llm.provider_type_registry import ProviderType, register, server
from atelier_desk.support.i18n import N_

# Source: mistral.ai/pricing.
PRICES = (
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


register(
    ProviderType(
        kind="mistral",
        title=N_("Mistral"),
        name="Mistral",
        create=server("atelier_desk.llm.mistral", "MistralProvider"),
        order=20,
        url="https://api.mistral.ai/v1",
        model="mistral-small-latest",
        needs_key=True,
        embeds=True,
        prices=PRICES,
        # Mistral's vision page: 8 per request, 10 MB each.
        pictures=PictureLimits(most=8),
    )
)
