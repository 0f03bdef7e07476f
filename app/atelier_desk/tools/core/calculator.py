"""CalculatorTool: exact where possible, bounded in time."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

from pydantic import Field, PlainValidator, WithJsonSchema

from atelier_desk.domain import limits
from atelier_desk.support.i18n import N_
from atelier_desk.tools.base import Call, Effect, Input, ToolCategory, ToolContext, ToolResult
from atelier_desk.tools.core import arithmetic_expression as arithmetic
from atelier_desk.tools.definition.call_description import summary_of
from atelier_desk.tools.definition.tool_description import About, DescribedTool
from atelier_desk.tools.registry.builtin import builtin
from atelier_desk.tools.registry.sections import CORE


def _number(value: object) -> int | float:
    """Accept numbers and numeric text; whole numbers stay integers for exact calculation."""
    if isinstance(value, str):
        text = value.strip()
        try:
            value = int(text) if text.lstrip("+-").isdigit() else float(text)
        except ValueError as error:
            raise ValueError("must be a number, not text") from error
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("must be a number")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("must be a finite number")
    return value


_CALCULATE, _CALCULATED = N_("Calculate {expression}"), N_("Calculated {expression}")
_SIGNS = {"add": "+", "subtract": "−", "multiply": "×", "divide": "÷", "pow": "^"}


def _written(input: CalculatorInput) -> str:
    """Format a calculation as people write it: ``12 × 7``."""
    match input:
        case Evaluate(expression=text):
            return re.sub(r"(?<!\*)\s*\*\s*(?!\*)", " × ", text)
        case Unary(operation=name, value=value):
            return f"{name}({value})"
        case Binary(operation=name, a=a, b=b):
            return f"{a} {_SIGNS[name]} {b}" if name in _SIGNS else f"{name}({a}, {b})"
        case _:
            return str(input.name)


Value = Annotated[object, PlainValidator(_number), WithJsonSchema({"type": "number"})]
UnaryName = Literal[
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "sqrt", "cbrt", "exp", "exp2", "ln", "log10",
    "abs", "sign",
    "floor", "ceil", "round", "trunc", "degrees", "radians",
]  # fmt: skip
BinaryName = Literal["add", "subtract", "multiply", "divide", "modulo", "pow", "log", "min", "max", "atan2", "nroot"]
ConstantName = Literal["pi", "e", "tau", "sqrt2", "ln2", "ln10"]


class Evaluate(Input):
    operation: Literal["eval"]
    expression: str = Field(
        min_length=1,
        max_length=limits.CALCULATOR_EXPRESSION,
        description="Such as (2 + 3) * 4 ** 2 / sqrt(9) or 12% of 840.",
    )


class Unary(Input):
    label: ClassVar[str] = "unary functions"
    operation: UnaryName
    value: Value = Field(description="The number; angles in radians.")


class Binary(Input):
    label: ClassVar[str] = "binary functions"
    operation: BinaryName
    a: Value = Field(description="First number: base of the power, number whose logarithm or root is sought.")
    b: Value = Field(description="Second number: exponent, base of the logarithm, degree of the root, divisor.")


class Constant(Input):
    operation: Literal["constant"]
    name: ConstantName = Field(description="Which constant.")


CalculatorInput = Annotated[Evaluate | Unary | Binary | Constant, Field(discriminator="operation")]


@builtin(order=130)
class CalculatorTool(DescribedTool):
    """Evaluate arithmetic."""

    name = "CalculatorTool"
    title = N_("Calculator")
    purpose = N_("Gives exact results instead of estimates")
    icon = "calculator"
    category = ToolCategory.COMMON
    section = CORE
    effect = Effect.READ
    idempotent = True
    timeout_s = 5.0
    input = CalculatorInput
    about = About(
        what="Calculates exactly what you would otherwise have to work out in your head.",
        when="any result with numbers matters: sums, products, percentages, roots, trigonometry, conversions.",
        when_not="the text only mentions numbers and nothing has to be worked out.",
        operations={
            "eval": (
                "a whole expression: + - * / // **, parentheses, the functions and constants below by name, as "
                "in log(8, 2)"
            ),
            "unary functions": "of one number; ln is the natural logarithm, log10 that to base 10",
            "binary functions": "of a and b, in this order: log to base b, nroot the b-th root of a, atan2 with y, x",
            "constant": "its value",
        },
        example={"operation": "eval", "expression": "840 + 12% of 840"},
        limits=(
            (
                "% is a percentage before of, * / ) and the end (12% of 840 = 840 * 12% = 100.8), a remainder between "
                "two numbers (17 % 5 = 2)"
            ),
            f"expression {limits.CALCULATOR_EXPRESSION} characters",
            "integers of about 1233 digits",
            "angles in radians; use radians(x) for degrees",
            "a point for decimals, no thousands separators",
        ),
    )
    abilities = {"calculate": "eval"}

    def describe(self, input: CalculatorInput) -> Call:
        return replace(
            super().describe(input), summary=summary_of({"expression": _written(input)}, _CALCULATE), done=_CALCULATED
        )

    async def run(self, input: CalculatorInput, context: ToolContext) -> ToolResult:
        match input:
            case Evaluate(expression=text):
                return ToolResult.ok(result=arithmetic.evaluate(text), expression=text)
            case Unary(operation=name, value=value):
                result = arithmetic.guarded(lambda: arithmetic.UNARY[name](arithmetic.bounded(value)))
                return ToolResult.ok(result=result, expression=f"{name}({value})")
            case Binary(operation=name, a=a, b=b):
                result = arithmetic.guarded(
                    lambda: arithmetic.BINARY[name](arithmetic.bounded(a), arithmetic.bounded(b))
                )
                return ToolResult.ok(result=result, expression=f"{name}({a}, {b})")
            case _:
                return ToolResult.ok(result=arithmetic.CONSTANTS[input.name], expression=input.name)
