"""How the xml dialect presents tools, past calls and results to a model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape

from atelier_desk.domain.model_messages import ChatMessage, ChatRequest, Role, ToolCall, ToolSpec
from atelier_desk.llm.dialects.tool_call_limits import CALLS

RESULT_STOP = "<tool_result"
"""Stop sequence: a model must not write the results of its own calls."""

_RULES = f"""# Tools

You can use the tools below. To call one, write exactly this, with the tool's name and one JSON object with its \
parameters:
<tool_call name="ToolName">{{"parameter": "value"}}</tool_call>

Rules:
- The content of the tag is strict JSON that fits the tool's schema: double quotes, no comments, line breaks in \
strings as \\n.
- You may say something before a call. Several calls may follow each other, at most {CALLS} in one reply.
- After your last call stop writing. The results come in the next message:
<tool_result name="ToolName" success="true">{{"key": "value"}}</tool_result>
- Never write a tool_result yourself. When a call failed, read its error, mend the call and try again or do without.
- A tag inside a Markdown code block or between backticks is an example and is not run.
- When you need no tool, answer in plain text without any tag."""


def _guarded(text: str) -> str:
    """Escape the dialect's tags, so that data is not taken for a call or result. In JSON the value stays the same."""
    return text.replace("<tool_", "\\u003ctool_").replace("</tool_", "\\u003c/tool_")


def compact_json(value: object) -> str:
    """Return JSON on one line without escaping letters."""
    return json.dumps(value, ensure_ascii=False)


def tools_section(tools: Sequence[ToolSpec]) -> str:
    """Return the part of the system prompt that lists the tools and explains how to call them."""
    definitions = [
        (
            f'<tool name="{escape(tool.name)}">\n{tool.description.strip()}\nParameters (JSON schema): '
            f"{compact_json(tool.parameters)}\n</tool>"
        )
        for tool in tools
    ]
    return "\n\n".join([_RULES, *definitions])


def render_call(call: ToolCall) -> str:
    """Return a past call in the format the model writes."""
    content = call.raw if call.error and call.raw is not None else compact_json(call.arguments)
    return f'<tool_call name="{escape(call.name)}">{_guarded(content)}</tool_call>'


def render_result(message: ChatMessage) -> str:
    """Return the result of a call; ``content`` is its JSON text, possibly cut."""
    success = "false" if message.success is False else "true"
    return (
        f'<tool_result name="{escape(message.name or "")}" '
        f'success="{success}">{_guarded(message.content)}</tool_result>'
    )


def _with_section(messages: Sequence[ChatMessage], section: str) -> list[ChatMessage]:
    if messages and messages[0].role is Role.SYSTEM:
        first = messages[0].model_copy(update={"content": f"{messages[0].content}\n\n{section}"})
        return [first, *messages[1:]]
    return [ChatMessage(role=Role.SYSTEM, content=section), *messages]


def _as_text(messages: Iterable[ChatMessage]) -> list[ChatMessage]:
    """Convert calls and results to text.

    Results and a directly following user message become one user message, because many chat templates require
    alternating roles.
    """
    out: list[ChatMessage] = []
    after_result = False
    for message in messages:
        if message.role is Role.ASSISTANT and message.tool_calls:
            parts = [message.content.strip(), *(render_call(call) for call in message.tool_calls)]
            out.append(message.model_copy(update={"content": "\n".join(filter(None, parts)), "tool_calls": ()}))
        elif message.role is Role.TOOL or (after_result and message.role is Role.USER):
            text = render_result(message) if message.role is Role.TOOL else message.content
            if after_result:
                last = out[-1]
                out[-1] = last.model_copy(
                    update={"content": f"{last.content}\n{text}", "images": last.images + message.images}
                )
            else:
                out.append(ChatMessage(role=Role.USER, content=text, images=message.images))
        else:
            out.append(message)
        after_result = message.role is Role.TOOL
    return out


def text_request(request: ChatRequest) -> ChatRequest:
    """Return the request with tools, calls and results as text."""
    messages = _as_text(request.messages)
    if request.tools:
        messages = _with_section(messages, tools_section(request.tools))
    stop = (*request.stop, RESULT_STOP) if request.tools and RESULT_STOP not in request.stop else request.stop
    # A reply restricted to an answer schema could not contain a call.
    form = None if request.tools else request.response_schema
    return request.model_copy(update={"messages": tuple(messages), "tools": (), "stop": stop, "response_schema": form})
