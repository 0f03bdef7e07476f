"""Every code of a failed call is in one enum, has a message for people, and gives the model a next step."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import atelier_desk
from atelier_desk.domain.document_formats import NOT_READ
from atelier_desk.domain.failure_codes import FailureCode
from atelier_desk.tools.calls.error_next_steps import _STEPS, with_next_step

PACKAGE = Path(atelier_desk.__file__).parent
ROOMS = ("tools", "workspace", "web", "engine/run", "engine/team", "engine/attachments/image_descriptions.py")
NOT_OF_CALLS = frozenset(
    {"description", "folder", "header", "long", "mended", "name", "empty_reply", "truncated", "guided"}
)
"""For files of skills and replies of models."""


def sources() -> Iterator[Path]:
    for room in ROOMS:
        place = PACKAGE / room
        yield from sorted(place.rglob("*.py")) if place.is_dir() else [place]


def strings(node: ast.AST | None) -> Iterator[str]:
    """The texts an expression can have, with a placeholder for inserted values."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
    elif isinstance(node, ast.IfExp):
        yield from (*strings(node.body), *strings(node.orelse))
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        yield from (first + second for first in (*strings(node.left), "") for second in strings(node.right) if first)
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "FailureCode":
        yield FailureCode[node.attr].value


def failures(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """The code and text of every error and failed result in the source."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Tuple)
            and len(node.elts) == 2
            and all(isinstance(each, ast.Constant) for each in node.elts)
        ):
            code, text = (each.value for each in node.elts if isinstance(each, ast.Constant))
            if isinstance(code, str) and code in set(FailureCode) and isinstance(text, str) and "{path}" in text:
                yield code, text
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                code, text = getattr(key, "value", None), getattr(value, "value", None)
                if isinstance(code, str) and code in set(FailureCode) and isinstance(text, str) and "{path}" in text:
                    yield code, text
        if not isinstance(node, ast.Call) or not node.args:
            continue
        named = {keyword.arg: keyword.value for keyword in node.keywords}
        called = ast.unparse(node.func).split(".")[-1]
        given = named.get("code") or (node.args[1] if called == "failure" and len(node.args) > 1 else None)
        if given is None or not (called == "failure" or called.endswith("Error")):
            continue
        for code in strings(given):
            for text in strings(named.get("text")) if "text" in named else strings(node.args[0]):
                yield code, text


@functools.cache
def written() -> list[tuple[str, str]]:
    """Every code with its text, in the sources."""
    found = {each for path in sources() for each in failures(ast.parse(path.read_text(encoding="utf-8")))}
    return sorted(found | {*NOT_READ.items()})


STEP = re.compile(
    r"\b(use|give|tell|read|set|choose|try|do the work|do not|ask|list|add|leave|call|there "
    r"(are|is)|yours|known|allowed|available|closest"
    r"|has|others?|agents|replace|you can|run one|only|at most|limit is|maximum is|go "
    r"on|fetch|edit|review|delete|move|write|copy|make|name|stop|see"
    r"|put|take|show|wait|fit|send|begin|work in|check|change|search|retry|say|answer|grant|update file|let|nothing "
    r"was|install|save|kinds"
    r"|up to|your tools|nothing needs|download|look|requires)\b",
    re.IGNORECASE,
)
"""Words of a text that gives advice or states what is allowed."""

NEXT_STEPS = {
    "exists": "overwrite",
    "not_a_file": "list_directory",
    "not_a_folder": "list_directory",
    "not_found": "list_directory",
    "changed": "Read it again",
    "no_workspace": "folder",
    "own_network": "rule",
    "not_empty": "recursive",
    "depth": "Do the work yourself",
    "no_parent": "wait_user_response",
    "unknown_section": "Sections of your tools",
    "unknown_name": "Available",
    "other_disk": "copy it, then delete it",
    "timeout": "Ask for less",
    "bad_path": "for example src/main.py",
    "no_shell": "one command at a time",
    "memory_off": "Go on without it",
    "needs_user": "Tell them",
    "no_workflow": "use scope general",
    "unsafe_repository": "tell the user",
    "bad_patch": "old_string",
    "no_team": "Do the work yourself",
    "outside": "paths relative to the first folder",
    "elsewhere": "Fetch that address",
    "encrypted": "without protection",
    "not_a_page": "Fetch a page with text",
    "no_cell": "It has",
    "skipped": "sensible assumption",
    "binary": "run_command",
    "division_by_zero": "Check the numbers",
}
"""What the text of a code mentions when its next step is another call or argument."""


def test_every_used_code_is_in_the_enum() -> None:
    assert len(written()) > 200
    assert {code for code, _text in written()} - NOT_OF_CALLS <= set(FailureCode)


def test_every_code_of_the_enum_is_used() -> None:
    words = re.compile(r'"([a-z_]+)"|FailureCode\.([A-Z_]+)')
    used = {name for path in sources() for pair in words.findall(path.read_text("utf-8")) for name in pair if name}
    of_classes = {"usage", "over_limit", "conflict", "storage", "provider", "cancelled", "not_found", "tool_error"}
    kept = "".join(
        path.read_text(encoding="utf-8")
        for path in PACKAGE.rglob("*.py")
        if path.name not in ("failure_codes.py", "call_failure_text.py")
    )
    assert [code.value for code in FailureCode if code not in used | of_classes and f'"{code}"' not in kept] == []


def test_every_text_names_the_next_step_or_what_is_allowed() -> None:
    wrong = []
    for code, text in written():
        said = with_next_step(text, code)
        if code in NOT_OF_CALLS or not re.search(r"[a-z]{3} [a-z]", said) or re.search(r"[.:]\s(…|\{\w+\})?$", said):
            continue  # the end of the text is inserted at run time
        if not STEP.search(re.sub(r"\{\w+(!r)?\}", "…", said)):
            wrong.append((code, said))
    assert not wrong


def test_the_next_step_of_a_code() -> None:
    texts: dict[str, list[str]] = {code: [] for code in NEXT_STEPS}
    for code, text in written():
        texts.setdefault(code, []).append(with_next_step(text, code))
    lacking = {code: texts[code] for code, step in NEXT_STEPS.items() if not any(step in text for text in texts[code])}
    assert not lacking


def test_a_step_is_added_only_where_the_text_lacks_it() -> None:
    plain = "a is a folder, not a file."
    once = with_next_step(plain, "not_a_file")
    assert once.startswith(f"{plain} ")
    assert "list_directory" in once
    assert with_next_step(once, "not_a_file") == once
    assert (
        with_next_step("a exists already: set overwrite to replace it.", "exists")
        == "a exists already: set overwrite to replace it."
    )
    assert with_next_step("Whatever", "code_of_an_own_tool") == "Whatever"
    for code, part, _step in _STEPS:
        assert any(each == code and part in text for each, text in written()), f"{code}: no text has “{part}”"
