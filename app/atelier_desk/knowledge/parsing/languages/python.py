"""Python."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from inspect import cleandoc
from typing import TYPE_CHECKING

from atelier_desk.knowledge.parsing.languages.registry import grammar
from atelier_desk.knowledge.parsing.syntax_captures import DOCSTRING, Definition, Source, chain_of, instance

if TYPE_CHECKING:
    from tree_sitter import Node

QUERY = """
(function_definition) @scope.function
(class_definition) @scope.class
(module (expression_statement (assignment left: (identifier) @constant)))
(module . (comment)* . (expression_statement (string) @doc))
(function_definition body: (block . (comment)* . (expression_statement (string) @doc)))
(class_definition body: (block . (comment)* . (expression_statement (string) @doc)))
(class_definition superclasses: (argument_list [(identifier) (attribute)] @base))
(class_definition superclasses: (argument_list (subscript value: (_) @base)))
(call function: (_) @call)
(decorator [(identifier) (attribute)] @call)
[(import_statement) (future_import_statement)] @import
(import_from_statement) @import
(typed_parameter) @typed
(typed_default_parameter) @typed
(assignment left: [(identifier) (attribute)] type: (type)) @annotated
(assignment left: [(identifier) (attribute)] right: [(call) (identifier) (attribute) (await) (conditional_expression)
  (boolean_operator)
  (list) (list_comprehension) (subscript)]) @assigned
(function_definition return_type: (type) @returned)
(as_pattern alias: (as_pattern_target (identifier))) @as
(for_statement left: (identifier) right: (_)) @each
(for_in_clause left: (identifier) right: (_)) @each
"""
_QUOTES = re.compile(r"[A-Za-z]*('''|\"\"\"|'|\")")
_FROM = re.compile(r"from\s*([.\s]*[\w.]*)\s+import\b(.*)")
_COMMENT = re.compile(r"#[^\n]*|\\\n")
_SINGLE = {
    "Optional",
    "Annotated",
    "Required",
    "NotRequired",
    "Final",
    "ClassVar",
    "Awaitable",
    "Coroutine",
    "Self",
    "Union",
}
_MANY = {"list", "List", "set", "Set", "frozenset", "FrozenSet", "tuple", "Tuple", "Sequence", "Iterable", "Iterator",
"Collection",
         "deque", "AsyncIterator", "AsyncIterable", "Generator", "AsyncGenerator", "MutableSequence"}  # fmt: skip
_MAPS = {"dict", "Dict", "Mapping", "MutableMapping", "defaultdict", "OrderedDict"}


@grammar(
    "python", "tree_sitter_python", QUERY, extensions=(".py", ".pyi", ".pyw"), names=("SConstruct", "SConscript"),
    programs=("python", "python2", "python3", "pypy3", "uv"),
)  # fmt: skip
def read(source: Source) -> None:
    docs = {
        node.parent.parent.id: node
        for node in source.found.get("doc", ())
        if node.parent is not None and node.parent.parent is not None
    }

    def doc(each: Definition) -> str:
        body = each.node.child_by_field_name("body") if each.type in {"function", "class"} else None
        found = docs.get(body.id) if body is not None else None
        return _docstring(source.text(found)) if found is not None else ""

    definitions = [each._replace(last=_last(source, each), body=_colon(source, each)) for each in source.definitions()]
    seen: set[str] = set()
    for node in source.found.get("constant", ()):
        name = source.text(node)
        statement = node.parent
        if name not in seen and statement is not None and name != "__all__":
            seen.add(name)
            definitions.append(
                Definition(
                    statement.start_byte, statement.end_byte, statement, "constant" if name.isupper() else "variable",
                    name,
                    body=statement.start_byte + min(statement.end_byte - statement.start_byte, 200),
                )
            )  # fmt: skip
    source.scopes(definitions, doc)
    source.parsed.text = _module_doc(source)
    source.calls()
    source.bases()
    for node in source.found.get("import", ()):
        _import(source, node)
    _bindings(source)


def _last(source: Source, each: Definition) -> int:
    """Return the row of the last statement: comments after it belong to nothing."""
    row, end, raw = each.node.end_point[0], each.end, source.raw
    begin = raw.rfind("\n", each.start, end) + 1
    if not begin or not raw[begin:end].lstrip().startswith("#"):
        return row
    while begin and (not (line := raw[begin:end].strip()) or line.startswith("#")):
        end, row = begin - 1, row - 1
        begin = raw.rfind("\n", each.start, end) + 1
    return row


def _colon(source: Source, each: Definition) -> int:
    """Return where the signature ends: a comment may stand between the colon and the body."""
    body = each.node.child_by_field_name("body")
    at = end = body.start_byte if body is not None else each.end
    while at > each.start:
        at = source.raw.rfind(":", each.start, at)
        if at < 0:
            break
        if all(not line.strip() or line.strip().startswith("#") for line in source.raw[at + 1 : end].split("\n")):
            return at
    return end


def _module_doc(source: Source) -> str:
    """Return the module's docstring."""
    for node in source.found.get("doc", ())[:1]:
        if node.parent is not None and node.parent.parent is not None and node.parent.parent.type == "module":
            return _docstring(source.text(node))
    return ""


def _docstring(text: str) -> str:
    match = _QUOTES.match(text)
    if match is None:
        return ""
    quotes = match[1]
    if "\\" in text:
        try:
            inner = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            inner = text[match.end() : -len(quotes)]
        if not isinstance(inner, str):
            return ""
    else:
        inner = (
            text[match.end() : -len(quotes)]
            if text.endswith(quotes) and len(text) >= match.end() + len(quotes)
            else text[match.end() :]
        )
    return cleandoc(inner).strip()[:DOCSTRING]


def _import(source: Source, node: Node) -> None:
    text = source.text(node)
    if "#" in text or "\\" in text:
        text = _COMMENT.sub(" ", text)
    text = " ".join(text.split())
    if match := _FROM.match(text):
        module = match[1].replace(" ", "")
        for part in match[2].strip(" ()").split(","):
            name, _as, alias = part.strip().partition(" as ")
            name = name.strip()
            if name:
                source.imports(module, name, "" if name == "*" else alias.strip() or name, node)
        return
    for part in text[6:].split(","):
        name, _as, alias = part.strip().partition(" as ")
        name = name.strip().replace(" ", "")
        if name:
            source.imports(name, "", alias.strip() or name.split(".", 1)[0], node)


def _bindings(source: Source) -> None:
    found = source.found
    for node in found.get("typed", ()):
        type_ = node.child_by_field_name("type")
        if type_ is not None:
            start = node.start_byte
            name = source.raw[start : type_.start_byte].split(":", 1)[0].strip(" *")
            _typed(source, name, source.text(type_), source.scope_at(start))
    for node in found.get("annotated", ()):
        type_ = node.child_by_field_name("type")
        if type_ is not None:
            name = source.raw[node.start_byte : type_.start_byte].split(":", 1)[0].strip()
            _typed(source, name, source.text(type_), source.scope_at(node.start_byte))
    for node in found.get("returned", ()):
        _typed(source, "()", source.text(node), source.scope_at(node.start_byte))
    for node in found.get("assigned", ()):
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is not None and right is not None and right.end_byte - right.start_byte < 2_000:
            name = source.text(left)
            if name.count(".") <= 1:
                for kind, chain in _values(source.text(right), right.type):
                    source.bind(name + kind, chain, source.scope_at(node.start_byte))
    for node in found.get("as", ()):
        text = source.text(node)
        value, _as, name = text.rpartition(" as ")
        if value and len(value) < 1_000:
            source.bind(name.strip(), chain_of(value.strip()), source.scope_at(node.start_byte))
    for node in found.get("each", ()):
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is not None and right is not None and right.end_byte - right.start_byte < 500:
            for chain in _elements(source.text(right)):
                source.bind(source.text(left), chain, source.scope_at(node.start_byte))


def _values(text: str, type_: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return the possible values of an assigned expression, each with ``[]`` if it describes the elements."""
    if type_ == "conditional_expression":
        before, _if, after = text.partition(" if ")
        otherwise = after.rpartition(" else ")[2]
        return [("", chain_of(each.strip())) for each in (before, otherwise) if each.strip()]
    if type_ == "boolean_operator":
        return [("", chain_of(each.strip())) for each in re.split(r"\s+or\s+", text)] if " and " not in text else []
    if type_ in {"list", "list_comprehension"}:
        inner = text.strip("[]").strip()
        head = re.match(r"[\w.]+\s*\(", inner)
        return [("[]", chain_of(head[0].rstrip("( ") + "()"))] if head else []
    return [("", chain_of(text))]


def _elements(text: str) -> list[tuple[str, ...]]:
    for wrapper in ("list(", "sorted(", "tuple(", "reversed(", "set("):
        if text.startswith(wrapper) and text.endswith(")"):
            text = text[len(wrapper) : -1].split(",")[0]
    if text.endswith(".values()"):
        text = text[:-9]
    elif text.endswith(".items()"):
        return []
    chain = chain_of(text)
    return [(*chain[:-1], chain[-1] + "[]")] if chain and chain[-1] and not chain[-1].endswith("[]") else []


def _typed(source: Source, name: str, type_: str, scope: int) -> None:
    for kind, chain in types_of(type_):
        source.bind(name + kind, chain, scope)


@lru_cache(maxsize=8_192)
def types_of(text: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the types of an annotation as chains of their values; ``[]`` marks element types of a collection."""
    found: list[tuple[str, tuple[str, ...]]] = []
    waiting = [("", text)]
    while waiting and len(found) < 4:
        kind, type_ = waiting.pop(0)
        type_ = type_.strip().strip("\"'").strip()
        parts = _split(type_, "|")
        if len(parts) > 1:
            waiting[:0] = [(kind, part) for part in parts]
            continue
        head, bracket, inner = type_.partition("[")
        head = head.strip()
        last = head.rpartition(".")[2]
        if not bracket:
            if last and last not in {"None", "Any", "str", "int", "bool", "float", "bytes", "object"}:
                found.append((kind, instance(chain_of(head))))
            continue
        inside = _split(inner.rstrip().removesuffix("]"), ",")
        if last in _SINGLE:
            waiting[:0] = [
                (kind, part)
                for part in (inside if last == "Union" else inside[-1:] if last == "Coroutine" else inside[:1])
            ]
        elif last in {"type", "Type"}:
            found.append((kind, chain_of(inside[0].strip().strip("\"'"))))
        elif last in _MANY or last in _MAPS:
            found.append((kind, instance(chain_of(head))))
            if not kind:
                waiting.append(("[]", inside[-1] if last in _MAPS else inside[0]))
        elif last in {"Callable"}:
            continue
        else:
            found.append((kind, instance(chain_of(head))))
    return tuple(found)


def _split(text: str, at: str) -> list[str]:
    parts, depth, begin = [], 0, 0
    if at not in text:
        return [text]
    for index, sign in enumerate(text):
        if sign in "[(":
            depth += 1
        elif sign in "])":
            depth -= 1
        elif sign == at and depth == 0:
            parts.append(text[begin:index])
            begin = index + 1
    return [*parts, text[begin:]]
