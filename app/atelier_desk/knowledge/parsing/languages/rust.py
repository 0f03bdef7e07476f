"""Rust. Methods of ``impl`` blocks belong to the type.

Calls in macro arguments are not seen: the grammar leaves them as tokens.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from atelier_desk.knowledge.parsing.languages.registry import grammar
from atelier_desk.knowledge.parsing.syntax_captures import Source, chain_of, instance

if TYPE_CHECKING:
    from tree_sitter import Node

QUERY = """
(function_item) @scope.function
(function_signature_item) @scope.function
(struct_item) @scope.struct
(union_item) @scope.struct
(enum_item) @scope.enum
(trait_item) @scope.trait
(impl_item) @scope.impl
(mod_item body: (_)) @scope.module
(mod_item !body) @declared
(type_item) @scope.type
(const_item) @scope.constant
(static_item) @scope.constant
(macro_definition) @scope.macro
(trait_item bounds: (trait_bounds (_) @base))
(call_expression function: (_) @call)
(macro_invocation macro: (_) @call)
(struct_expression name: (_) @call)
(use_declaration) @import
(parameter pattern: (_) type: (_)) @typed
(let_declaration pattern: (identifier)) @assigned
(field_declaration type: (_)) @fielded
(for_expression pattern: (identifier) value: (_)) @each
(function_item return_type: (_) @returned)
(function_signature_item return_type: (_) @returned)
[(line_comment) (block_comment)] @comment
(attribute_item) @skip
"""
_WRAPPERS = re.compile(r"(?:&(?:'\w+)?\s*(?:mut\s+)?|\*(?:const|mut)\s+|dyn\s+|impl\s+|mut\s+)+")
_HELD = re.compile(
    r"(?:Option|Result|Box|Rc|Arc|Cow|RefCell|Mutex|RwLock|Cell|Pin)<\s*(?:'\w+\s*,\s*)?(.*)>$", re.DOTALL
)
_MANY = re.compile(r"(?:Vec|VecDeque|HashSet|BTreeSet)<(.*)>$|\[(.*?)(?:;.*)?\]$", re.DOTALL)
_SPACES = re.compile(r"//[^\n]*|/\*.*?\*/|\s+", re.DOTALL)


@grammar("rust", "tree_sitter_rust", QUERY, extensions=(".rs",))
def read(source: Source) -> None:
    impls: list[tuple[int, int, str]] = []

    def name(node: Node, type_: str) -> tuple[str, str]:
        if type_ != "impl":
            return source.field(node, "name"), ""
        of, trait = _plain(source.field(node, "type")), source.field(node, "trait")
        impls.append((node.start_byte, node.end_byte, of))
        return (f"impl {trait} for {of}" if trait else f"impl {of}"), ""

    found = source.definitions(name)
    definitions = []
    for each in found:
        owner = (
            next((of for start, end, of in impls if start < each.start and each.end <= end), "")
            if each.type == "function"
            else ""
        )
        held = each.type == "function" and owner and _directly(each.node)
        definitions.append(each._replace(owner=owner) if held else each)
    source.scopes(definitions, lambda each: source.comment_above(each.node.start_point[0]))
    source.calls()
    source.bases()
    scopes = source.parsed.scopes
    types = {
        scope.name: index for index, scope in enumerate(scopes) if scope.type in {"struct", "enum", "trait", "type"}
    }
    for index, scope in enumerate(scopes):
        if scope.type == "impl" and " for " in scope.name:
            trait, _for, of = scope.name.removeprefix("impl ").partition(" for ")
            source.refer("inherits", chain_of(_plain(trait)), scope.start, scope.start_line)
            last = source.parsed.references
            if last and last[-1].scope == index and of in types:
                last[-1] = last[-1]._replace(scope=types[of])
    for node in source.found.get("declared", ()):
        source.imports("self::" + source.field(node, "name"), "", source.field(node, "name"), node)
    for node in source.found.get("import", ()):
        for path, alias in _uses(_SPACES.sub(" ", source.field(node, "argument"))):
            module, _sep, last_part = path.rpartition("::")
            if last_part == "self":
                module, _sep, last_part = module.rpartition("::")
                alias = alias if alias != "self" else last_part
            if module:
                source.imports(module, last_part, "" if last_part == "*" else alias, node)
            else:
                source.imports(last_part, "", alias, node)
    _bindings(source)


def _directly(node: Node) -> bool:
    """Whether a function is directly in an impl block, not nested in one of its functions."""
    around = node.parent.parent if node.parent is not None else None
    return around is not None and around.type == "impl_item"


def _plain(type_: str) -> str:
    """Return the name of a type without references, path and type arguments."""
    type_ = _WRAPPERS.sub("", type_.strip())
    return type_.partition("<")[0].rpartition("::")[2].strip() or type_[:60]


def _uses(tree: str) -> list[tuple[str, str]]:
    """Return the paths of a use tree, each with its local name."""
    found: list[tuple[str, str]] = []
    prefixes, part = [""], ""
    for sign in tree + ",":
        if sign == "{":
            prefixes.append(prefixes[-1] + part.strip())
            part = ""
        elif sign in ",}":
            if part.strip():
                path, _as, alias = part.strip().partition(" as ")
                path = (prefixes[-1] + path.strip()).removeprefix("::")
                found.append((path, alias.strip() or path.rpartition("::")[2]))
            part = ""
            if sign == "}" and len(prefixes) > 1:
                prefixes.pop()
        else:
            part += sign
        if len(found) > 2_000 or len(prefixes) > 50:
            break
    return found


def _bindings(source: Source) -> None:
    for node in source.found.get("typed", ()):
        pattern = source.field(node, "pattern").removeprefix("mut ").removeprefix("ref ")
        _typed(source, pattern, source.field(node, "type"), source.scope_at(node.start_byte))
    for node in source.found.get("fielded", ()):
        _typed(
            source, "self." + source.field(node, "name"), source.field(node, "type"), source.scope_at(node.start_byte)
        )
    for node in source.found.get("returned", ()):
        _typed(source, "()", source.text(node), source.scope_at(node.start_byte))
    for node in source.found.get("each", ()):
        chain = _held_value(chain_of(_WRAPPERS.sub("", source.field(node, "value"))))
        if len(chain) > 1 and chain[-1] in {"iter()", "iter_mut()", "into_iter()", "drain()"}:
            chain = chain[:-1]
        source.bind(source.field(node, "pattern"), (*chain[:-1], chain[-1] + "[]"), source.scope_at(node.start_byte))
    for node in source.found.get("assigned", ()):
        name, scope = source.field(node, "pattern"), source.scope_at(node.start_byte)
        type_, value = node.child_by_field_name("type"), node.child_by_field_name("value")
        if type_ is not None:
            _typed(source, name, source.text(type_), scope)
        elif value is not None and value.end_byte - value.start_byte < 1_000:
            text = source.text(value)
            if value.type == "struct_expression":
                source.bind(name, instance(chain_of(source.field(value, "name"))), scope)
            elif value.type in {
                "call_expression",
                "field_expression",
                "identifier",
                "try_expression",
                "await_expression",
                "reference_expression",
            }:
                text = _WRAPPERS.sub("", text, count=1) if text.startswith("&") else text
                source.bind(name, _held_value(chain_of(text.rstrip("?").removesuffix(".await").rstrip("?"))), scope)


def _held_value(chain: tuple[str, ...]) -> tuple[str, ...]:
    """Remove calls that only unwrap a value."""
    while len(chain) > 1 and chain[-1] in {
        "unwrap()",
        "expect()",
        "clone()",
        "borrow()",
        "lock()",
        "as_ref()",
        "borrow_mut()",
        "to_owned()",
    }:
        chain = chain[:-1]
    return chain


def _typed(source: Source, name: str, type_: str, scope: int) -> None:
    type_, end = type_.strip(), ""
    for _step in range(6):
        type_ = _WRAPPERS.sub("", type_, count=1) if _WRAPPERS.match(type_) else type_
        if match := _HELD.match(type_):
            type_ = (
                match[1].strip()
                if "(" in match[1]
                else match[1].split(",")[0].strip()
                if type_.startswith("Result")
                else match[1].strip()
            )
        elif match := _MANY.match(type_):
            type_, end = (match[1] or match[2] or "").strip(), "[]"
        else:
            break
    head = type_.partition("<")[0].strip()
    if re.fullmatch(r"[\w:]+", head) and head not in {
        "str",
        "String",
        "bool",
        "usize",
        "u8",
        "u32",
        "u64",
        "i32",
        "i64",
        "char",
        "f64",
        "Self",
    }:
        source.bind(name + end, instance(chain_of(head)), scope)
    elif head == "Self":
        source.bind(name + end, ("Self",), scope)
