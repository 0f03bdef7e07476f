"""Safe arithmetic: simpleeval evaluates the expression; this module limits names and sizes.

Expressions contain only numbers: no strings, attributes, subscripts, comprehensions, comparisons or keyword arguments.
Every intermediate integer has at most 4 096 bits and every float is finite, so that no expression of 1 000 characters
takes more than a few milliseconds. simpleeval's own limits are kept below these (its power limit alone would let
``9**9**7`` take minutes).
"""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections.abc import Callable
from typing import Any

import simpleeval

from atelier_desk.domain import limits
from atelier_desk.domain.errors import ToolError

Number = int | float

MAX_BITS = 4_096
"""Maximum bits of an integer, about 1 233 decimal digits."""
MAX_PLACES = 300
"""Maximum decimal places for ``round``.

Beyond it a float has no digits, and an integer would need a huge power of ten.
"""

CONSTANTS: dict[str, float] = {
    "pi": math.pi,
    "e": math.e,
    "tau": math.tau,
    "sqrt2": math.sqrt(2.0),
    "ln2": math.log(2.0),
    "ln10": math.log(10.0),
}


class CalculationError(ToolError):
    """The expression has no value, or exceeds a limit."""

    code = "calculation"


def bounded(value: object) -> Number:
    """Return the value if it is a number within the limits.

    Raises:
        CalculationError: not a real number, not finite, or too large.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        if isinstance(value, complex):
            raise CalculationError(
                "The result is not a real number (for example an even root of a negative number).", code="domain"
            )
        raise CalculationError("Only numbers can be calculated.", code="syntax")
    if isinstance(value, int):
        if value.bit_length() > MAX_BITS:
            raise CalculationError("The result is too large: integers may have about 1 233 digits.", code="overflow")
    elif not math.isfinite(value):
        raise CalculationError("The result is too large for a number (overflow) or undefined.", code="overflow")
    return value


def tidy(value: Number) -> Number:
    """Convert whole results to integers where that is exact (up to 2^53): 6/3 is 2, not 2.0."""
    if isinstance(value, float) and value.is_integer() and abs(value) <= 2**53:
        return int(value)
    return value


def add(a: Number, b: Number) -> Number:
    return bounded(a + b)


def subtract(a: Number, b: Number) -> Number:
    return bounded(a - b)


def multiply(a: Number, b: Number) -> Number:
    if isinstance(a, int) and isinstance(b, int) and a.bit_length() + b.bit_length() > MAX_BITS + 1:
        raise CalculationError("The result is too large: integers may have about 1 233 digits.", code="overflow")
    return bounded(a * b)


def divide(a: Number, b: Number) -> Number:
    if isinstance(a, int) and isinstance(b, int) and b and a % b == 0:
        return bounded(a // b)
    return bounded(a / b)


def floor_divide(a: Number, b: Number) -> Number:
    return bounded(a // b)


def modulo(a: Number, b: Number) -> Number:
    return bounded(a % b)


def power(a: Number, b: Number) -> Number:
    if isinstance(a, int) and isinstance(b, int) and abs(a) > 1 and b > 0 and (a.bit_length() - 1) * b >= MAX_BITS:
        raise CalculationError("The result is too large: integers may have about 1 233 digits.", code="overflow")
    if isinstance(a, int) and isinstance(b, int) and b < 0:
        return bounded(float(a) ** b)
    return bounded(a**b)


def root(a: Number, b: Number) -> Number:
    """Return the b-th root of a; an odd root of a negative number is negative."""
    if b == 0:
        raise CalculationError("The zeroth root does not exist.", code="domain")
    if a < 0 and float(b).is_integer() and int(b) % 2:
        return bounded(-_snapped(-a, b))
    if a < 0:
        raise CalculationError("An even or fractional root of a negative number is not a real number.", code="domain")
    return bounded(_snapped(a, b))


def _snapped(a: Number, b: Number) -> Number:
    """Round a root to the whole number if that is exact: 27 ** (1/3) is 3.0000000000000004 in floating point."""
    value: float = float(a) ** (1.0 / b)
    near = round(value) if math.isfinite(value) and abs(value) < 2**53 else None
    if near is not None and isinstance(b, int) and 0 < b <= MAX_BITS and near**b == a:
        return near
    return value


def logarithm(a: Number, b: Number | None = None) -> Number:
    """Return the logarithm of a to base b; natural without a base. 10 and 2 use their own, more exact functions."""
    if b is None:
        return math.log(a)
    if b == 10:
        return math.log10(a)
    return math.log2(a) if b == 2 else math.log(a, b)


def sqrt(value: Number) -> Number:
    if isinstance(value, int) and value >= 0:
        whole = math.isqrt(value)
        if whole * whole == value:
            return whole
    return math.sqrt(value)


def rounded(value: Number, places: int = 0) -> Number:
    if not isinstance(places, int) or abs(places) > MAX_PLACES:
        raise CalculationError(
            "round takes a whole number of places between -{most} and {most}.", most=MAX_PLACES, code="domain"
        )
    return round(value, places) if places else round(value)


def sign(value: Number) -> Number:
    return (value > 0) - (value < 0)


UNARY: dict[str, Callable[[Any], Number]] = {
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "sinh": math.sinh,
    "cosh": math.cosh,
    "tanh": math.tanh,
    "sqrt": sqrt,
    "cbrt": lambda value: root(value, 3),
    "exp": math.exp,
    "exp2": lambda value: power(2, value) if isinstance(value, int) else 2.0**value,
    "ln": math.log,
    "log10": math.log10,
    "abs": abs,
    "sign": sign,
    "floor": math.floor,
    "ceil": math.ceil,
    "round": rounded,
    "trunc": math.trunc,
    "degrees": math.degrees,
    "radians": math.radians,
}
BINARY: dict[str, Callable[[Any, Any], Number]] = {
    "add": add,
    "subtract": subtract,
    "multiply": multiply,
    "divide": divide,
    "modulo": modulo,
    "pow": power,
    "log": logarithm,
    "min": min,
    "max": max,
    "atan2": math.atan2,
    "nroot": root,
}

_OPERATORS: dict[type, Callable[..., Number]] = {
    ast.Add: add,
    ast.Sub: subtract,
    ast.Mult: multiply,
    ast.Div: divide,
    ast.FloorDiv: floor_divide,
    ast.Mod: modulo,
    ast.Pow: power,
    ast.USub: lambda value: -value,
    ast.UAdd: lambda value: +value,
}
_NODES = (ast.Expr, ast.Name, ast.UnaryOp, ast.BinOp, ast.Call, ast.Constant)
_SPELLINGS = str.maketrans(
    {"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "\u00a0": " ", "\u202f": " ", "\n": " ", "\r": " ", "\t": " "}
)


_PERCENT = re.compile(r"(\d(?:\.\d+)?|\))\s*%\s*(?:(of|de)\b\s*|(?=[*/)]|$))")
"""A percentage where ``%`` cannot mean remainder: before "of", another operator or the end."""


def evaluate(expression: str) -> Number:
    """Evaluate an arithmetic expression; the result is an integer where exact. ``12% of 840`` is 12/100*840.

    Raises:
        CalculationError: codes ``syntax``, ``unknown_name``, ``division_by_zero``, ``domain``, ``overflow``.
    """
    if len(expression) > limits.CALCULATOR_EXPRESSION:
        raise CalculationError(
            "expression has {length} characters; the limit is {limit}.",
            length=len(expression),
            limit=limits.CALCULATOR_EXPRESSION,
            code="too_long",
        )
    plain = _PERCENT.sub(
        lambda found: f"{found[1]}/100{'*' if found[2] else ''}", expression.translate(_SPELLINGS).strip()
    )
    return guarded(lambda: _evaluator().eval(plain, _parsed(plain)))


def guarded(compute: Callable[[], object]) -> Number:
    """Return the bounded, tidied result of ``compute()``; arithmetic errors become ``CalculationError``."""
    try:
        return tidy(bounded(compute()))
    except CalculationError:
        raise
    except ZeroDivisionError as error:
        raise CalculationError("Division by zero.", code="division_by_zero") from error
    except OverflowError as error:
        raise CalculationError("The result is too large for a number (overflow).", code="overflow") from error
    except simpleeval.FunctionNotDefined as error:
        raise CalculationError(
            "There is no function {name!r}. Available: {known}.",
            name=error.func_name,
            known=_functions_text(),
            code="unknown_name",
        ) from error
    except simpleeval.NameNotDefined as error:
        raise CalculationError(
            "There is no constant {name!r}. Available: {known}.",
            name=error.name,
            known=", ".join(CONSTANTS),
            code="unknown_name",
        ) from error
    except (ValueError, TypeError) as error:
        raise CalculationError(
            "Outside the function's domain, or wrong arguments: {reason}.", reason=str(error)[:200], code="domain"
        ) from error
    except (simpleeval.InvalidExpression, RecursionError, MemoryError) as error:
        raise CalculationError(
            "This is not plain arithmetic. Use numbers, + - * / // % **, parentheses, functions and constants.",
            code="syntax",
        ) from error


def _functions_text() -> str:
    return ", ".join([*UNARY, *(name for name in BINARY if name not in UNARY)])


def _parsed(text: str) -> ast.Expr:
    hint = " Use ** for powers." if "^" in text else ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text, mode="exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise CalculationError(
            "The expression cannot be read: {reason}." + hint, reason=_reason(error), code="syntax"
        ) from error
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.Expr):
        raise CalculationError("The expression must be one arithmetic expression." + hint, code="syntax")
    for node in ast.walk(tree.body[0]):
        _check(node, hint)
    return tree.body[0]


def _reason(error: Exception) -> str:
    return str(error.msg) if isinstance(error, SyntaxError) else "it is nested too deeply"


def _check(node: ast.AST, hint: str) -> None:
    if isinstance(node, ast.Constant):
        bounded(node.value)
    elif isinstance(node, ast.Call):
        if node.keywords or not isinstance(node.func, ast.Name):
            raise CalculationError("Call functions by name and without keywords, for example sqrt(2).", code="syntax")
    elif isinstance(node, ast.Tuple):
        raise CalculationError(
            "Write one expression, and numbers with a point and no thousands separators (1234.5).", code="syntax"
        )
    elif isinstance(node, ast.operator | ast.unaryop):
        if type(node) not in _OPERATORS:
            raise CalculationError("Only + - * / // % ** are available." + hint, code="syntax")
    elif not isinstance(node, (*_NODES, ast.expr_context)):
        raise CalculationError(
            "{kind} is not available: only numbers, + - * / // % **, parentheses, functions and constants." + hint,
            kind=type(node).__name__,
            code="syntax",
        )


def _bounded_function(function: Callable[..., object]) -> Callable[..., Number]:
    return lambda *values: bounded(function(*values))


def _evaluator() -> Any:
    """Return simpleeval restricted to numbers.

    Chains such as 1+1+1+… are evaluated in a loop: 500 terms must not nest 500 levels.
    """

    class Evaluator(simpleeval.SimpleEval):  # type: ignore[misc]
        def _eval_binop(self, node: ast.BinOp) -> object:
            chain = []
            left: ast.expr = node
            while isinstance(left, ast.BinOp):
                chain.append(left)
                left = left.left
            value = self._eval(left)
            for step in reversed(chain):
                value = self.operators[type(step.op)](value, self._eval(step.right))
            return value

    known: dict[str, Callable[..., object]] = {**UNARY, **BINARY}
    functions = {name: _bounded_function(function) for name, function in known.items()}
    evaluator = Evaluator(operators=dict(_OPERATORS), functions=functions, names=dict(CONSTANTS))
    evaluator.nodes = {kind: handler for kind, handler in evaluator.nodes.items() if kind in _NODES}
    return evaluator
