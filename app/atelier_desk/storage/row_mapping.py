"""Convert between domain models and rows: a ``Table`` describes how a model is stored.

Plain values and lists of strings have typed columns; times are datetimes; ids of other rows are record links; nested
values are JSON text, which alone preserves integers beyond 64 bits, nulls and absent keys exactly.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, TypeVar, get_args

from pydantic_core import PydanticSerializationError, to_jsonable_python
from pydantic_core import to_json as to_json_bytes

from atelier_desk.domain.base_model import Model, within_calendar
from atelier_desk.domain.errors import StorageError
from atelier_desk.storage import damage_report
from atelier_desk.storage.compressed_text import packed, unpacked
from atelier_desk.storage.row_hash import row_hash
from atelier_desk.storage.surrealdb_driver_loader import surrealdb

if TYPE_CHECKING:
    from surrealdb import RecordID

M = TypeVar("M", bound=Model)
HASHED_TABLES: dict[str, Table[Any]] = {}
"""By name, the tables whose rows have a hash."""


def record(table: str, key: object) -> RecordID:
    """Return the id of a record; ``key`` is a string or a list of strings."""
    made: RecordID = surrealdb().RecordID(table, key)
    return made


def rows_of_each(parameter: str, select: str) -> str:
    """Return a source for FROM: the rows of ``select`` for each value ``$each`` of an array, one after the other.

    For ``column IN $values`` the engine uses an index with up to 32 values; with more it reads the whole table: 1 s and
    270 MB of memory for 218 events of 52 runs in a database of 830 MB. This takes 0.02 s.
    """
    return f"array::flatten(array::distinct(${parameter}).map(|$each| ({select})))"


def to_json(value: object) -> str:
    """Return the JSON text of a domain value; ASCII if it contains lone surrogates, so that they survive."""
    try:
        return to_json_bytes(value, inf_nan_mode="constants").decode()
    except (PydanticSerializationError, UnicodeError):
        return json.dumps(to_jsonable_python(value, inf_nan_mode="constants"), separators=(",", ":"))


def plain_time(value: datetime) -> datetime:
    """Convert the driver's datetime (a subclass with nanoseconds) to an ordinary one in UTC, as a ``Timestamp``."""
    return within_calendar(
        datetime(
            value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond, tzinfo=UTC
        )
    )


def has_hash(table: str, row: Mapping[str, object], columns: Iterable[str]) -> bool:
    """Whether a row matches the hash of its (uncompressed) columns, or has no hash at all."""
    try:
        return row.get("hash") is None or row["hash"] == row_hash(unpacked(table, row), columns)
    except ValueError:
        return False


class Table(Generic[M]):
    """How one model is stored.

    Args:
        name: the table.
        model: the domain model.
        links: field → table it points to; the column is the field without ``_id``.
        json_fields: fields stored as JSON text.
        key: makes the record key from a model; the default is its ``id``. Then the model's key fields are ordinary
            columns too.
        extra: further columns made from the model, for search; they are not read back.
        order: computed columns that lists are sorted by; the engine requires them in the selection.
        hashed: rows have a hash, which is checked at every read. This is what an error says of one that does not match,
            an English ``N_`` text with ``{row}``, ``{workflow}`` and ``{run}``; empty: no hash. Hashed tables without
            links are a person's configuration: damaged rows of them can be discarded.
        changing: fields that are updated separately, and so are not part of the hash.
    """

    def __init__(
        self,
        name: str,
        model: type[M],
        *,
        links: Mapping[str, str] | None = None,
        json_fields: Iterable[str] = (),
        key: Callable[[M], object] | None = None,
        extra: Callable[[M], dict[str, object]] | None = None,
        order: Iterable[str] = (),
        hashed: str = "",
        changing: Iterable[str] = (),
    ) -> None:
        self.name = name
        self.model = model
        self.links = dict(links or {})
        self.json_fields = frozenset(json_fields)
        self._key = key
        self._extra = extra
        # A model's default may be written as an integer; the engine returns the type of the column.
        self._floats = {
            name for name, info in model.model_fields.items() if float in (info.annotation, *get_args(info.annotation))
        }
        self._fields = [field for field in model.model_fields if field != "id" or key is not None]
        columns = [self.column(field) for field in self._fields if field != "id"]
        self.columns = ", ".join(["id", *columns, *order, *(["hash"] if hashed else [])])
        self.hashed = ("id", *sorted(set(columns) - set(changing))) if hashed else ()
        if hashed:
            damage_report.WHERE[name, damage_report.CHANGED] = hashed
            HASHED_TABLES[name] = self
            if not self.links:
                damage_report.CONFIGURATION.append(name)

    def column(self, field: str) -> str:
        """Return the column of a field."""
        return field.removesuffix("_id") if field in self.links else field

    def record(self, key: object) -> RecordID:
        return record(self.name, key)

    def encode(self, value: M) -> dict[str, Any]:
        """Return the whole row, including its record id."""
        row = {self.column(field): self._out(field, getattr(value, field)) for field in self._fields}
        row["id"] = self.record(self._key(value) if self._key else value.id)  # type: ignore[attr-defined]
        if self._extra:
            row.update(self._extra(value))
        if self.hashed:
            row["hash"] = row_hash(row, self.hashed)
        return packed(self.name, row)

    def changes(self, fields: Mapping[str, object]) -> dict[str, object]:
        """Return columns for some fields, for ``UPDATE … MERGE``.

        Raises:
            KeyError: a field the model does not have.
        """
        unknown = set(fields) - set(self._fields)
        if unknown:
            raise KeyError(f"{self.model.__name__} has no field {', '.join(sorted(unknown))}")
        return packed(self.name, {self.column(field): self._out(field, value) for field, value in fields.items()})

    def is_intact(self, row: Mapping[str, object]) -> bool:
        """Whether a row is undamaged as far as its hash tells; one of an earlier version has none."""
        return has_hash(self.name, row, self.hashed)

    def is_readable(self, row: Mapping[str, object]) -> bool:
        """Like ``is_intact`` for a row with all columns; without a hash, whether it decodes to a model."""
        try:
            self.decode(row)
        except StorageError:
            return False
        return True

    def decode(self, row: Mapping[str, object]) -> M:
        """Return the model of a row; columns of no field are ignored.

        Raises:
            StorageError: ``damaged_row``: the row is damaged.
        """
        if self.hashed and not has_hash(self.name, row, self.hashed):
            raise damage_report.damaged_row(self.name, row)
        try:
            plain = unpacked(self.name, row)
        except ValueError as error:
            raise damage_report.damaged_row(self.name, row) from error
        try:
            return self._model(plain)
        except ValueError as error:
            if not self.hashed:
                raise
            raise damage_report.damaged_row(self.name, row) from error

    def _model(self, row: Mapping[str, Any]) -> M:
        values: dict[str, Any] = {} if self._key else {"id": row["id"].id}
        for field in self._fields:
            found = row.get(self.column(field))
            if found is not None:
                values[field] = self._in(field, found)
        return self.model.model_validate(values)

    def decode_all(self, rows: Iterable[Mapping[str, object]]) -> list[M]:
        return [self.decode(row) for row in rows]

    def _out(self, field: str, value: Any) -> object:
        if value is None:
            return None
        if field in self.links:
            return record(self.links[field], value) if value else None
        if field in self.json_fields:
            return to_json(value)
        if isinstance(value, Enum):
            return value.value
        if field in self._floats:
            return float(value)
        if isinstance(value, tuple):
            return list(value)
        return value

    def _in(self, field: str, value: Any) -> Any:
        if field in self.links:
            return value.id
        if field in self.json_fields:
            return json.loads(value)
        if isinstance(value, datetime):
            return plain_time(value)
        return value
