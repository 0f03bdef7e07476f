"""Prompts of servers: listing, parsing arguments, and their text. No I/O."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from atelier_desk.domain import limits
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.mcp import McpArgument, McpPrompt
from atelier_desk.llm.secrets import redact
from atelier_desk.mcp.results import MOST_PARTS
from atelier_desk.support.i18n import N_
from atelier_desk.workspace.skills.argument_placeholders import split

if TYPE_CHECKING:
    from mcp_types import GetPromptResult, Prompt

MOST_PROMPTS = 200
MOST_ARGUMENTS = 20
_NAME = 256
"""Characters of a prompt's own name, and of an argument's."""
_CALL = 128
_ABOUT = 300


def listed(prompt: Prompt) -> McpPrompt | None:
    """A prompt as its server listed it; None when it cannot be called or filled in."""
    call = re.sub(r"\s+", "_", prompt.name.strip())
    arguments = prompt.arguments or []
    if not call or len(call) > _CALL or not call.isprintable() or len(arguments) > MOST_ARGUMENTS:
        return None
    if any(len(name) > _NAME for name in (prompt.name, *(each.name for each in arguments))):
        return None
    return McpPrompt(
        name=prompt.name,
        call=call,
        title=_line(prompt.title),
        about=_line(prompt.description),
        arguments=tuple(
            McpArgument(name=each.name, about=_line(each.description), required=bool(each.required))
            for each in arguments
        ),
    )


def given(server: str, prompt: McpPrompt, arguments: str) -> dict[str, str]:
    """Parse a prompt's arguments from ``name=value …``.

    Values without a name fill the remaining arguments in order; the last one takes the rest of the text.

    Raises:
        UsageError: an unknown argument, or a required one is missing; the text names server, prompt and
            arguments.
    """
    names = [each.name for each in prompt.arguments]
    values: dict[str, str] = {}
    plain: list[str] = []
    for value in split(arguments):
        name = next((each for each in names if value.startswith(f"{each}=") and each not in values), None)
        if name is not None:
            values[name] = value[len(name) + 1 :]
        elif (found := re.match(r"([A-Za-z_][\w-]*)=", value)) or not names:
            message = N_(
                "The prompt {prompt} of the MCP server {server} does not take {given}. Its arguments: {takes}."
            )
            raise UsageError(
                message,
                prompt=prompt.call,
                server=server,
                given=found[1] if found else value[:80],
                takes=arguments_text(prompt),
            )
        else:
            plain.append(value)
    free = [name for name in names if name not in values]
    if plain and not free:
        message = N_("The prompt {prompt} of the MCP server {server} does not take {given}. Its arguments: {takes}.")
        raise UsageError(message, prompt=prompt.call, server=server, given=plain[0][:80], takes=arguments_text(prompt))
    for index, name in enumerate(free[: len(plain)]):
        values[name] = " ".join(plain[index:]) if index == len(free) - 1 else plain[index]
    missing = ", ".join(
        each.name for each in prompt.arguments if each.required and not values.get(each.name, "").strip()
    )
    if missing:
        message = N_("The prompt {prompt} of the MCP server {server} needs {missing}. Its arguments: {takes}.")
        raise UsageError(message, prompt=prompt.call, server=server, missing=missing, takes=arguments_text(prompt))
    return values


def arguments_text(prompt: McpPrompt) -> str:
    """A prompt's arguments as typed, optional ones in brackets: ``topic=… [style=…]``."""
    return " ".join(f"{each.name}=…" if each.required else f"[{each.name}=…]" for each in prompt.arguments) or "-"


def text_of(result: GetPromptResult) -> str:
    """A prompt's messages as one text, with roles if not all are the user's.

    Our secrets are removed.
    """
    messages = result.messages[:MOST_PARTS]
    alone = all(each.role == "user" for each in messages)
    parts = [(each.role, _content(each.content)) for each in messages]
    if len(result.messages) > MOST_PARTS:
        parts.append(("user", f"[{len(result.messages) - MOST_PARTS} more messages were left out]"))
    text = redact("\n\n".join(said if alone else f"{role}:\n{said}" for role, said in parts if said.strip()))
    most = limits.RESULT_TO_MODEL
    return text if len(text) <= most else f"{text[:most]}\n[… {len(text) - most} characters more]"


def _content(block: Any) -> str:
    if block.type == "text":
        return str(block.text)
    if block.type == "resource_link":
        return f"[{block.uri}] {block.title or block.name}"
    if block.type == "resource":
        text = getattr(block.resource, "text", None)
        return (
            f"[{block.resource.uri}]\n{text}"
            if text is not None
            else f"[{block.resource.uri} is no text and was left out]"
        )
    return f"[{block.type} ({block.mime_type}) was left out]"


def _line(text: str | None) -> str:
    return " ".join((text or "").split())[:_ABOUT]
