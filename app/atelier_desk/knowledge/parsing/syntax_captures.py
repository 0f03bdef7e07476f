"""A source file being parsed: the captures of its query, and helpers shared by the readers of all languages.

Captures with a common meaning: ``scope.TYPE`` a definition of that type, ``call`` the called expression, ``base`` a
base type of the enclosing definition, ``comment`` a comment, ``skip`` what may stand between a comment and its
definition. Each reader accesses further captures by name. Walking the tree in Python costs as much as parsing, so
captures are processed in bulk: one loop per kind, positions as numbers, names by slices.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from inspect import cleandoc
from typing import TYPE_CHECKING, NamedTuple

from atelier_desk.knowledge.parsing.parsed_file import Binding, Import, Parsed, Reference, Scope

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

SIGNATURE = 500
DOCSTRING = 4_000
SCOPES = 50_000
"""Maximum definitions per file; only generated files have more."""
CHAIN = 8
"""Maximum parts of a name; the last ones are kept."""
_SPACES = re.compile(r"\s+")
_SIGNS = re.compile(r"^\s*(?:/\*+!?|\*+/|//+!?|#+|--+|\*+(?!/))[ \t]?|\s*\*+/\s*$", re.MULTILINE)
_NAME = re.compile(r"[^\W\d]\w*[!?]?\Z|\$\w+\Z|@{1,2}\w+\Z|#\w+\Z")
_ARROWS = re.compile(r"\s*(?:\?\.|\?->|->|::|\.|!\.)\s*")
_chains: dict[str, tuple[str, ...]] = {}
VALUES = frozenset({"constant", "variable"})
"""Types of scopes that define a name but do not contain any."""
MEMBERS = frozenset({"class", "interface", "struct", "trait", "impl", "enum", "record", "protocol", "object"})
"""Types of scopes whose functions are methods."""


class Definition(NamedTuple):
    """A definition that becomes a scope.

    ``owner`` is the qualified name it belongs to, if that is not the enclosing scope; ``body`` the position of its body
    and ``last`` its last row, where they differ from the grammar's.
    """

    start: int
    end: int
    node: Node
    type: str
    name: str
    owner: str = ""
    body: int = -1
    last: int = -1


def chain_of(text: str) -> tuple[str, ...]:
    """Split a dotted name as written: ``self.items[0].save`` gives ``self``, ``items[]``, ``save``; ``f(x).y`` gives
    ``f()``, ``y``.

    A part that is not a name is an empty string.
    """
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
        parts = parts[1:]  # an absolute name
    return tuple(parts[-CHAIN:])


def _flat(text: str) -> str:
    """Return the text without bracket contents.

    ``()`` after a call, ``[]`` after an index, nothing for type arguments.
    """
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
        elif (
            sign in "([{" or (sign == "<" and opened[-1:] == ["<"]) or (sign == "<" and out and out[-1][-1:].isalnum())
        ):
            if not opened:
                # at the start of a name it is a group, not a call
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
    """One file and its parse result.

    Attributes:
        data: as UTF-8.
        raw: the same with one character per byte, so that positions of the tree are valid in it.
        found: nodes by capture name, in file order.
        parsed: the result being built.
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
        """Return the text of a node's field; empty when it has none."""
        found = node.child_by_field_name(name)
        return self.text(found) if found is not None else ""

    def definitions(self, name_of: Callable[[Node, str], tuple[str, str]] | None = None) -> list[Definition]:
        """Return the definitions captured as ``scope.TYPE``.

        ``name_of`` returns name and owner, by default the field ``name``.
        """
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
        self,
        definitions: Iterable[Definition],
        doc: Callable[[Definition], str] | None = None,
        members: frozenset[str] = MEMBERS,
    ) -> None:
        """Create scopes from definitions.

        Nest them by position, make names unique, turn functions of a class into methods.
        """
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
                prefix = (
                    (prefix if parent >= 0 and scopes[parent].type in {"namespace", "module"} else "")
                    + each.owner
                    + "."
                )
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
        """Return the innermost scope around a position; -1 outside all."""
        return self._owners[bisect_right(self._points, place) - 1]

    def signature(self, each: Definition) -> str:
        """Return a definition's source up to its body, on one line."""
        end = each.body
        if end < 0:
            body = each.node.child_by_field_name("body")
            end = body.start_byte if body is not None else min(each.end, each.start + 4 * SIGNATURE)
        text = self.slice(each.start, min(end, each.start + 4 * SIGNATURE))
        if each.body < 0 and end == each.end:
            text = text.split("\n", 1)[0]
        return _SPACES.sub(" ", text).strip().rstrip(" {:;=")[:SIGNATURE]

    def comment_above(self, row: int) -> str:
        """Return the comment that ends directly above a row (counted from 0), without comment signs."""
        if self._comments is None:
            self._comments = {
                node.end_point[0] - (node.end_point[1] == 0): node for node in self.found.get("comment", ())
            }
            self._skips = {node.end_point[0]: node.start_point[0] for node in self.found.get("skip", ())}
        lines: list[str] = []
        row -= 1
        for _step in range(200):
            if row in self._skips and not lines:
                row = self._skips[row] - 1
                continue
            node = self._comments.get(row) or (None if lines else self._comment_before_blank(row))
            if node is None or row < 0:
                break
            start = node.start_byte
            if self.raw[self.raw.rfind("\n", 0, start) + 1 : start].strip():
                break
            lines.insert(0, self.slice(start, min(node.end_byte, start + 2 * DOCSTRING)))
            row = node.start_point[0] - 1
        return uncommented("\n".join(lines)) if lines else ""

    def _comment_before_blank(self, row: int) -> Node | None:
        """Return a ``/** … */`` above a blank line.

        It describes what follows, while other comments there separate sections.
        """
        node = self._comments.get(row - 1) if self._comments is not None else None
        if node is None or self.slice(node.start_byte, node.start_byte + 3) != "/**":
            return None
        ends = node.end_byte
        for _line in range(2):
            ends = self.raw.find("\n", ends) + 1
        return node if ends and not self.raw[node.end_byte : ends].strip() else None

    def calls(self, nodes: Sequence[Node] | None = None, kind: str = "calls") -> None:
        """Add references for the expressions captured as ``call``: the first of equal ones per scope."""
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

    def bases(self) -> None:
        self.calls(self.found.get("base", ()), "inherits")

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
    """Return the row of its last character: some nodes end with the newline."""
    row, column = node.end_point
    return row - 1 if column == 0 and row > node.start_point[0] else row


def uncommented(text: str) -> str:
    """Return a comment without its signs and common indentation."""
    return cleandoc(_SIGNS.sub("", text)).strip()[:DOCSTRING]


def instance(chain: tuple[str, ...]) -> tuple[str, ...]:
    """Return the chain of an instance of a type: the result of calling it."""
    return (*chain[:-1], chain[-1] + "()") if chain and chain[-1] and not chain[-1].endswith("()") else chain
