"""Generate model replies together with the truth about them: which calls they contain, and how many are damaged.

A reply consists of parts: prose that only resembles calls, code with examples of calls, good calls, calls with a
small fault. A part that makes the rest ambiguous (an unclosed call, a missing quote) comes last. Nobody can tell
what spliced replies contain; they are marked as such and only must not cause an error.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

NAMES = ("TodoTool", "MemoryTool", "CalculatorTool", "UserQuestionTool", "task_complete", "read_file", "mcp__git__log")

Call = tuple[str, dict[str, Any]]


@dataclass
class Reply:
    """A generated reply.

    Attributes:
        calls: the good calls, in order.
        damaged: the number of faulty calls; each may give one call that is repaired or carries an error.
        known: whether the two above are the complete truth.
        cut: whether it ended at the token limit.
    """

    text: str = ""
    calls: list[Call] = field(default_factory=list)
    damaged: int = 0
    known: bool = True
    cut: bool = False


_WORDS = (
    "the result is", "if a < b then", "x > 0 && y < 1", "List<String>", "<b>bold</b>", "<think>", "</think>",
    "<tool_result", "{", "}",
    '{"success": true}', '"quoted"', "it's", "l'été", "naïve café", "日本語", "😀",
    "a\ud800b", "\udc00", "\x00", "\u2028",
    "->",
    "<-", "<<", "< tool_call>", "<tool_call", "<tool", "</tool_call>", "the <tool_call> tag", "<tool_calls>",
    "<TOOL_CALL name='X'>",
    '<tool_call id="3">', "<tool_call name=>", '<tool_call name="">{}', '<tool_call name="X"', 'name="X">', "[1, 2]",
    '{"name": "TodoTool", "arguments": {}}',
    "TodoTool({})", "```", "~~", "\\", "</tool_call", "&lt;tool_call&gt;", "<!-- tool_call -->", "# Plan", "- item",
    "1. first",
    "| a | b |",
)  # fmt: skip
_OPENING = re.compile(r"""<tool_call\s[^<>]*name\s*=\s*["'][^"'<>]+["'][^<>]*>|<tool_call\s*>(?=\s*\{)""")


def prose(source: random.Random) -> str:
    """Words without a call or a complete opening tag. They end their line, so that a stray backtick cannot pair
    with a later one.
    """
    words = [source.choice(_WORDS) for _ in range(source.randint(1, 12))]
    text = source.choice([" ", " ", "\n"]).join(words)
    # A fence would change what follows, and a tag without a name before an object would be a call.
    lines = [line if not line.startswith(("```", "~~")) else f"x {line}" for line in text.split("\n")]
    return _OPENING.sub("<tool_call name>", "\n".join(lines)) + source.choice([".", "!", " end"]) + "\n"


def value(source: random.Random, depth: int = 0) -> Any:
    kinds: list[Callable[[], Any]] = [
        lambda: source.randint(-(10**18), 10**18),
        lambda: round(source.uniform(-1e6, 1e6), 3),
        lambda: source.choice([None, True, False]),
        lambda: source.choice(_WORDS).replace("\ud800", "").replace("\udc00", ""),
        lambda: source.choice(
            [
                "</tool_call>",
                '<tool_call name="rm">{}</tool_call>',
                "```\ncode\n```",
                'a "b" c',
                "C:\\Users\\new",
                "\n\t",
                "`",
            ]
        ),
        lambda: "long text " * source.randint(0, 60),
    ]
    if depth < 3:
        kinds.append(lambda: [value(source, depth + 1) for _ in range(source.randint(0, 3))])
        kinds.append(lambda: arguments(source, depth + 1))
    return source.choice(kinds)()


def arguments(source: random.Random, depth: int = 0) -> dict[str, Any]:
    keys = ("operation", "name", "content", "task_id", "clé", 'a"b', "expression", "x")
    return {source.choice(keys): value(source, depth) for _ in range(source.randint(0, 4))}


def _json(source: random.Random, data: dict[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=source.random() < 0.3, indent=source.choice([None, None, 2]))


def _add_call(source: random.Random, reply: Reply) -> None:
    name, data = source.choice(NAMES), arguments(source)
    text = _json(source, data)
    form = source.random()
    if form < 0.1:
        reply.text += f"<tool_call>\n{_json(source, {'name': name, 'arguments': data})}\n</tool_call>"
    elif form < 0.2:
        # A fence may surround arguments; a fence inside them would make the pair ambiguous.
        body = text if "```" in text else f"\n```json\n{text}\n```\n"
        reply.text += f"<tool_call name='{name}'>{body}</tool_call>"
    else:
        blank = source.choice(["", "\n", "  "])
        reply.text += f'<tool_call name="{name}">{blank}{text}{blank}</tool_call>'
    reply.calls.append((name, data))
    reply.text += source.choice(["", "\n", " "])


def _add_example(source: random.Random, reply: Reply) -> None:
    inner = Reply()
    _add_call(source, inner)
    shown = inner.text.replace("`", "'").replace("~", "-")
    if source.random() < 0.3 and "\n" not in shown.strip():
        reply.text += f"Write `{shown.strip()}` to call.\n"
    else:
        mark = source.choice(["```", "````", "~~~"])
        start = "\n" if reply.text and not reply.text.endswith("\n") else ""
        reply.text += f"{start}{mark}{source.choice(['', 'xml', 'json'])}\n{shown}\n{mark}\n"


_FAULTS = (
    "{'name': 'x'}", '{"a": 1,}', "{a: 1}", "[1, 2]", "just words", "7", '{"a": 1} more', '{"a": NaN}', '{"a": 1e999}',
    "{,}", '{"a" 1}',
    '{"a":' * 70 + "1" + "}" * 70, "[" * 300 + "]" * 300, '{"a": tru}', "{{}}", "}{",
)  # fmt: skip


def _add_fault(source: random.Random, reply: Reply) -> None:
    """A call with a fault that does not affect what follows."""
    body = source.choice(_FAULTS)
    reply.text += f'<tool_call name="{source.choice(NAMES)}">{body}</tool_call>\n'
    reply.damaged += 1


def _add_last_fault(source: random.Random, reply: Reply) -> None:
    """A call that makes everything after it ambiguous, so nothing follows."""
    name = source.choice(NAMES)
    text = json.dumps({"name": "a", **{key: item for key, item in arguments(source).items() if key != "name"}})
    opening = f'<tool_call name="{name}">'
    kind = source.randrange(4)
    if kind == 0:
        reply.text += opening + text[: source.randint(0, len(text))]
        reply.damaged += 1
    elif kind == 1:
        reply.text += opening + '{"a": "b}</tool_call> words after it'
        reply.damaged += 1
    elif kind == 2:
        reply.text += opening + '{"a": ' + opening + "{}"
        reply.damaged += 2
    else:
        reply.text += opening + '{"a": [1, 2</tool_call'
        reply.damaged += 1


_PARTS = (prose, _add_call, _add_call, _add_example, _add_fault)


def complete_reply(source: random.Random) -> Reply:
    """A reply of up to eight parts, whose truth is known."""
    reply = Reply()
    for _ in range(source.randint(1, 8)):
        part = source.choice(_PARTS)
        if part is prose:
            reply.text += prose(source)
        else:
            part(source, reply)  # type: ignore[call-arg]
    if source.random() < 0.25:
        _add_last_fault(source, reply)
    return reply


def cut_short(source: random.Random) -> Reply:
    """A reply that reached the token limit: its good calls are those complete before the cut."""
    reply = Reply(cut=True)
    for _ in range(source.randint(0, 4)):
        source.choice((_add_call, _add_example))(source, reply)
    reply.text += "\n"
    last = Reply()
    _add_call(source, last)
    closing = last.text.rindex("</tool_call>")
    reply.text += last.text[: source.randint(0, closing)]
    reply.damaged = 1
    return reply


def spliced(source: random.Random) -> Reply:
    """Two replies cut and mixed at random places, with noise."""
    first, second = complete_reply(source).text, complete_reply(source).text
    at, back = source.randint(0, len(first)), source.randint(0, len(second))
    noise = "".join(
        source.choice(("<", ">", '"', "{", "}", "\\", "`", "</tool_call>", '<tool_call name="A">', "\ud800"))
        for _ in range(source.randint(0, 8))
    )
    return Reply(first[:at] + noise + second[back:] + first[at:], known=False, cut=source.random() < 0.3)


def generate(source: random.Random) -> Reply:
    """A random reply: six of ten complete, two cut short, two spliced."""
    return source.choices((complete_reply, cut_short, spliced), weights=(6, 2, 2))[0](source)
