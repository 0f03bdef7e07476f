"""GBNF expressions for whole and decimal numbers within limits."""

from __future__ import annotations

import math
from typing import Any

_DIGITS_MAX = 15
"""Maximum digits of an unlimited number: doubles and JSON readers keep 15 exactly."""


def _same_length(low: str, high: str) -> str:
    """Return digit strings of equal length from ``low`` to ``high``."""
    if low == high:
        return f'"{low}"'
    rest = len(low) - 1
    if set(low) == {"0"} and set(high) == {"9"}:
        return f"[0-9]{{{len(low)}}}"
    if rest == 0:
        return f"[{low}-{high}]"
    if low[0] == high[0]:
        return f'"{low[0]}" {_same_length(low[1:], high[1:])}'
    options = []
    first, last = int(low[0]), int(high[0])
    if set(low[1:]) != {"0"}:
        options.append(f'"{low[0]}" {_same_length(low[1:], "9" * rest)}')
        first += 1
    top = None
    if set(high[1:]) != {"9"}:
        top = f'"{high[0]}" {_same_length("0" * rest, high[1:])}'
        last -= 1
    if first <= last:
        options.append(f"[{first}-{last}] [0-9]{{{rest}}}")
    if top is not None:
        options.append(top)
    return options[0] if len(options) == 1 else f"({' | '.join(options)})"


def natural_range(low: int, high: int) -> str:
    """Return whole numbers from ``low`` to ``high``, both at least 0."""
    options = []
    while len(str(low)) < len(str(high)):
        end = 10 ** len(str(low)) - 1
        options.append(_same_length(str(low), str(end)))
        low = end + 1
    options.append(_same_length(str(low), str(high)))
    return options[0] if len(options) == 1 else f"({' | '.join(options)})"


def integer_range(low: int, high: int) -> str:
    """Return whole numbers from ``low`` to ``high``.

    Raises:
        ValueError: there is none.
    """
    if low > high:
        raise ValueError(f"no whole number between {low} and {high}")
    if low >= 0:
        return natural_range(low, high)
    negative = f'"-" {natural_range(max(1, -high), -low)}'
    return negative if high < 0 else f"({negative} | {natural_range(0, high)})"


def _bounds(schema: dict[str, Any]) -> tuple[float | None, float | None, bool, bool]:
    """Return minimum and maximum (None: unlimited), and whether each is excluded."""
    low, high = schema.get("minimum"), schema.get("maximum")
    over, under = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    low_out = over is not None and (low is None or over >= low)
    high_out = under is not None and (high is None or under <= high)
    return (over if low_out else low), (under if high_out else high), low_out, high_out


def integer_rule(schema: dict[str, object]) -> str:
    """Return the expression for a JSON schema of type ``integer``."""
    low, high, low_out, high_out = _bounds(schema)
    if low is None and high is None:
        return "integer"
    limit = 10**_DIGITS_MAX - 1
    least = -limit if low is None else math.floor(low) + 1 if low_out else math.ceil(low)
    most = limit if high is None else math.ceil(high) - 1 if high_out else math.floor(high)
    return integer_range(least, most)


def number_rule(schema: dict[str, object]) -> str:
    """Return the expression for a JSON schema of type ``number``: whole numbers in range, with decimals where they stay
    in range.

    Between a fractional limit and the next whole number some valid values are omitted; nothing invalid is accepted.
    """
    low, high, low_out, high_out = _bounds(schema)
    if low is None and high is None:
        return "number"
    limit = 10**_DIGITS_MAX - 1
    least = -limit if low is None else math.ceil(low)
    most = limit if high is None else math.floor(high)
    options = []
    if max(least, 0) <= most - 1:
        whole = natural_range(max(least, 0), most - 1)
        # An excluded lower limit may only be followed by non-zero decimals.
        options.append(
            f'{whole} ("." [0-9]{{0,6}} [1-9])?'
            if not (low_out and least == low and least >= 0)
            else _above(least, most - 1)
        )
    if least < 0 and -least - 1 >= max(-most, 0):
        options.append(f'"-" {natural_range(max(-most, 0), -least - 1)} "." [0-9]{{0,6}} [1-9]')
    options.append(_integers(least + (low_out and least == low), most - (high_out and most == high)))
    options = [option for option in options if option]
    if not options:
        raise ValueError(f"no number the grammar can write fits {schema}")
    return options[0] if len(options) == 1 else f"({' | '.join(options)})"


def _above(low: int, high: int) -> str:
    return f'{natural_range(low, high)} "." [0-9]{{0,6}} [1-9]'


def _integers(low: int, high: int) -> str:
    return integer_range(low, high) if low <= high else ""
