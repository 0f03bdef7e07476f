"""Checks of what people type that every service shares; each error says what is allowed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from atelier_desk.domain import limits
from atelier_desk.domain.errors import AtelierError, LimitError, UsageError
from atelier_desk.domain.ids import is_id
from atelier_desk.storage.repositories.base import some
from atelier_desk.support import number_format
from atelier_desk.support.i18n import N_
from atelier_desk.tools import argument_text

M = TypeVar("M", bound=BaseModel)


def page(limit: int | None, offset: int = 0, *, most: int | None = limits.LIST_MAX) -> None:
    """Refuse a ``limit`` or an ``offset`` of a list that is out of bounds (1–``most``, 0 or more); None: any number, and all."""
    if most is None:
        some(limit, 0)
    elif limit is None or not 1 <= limit <= most:
        raise LimitError(N_("limit must be between 1 and {most}, not {limit}."), most=most, limit=limit)
    if offset < 0:
        raise LimitError(N_("offset must be 0 or more, not {offset}."), offset=offset)


def text(value: str, what: str, most: int) -> str:
    """``value`` without surrounding space, refused when it is blank or longer than ``most`` characters; ``what`` names the field."""
    stripped = value.strip()
    if not stripped:
        raise UsageError(N_("{field} must not be blank."), field=what)
    if len(stripped) > most:
        raise LimitError(
            N_("{field} is {length} characters long; at most {most} are allowed."), field=what, length=len(stripped), most=most
        )
    return stripped


def identifier(value: str, what: str) -> None:
    """Refuse an identifier that Atelier never gives. One from a file names rows, and folders too; ``what`` names the file."""
    if not is_id(value):
        raise UsageError(
            N_("{what} has the identifier {id}; an identifier is 24 or 32 hexadecimal digits in lower case."),
            code="invalid",
            what=what,
            id=value[:80],
        )


def explain(error: ValidationError) -> str:
    """A pydantic error as one line for a person: each field, what was wrong with it and, for texts and numbers, what it was."""
    parts: list[str] = []
    for item in error.errors(include_url=False):
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
    return "; ".join(parts)


class Problems(AtelierError):
    """What a validation found, as a value of an error: in English as ``explain`` has it, for people in their language."""

    def __init__(self, error: ValidationError) -> None:
        super().__init__("{problems}", code="invalid", problems=explain(error))
        self._error = error

    def localized(self, translate: Callable[..., str]) -> str:
        return argument_text.explain(self._error, number=number_format.number).removesuffix(".")


def build(model: type[M], what: str, /, **fields: object) -> M:
    """``model(**fields)``, with a validation error turned into a ``UsageError`` that names ``what`` and each wrong field."""
    try:
        return model(**fields)
    except ValidationError as error:
        raise UsageError(N_("{what} is not valid: {problems}"), code="invalid", what=what, problems=Problems(error)) from None


def changed(value: M, what: str, /, **fields: object) -> M:
    """A copy of ``value`` with ``fields`` replaced, validated again (``model_copy`` alone would not)."""
    unknown = sorted(set(fields) - set(type(value).model_fields))
    if unknown:
        raise UsageError(N_("{what} has no field {names}."), what=what, names=", ".join(unknown))
    data = {name: getattr(value, name) for name in type(value).model_fields}
    return build(type(value), what, **{**data, **fields})


def inside(model: object, what: str, path: str, value: object) -> object:
    """A copy of ``model`` with the field at the dotted ``path`` replaced, validated again; an empty path is the value itself."""
    if not path:
        return value
    name, _dot, rest = path.partition(".")
    if not isinstance(model, BaseModel):
        raise UsageError(N_("{what} has no field {names}."), what=what, names=path)
    return changed(model, what, **{name: inside(getattr(model, name, None), what, rest, value)})


def importable(source: str | bytes, what: str, most: int = limits.IMPORT_FILE) -> None:
    """Refuse what is longer than a file that can be imported."""
    size = len(source.encode("utf-8", "surrogatepass")) if isinstance(source, str) else len(source)
    if size > most:
        raise LimitError(
            N_("{what} is {size} MB; at most {most} MB can be imported."), what=what, size=round(size / 1048576, 1), most=most // 1048576
        )


def parse_json(model: type[M], source: str | bytes, what: str, most: int = limits.IMPORT_FILE) -> M:
    """``source`` read as JSON of ``model``; refused when it is too long, is not JSON, or does not fit."""
    importable(source, what, most)
    try:
        return model.model_validate_json(source)
    except ValidationError as error:
        raise UsageError(N_("{what} is not valid: {problems}"), code="invalid", what=what, problems=Problems(error)) from None
