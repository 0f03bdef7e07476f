"""Text about the result of a provider's connection test."""

from __future__ import annotations

from atelier_desk.domain.provider import ProviderHealth
from atelier_desk.support.i18n import N_, _


def problem_text(health: ProviderHealth, between: str = " ") -> str:
    """What went wrong, then in quotation marks what the server or the system said of it."""
    if not health.detail:
        return health.message
    said = N_("Server message: “{text}”") if health.status is not None else N_("Details: “{text}”")
    return f"{health.message}{between}{_(said, text=health.detail)}"
