"""Go. A package is a folder; methods belong to the type of their receiver, in any file of the folder."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from atelier_desk.knowledge.parsing.languages.registry import grammar
from atelier_desk.knowledge.parsing.syntax_captures import Source, chain_of, instance

if TYPE_CHECKING:
    from tree_sitter import Node

QUERY = """
(function_declaration) @scope.function
(method_declaration) @scope.method
(type_spec type: (struct_type)) @scope.struct
(type_spec type: (interface_type)) @scope.interface
(type_spec type: [(type_identifier) (function_type) (map_type) (slice_type) (array_type) (pointer_type) (channel_type)
  (qualified_type)
  (generic_type)]) @scope.type
(type_alias) @scope.type
(source_file (const_declaration (const_spec) @scope.constant))
(source_file (var_declaration (var_spec) @scope.variable))
(source_file (var_declaration (var_spec_list (var_spec) @scope.variable)))
(interface_type (method_elem) @scope.method)
(field_declaration !name type: (_) @base)
(interface_type (type_elem (_) @base))
(call_expression function: (_) @call)
(composite_literal type: [(type_identifier) (qualified_type)] @made)
(import_spec) @import
(package_clause (package_identifier) @package)
(parameter_declaration name: (_)) @typed
(field_declaration name: (_)) @fielded
(var_spec type: (_)) @typed
(short_var_declaration) @assigned
(var_spec value: (_)) @assigned
(function_declaration result: (_) @returned)
(method_declaration result: (_) @returned)
(method_elem result: (_) @returned)
(range_clause) @ranged
(comment) @comment
"""
_RECEIVER = re.compile(r"\(\s*(?:\w+\s+)?\*?\s*(\w+)")
_TYPE = re.compile(r"[*&\[\]\d.\s]*(?:map\[[^\]]*\])?[*\[\]\s]*((?:\w+\.)?[A-Za-z_]\w*)")
_ELEMENTS = re.compile(r"\s*(?:\[\d*\]|map\[|\.\.\.|chan )")
_PLAIN = {
    "string",
    "int",
    "bool",
    "byte",
    "error",
    "any",
    "float64",
    "int64",
    "uint",
    "rune",
    "func",
    "interface",
    "struct",
    "int32",
    "uint64",
}


def _name(source: Source, node: Node) -> tuple[str, str]:
    receiver = node.child_by_field_name("receiver") if node.type == "method_declaration" else None
    match = _RECEIVER.match(source.text(receiver)) if receiver is not None else None
    return source.field(node, "name"), match[1] if match else ""


@grammar("go", "tree_sitter_go", QUERY, extensions=(".go",))
def read(source: Source) -> None:
    for node in source.found.get("package", ())[:1]:
        source.parsed.package = source.text(node)
    definitions = [
        each._replace(body=body.start_byte)
        if each.type in {"struct", "interface"} and (body := each.node.child_by_field_name("type"))
        else each
        for each in source.definitions(lambda node, _type: _name(source, node))
    ]

    def comment_row(node: Node) -> int:
        parent = node.parent
        single = (
            parent is not None and parent.type.endswith("_declaration") and parent.start_point[0] == node.start_point[0]
        )
        return parent.start_point[0] if single and parent is not None else node.start_point[0]

    source.scopes(definitions, lambda each: source.comment_above(comment_row(each.node)))
    source.calls()
    source.bases()
    source.calls(source.found.get("made", ()))
    for node in source.found.get("import", ()):
        module = source.field(node, "path").strip('"`')
        alias = source.field(node, "name")
        last = [part for part in module.split("/") if not re.fullmatch(r"v\d+", part)][-1:] or [module]
        source.imports(
            module, "*" if alias == "." else "", "" if alias in {"_", "."} else alias or last[0].split(".")[0], node
        )
    _bindings(source)


def _bindings(source: Source) -> None:
    for node in source.found.get("typed", ()):
        type_ = node.child_by_field_name("type")
        if type_ is not None:
            _typed(
                source,
                [source.text(each) for each in node.children_by_field_name("name")],
                source.text(type_),
                source.scope_at(node.start_byte),
            )
    for node in source.found.get("fielded", ()):
        type_ = node.child_by_field_name("type")
        if type_ is not None:
            names = ["self." + source.text(each) for each in node.children_by_field_name("name")]
            _typed(source, names, source.text(type_), source.scope_at(node.start_byte))
    for node in source.found.get("returned", ()):
        _typed(
            source, ["()"], source.text(node).strip("()").split(",")[0].split(" ")[-1], source.scope_at(node.start_byte)
        )
    for node in source.found.get("assigned", ()):
        left = node.child_by_field_name("left")
        right = node.child_by_field_name("right") or node.child_by_field_name("value")
        if right is None or right.end_byte - right.start_byte > 3_000:
            continue
        names = (
            [each.strip() for each in source.text(left).split(",")]
            if left is not None
            else [source.field(node, "name")]
        )
        values = [child for child in right.children if child.is_named] if right.type == "expression_list" else [right]
        for name, value in zip(names, values, strict=False):
            source.bind(name, _value(source, value), source.scope_at(node.start_byte))
    for node in source.found.get("ranged", ()):
        left = node.child_by_field_name("left")
        if left is not None:
            chain = chain_of(source.field(node, "right"))
            source.bind(
                source.text(left).rpartition(",")[2].strip(),
                (*chain[:-1], chain[-1] + "[]"),
                source.scope_at(node.start_byte),
            )


def _typed(source: Source, names: list[str], type_: str, scope: int) -> None:
    match = _TYPE.match(type_)
    if match and match[1] not in _PLAIN:
        end = "[]" if _ELEMENTS.match(type_) else ""
        for name in names:
            source.bind(name + end, instance(chain_of(match[1])), scope)


def _value(source: Source, node: Node) -> tuple[str, ...]:
    if node.type == "unary_expression":
        operand = node.child_by_field_name("operand")
        if operand is None:
            return ()
        node = operand
    if node.type == "composite_literal":
        type_ = node.child_by_field_name("type")
        return (
            instance(chain_of(source.text(type_)))
            if type_ is not None and type_.type in {"type_identifier", "qualified_type"}
            else ()
        )
    if node.type == "type_assertion_expression":
        return instance(chain_of(source.field(node, "type").lstrip("*")))
    if node.type in {"call_expression", "identifier", "selector_expression", "index_expression"}:
        return chain_of(source.text(node))
    return ()
