"""Java."""

from __future__ import annotations

import re

from atelier_desk.knowledge.parsing.languages.registry import grammar
from atelier_desk.knowledge.parsing.syntax_captures import Source, chain_of, instance

QUERY = """
(class_declaration) @scope.class
(interface_declaration) @scope.interface
(annotation_type_declaration) @scope.interface
(enum_declaration) @scope.enum
(record_declaration) @scope.record
(method_declaration) @scope.method
(constructor_declaration) @scope.method
(compact_constructor_declaration) @scope.method
(superclass (_) @base)
(super_interfaces (type_list (_) @base))
(extends_interfaces (type_list (_) @base))
(method_invocation) @invoked
(object_creation_expression type: (_) @call)
(import_declaration) @import
(package_declaration [(scoped_identifier) (identifier)] @package)
(formal_parameter) @typed
(resource type: (_) name: (_)) @typed
(enhanced_for_statement type: (_) name: (_)) @typed
(local_variable_declaration) @declared
(field_declaration) @fielded
(method_declaration type: (_) @returned)
[(line_comment) (block_comment)] @comment
"""
_IMPORT = re.compile(r"import\s+(static\s+)?([\w.]+?)(\.\*)?\s*;")
_MANY = re.compile(r"(?:\w+\.)*(?:List|Set|Collection|Iterable|ArrayList|Optional|Stream|Queue|Deque)<\s*(.+)>$")


@grammar("java", "tree_sitter_java", QUERY, extensions=(".java",))
def read(source: Source) -> None:
    for node in source.found.get("package", ())[:1]:
        source.parsed.package = source.text(node)
    source.scopes(source.definitions(), lambda each: source.comment_above(each.node.start_point[0]))
    invocations(source)
    source.calls()
    source.bases()
    for node in source.found.get("import", ()):
        match = _IMPORT.match(source.text(node))
        if match:
            module, _dot, name = ("", "", "") if match[3] else match[2].rpartition(".")
            source.imports(match[2] if match[3] else module, "*" if match[3] else name, name, node)
    for node in source.found.get("typed", ()):
        typed(source, source.field(node, "name"), source.field(node, "type"), source.scope_at(node.start_byte))
    for kind, prefix in (("declared", ""), ("fielded", "self.")):
        for node in source.found.get(kind, ()):
            scope, type_ = source.scope_at(node.start_byte), source.field(node, "type")
            for declarator in node.children_by_field_name("declarator"):
                name, value = prefix + source.field(declarator, "name"), declarator.child_by_field_name("value")
                if type_ != "var":
                    typed(source, name, type_, scope)
                elif value is not None and value.end_byte - value.start_byte < 1_000:
                    chain = chain_of(source.text(value))
                    source.bind(name, instance(chain) if value.type == "object_creation_expression" else chain, scope)
    for node in source.found.get("returned", ()):
        typed(source, "()", source.text(node), source.scope_at(node.start_byte))


def invocations(source: Source) -> None:
    """Add calls whose name is not a single expression in the grammar: the text before their arguments."""
    for node in source.found.get("invoked", ()):
        given = node.child_by_field_name("arguments")
        end = given.start_byte if given is not None else node.end_byte
        source.refer(
            "calls", chain_of(source.slice(node.start_byte, end).strip()), node.start_byte, node.start_point[0] + 1
        )


def typed(source: Source, name: str, type_: str, scope: int) -> None:
    """Bind a declared name; element types of collections are bound as such."""
    match = _MANY.match(type_)
    end = ""
    if match or type_.endswith("[]"):
        type_, end = (match[1] if match else type_[:-2]), "[]"
        source.bind(name, ("",), scope)
    head = type_.partition("<")[0].rstrip("?").strip()
    if head[:1].isupper() or "." in head:
        source.bind(name + end, instance(chain_of(head)), scope)
