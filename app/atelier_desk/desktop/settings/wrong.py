"""What is wrong with the fields of a form, one by one, in the reader's language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from atelier_desk.i18n import N_, _

_RULES = {
    "address": N_("Must start with https:// or http:// and a host, without spaces, user name, password or query; a port is 1 to 65535."),
    "variable": N_("A variable name contains letters, digits and _, such as API_KEY, and does not start with a digit."),
    "model": N_("Use provider/model, such as openai/gpt-5."),
    "long": N_("Too long."),
}
_KINDS = {"address": "address", "images": "address", "models_address": "address", "key_env": "variable", "images_key_env": "variable",
          "models_key_env": "variable", "sees": "model"}  # fmt: skip


def wrong_fields(model: type[BaseModel], values: Mapping[str, Any]) -> tuple[str, ...]:
    """The fields of a model that take other values than these; empty when all is well."""
    try:
        model.model_validate(values)
    except ValidationError as error:
        return tuple(dict.fromkeys(str(each["loc"][0]) for each in error.errors() if each["loc"]))
    return ()


def wrong_words(fields: Iterable[str], titles: Mapping[str, str]) -> str:
    """What to show for them, a line each; ``titles`` are English texts as the form has them."""
    return "\n".join(
        _("{field}: {problem}", field=_(titles.get(each, each)), problem=_(_RULES[_KINDS.get(each, "long")])) for each in fields
    )
