"""Google's Gemini API, and compatible servers."""

from __future__ import annotations

from atelier_desk.domain.image_limits import USUAL
from atelier_desk.llm.provider_type_registry import ProviderType, register, server
from atelier_desk.support.i18n import N_

register(
    ProviderType(
        kind="google",
        title=N_("Google Gemini"),
        name="Google Gemini",
        create=server("atelier_desk.llm.google.provider", "GoogleProvider"),
        order=26,
        url="https://generativelanguage.googleapis.com/v1beta",
        model="gemini-3.5-flash",
        needs_key=True,
        embeds=True,
        models_key="models",
        # Google's page on image understanding: PNG, JPEG, WebP, HEIC and HEIF, no GIF; 7 MB per image in a request.
        pictures=USUAL,
    )
)
