"""A source file being read: what the query found in its tree, and what readers of all languages share.

Captures that mean the same everywhere: ``scope.TYPE`` a definition of that type, ``call`` the expression that is called, ``base`` a type
that the definition around it inherits from, ``comment`` a comment, ``skip`` what may stand between a comment and its definition. Each
reader asks for its others by name. Python's side of a walk costs as much as the grammar, so it is done by captures in bulk: one loop for
each kind, positions as numbers, names by slices.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from atelier_desk.knowledge.parsing.parsed import Binding, Import, Parsed, Reference, Scope

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

SIGNATURE = 500
DOCSTRING = 4_000
SCOPES = 50_000
"""Definitions of one file; generated ones have more than anybody looks up."""
CHAIN = 8
"""Parts of a name that are kept, the last ones."""
_SPACES = re.compile(r"\s+")
_SIGNS = re.compile(r"^\s*(?:/\*+!?|\*+/|//+!?|#+|--+|\*+(?!/))[ \t]?|\s*\*+/\s*$", re.MULTILINE)
_NAME = re.compile(r"[^\W\d]\w*[!?]?\Z|\$\w+\Z|@{1,2}\w+\Z|#\w+\Z")
_ARROWS = re.compile(r"\s*(?:\?\.|\?->|->|::|\.|!\.)\s*")
_chains: dict[str, tuple[str, ...]] = {}
VALUES = frozenset({"constant", "variable"})
"""Types of scopes that names are given in, and not within."""
MEMBERS = frozenset({"class", "interface", "struct", "trait", "impl", "enum", "record", "protocol", "object"})
"""Types of scopes whose functions are methods."""


class Definition(NamedTuple):
    """What becomes a scope. ``owner`` is the qualified name it belongs to when that is not where it stands; ``body`` the place of its
    body, ``last`` its last row where these are not what the grammar says."""

    start: int
    end: int
    node: Node
    type: str
    name: str
    owner: str = ""
    body: int = -1
    last: int = -1


def chain_of(text: str) -> tuple[str, ...]:
    """The parts of a dotted name as written: ``self.items[0].save`` is ``self``, ``items[]``, ``save``; ``f(x).y`` is ``f()``, ``y``; a
    part that is no name is an empty string."""
    found = _chains.get(text)
    if found is None:
        found = _chain(text)
        if len(_chains) > 100_000:
            _chains.clear()
        _chains[text] = found
    return found


def _chain(text: str) -> tuple[str, ...]:
    if text.isidentifier():
        return (text,)
    if len(text) > 2_000:
        text = text[-2_000:]
    plain = _flat(text).replace("[]()", "()")  # a generic class that is called
    parts = []
    for part in _ARROWS.split(plain):
        part = part.strip()
        name = part.rstrip("()[]!")
        if not _NAME.match(name) and not _NAME.match(part):
            parts.append("")
        else:
            parts.append(part if part.endswith((")", "]")) else part.rstrip("!") or part)
    if parts and len(parts) > 1 and not parts[0] and plain.lstrip().startswith((".", "::", "\\")):
        parts = parts[1:]  # a name from the root of all
    return tuple(parts[-CHAIN:])


def _flat(text: str) -> str:
    """The text with what is in brackets left out: ``()`` after a call, ``[]`` after an index, nothing for type arguments."""
    if text.startswith(("await ", "new ")):
        text = text.split(None, 1)[1]
    out: list[str] = []
    opened: list[str] = []
    quote = ""
    for at, sign in enumerate(text):
        if quote:
            if sign == quote and text[at - 1] != "\\":
                quote = ""
            continue
        if sign in "\"'`":
            quote = sign
            if not opened:
                out.append("'")
        elif sign in "([{" or (sign == "<" and opened[-1:] == ["<"]) or (sign == "<" and out and out[-1][-1:].isalnum()):
            if not opened:
                # what opens a name is a group and no call
                out.append(sign)
            opened.append(sign)
        elif opened and (sign in ")]}" or (sign == ">" and opened[-1] == "<" and text[at - 1] not in "-=")):
            while opened and opened[-1] == "<" and sign != ">":
                opened.pop()
            if opened:
                opened.pop()
            if not opened:
                out.append(sign)
        elif not opened:
            out.append(sign)
    flat = "".join(out).replace("<>", "").replace("::(", "(")
    return flat


class Source:
    """One file and what is found in it.

    Attributes:
        data: as UTF-8.
        raw: the same, one character a byte, so that positions of the tree are positions in it.
        found: nodes by the name of their capture, in their order in the file.
        parsed: what is filled.
    """

    def __init__(self, data: bytes, tree: Tree, found: dict[str, list[Node]], parsed: Parsed) -> None:
        self.data, self.tree, self.found, self.parsed = data, tree, found, parsed
        self.raw = data.decode("latin-1")
        self.plain = data.isascii()
        self._points: list[int] = [0]
        self._owners: list[int] = [-1]
        self._comments: dict[int, Node] | None = None

    def slice(self, start: int, end: int) -> str:
        text = self.raw[start:end]
        return text if self.plain or text.isascii() else text.encode("latin-1").decode("utf-8", "replace")

    def text(self, node: Node) -> str:
        return self.slice(node.start_byte, node.end_byte)

    def field(self, node: Node, name: str) -> str:
        """The text of a field of a node; empty when it has none."""
        found = node.child_by_field_name(name)
        return self.text(found) if found is not None else ""

    def definitions(self, name_of: Callable[[Node, str], tuple[str, str]] | None = None) -> list[Definition]:
        """Those that the query captured as ``scope.TYPE``; ``name_of`` gives name and owner, the field ``name`` otherwise."""
        found = []
        for capture, nodes in self.found.items():
            if not capture.startswith("scope."):
                continue
            type_ = capture[6:]
            for node in nodes[:SCOPES]:
                if name_of is None:
                    name, owner = self.field(node, "name"), ""
                else:
                    name, owner = name_of(node, type_)
                if name:
                    found.append(Definition(node.start_byte, node.end_byte, node, type_, name[:200], owner))
        return found

    def scopes(
        self, definitions: Iterable[Definition], doc: Callable[[Definition], str] | None = None, members: frozenset[str] = MEMBERS
    ) -> None:
        """Makes scopes of definitions: nests them by their places, makes their names unique, functions of a class methods."""
        scopes = self.parsed.scopes
        names: dict[str, int] = {}
        seen: set[str] = set()
        open_: list[tuple[int, int]] = []
        points: list[tuple[int, int]] = [(0, -1)]
        waiting: list[tuple[int, str]] = []
        for each in sorted(definitions, key=lambda each: (each.start, -each.end))[:SCOPES]:
            while open_ and open_[-1][0] <= each.start:
                end, _index = open_.pop()
                points.append((end, open_[-1][1] if open_ else -1))
            parent = open_[-1][1] if open_ else -1
            type_, index = each.type, len(scopes)
            prefix = scopes[parent].qualified + "." if parent >= 0 else ""
            if each.owner:
                if parent < 0 or scopes[parent].type not in {"impl", "class"}:
                    waiting.append((index, each.owner))
                prefix = (prefix if parent >= 0 and scopes[parent].type in {"namespace", "module"} else "") + each.owner + "."
                if waiting and waiting[-1][0] == index:
                    waiting[-1] = (index, prefix[:-1])
                if type_ == "function":
                    type_ = "method"
            elif type_ == "function" and parent >= 0 and scopes[parent].type in members:
                type_ = "method"
            qualified = full = prefix + each.name
            while qualified in seen:
                names[full] = names.get(full, 1) + 1
                qualified = f"{full}#{names[full]}"
            seen.add(qualified)
            node = each.node
            scopes.append(
                Scope(type_, each.name, qualified, parent, node.start_point[0] + 1,
                      (each.last if each.last >= 0 else _last_row(node)) + 1, each.start, each.end,
                      self.signature(each), doc(each) if doc is not None else "")
            )  # fmt: skip
            if each.end > each.start and (not open_ or each.end <= open_[-1][0]):
                open_.append((each.end, index))
                points.append((each.start, index))
        while open_:
            end, _index = open_.pop()
            points.append((end, open_[-1][1] if open_ else -1))
        if waiting:
            by_name = {scope.qualified: index for index, scope in enumerate(scopes)}
            for index, owner in waiting:
                home = by_name.get(owner, -1)
                if home >= 0 and home != index and not self._within(home, index):
                    scopes[index] = scopes[index]._replace(parent=home)
        self._points = [place for place, _index in points]
        self._owners = [index for _place, index in points]

    def _within(self, index: int, outer: int) -> bool:
        for _step in range(len(self.parsed.scopes)):
            if index in (outer, -1):
                break
            index = self.parsed.scopes[index].parent
        return index == outer

    def scope_at(self, place: int) -> int:
        """The innermost scope around a place; -1 outside all."""
        return self._owners[bisect_right(self._points, place) - 1]

    def signature(self, each: Definition) -> str:
        """Its source up to its body, on one line."""
        end = each.body
        if end < 0:
            body = each.node.child_by_field_name("body")
            end = body.start_byte if body is not None else min(each.end, each.start + 4 * SIGNATURE)
        text = self.slice(each.start, min(end, each.start + 4 * SIGNATURE))
        if each.body < 0 and end == each.end:
            text = text.split("\n", 1)[0]
        return _SPACES.sub(" ", text).strip().rstrip(" {:;=")[:SIGNATURE]

    def comment_above(self, row: int, lowest: int = 0) -> str:
        """The comment lines that end just before a line (rows count from 0), without their signs."""
        if self._comments is None:
            self._comments = {node.end_point[0] - (node.end_point[1] == 0): node for node in self.found.get("comment", ())}
            self._skips = {node.end_point[0]: node.start_point[0] for node in self.found.get("skip", ())}
        lines: list[str] = []
        row -= 1
        for _step in range(200):
            if row in self._skips and not lines:
                row = self._skips[row] - 1
                continue
            node = self._comments.get(row) or (None if lines else self._comment_before_blank(row))
            if node is None or row < lowest:
                break
            start = node.start_byte
            if self.raw[self.raw.rfind("\n", 0, start) + 1 : start].strip():
                break
            lines.insert(0, self.slice(start, min(node.end_byte, start + 2 * DOCSTRING)))
            row = node.start_point[0] - 1
        return uncommented("\n".join(lines)) if lines else ""

    def _comment_before_blank(self, row: int) -> Node | None:
        """The ``/** … */`` that ends above a blank line: it describes what follows, while other comments there divide a file."""
        node = self._comments.get(row - 1) if self._comments is not None else None
        if node is None or self.slice(node.start_byte, node.start_byte + 3) != "/**":
            return None
        ends = node.end_byte
        for _line in range(2):
            ends = self.raw.find("\n", ends) + 1
        return node if ends and not self.raw[node.end_byte : ends].strip() else None

    def calls(self, nodes: Sequence[Node] | None = None, kind: str = "calls") -> None:
        """References of the expressions captured as ``call``: the first of those of one scope that say the same."""
        raw, plain, known, points, owners = self.raw, self.plain, _chains, self._points, self._owners
        add, new, seen = self.parsed.references.append, tuple.__new__, set[tuple[tuple[str, ...], int]]()
        for node in self.found.get("call", ()) if nodes is None else nodes:
            start = node.start_byte
            text = raw[start : node.end_byte]
            chain = known.get(text)
            if chain is None:
                chain = chain_of(text if plain else self.slice(start, node.end_byte))
            owner = owners[bisect_right(points, start) - 1]
            if chain[-1] and (chain, owner) not in seen:
                seen.add((chain, owner))
                add(new(Reference, (kind, chain, owner, node.start_point[0] + 1)))

    def bases(self, of: str = "base") -> None:
        self.calls(self.found.get(of, ()), "inherits")

    def refer(self, kind: str, chain: tuple[str, ...], place: int, line: int) -> None:
        if chain and chain[-1]:
            self.parsed.references.append(Reference(kind, chain, self.scope_at(place), line))

    def bind(self, name: str, chain: tuple[str, ...], scope: int) -> None:
        if name and chain and chain[-1]:
            while scope >= 0 and self.parsed.scopes[scope].type in VALUES:
                scope = self.parsed.scopes[scope].parent
            self.parsed.bindings.append(Binding(name, chain, scope))

    def imports(self, module: str, name: str, alias: str, node: Node) -> None:
        scope = self.scope_at(node.start_byte)
        while scope >= 0 and self.parsed.scopes[scope].type in VALUES:
            scope = self.parsed.scopes[scope].parent
        self.parsed.imports.append(Import(module[:500], name[:200], alias[:200], scope, node.start_point[0] + 1))


def _last_row(node: Node) -> int:
    """Of its last character: some end with the newline."""
    row, column = node.end_point
    return row - 1 if column == 0 and row > node.start_point[0] else row


def uncommented(text: str) -> str:
    """A comment without its signs and common indentation."""
    from inspect import cleandoc

    return cleandoc(_SIGNS.sub("", text)).strip()[:DOCSTRING]


def instance(chain: tuple[str, ...]) -> tuple[str, ...]:
    """The chain of a value of a type: what calling the type would give."""
    return (*chain[:-1], chain[-1] + "()") if chain and chain[-1] and not chain[-1].endswith("()") else chain
