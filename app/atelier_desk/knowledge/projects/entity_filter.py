"""Filter entities by data: fields and operators from a fixed list, never statement text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from atelier_desk.domain.errors import UsageError
from atelier_desk.storage.project_graph_rows import LightRow
from atelier_desk.support.i18n import N_

FIELDS = ("id", "name", "qualified", "type", "path", "language", "start_line", "end_line", "lines", "parent")
"""Fields of a filter; ``lines`` is the number of lines of an entity."""
_NUMBERS = frozenset({"start_line", "end_line", "lines"})
OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda own, given: bool(own == given),
    "ne": lambda own, given: bool(own != given),
    "gt": lambda own, given: bool(own > given),
    "gte": lambda own, given: bool(own >= given),
    "lt": lambda own, given: bool(own < given),
    "lte": lambda own, given: bool(own <= given),
    "in": lambda own, given: own in given,
    "contains": lambda own, given: given.casefold() in own.casefold(),
    "starts_with": lambda own, given: own.casefold().startswith(given.casefold()),
    "ends_with": lambda own, given: own.casefold().endswith(given.casefold()),
}
_TEXTS = frozenset({"contains", "starts_with", "ends_with"})
NO_FIELD = N_("There is no field {name}. Fields: {known}.")
NO_OPERATOR = N_("There is no operator {name}. Operators: {known}.")
NO_VALUE = N_("{name} cannot be compared with {value} (operator {operator}).")
TOO_MANY = N_("There are {count} conditions; at most {most} are allowed.")
NO_NUMBER = N_("{name} {operator} takes a number, not {value}.")
NO_TEXT = N_("{name} {operator} takes text, not {value}.")
NO_LIST = N_("{name} {operator} takes a list, not {value}.")
_MOST = 20


def filtered(entities: Iterable[LightRow], where: Mapping[str, object], order_by: str) -> list[LightRow]:
    """Return the entities that meet all conditions, sorted (``-name`` for descending).

    Raises:
        UsageError: an unknown field or operator (the message lists the known ones), or a value that cannot be compared.
    """
    conditions = [_condition(name, wanted) for name, wanted in _flat(where)]
    field = order_by.removeprefix("-") or "path"
    _check_field(field)
    found = [each for each in entities if all(meets(each) for meets in conditions)]
    found.sort(key=lambda each: (value_of(each, field), each.path, each.start_line), reverse=order_by.startswith("-"))
    return found


def value_of(entity: LightRow, field: str) -> object:
    """Return a field of an entity."""
    if field == "lines":
        return entity.end_line - entity.start_line + 1 if entity.start_line else 0
    return getattr(entity, field)


def _flat(where: Mapping[str, object]) -> list[tuple[str, tuple[str, object]]]:
    flat = []
    for name, wanted in where.items():
        if wanted == {}:
            raise UsageError(NO_VALUE, name=name[:60], operator="eq", value="{}")
        for operator, value in (
            wanted if isinstance(wanted, Mapping) else {"in" if isinstance(wanted, list) else "eq": wanted}
        ).items():
            flat.append((name, (str(operator), value)))
    if len(flat) > _MOST:  # ignoring some would return results that do not match
        raise UsageError(TOO_MANY, count=len(flat), most=_MOST)
    return flat


def _condition(name: str, wanted: tuple[str, object]) -> Callable[[LightRow], bool]:
    _check_field(name)
    operator, given = wanted
    test = OPERATORS.get(operator)
    if test is None:
        raise UsageError(NO_OPERATOR, name=operator[:60], known=", ".join(OPERATORS))
    plain = (int, float) if name in _NUMBERS else str
    values = given if operator == "in" and isinstance(given, list) else [given]
    fits = all(isinstance(each, plain) and not isinstance(each, bool) for each in values) and len(values) <= 1_000
    if operator in _TEXTS and name in _NUMBERS:
        raise UsageError(NO_VALUE, name=name, operator=operator, value=repr(given)[:60])
    if operator == "in" and not isinstance(given, list):
        raise UsageError(NO_LIST, name=name, operator=operator, value=repr(given)[:60])
    if not fits:
        raise UsageError(
            NO_NUMBER if name in _NUMBERS else NO_TEXT, name=name, operator=operator, value=repr(given)[:60]
        )
    return lambda each: test(value_of(each, name), given)


def _check_field(name: str) -> None:
    if name not in FIELDS:
        raise UsageError(NO_FIELD, name=name[:60], known=", ".join(FIELDS))
