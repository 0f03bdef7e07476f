"""PHP."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from atelier_desk.knowledge.parsing.languages.registry import grammar
from atelier_desk.knowledge.parsing.syntax_captures import Source, chain_of, instance

if TYPE_CHECKING:
    from tree_sitter import Node

QUERY = """
(namespace_definition name: (_) @package)
(class_declaration) @scope.class
(interface_declaration) @scope.interface
(trait_declaration) @scope.trait
(enum_declaration) @scope.enum
(function_definition) @scope.function
(method_declaration) @scope.method
(const_declaration (const_element (name)) @scope.constant)
(base_clause (_) @base)
(class_interface_clause (_) @base)
(use_declaration [(name) (qualified_name)] @base)
(function_call_expression function: [(name) (qualified_name)] @call)
(member_call_expression) @invoked
(nullsafe_member_call_expression) @invoked
(scoped_call_expression) @invoked
(object_creation_expression [(name) (qualified_name)] @call)
(namespace_use_declaration) @import
[(require_expression) (require_once_expression) (include_expression) (include_once_expression)] @required
(simple_parameter type: (_) name: (_)) @typed
(property_promotion_parameter type: (_) name: (_)) @promoted
(property_declaration type: (_)) @fielded
(assignment_expression left: [(variable_name) (member_access_expression)]
  right: [(object_creation_expression) (member_call_expression) (scoped_call_expression) (function_call_expression)
  (variable_name)
  (member_access_expression)]) @assigned
(function_definition return_type: (_) @returned)
(method_declaration return_type: (_) @returned)
(comment) @comment
"""
_USE = re.compile(r"use\s+(?:function\s+|const\s+)?(.*);", re.DOTALL)
_QUOTED = re.compile(r"[\"']([^\"']+)[\"']")
_PLAIN = {"int", "string", "bool", "float", "array", "mixed", "void", "null", "callable", "iterable", "object", "never"}


def dotted(text: str) -> tuple[str, ...]:
    return chain_of(text.strip().lstrip("\\").replace("\\", "."))


@grammar(
    "php", "tree_sitter_php", QUERY, extensions=(".php", ".phtml", ".inc"), function="language_php", programs=("php",)
)
def read(source: Source) -> None:
    for node in source.found.get("package", ())[:1]:
        source.parsed.package = source.text(node).replace("\\", ".")
    definitions = source.definitions(
        lambda node, type_: (source.field(node, "name") or (source.text(node).split("=")[0].strip()), "")
    )
    source.scopes(definitions, lambda each: source.comment_above(each.node.start_point[0]))
    for kind, nodes in (("calls", source.found.get("call", ())), ("inherits", source.found.get("base", ()))):
        for node in nodes:
            source.refer(kind, dotted(source.text(node)), node.start_byte, node.start_point[0] + 1)
    for node in source.found.get("invoked", ()):
        given = node.child_by_field_name("arguments")
        text = source.slice(node.start_byte, given.start_byte if given is not None else node.end_byte)
        source.refer("calls", _cleaned(text), node.start_byte, node.start_point[0] + 1)
    for node in source.found.get("import", ()):
        _use(source, node)
    for node in source.found.get("required", ()):
        match = _QUOTED.search(source.text(node))
        if match:
            source.imports(match[1].lstrip("/") if "__DIR__" in source.text(node) else match[1], "", "", node)
    _bindings(source)


def _cleaned(text: str) -> tuple[str, ...]:
    return dotted(text.removeprefix("(").replace("new ", "") if text.startswith("(new ") else text)


def _use(source: Source, node: Node) -> None:
    match = _USE.match(source.text(node))
    if match is None:
        return
    prefix, brace, inner = match[1].partition("{")
    for part in (inner.partition("}")[0] if brace else match[1]).split(","):
        path, _as, alias = re.sub(r"^(function|const)\s+", "", part.strip()).partition(" as ")
        path = ((prefix.strip() if brace else "") + path.strip()).strip("\\").replace("\\", ".")
        module, _dot, name = path.rpartition(".")
        if name:
            source.imports(module or name, name if module else "", alias.strip() or name, node)


def _bindings(source: Source) -> None:
    for node in source.found.get("typed", ()):
        _typed(source, source.field(node, "name"), source.field(node, "type"), source.scope_at(node.start_byte))
    for node in source.found.get("promoted", ()):
        name, type_, scope = source.field(node, "name"), source.field(node, "type"), source.scope_at(node.start_byte)
        _typed(source, name, type_, scope)
        _typed(source, "self." + name.lstrip("$"), type_, scope)
    for node in source.found.get("fielded", ()):
        for child in node.children:
            if child.type == "property_element":
                name = source.text(child).split("=")[0].strip().lstrip("$")
                _typed(source, "self." + name, source.field(node, "type"), source.scope_at(node.start_byte))
    for node in source.found.get("returned", ()):
        _typed(source, "()", source.text(node), source.scope_at(node.start_byte))
    for node in source.found.get("assigned", ()):
        left, right = source.field(node, "left"), node.child_by_field_name("right")
        if right is None or right.end_byte - right.start_byte > 1_000:
            continue
        chain = dotted(source.text(right))
        name = "self." + left[7:] if left.startswith("$this->") else left
        if "->" not in name:
            source.bind(
                name,
                instance(chain) if right.type == "object_creation_expression" else chain,
                source.scope_at(node.start_byte),
            )


def _typed(source: Source, name: str, type_: str, scope: int) -> None:
    for each in type_.lstrip("?: ").split("|"):
        each = each.strip()
        if each in {"self", "static"}:
            source.bind(name, ("self",), scope)
        elif each and each.lower() not in _PLAIN and re.fullmatch(r"[\w\\]+", each):
            source.bind(name, instance(dotted(each)), scope)
