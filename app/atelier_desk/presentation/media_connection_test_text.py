"""Text of a connection test of an image or 3D model service."""

from __future__ import annotations

from typing import TYPE_CHECKING

from babel.numbers import format_decimal

from atelier_desk.support.i18n import _, language

if TYPE_CHECKING:
    from atelier_desk.engine.services.media import MediaTrial


def connection_test_text(what: str, model: str, found: MediaTrial) -> str:
    """Result of a test; ``what`` is ``images`` or ``models``, ``model`` the image model."""
    if what == "images":
        if found.known is None:
            return _(
                "The service answers but does not list its models, so it is unknown whether {model} is available.",
                model=model,
            )
        return (
            _("The service answers and offers {model}.", model=model)
            if found.known
            else _("The service answers but does not list the model {model}.", model=model)
        )
    if found.balance is None:
        return _("The service answered and accepted the key.")
    return _(
        "The service answered and accepted the key. Credits left: {count}.",
        count=format_decimal(found.balance, locale=language()),
    )
