"""Validation errors of form fields, one by one, in the user's language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from atelier_desk.desktop.widgets.language_theme_bindings import Text, text_of
from atelier_desk.support.i18n import N_, _

_RULES = {
    "address": N_(
        "Must start with https:// or http:// followed by a host, without spaces, user name, password or query. "
        "A port must be between 1 and 65535."
    ),
    "variable": N_(
        "A variable name, such as API_KEY, may contain letters, digits and _, and may not start with a digit."
    ),
    "model": N_("Use the format provider/model, such as openai/gpt-5."),
    "long": N_("Too long."),
}
_KINDS = {"address": "address", "images": "address", "models_address": "address", "key_env": "variable",
"images_key_env": "variable",
          "models_key_env": "variable", "sees": "model"}  # fmt: skip


def validation_text(fields: Iterable[str], titles: Mapping[str, Text]) -> str:
    """The message for invalid fields, a line each; ``titles`` are their captions."""
    return "\n".join(
        _("{field}: {problem}", field=text_of(titles.get(each, each)), problem=_(_RULES[_KINDS.get(each, "long")]))
        for each in fields
    )
