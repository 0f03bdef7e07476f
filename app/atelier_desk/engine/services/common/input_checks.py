"""Shared validation of user input; each error says what is allowed."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel, ValidationError

from atelier_desk.domain import limits
from atelier_desk.domain.errors import LimitError, UsageError
from atelier_desk.domain.ids import is_id
from atelier_desk.engine.run.lone_surrogates import sanitized
from atelier_desk.presentation.validation_problems import FIELD_TITLES, Problems
from atelier_desk.storage.repositories.base_repository import some
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


def build(model: type[M], what: str, /, **fields: object) -> M:
    """Return ``model(**fields)``.

    Validation errors become a ``UsageError`` that names ``what`` and each wrong field.
    """
    try:
        return model(**fields)
    except ValidationError as error:
        raise UsageError(
            N_("Invalid {what}: {problems}"), code="invalid", what=what, problems=Problems(error, FIELD_TITLES)
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
