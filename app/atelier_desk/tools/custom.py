"""Custom tools: one decorator on a typed function makes a tool of it.

    @tool(section="custom_ops", effect=Effect.READ)
    async def word_count(text: str, minimum: int = 1) -> dict:
        \"\"\"Counts the words of a text. Use it when a length matters.\"\"\"
        return {"words": len(text.split())}

The signature becomes the input, the docstring the description. A parameter annotated ``ToolContext`` gets the context and is not shown to
the model. A plain function runs in a thread, so that it cannot hold up the engine.
"""

from __future__ import annotations

import asyncio
import inspect
import typing
from collections.abc import Callable
from typing import Any

from pydantic import create_model
from pydantic.fields import FieldInfo

from atelier_desk.domain.errors import UsageError
from atelier_desk.i18n import N_
from atelier_desk.tools.base import AskUser, Effect, Input, Outcome, Risk, Tool, ToolCategory, ToolContext, ToolResult
from atelier_desk.tools.sections import CUSTOM

Function = Callable[..., Any]


class FunctionTool(Tool):
    """A tool made from a function; each has a class of its own. ``function`` is the one that was decorated."""

    function: typing.ClassVar[Function]
    _told: typing.ClassVar[str]
    _context_name: typing.ClassVar[str]

    @property
    def description(self) -> str:
        return self._told

    async def run(self, input: Any, context: ToolContext) -> Outcome:
        arguments = {name: getattr(input, name) for name in type(input).model_fields}
        if self._context_name:
            arguments[self._context_name] = context
        function = type(self).__dict__["function"]
        if inspect.iscoroutinefunction(function):
            value = await function(**arguments)
        else:
            value = await asyncio.to_thread(function, **arguments)
        return _outcome(value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function itself, as if it were not decorated."""
        return type(self).__dict__["function"](*args, **kwargs)


def tool(
    function: Function | None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    category: ToolCategory = ToolCategory.WORKFLOW,
    section: str = CUSTOM,
    effect: Effect = Effect.EXECUTE,
    risk: Risk = Risk.MEDIUM,
    idempotent: bool = False,
    timeout_s: float = 60.0,
) -> Any:
    """Make a tool of a typed function; with or without parentheses. Gives a ``FunctionTool``, still callable as the function.

    Args:
        name: what models call it; the function's name when left out.
        description: for the model; the docstring when left out.
        category: ``common``, ``agent`` or ``workflow``.

    Raises:
        UsageError: a parameter without a type, no description, or category control.
    """

    def decorate(target: Function) -> FunctionTool:
        title = name or target.__name__
        told = inspect.cleandoc(description or target.__doc__ or "")
        if not told:
            raise UsageError(N_("The tool {name} needs a docstring: it is what the model reads."), name=title)
        if category is ToolCategory.CONTROL:
            raise UsageError(N_("The tool {name} cannot be a control tool."), name=title)
        model, context_name = _input_model(title, target)
        attributes = {
            "__doc__": told,
            "__module__": target.__module__,
            "name": title,
            "category": category,
            "section": section,
            "effect": effect,
            "risk": risk,
            "idempotent": idempotent,
            "timeout_s": timeout_s,
            "input": model,
            "function": staticmethod(target).__func__,
            "_told": told,
            "_context_name": context_name,
        }
        made: FunctionTool = type(f"{title}_tool", (FunctionTool,), attributes)()
        return made

    return decorate if function is None else decorate(function)


def _input_model(title: str, function: Function) -> tuple[type[Input], str]:
    """The input made from the signature, and the name of the context parameter, empty when there is none."""
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except NameError as error:
        raise UsageError(N_("The tool {name} uses an unknown type: {reason}."), name=title, reason=str(error)) from error
    fields: dict[str, Any] = {}
    context_name = ""
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise UsageError(N_("The tool {name} cannot take the parameter {parameter}."), name=title, parameter=str(parameter))
        if parameter.name not in hints:
            raise UsageError(N_("The parameter {parameter} of the tool {name} needs a type."), name=title, parameter=parameter.name)
        kind = hints[parameter.name]
        if kind is ToolContext:
            context_name = parameter.name
            continue
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[parameter.name] = (kind, default if isinstance(default, FieldInfo) or default is ... else FieldInfo(default=default))
    return create_model(f"{title}_input", __base__=Input, **fields), context_name


def _outcome(value: Any) -> Outcome:
    if isinstance(value, ToolResult | AskUser):
        return value
    if isinstance(value, dict):
        data = {str(key): item for key, item in value.items()}
        return ToolResult({"success": bool(data.get("success", True)), **{key: item for key, item in data.items() if key != "success"}})
    return ToolResult.ok(result=value)
