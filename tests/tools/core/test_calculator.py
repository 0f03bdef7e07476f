"""CalculatorTool: the expression form and the three named forms."""

from __future__ import annotations

import math
from typing import Any, get_args

import pytest

from atelier_desk.tools.core.arithmetic_expression import BINARY, CONSTANTS, UNARY
from atelier_desk.tools.core.calculator import BinaryName, ConstantName, UnaryName
from tests.tools.conftest import Calls

CALCULATOR = "CalculatorTool"
SPECIFIED_UNARY = (
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "sqrt", "cbrt", "exp", "exp2", "ln", "log10",
    "abs", "sign",
    "floor", "ceil", "round", "trunc", "degrees", "radians",
)  # fmt: skip
SPECIFIED_BINARY = ("add", "subtract", "multiply", "divide", "modulo", "pow", "log", "min", "max", "atan2", "nroot")
SAME_IN_MATH = (
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "exp",
    "log10",
    "degrees",
    "radians",
)


def test_the_named_forms_are_those_of_the_specification() -> None:
    assert get_args(UnaryName) == tuple(UNARY) == SPECIFIED_UNARY
    assert get_args(BinaryName) == tuple(BINARY) == SPECIFIED_BINARY
    assert get_args(ConstantName) == tuple(CONSTANTS) == ("pi", "e", "tau", "sqrt2", "ln2", "ln10")


async def test_eval_gives_result_and_expression(calls: Calls) -> None:
    assert await calls(CALCULATOR, operation="eval", expression="2 + 2 * 3") == {
        "success": True,
        "result": 8,
        "expression": "2 + 2 * 3",
    }


VALUES = dict.fromkeys(UNARY, 0.5) | {
    "round": 2.5,
    "floor": -1.5,
    "ceil": -1.5,
    "trunc": -1.5,
    "sign": -3,
    "abs": -3,
    "sqrt": 16,
    "cbrt": 27,
}
EXPECTED = {
    **{name: getattr(math, name)(0.5) for name in SAME_IN_MATH},
    "sqrt": 4, "cbrt": 3, "exp2": 2**0.5, "ln": math.log(0.5), "abs": 3, "sign": -1, "floor": -2, "ceil": -1,
    "round": 2, "trunc": -1,
}  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
async def test_every_unary_function(calls: Calls, name: str) -> None:
    data = await calls(CALCULATOR, operation=name, value=VALUES[name])
    assert data["result"] == pytest.approx(EXPECTED[name])
    assert data["expression"] == f"{name}({VALUES[name]})"


@pytest.mark.parametrize(
    ("name", "a", "b", "value"),
    [
        ("add", 1, 2, 3),
        ("subtract", 1, 2.5, -1.5),
        ("multiply", 6, 7, 42),
        ("divide", 7, 2, 3.5),
        ("modulo", 7, 3, 1),
        ("pow", 2, 10, 1024),
        ("log", 8, 2, 3),
        ("min", 3, -3, -3),
        ("max", 3, -3, 3),
        ("atan2", 1, 1, math.pi / 4),
        ("nroot", 81, 4, 3),
    ],
)
async def test_every_binary_function(calls: Calls, name: str, a: float, b: float, value: float) -> None:
    data = await calls(CALCULATOR, operation=name, a=a, b=b)
    assert data["result"] == pytest.approx(value)
    assert data["expression"] == f"{name}({a}, {b})"


@pytest.mark.parametrize("name", CONSTANTS)
async def test_every_constant(calls: Calls, name: str) -> None:
    assert (await calls(CALCULATOR, operation="constant", name=name))["result"] == CONSTANTS[name]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"operation": "divide", "a": 1, "b": 0}, "division_by_zero"),
        ({"operation": "sqrt", "value": -1}, "domain"),
        ({"operation": "acos", "value": 2}, "domain"),
        ({"operation": "exp", "value": 1e6}, "overflow"),
        ({"operation": "pow", "a": 9, "b": 10**9}, "overflow"),
        ({"operation": "sin", "value": 10**5000}, "overflow"),
        ({"operation": "eval", "expression": "9**9**9"}, "overflow"),
        ({"operation": "eval", "expression": "().__class__"}, "syntax"),
        ({"operation": "eval", "expression": "x" * 2_000}, "invalid_arguments"),
        ({"operation": "constant", "name": "phi"}, "invalid_arguments"),
        ({"operation": "cot", "value": 1}, "invalid_arguments"),
        ({"operation": "sin", "value": True}, "invalid_arguments"),
        ({"operation": "sin", "value": float("nan")}, "invalid_arguments"),
        ({"operation": "add", "a": 1}, "invalid_arguments"),
    ],
)
async def test_errors_state_their_kind(calls: Calls, arguments: dict[str, Any], code: str) -> None:
    data = await calls(CALCULATOR, **arguments)
    assert data["success"] is False
    assert data["code"] == code


async def test_numbers_may_be_written_as_text(calls: Calls) -> None:
    assert (await calls(CALCULATOR, operation="add", a="2", b="0.5"))["result"] == 2.5
    assert (await calls(CALCULATOR, operation="multiply", a=str(10**20), b=10))["result"] == 10**21
