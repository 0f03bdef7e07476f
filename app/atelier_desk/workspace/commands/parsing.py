"""Parse a command line with bash's grammar into simple commands and redirections, or say why that is impossible.

Only unambiguous syntax is accepted: plain words, quotes, ``&&``, ``||``, ``;``, ``|``, line ends and redirections to
named files. Anything that executes or expands on the way (substitutions, variables, assignments, subshells,
here-documents, functions, keywords, background jobs) makes the line unreadable, and a person is asked. What is executed
is not the original text but ``Line.rendered``: the same words, each quoted anew, so that differences between this
parser and the shell cannot be exploited.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from atelier_desk.support.i18n import N_

LONGEST = 20_000
"""Maximum characters of a parsed line; longer ones ask."""
_MARKS, _MOST_MARKS = "|&;<>(){}$`\n", 1_000
"""Shell metacharacters, and the maximum number of them in a parsed line.

Lines of nothing else take the grammar quadratic time, seconds for 10 000.
"""

GLOB = "*?["
_SHELL_WORDS = """
time coproc if then elif else fi for while until do done case esac in select function
eval exec source . command builtin alias unalias export declare typeset
local readonly set unset shopt trap enable hash let read mapfile readarray
"""
_KEYWORDS = frozenset(_SHELL_WORDS.split())
"""First words that change how the rest is parsed, or execute it: not programs on disk."""

_READS, _WRITES, _APPENDS = "<", ">", ">>"
_TO_FILE = {"<": _READS, ">": _WRITES, ">|": _WRITES, ">>": _APPENDS, "&>": _WRITES, "&>>": _APPENDS}


class UnreadableError(Exception):
    """The line cannot be parsed with certainty.

    ``reason`` is English, marked for translation, ``part`` the text concerned.
    """

    def __init__(self, reason: str, part: str = "") -> None:
        super().__init__(reason, part)
        self.reason = reason
        self.part = part


@dataclass(frozen=True, slots=True)
class ShellWord:
    """One argument. ``pieces``: its text in order, each with whether the shell may expand it to file names."""

    pieces: tuple[tuple[str, bool], ...]

    @property
    def text(self) -> str:
        """The word without quotes."""
        return "".join(text for text, _globs in self.pieces)

    @property
    def globs(self) -> bool:
        """Whether file names may be substituted for it."""
        return any(globs for _text, globs in self.pieces)

    @property
    def rendered(self) -> str:
        """The word, quoted anew.

        One that begins with a pattern gets ``./``, so that a file name cannot become an option.
        """
        whole = "".join(text if globs else shlex.quote(text) for text, globs in self.pieces) or "''"
        return f"./{whole}" if self.pieces and self.pieces[0][1] else whole


@dataclass(frozen=True, slots=True)
class Redirect:
    """A file that a command reads or writes, or one output that follows the other (``file`` is None)."""

    operator: str
    descriptor: str = ""
    file: ShellWord | None = None
    target: str = ""

    @property
    def writes(self) -> bool:
        """Whether a file is written; ``/dev/null`` does not count."""
        return self.file is not None and self.operator != _READS and self.file.text != "/dev/null"

    @property
    def rendered(self) -> str:
        return f"{self.descriptor}{self.operator}{self.file.rendered if self.file is not None else self.target}"


@dataclass(frozen=True, slots=True)
class Simple:
    """One program with its arguments and redirections."""

    words: tuple[ShellWord, ...]
    redirects: tuple[Redirect, ...] = ()

    @property
    def arguments(self) -> tuple[str, ...]:
        """The words without quotes, the program first."""
        return tuple(word.text for word in self.words)

    @property
    def rendered(self) -> str:
        return " ".join([*(word.rendered for word in self.words), *(redirect.rendered for redirect in self.redirects)])


@dataclass(frozen=True, slots=True)
class Line:
    """Simple commands and the operators between them: ``operators`` has one item fewer than ``commands``."""

    commands: tuple[Simple, ...]
    operators: tuple[str, ...] = ()

    @property
    def plain(self) -> bool:
        """Whether it is one program with plain words, which runs without a shell."""
        only = self.commands[0]
        return len(self.commands) == 1 and not only.redirects and not any(word.globs for word in only.words)

    @property
    def rendered(self) -> str:
        """The line with every word quoted anew, as passed to a shell."""
        said = [self.commands[0].rendered]
        for operator, command in zip(self.operators, self.commands[1:], strict=True):
            said += [operator, command.rendered]
        return " ".join(said)


_MASKED = bytes(byte if byte < 0x80 else ord("x") for byte in range(256))
"""Maps non-ASCII bytes to a letter for the grammar, which is how bash treats them.

tree-sitter-bash 0.25.1 looks characters up in the C library's table of 256, and some of them crash the process (seen
with U+9666A after a brace).
"""


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


def read(text: str, home: str = "") -> Line:
    """Parse a line; raises ``UnreadableError``.

    ``home`` replaces a leading ``~``; without it such a word is unreadable.
    """
    if len(text) > LONGEST or sum(text.count(mark) for mark in _MARKS) > _MOST_MARKS:
        raise UnreadableError(N_("it is too long"))
    if any(ord(character) < 32 and character not in "\n\t" for character in text) or "\x7f" in text or "\ufffd" in text:
        raise UnreadableError(N_("it contains control characters"))
    if "\\\n" in text:
        raise UnreadableError(N_("it contains an escaped line break"))
    try:
        source = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UnreadableError(N_("it is not Unicode text")) from error
    root = _parser().parse(source.translate(_MASKED)).root_node
    if root.has_error or root.type != "program":
        raise UnreadableError(N_("it is not valid bash"))
    commands, operators = _Reader(source, home).sequence(root)
    if not commands:
        raise UnreadableError(N_("it contains no command"))
    return Line(tuple(commands), tuple(operators))


class _Reader:
    """Walks the syntax tree; unknown node kinds make the line unreadable."""

    def __init__(self, source: bytes, home: str) -> None:
        self._source = source
        self._home = home

    def text(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode("utf-8")

    def refuse(self, node: Node, reason: str) -> UnreadableError:
        return UnreadableError(reason, self.text(node)[:80])

    def sequence(self, node: Node) -> tuple[list[Simple], list[str]]:
        """Return consecutive commands: a single one, or those of ``&&``, ``||`` and ``|``."""
        commands: list[Simple] = []
        operators: list[str] = []
        waiting = ""
        for child in node.children:
            if child.type == "comment":
                continue
            if not child.is_named:
                if child.type not in ("&&", "||", "|", ";", "\n"):
                    raise self.refuse(child, N_("it uses an operator that could not be parsed"))
                waiting = child.type
                continue
            more, between = self.statement(child)
            if commands:
                operators.append(waiting if waiting in ("&&", "||", "|") else ";")
            commands += more
            operators += between
            waiting = ""
        if waiting in ("&&", "||", "|"):
            raise self.refuse(node, N_("a command is missing after its last operator"))
        return commands, operators

    def statement(self, node: Node) -> tuple[list[Simple], list[str]]:
        if node.type in ("list", "pipeline"):
            return self.sequence(node)
        if node.type == "command":
            return [self.command(node)], []
        if node.type == "redirected_statement":
            return self.redirected(node)
        raise self.refuse(node, N_("the shell would run or expand part of it first"))

    def redirected(self, node: Node) -> tuple[list[Simple], list[str]]:
        """Assign a redirection to the last command, as bash does; the grammar assigns it to all commands before it."""
        body, *marks = [child for child in node.children if child.type != "comment"]
        self.apart([body, *marks])
        commands, operators = self.statement(body)
        last = commands[-1]
        redirects = (*last.redirects, *(self.redirect(mark) for mark in marks))
        return [*commands[:-1], Simple(last.words, redirects)], operators

    def redirect(self, node: Node) -> Redirect:
        if node.type != "file_redirect":
            raise self.refuse(node, N_("it contains inline input for a command"))
        children = list(node.children)
        descriptor = self.text(children.pop(0)) if children[0].type == "file_descriptor" else ""
        operator, *rest = children
        if len(rest) != 1:
            raise self.refuse(node, N_("its redirection could not be parsed"))
        if operator.type == ">&" and self.text(rest[0]) in ("1", "2"):
            return Redirect(">&", descriptor, target=self.text(rest[0]))
        if operator.type not in _TO_FILE:
            raise self.refuse(node, N_("its redirection could not be parsed"))
        file = self.word(rest[0])
        if file.globs:
            raise self.refuse(node, N_("its redirection could not be parsed"))
        return Redirect(operator.type, descriptor, file)

    def command(self, node: Node) -> Simple:
        words: list[ShellWord] = []
        redirects: list[Redirect] = []
        self.apart(node.children)
        for child in node.children:
            if child.type == "command_name" and not words and child.child_count == 1:
                words.append(self.word(child.children[0]))
            elif child.type == "file_redirect" and words:
                redirects.append(self.redirect(child))
            elif child.is_named and words:
                words.append(self.word(child))
            else:
                raise self.refuse(child, N_("the shell would run or expand part of it first"))
        if not words or words[0].globs or not words[0].text:
            raise self.refuse(node, N_("its program name is not plain text"))
        if words[0].text in _KEYWORDS or "=" in words[0].text:
            raise self.refuse(node, N_("its first word is a shell keyword or an assignment"))
        return Simple(tuple(words), tuple(redirects))

    def apart(self, nodes: list[Node]) -> None:
        r"""Refuse adjacent words: bash takes ``]\;`` for one word, the grammar for two.

        A redirection may touch a word that is not a number.
        """
        for one, other in pairwise(nodes):
            gap = self._source[one.end_byte : other.start_byte].decode("utf-8")
            is_mark = other.type == "file_redirect" and other.children[0].type != "file_descriptor"
            touches = is_mark and not self.text(one)[-1:].isdigit()
            if gap.strip(" \t") or not (gap or touches):
                raise self.refuse(other, N_("its words are not separated by spaces"))

    def word(self, node: Node) -> ShellWord:
        pieces = tuple(self.pieces(node, first=True))
        return ShellWord(_joined(pieces))

    def pieces(self, node: Node, *, first: bool) -> list[tuple[str, bool]]:
        text = self.text(node)
        if node.type == "concatenation":
            found: list[tuple[str, bool]] = []
            for index, child in enumerate(node.children):
                found += self.pieces(child, first=first and index == 0)
            if self._gaps(node):
                raise self.refuse(node, N_("the shell would run or expand part of it first"))
            return found
        if node.type in ("word", "number"):
            if node.child_count:
                raise self.refuse(node, N_("the shell would run or expand part of it first"))
            return self.unquoted(node, text, first=first)
        if node.type == "raw_string" and len(text) >= 2 and text[0] == text[-1] == "'":
            return [(text[1:-1], False)]
        if node.type == "string":
            return [(self.in_quotes(node, text), False)]
        raise self.refuse(node, N_("the shell would run or expand part of it first"))

    def _gaps(self, node: Node) -> bool:
        """Whether there are gaps between the parts of a word."""
        ends = [node.start_byte, *(child.end_byte for child in node.children)]
        starts = [*(child.start_byte for child in node.children), node.end_byte]
        return ends != starts

    def unquoted(self, node: Node, text: str, *, first: bool) -> list[tuple[str, bool]]:
        pieces: list[tuple[str, bool]] = []
        if first and text.startswith("~"):
            if not self._home or (text != "~" and not text.startswith("~/")):
                raise self.refuse(node, N_("it names another user's home folder"))
            pieces.append((self._home, False))
            text = text[1:]
        characters = iter(text)
        for character in characters:
            if character == "\\":
                escaped = next(characters, "")
                if not escaped:
                    raise self.refuse(node, N_("it ends with a backslash"))
                pieces.append((escaped, False))
            elif character in "{}$`!~\"'()<>|&;\n\t #" and not (character in "#~!" and pieces):
                raise self.refuse(node, N_("the shell would run or expand part of it first"))
            else:
                pieces.append((character, character in GLOB or character == "]"))
        return pieces

    def in_quotes(self, node: Node, text: str) -> str:
        """Return the text of double quotes.

        A backslash is removed only before ``$``, a backquote, a quote or itself.
        """
        if any(child.is_named and child.type != "string_content" for child in node.children) or len(text) < 2:
            raise self.refuse(node, N_("the shell would run or expand part of it first"))
        inner, pieces = text[1:-1], []
        index = 0
        while index < len(inner):
            character = inner[index]
            if character == "\\" and inner[index + 1 : index + 2] in ("$", "`", '"', "\\"):
                pieces.append(inner[index + 1])
                index += 2
                continue
            if character in '$`"':
                raise self.refuse(node, N_("the shell would run or expand part of it first"))
            pieces.append(character)
            index += 1
        return "".join(pieces)


def _joined(pieces: tuple[tuple[str, bool], ...]) -> tuple[tuple[str, bool], ...]:
    """Join adjacent pieces of the same kind; a bracket without a pattern stays plain text."""
    patterns = any(globs and text != "]" for text, globs in pieces)
    joined: list[tuple[str, bool]] = []
    for text, globs in pieces:
        globs = globs and patterns
        if joined and joined[-1][1] == globs:
            joined[-1] = (joined[-1][0] + text, globs)
        else:
            joined.append((text, globs))
    return tuple(joined)
