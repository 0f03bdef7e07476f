"""Problems of a pydantic validation as an error value, for programs in English and for people in their language."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from pydantic import ValidationError

from atelier_desk.domain.errors import AtelierError
from atelier_desk.presentation import argument_error_text
from atelier_desk.support import locale_format
from atelier_desk.support.i18n import N_


def explain(error: ValidationError, *, values: bool = True) -> str:
    """Return a pydantic error in one line for a person.

    Each field, the problem and, with ``values``, texts and numbers that were refused; at most
    ``argument_error_text.MOST`` problems.
    """
    parts: list[str] = []
    found = error.errors(include_url=False)
    for item in found[: argument_error_text.MOST]:
        where = ".".join(str(step) for step in item["loc"]) or "value"
        given = item.get("input") if values else None
        if isinstance(given, str) and len(given) > 40:
            shown = f" ({len(given)} characters)"
        elif isinstance(given, (str, int, float, bool)):
            shown = f" ({given!r})"
        else:
            shown = ""
        message = item["msg"].removeprefix("Value error, ")
        parts.append(f"{where}: {message}{shown}")
    if len(found) > len(parts):
        parts.append(f"… ({len(found)})")
    return "; ".join(parts)


FIELD_TITLES = {"name": N_("Name"), "kind": N_("Kind"), "base_url": N_("Address"), "url": N_("Address")}
"""As the forms of the window name these fields."""


class Problems(AtelierError):
    """Problems of a validation as an error value: in English as in ``explain``, for people in their language.

    Args:
        titles: ``N_`` texts that people know some fields by.
        values: whether the English text quotes refused values; not those that may be secrets.
    """

    def __init__(
        self, error: ValidationError, titles: Mapping[str, str] = MappingProxyType({}), *, values: bool = True
    ) -> None:
        super().__init__("{problems}", code="invalid", problems=explain(error, values=values))
        self._error, self._titles = error, titles

    def localized(self, translate: Callable[..., str]) -> str:
        found = argument_error_text.explain(self._error, number=locale_format.number, titles=self._titles)
        return found.removesuffix(".")
