"""Custom tools: one decorator on a typed function makes a tool of it.

    @tool(section="custom_ops", effect=Effect.READ)
    async def word_count(text: str, minimum: int = 1) -> dict:
        \"\"\"Counts the words of a text. Use it when a length matters.\"\"\"
        return {"words": len(text.split())}

The signature becomes the input, the docstring the description. A parameter annotated ``ToolContext`` gets the context
and is not shown to the model.

Where it runs: a tool of a file in the ``tools`` folder runs in a process of its own, one for each call, which is killed
when the call is stopped or its time is over; its context tells the facts of the call and takes progress, and brings no
services. A function that a Python program gives to ``Atelier`` runs in that program: an ``async`` one is cancelled, a
plain one runs in a thread, which nobody can kill: the call is over at once, and what the thread still does is not
waited for.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Mapping
from enum import StrEnum
from string import Formatter
from typing import Any

from pydantic import create_model
from pydantic.fields import FieldInfo

from atelier_desk.domain.call_presentation_and_subjects import Subjects
from atelier_desk.domain.errors import UsageError
from atelier_desk.support.i18n import N_
from atelier_desk.support.threads import in_function_thread
from atelier_desk.tools.base import AskUser, Effect, Input, Outcome, Risk, Tool, ToolCategory, ToolContext, ToolResult
from atelier_desk.tools.definition.call_description import SubjectKind
from atelier_desk.tools.registry.sections import CUSTOM

Function = Callable[..., object]

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Tool names accepted by every model server; any other would make it refuse the whole request."""


class FunctionTool(Tool):
    """A tool made from a function; each has its own class. ``function`` is the decorated function."""

    function: typing.ClassVar[Function]
    _told: typing.ClassVar[str]
    _context_name: typing.ClassVar[str]

    @property
    def description(self) -> str:
        return self._told

    async def run(self, input: Input, context: ToolContext) -> Outcome:
        arguments = self.arguments(input, context)
        function = type(self).__dict__["function"]
        if inspect.iscoroutinefunction(function):
            value = await function(**arguments)
        else:
            value = await in_function_thread(function, **arguments)
        return outcome_of(value)

    def arguments(self, input: Input, context: ToolContext) -> dict[str, object]:
        """Return the arguments for the function: validated input by parameter, and the context if requested."""
        arguments = {name: getattr(input, name) for name in type(input).model_fields}
        return {**arguments, self._context_name: context} if self._context_name else arguments

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Call the undecorated function."""
        return type(self).__dict__["function"](*args, **kwargs)


class _Options(typing.TypedDict, total=False):
    """The keyword arguments of ``tool``."""

    name: str | None
    description: str | None
    category: ToolCategory | str
    section: str
    effect: Effect | str
    risk: Risk | str
    idempotent: bool
    timeout_s: float | None
    awaits_external_response: bool
    title: str
    icon: str
    summary: str
    subjects: Mapping[str, SubjectKind] | None


@typing.overload
def tool(function: Function, /, **options: typing.Unpack[_Options]) -> FunctionTool: ...


@typing.overload
def tool(**options: typing.Unpack[_Options]) -> Callable[[Function], FunctionTool]: ...


def tool(
    function: Function | None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    category: ToolCategory | str = ToolCategory.COMMON,
    section: str = CUSTOM,
    effect: Effect | str = Effect.EXECUTE,
    risk: Risk | str = Risk.MEDIUM,
    idempotent: bool = False,
    timeout_s: float | None = None,
    awaits_external_response: bool = False,
    title: str = "",
    icon: str = "terminal",
    summary: str = "",
    subjects: Mapping[str, SubjectKind] | None = None,
) -> FunctionTool | Callable[[Function], FunctionTool]:
    """Make a tool of a typed function; with or without parentheses. Gives a ``FunctionTool``, still callable as the
    function.

    Args:
        name: what models call it; the function's name when left out.
        description: for the model; the docstring when left out.
        category: ``common``, ``agent`` or ``workflow``.
        section: one of the known sections; the tool can be chosen, allowed and reached with the others of it.
        effect: ``read``, ``write``, ``execute``, ``network``, ``interact`` or ``spawn``; calls that only read run side
            by side.
        risk: ``low``, ``medium`` or ``high``; see the approvals.
        idempotent: calling it again with the same arguments has no second effect, so a call that a kill cut off is made
            again.
        timeout_s: seconds after which a call is stopped; 0 never stops it. 60 when left out, 0 with
            ``awaits_external_response``.
        awaits_external_response: its result comes from outside (a person, another program), so it may take as long as
            it wants, and no other call runs beside it.
        title: its name for people; ``icon`` is the name of an icon of Atelier's.
        summary: a call in a line, with parameters as placeholders (``"Counts {text}"``); the values of its arguments
            when left out.
        subjects: what parameters name (``{"path": "paths", "url": "hosts"}``: paths, command, hosts, server or agents),
            for approvals.

    Raises:
        UsageError: a parameter without a type, no description, category control, or a category, effect or risk that
            does not exist.
    """
    about = {
        "category": _named(ToolCategory, "category", category),
        "section": section,
        "effect": _named(Effect, "effect", effect),
        "risk": _named(Risk, "risk", risk),
        "idempotent": idempotent,
        "timeout_s": timeout_s if timeout_s is not None else 0.0 if awaits_external_response else 60.0,
        "awaits_external_response": awaits_external_response,
        "title": title,
        "icon": icon,
        "summaries": {"": summary} if summary else {},
        "subjects": dict(subjects or {}),
    }

    def decorate(target: Function) -> FunctionTool:
        return _made_of(target, name, description, about)

    return decorate if function is None else decorate(function)


def _made_of(target: Function, name: str | None, description: str | None, about: dict[str, Any]) -> FunctionTool:
    called = name or str(getattr(target, "__name__", type(target).__name__))
    if not _NAME.fullmatch(called):
        raise UsageError(
            N_("{name} is not a valid tool name: 1 to 64 letters, digits, _ or - are allowed."), name=repr(called)
        )
    told = inspect.cleandoc(description or target.__doc__ or "")
    if not told:
        raise UsageError(N_("The tool {name} needs a docstring: it is what the model reads."), name=called)
    if about["category"] is ToolCategory.CONTROL:
        raise UsageError(N_("The tool {name} cannot be a control tool."), name=called)
    model, context_name = _input_model(called, target)
    _check_names(called, model, about["summaries"].get("", ""), about["subjects"])
    attributes = {
        **about,
        "__doc__": told,
        "__module__": target.__module__,
        "name": called,
        "input": model,
        "function": staticmethod(target).__func__,
        "_told": told,
        "_context_name": context_name,
    }
    made: FunctionTool = type(f"{called}_tool", (FunctionTool,), attributes)()
    return made


def _input_model(title: str, function: Function) -> tuple[type[Input], str]:
    """The input made from the signature, and the name of the context parameter, empty when there is none."""
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except NameError as error:
        raise UsageError(
            N_("The tool {name} uses an unknown type: {reason}."), name=title, reason=str(error)
        ) from error
    fields: dict[str, Any] = {}
    context_name = ""
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise UsageError(
                N_("The tool {name} has an unsupported kind of parameter: {parameter}."),
                name=title,
                parameter=str(parameter),
            )
        if parameter.name not in hints:
            raise UsageError(
                N_("The parameter {parameter} of the tool {name} needs a type."), name=title, parameter=parameter.name
            )
        kind = hints[parameter.name]
        if kind is ToolContext:
            context_name = parameter.name
            continue
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[parameter.name] = (
            kind,
            default if isinstance(default, FieldInfo) or default is ... else FieldInfo(default=default),
        )
    return create_model(f"{title}_input", __base__=Input, **fields), context_name


def _check_names(title: str, model: type[Input], summary: str, subjects: Mapping[str, SubjectKind]) -> None:
    """What a summary and the subjects name must be parameters."""
    try:
        named = {field for _text, field, _format, _conversion in Formatter().parse(summary) if field is not None}
    except ValueError as error:
        raise UsageError(
            N_("The summary of the tool {name} cannot be read: {reason}."), name=title, reason=str(error)
        ) from None
    wrong = [
        *sorted({*named, *subjects} - set(model.model_fields)),
        *sorted(set(subjects.values()) - set(Subjects.model_fields)),
    ]
    if wrong:
        raise UsageError(
            N_("The tool {name} refers to parameters, or to values of “subjects”, that do not exist: {wrong}."),
            name=title,
            wrong=", ".join(wrong),
        )


Kind = typing.TypeVar("Kind", bound=StrEnum)


def _named(kinds: type[Kind], what: str, value: str) -> Kind:
    try:
        return kinds(value)
    except ValueError:
        allowed = ", ".join(kind.value for kind in kinds if kind is not ToolCategory.CONTROL)
        raise UsageError(
            N_("The {what} of a tool cannot be {value}; allowed: {allowed}."),
            value=repr(value),
            what=what,
            allowed=allowed,
        ) from None


def outcome_of(value: object) -> ToolResult | AskUser:
    """What a function's value means: an object as the result's fields, anything else as its ``result``."""
    if isinstance(value, ToolResult | AskUser):
        return value
    if isinstance(value, dict):
        data = {str(key): item for key, item in value.items()}
        return ToolResult(
            {
                "success": bool(data.get("success", True)),
                **{key: item for key, item in data.items() if key != "success"},
            }
        )
    return ToolResult.ok(result=value)
