"""Hypothesis strategies for every stored domain model, with any content its fields allow."""

from __future__ import annotations

import types
from datetime import UTC, datetime
from enum import Enum
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import annotated_types
from hypothesis import strategies as st
from pydantic.fields import FieldInfo

from atelier_desk.domain.base_model import Model
from atelier_desk.domain.question import QuestionOption, QuestionSpec, QuestionType

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**80), 2**80) | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
TIMES = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59), timezones=st.just(UTC))
IDS = st.text("0123456789abcdef", min_size=32, max_size=32) | TEXT.filter(bool)

OPTIONS = st.builds(QuestionOption, id=IDS, label=TEXT.map(lambda text: f"l{text}"))
SPECS = st.builds(
    QuestionSpec,
    question=TEXT.map(lambda text: f"{text}?"),
    question_type=st.sampled_from([QuestionType.CHECKBOX, QuestionType.MIXED]),
    options=st.lists(OPTIONS, min_size=1, max_size=3, unique_by=lambda option: option.id).map(tuple),
    context=TEXT,
)


def models(model: type[Model], **overrides: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Instances of a model; ``overrides`` are for fields whose type does not express their constraint."""
    fields = {
        name: overrides[name] if name in overrides else _field(name, info) for name, info in model.model_fields.items()
    }
    return st.builds(model, **fields)


def _field(name: str, info: FieldInfo) -> st.SearchStrategy[Any]:
    bounds = {type(item): item for item in info.metadata}
    if name.endswith("_id") or name == "id":
        if info.annotation is str:
            return IDS if info.is_required() or name == "id" else IDS | st.just("")
        return st.none() | IDS
    return _type(info.annotation, bounds)


def _type(kind: Any, bounds: dict[type, Any]) -> st.SearchStrategy[Any]:
    origin = get_origin(kind)
    if origin is Annotated:
        return _type(get_args(kind)[0], bounds)
    if origin in (Union, types.UnionType):
        return st.one_of(*(st.none() if each is type(None) else _type(each, bounds) for each in get_args(kind)))
    if origin is tuple:
        return st.lists(_type(get_args(kind)[0], {}), max_size=3).map(tuple)
    if origin is dict:
        return st.dictionaries(TEXT, _type(get_args(kind)[1], {}), max_size=3)
    if origin is Literal:
        return st.sampled_from(get_args(kind))
    if kind in (Any, object):
        return JSON
    if kind is str:
        least = bounds.get(annotated_types.MinLen)
        return TEXT.map(lambda text: text + "x") if least else TEXT
    if kind is bool:
        return st.booleans()
    if kind is int:
        return st.integers(_least(bounds, -(2**40)), _most(bounds, 2**62))
    if kind is float:
        return st.floats(_least(bounds, -1e9), _most(bounds, 1e9), allow_nan=False)
    if kind is datetime:
        return TIMES
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from(list(kind))
    if isinstance(kind, type) and issubclass(kind, Model):
        return models(kind)
    raise AssertionError(f"no strategy for {kind}")


def _least(bounds: dict[type, Any], default: float) -> Any:
    return bounds[annotated_types.Ge].ge if annotated_types.Ge in bounds else default


def _most(bounds: dict[type, Any], default: float) -> Any:
    return bounds[annotated_types.Le].le if annotated_types.Le in bounds else default
