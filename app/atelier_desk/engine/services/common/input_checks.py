"""Shared validation of user input; each error says what is allowed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from atelier_desk.domain import limits
from atelier_desk.domain.errors import AtelierError, LimitError, UsageError
from atelier_desk.domain.ids import is_id
from atelier_desk.engine.run.lone_surrogates import sanitized
from atelier_desk.presentation import argument_error_text
from atelier_desk.storage.repositories.base_repository import some
from atelier_desk.support import locale_format
from atelier_desk.support.i18n import N_

M = TypeVar("M", bound=BaseModel)


def page(limit: int | None, offset: int = 0, *, most: int | None = limits.LIST_MAX) -> None:
    """Refuse an invalid ``limit`` (1–``most``) or ``offset`` (at least 0) of a list; None: unlimited."""
    if most is None:
        some(limit, 0)
    elif limit is None or not 1 <= limit <= most:
        raise LimitError(N_("The limit must be between 1 and {most}, not {limit}."), most=most, limit=limit)
    if offset < 0:
        raise LimitError(N_("The offset must be 0 or more, not {offset}."), offset=offset)


def text(value: str, what: str, most: int) -> str:
    """Return stripped text that can be stored, refusing blank or too long ones; ``what`` names the field."""
    stripped = sanitized(value.strip())
    if not stripped:
        raise UsageError(N_("The field “{field}” must not be blank."), field=what)
    if len(stripped) > most:
        raise LimitError(
            N_("The field “{field}” has {length} characters; at most {most} are allowed."),
            field=what,
            length=len(stripped),
            most=most,
        )
    return stripped


def identifier(value: str, what: str) -> None:
    """Refuse ids that Atelier never creates.

    Those of a file become names of rows and folders. ``what`` names the file.
    """
    if not is_id(value):
        raise UsageError(
            N_(
                "The identifier {id} in the {what} is not valid: an identifier has 24 or 32 hexadecimal digits in "
                "lower case."
            ),
            code="invalid",
            what=what,
            id=value[:80],
        )


def explain(error: ValidationError) -> str:
    """Return a pydantic error in one line for a person.

    Each field, the problem and, for texts and numbers, the value; at most ``argument_error_text.MOST`` problems.
    """
    parts: list[str] = []
    found = error.errors(include_url=False)
    for item in found[: argument_error_text.MOST]:
        where = ".".join(str(step) for step in item["loc"]) or "value"
        given = item.get("input")
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


_TITLES = {"name": N_("Name"), "kind": N_("Kind"), "base_url": N_("Address"), "url": N_("Address")}
"""As the forms of the window name these fields."""


class Problems(AtelierError):
    """Problems of a validation as an error value: in English as in ``explain``, for people in their language.

    ``titles`` are ``N_`` texts that people know some fields by.
    """

    def __init__(self, error: ValidationError, titles: Mapping[str, str] = MappingProxyType({})) -> None:
        super().__init__("{problems}", code="invalid", problems=explain(error))
        self._error, self._titles = error, titles

    def localized(self, translate: Callable[..., str]) -> str:
        found = argument_error_text.explain(self._error, number=locale_format.number, titles=self._titles)
        return found.removesuffix(".")


def build(model: type[M], what: str, /, **fields: object) -> M:
    """Return ``model(**fields)``.

    Validation errors become a ``UsageError`` that names ``what`` and each wrong field.
    """
    try:
        return model(**fields)
    except ValidationError as error:
        raise UsageError(
            N_("Invalid {what}: {problems}"), code="invalid", what=what, problems=Problems(error, _TITLES)
        ) from None


def changed(value: M, what: str, /, **fields: object) -> M:
    """Return a validated copy of ``value`` with ``fields`` replaced (``model_copy`` does not validate)."""
    unknown = sorted(set(fields) - set(type(value).model_fields))
    if unknown:
        raise UsageError(N_("Unknown fields ({what}): {names}."), what=what, names=", ".join(unknown))
    data = {name: getattr(value, name) for name in type(value).model_fields}
    return build(type(value), what, **{**data, **fields})


def inside(model: object, what: str, path: str, value: object) -> object:
    """Return a validated copy of ``model`` with the field at the dotted ``path`` replaced.

    An empty path is the value itself.
    """
    if not path:
        return value
    name, _dot, rest = path.partition(".")
    if not isinstance(model, BaseModel):
        raise UsageError(N_("Unknown fields ({what}): {names}."), what=what, names=path)
    return changed(model, what, **{name: inside(getattr(model, name, None), what, rest, value)})


def importable(source: str | bytes, what: str, most: int = limits.IMPORT_FILE) -> None:
    """Refuse files too long to be imported."""
    size = len(source.encode("utf-8", "surrogatepass")) if isinstance(source, str) else len(source)
    if size > most:
        raise LimitError(
            N_("Too large to import ({what}): {size} MB; the maximum is {most} MB."),
            what=what,
            size=round(size / 1048576, 1),
            most=most // 1048576,
        )


def parse_json(model: type[M], source: str | bytes, what: str, most: int = limits.IMPORT_FILE) -> M:
    """Parse ``source`` as JSON of ``model``; refuse it if too long, not JSON, or invalid."""
    importable(source, what, most)
    try:
        return model.model_validate_json(source)
    except ValidationError as error:
        raise UsageError(
            N_("Invalid {what}: {problems}"), code="invalid", what=what, problems=Problems(error)
        ) from None
