"""Template of all tool descriptions: what · when · when not · operations with required fields · an example · limits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from atelier_desk.tools.definition.input_schema import operations_of
from atelier_desk.tools.registry.builtin import BuiltinTool

NOT_WHEN = "Do not use it when:"
"""Beginning of the line that says when to use other tools."""


@dataclass(frozen=True, slots=True)
class About:
    """Parts of a description. Write limits with the constants of ``atelier_desk.domain.limits``, never as literals.

    Attributes:
        operations: what each operation does, by label; required and optional fields are taken from the input.
        example: arguments of a good call.
    """

    what: str
    when: str
    when_not: str
    example: Mapping[str, object]
    operations: Mapping[str, str] = field(default_factory=dict)
    limits: tuple[str, ...] = ()


def describe(about: About, input_type: object) -> str:
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
    """A tool whose description is made from ``about``, once per class."""

    about: ClassVar[About]
    _description: ClassVar[str]

    @property
    def description(self) -> str:
        cls = type(self)
        if "_description" not in cls.__dict__:
            cls._description = describe(self.about, self.input)
        return cls._description
