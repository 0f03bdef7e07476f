"""C#."""

from __future__ import annotations

import re

from atelier_desk.knowledge.parsing.languages.java import typed
from atelier_desk.knowledge.parsing.languages.registry import grammar
from atelier_desk.knowledge.parsing.syntax_captures import Source, chain_of, instance

QUERY = """
(namespace_declaration) @scope.namespace
(file_scoped_namespace_declaration name: (_) @package)
(namespace_declaration name: (_) @package)
(class_declaration) @scope.class
(interface_declaration) @scope.interface
(struct_declaration) @scope.struct
(enum_declaration) @scope.enum
(record_declaration) @scope.record
(delegate_declaration) @scope.type
(method_declaration) @scope.method
(constructor_declaration) @scope.method
(local_function_statement) @scope.function
(property_declaration) @scope.property
(base_list (_) @base)
(invocation_expression function: (_) @call)
(object_creation_expression type: (_) @call)
(using_directive) @import
(parameter type: (_) name: (_)) @typed
(property_declaration type: (_) name: (_)) @propertied
(variable_declaration) @declared
(method_declaration returns: (_) @returned)
(foreach_statement type: (_) left: (_)) @each
(comment) @comment
"""
_USING = re.compile(r"(?:global\s+)?using\s+(static\s+)?(?:(\w+)\s*=\s*)?([\w.]+)")
_AWAITED = re.compile(r"(?:Task|ValueTask)<(.+)>$")
_XML = re.compile(r"</?\w[^>]*>")


@grammar("csharp", "tree_sitter_c_sharp", QUERY, extensions=(".cs", ".csx"))
def read(source: Source) -> None:
    for node in source.found.get("package", ())[:1]:
        source.parsed.package = source.text(node)
    source.scopes(
        source.definitions(), lambda each: _XML.sub("", source.comment_above(each.node.start_point[0])).strip()
    )
    source.calls()
    source.bases()
    for node in source.found.get("import", ()):
        match = _USING.match(source.text(node))
        if match:
            source.imports(match[3], "" if match[2] else "*", match[2] or "", node)
    for kind, prefix in (("typed", ""), ("propertied", "self.")):
        for node in source.found.get(kind, ()):
            typed(
                source,
                prefix + source.field(node, "name"),
                source.field(node, "type"),
                source.scope_at(max(0, node.start_byte - (1 if prefix else 0))),
            )
    for node in source.found.get("declared", ()):
        scope, type_ = source.scope_at(node.start_byte), source.field(node, "type")
        field = node.parent is not None and node.parent.type == "field_declaration"
        for declarator in node.children:
            if declarator.type != "variable_declarator":
                continue
            name = ("self." if field else "") + source.field(declarator, "name")
            if type_ != "var":
                typed(source, name, type_, scope)
                continue
            value = declarator.children[-1]
            if value.end_byte - value.start_byte < 1_000:
                chain = chain_of(source.text(value))
                source.bind(name, instance(chain) if value.type == "object_creation_expression" else chain, scope)
    for node in source.found.get("returned", ()):
        text = source.text(node)
        match = _AWAITED.match(text)
        typed(source, "()", match[1] if match else text, source.scope_at(node.start_byte))
    for node in source.found.get("each", ()):
        name, type_ = source.field(node, "left"), source.field(node, "type")
        if type_ != "var":
            typed(source, name, type_, source.scope_at(node.start_byte))
        else:
            chain = chain_of(source.field(node, "right"))
            source.bind(name, (*chain[:-1], chain[-1] + "[]"), source.scope_at(node.start_byte))
