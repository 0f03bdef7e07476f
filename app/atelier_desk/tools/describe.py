"""One template for every tool's description: what · when · when not · operations with required fields · one good example · limits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from atelier_desk.tools.builtin import BuiltinTool
from atelier_desk.tools.schema import operations_of

NOT_WHEN = "Do not use it when:"
"""How the line begins that says when other tools are the right ones."""


@dataclass(frozen=True, slots=True)
class About:
    """The parts of a description. Limits are written with the constants of ``atelier_desk.domain.limits``, never typed twice.

    Attributes:
        operations: what each operation does, by its label; required and optional fields are read from the input.
        example: the arguments of one good call.
    """

    what: str
    when: str
    when_not: str
    example: Mapping[str, object]
    operations: Mapping[str, str] = field(default_factory=dict)
    limits: tuple[str, ...] = ()


def describe(about: About, input_type: object) -> str:
    """The text for the model."""
    lines = [about.what, f"Use it when: {about.when}", f"{NOT_WHEN} {about.when_not}"]
    operations = operations_of(input_type)
    if operations[0].names:
        lines.append("Operations (* = required):")
        for operation in operations:
            fields = [f"{name}*" if name in operation.required else name for name in operation.fields()]
            told = about.operations.get(operation.label, "")
            names = "|".join(operation.names)
            lines.append(f"- {names} ({', '.join(fields)})" + (f": {told}" if told else ""))
    lines.append(f"Example: {json.dumps(dict(about.example), ensure_ascii=False)}")
    if about.limits:
        lines.append("Limits: " + "; ".join(about.limits) + ".")
    return "\n".join(lines)


class DescribedTool(BuiltinTool):
    """A tool whose description is made from ``about``, once a class."""

    about: ClassVar[About]
    _description: ClassVar[str]

    @property
    def description(self) -> str:
        cls = type(self)
        if "_description" not in cls.__dict__:
            cls._description = describe(self.about, self.input)
        return cls._description
