"""A repository without the docstrings of its functions, and these docstrings: questions whose answer is known.

A docstring is a question by simple rules: its first sentence has at least five words, no other function of the
repository has the same, and the function has at least four lines without it and is not in a test. Where the language's
convention is to begin with the function's name (Go), the name is removed. A question is specific (``telling``) if at
least five of its words are not stop words.

The complete docstring is a question too: its text with parameters and exceptions, up to the first example, because
examples call the function by its name, and at most ``LONGEST`` characters.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from atelier_desk.knowledge.parsing.errors import ParseError
from atelier_desk.knowledge.parsing.parse import parse
from atelier_desk.knowledge.parsing.parsed_file import Scope
from atelier_desk.knowledge.projects.name_and_test_ranking import is_test
from atelier_desk.storage.search_terms import STOP_WORDS, words

LEAST_WORDS, LEAST_LINES = 5, 4
LONGEST = 1_000
ENDINGS = (".py", ".js", ".ts", ".go", ".rs")
LEFT_OUT = frozenset({"node_modules", "dist", "vendor", ".git", "site-packages", "__pycache__"})
LARGEST = 1_000_000
_COMMENT = re.compile(r"\s*(//|/\*|\*)")
_BLOCK = re.compile(r"\n\s*\n|\n\s*[@:]\w+")
_SENTENCE = re.compile(r"(?<=[\w)\"'`])\. ")
_EXAMPLE = re.compile(
    r"\n\s*(?:```|>>>|@example\b|#+ Examples?\b|\*{0,2}(?:Usage )?Examples?\*{0,2}:{0,2}[ \t]*(?:\n|$)|\.\. code)",
    re.IGNORECASE,
)
_CALLED = {"function", "method"}
_OUTER = {"class", "interface", "trait", "impl"}


class Asked(NamedTuple):
    """A function whose docstring is a question.

    ``source`` is without the docstring, inside its class, ``impl`` or other container, as a file of its own; ``lines``
    are those of the function.
    """

    path: str
    qualified: str
    source: str
    sentence: str
    docstring: str
    lines: int

    @property
    def telling(self) -> bool:
        return len({word for word in words(self.sentence) if word not in STOP_WORDS}) >= LEAST_WORDS


def read(root: Path) -> tuple[dict[str, str], list[Asked], int]:
    """The files of the most common language without docstrings of functions, the questions, and the number of functions
    that had a docstring.
    """
    paths = [
        path
        for path in sorted(root.rglob("*"))
        if path.suffix in ENDINGS and path.is_file() and path.stat().st_size < LARGEST
    ]
    paths = [path for path in paths if LEFT_OUT.isdisjoint(path.relative_to(root).parts)]
    ending = Counter(path.suffix for path in paths).most_common(1)[0][0]
    files: dict[str, str] = {}
    asked: list[Asked] = []
    for path in (path for path in paths if path.suffix == ending):
        name = path.relative_to(root).as_posix()
        try:
            text = path.read_text(encoding="utf-8")
            bare, docstrings = _python(text) if ending == ".py" else _by_comments(name, text)
            scopes = parse(name, bare.encode()).scopes
        except (UnicodeDecodeError, SyntaxError, ParseError):
            continue
        files[name] = bare
        asked += _asked(name, bare.encode(), scopes, docstrings)
    same = Counter(each.sentence.casefold() for each in asked)
    return files, [each for each in asked if _is_question(each, same)], len(asked)


def _is_question(each: Asked, same: Counter[str]) -> bool:
    enough = len(re.findall(r"\w+", each.sentence)) >= LEAST_WORDS and each.lines >= LEAST_LINES
    return enough and same[each.sentence.casefold()] == 1 and not is_test(each.path)


def _asked(path: str, data: bytes, scopes: list[Scope], docstrings: dict[tuple[int, str], str]) -> Iterator[Asked]:
    for scope in scopes:
        first_lines = range(scope.start_line, min(scope.end_line, scope.start_line + 12) + 1)
        key = next(((line, scope.name) for line in first_lines if (line, scope.name) in docstrings), None)
        if key is None or scope.type not in _CALLED or scope.docstring:
            continue
        source = data[data.rfind(b"\n", 0, scope.start) + 1 : scope.end].decode()
        lines = len(source.splitlines())
        source = _within(source, scope, scopes, braces=not path.endswith(".py"))
        written = docstrings.pop(key)
        sentence = _first_sentence(written)
        docstring = _complete(written) or sentence
        if path.endswith(".go"):
            sentence, docstring = (each.removeprefix(f"{scope.name} ") for each in (sentence, docstring))
        yield Asked(path, scope.qualified, source, sentence, docstring, lines)


def _within(source: str, scope: Scope, scopes: list[Scope], *, braces: bool) -> str:
    """A function inside its container."""
    if scope.parent >= 0 and (outer := scopes[scope.parent]).type in _OUTER:
        head = outer.name if outer.type == "impl" else f"{outer.type} {outer.name}"
        return f"{head} {{\n{source}\n}}" if braces else f"{head}:\n{source}"
    indent = len(source) - len(source.lstrip())
    return "\n".join(line[indent:] if not line[:indent].strip() else line for line in source.split("\n"))


def _first_sentence(docstring: str) -> str:
    """The first sentence of a docstring."""
    return _SENTENCE.split(" ".join(_BLOCK.split(docstring.strip())[0].split()))[0].rstrip(".")


def _complete(docstring: str) -> str:
    """A docstring without its examples, on one line."""
    text = " ".join(_EXAMPLE.split(f"\n{docstring.strip()}")[0].split())
    return text if len(text) <= LONGEST else text[:LONGEST].rpartition(" ")[0]


def _python(text: str) -> tuple[str, dict[tuple[int, str], str]]:
    lines: list[str | None] = list(text.split("\n"))
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (docstring := ast.get_docstring(node)):
            first = node.body[0]
            if first.lineno == node.lineno or first.end_lineno is None:
                continue
            lines[first.lineno - 1 : first.end_lineno] = [None] * (first.end_lineno - first.lineno + 1)
            if len(node.body) == 1:
                lines[first.lineno - 1] = " " * first.col_offset + "pass"
            found.append((node.lineno, node.name, docstring))
    return _without(lines, found)


def _by_comments(path: str, text: str) -> tuple[str, dict[tuple[int, str], str]]:
    """Remove the comment above each function, with blank lines and attributes between them."""
    lines: list[str | None] = list(text.split("\n"))
    found = []
    for scope in parse(path, text.encode()).scopes:
        if not scope.docstring or scope.type not in _CALLED:
            continue
        row, removed = scope.start_line - 2, False
        while row >= 0 and (line := lines[row]) is not None:
            if _COMMENT.match(line):
                lines[row], removed = None, True
            elif removed or (line.strip() and not line.strip().startswith(("#[", "@"))):
                break
            row -= 1
        if removed:
            found.append((scope.start_line, scope.name, scope.docstring))
    return _without(lines, found)


def _without(lines: list[str | None], found: list[tuple[int, str, str]]) -> tuple[str, dict[tuple[int, str], str]]:
    """The text of the remaining lines, and the removed text by line and name."""
    remaining, new_lines = [], {}
    for number, line in enumerate(lines, 1):
        if line is not None:
            remaining.append(line)
            new_lines[number] = len(remaining)
    return "\n".join(remaining), {
        (new_lines[line], name): docstring for line, name, docstring in found if line in new_lines
    }
