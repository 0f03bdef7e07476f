"""C and C++. Macros are not expanded."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from atelier_desk.knowledge.parsing.languages.registry import grammar
from atelier_desk.knowledge.parsing.syntax_captures import Source, chain_of, instance

if TYPE_CHECKING:
    from tree_sitter import Node

QUERY = """
(function_definition) @scope.function
(struct_specifier name: (_) body: (_)) @scope.struct
(union_specifier name: (_) body: (_)) @scope.struct
(enum_specifier name: (_) body: (_)) @scope.enum
(type_definition) @scope.type
(preproc_function_def) @scope.macro
(preproc_def value: (_)) @scope.constant
(preproc_include path: (_) @include)
(call_expression function: (_) @call)
(parameter_declaration type: (_) declarator: (_)) @typed
(declaration type: (_) declarator: (_)) @typed
(field_declaration type: (_) declarator: (_)) @fielded
(comment) @comment
"""
_CPP = """
(class_specifier name: (_) body: (_)) @scope.class
(namespace_definition) @scope.namespace
(alias_declaration) @scope.type
(concept_definition) @scope.type
(field_declaration_list (field_declaration declarator: (function_declarator)) @scope.function)
(field_declaration_list (field_declaration declarator: (_ (function_declarator))) @scope.function)
(field_declaration_list (declaration declarator: (function_declarator)) @scope.function)
(base_class_clause [(type_identifier) (qualified_identifier) (template_type)] @base)
(new_expression type: (_) @call)
(using_declaration) @using
"""
_DECLARED = re.compile(r"[*&\s]*(?:const\s+)?[*&\s]*((?:[\w~]+(?:<[^<>]*>)?::)*(?:~?\w+|operator\s*(?:\(\)|[^\s(]+)))")
_KEYWORDS = re.compile(r"^(?:(?:const|struct|class|enum|unsigned|static|volatile|typename|union)\s+)+")
_PLAIN = {
    "int",
    "char",
    "void",
    "bool",
    "float",
    "double",
    "size_t",
    "long",
    "short",
    "auto",
    "unsigned",
    "signed",
    "uint8_t",
    "uint32_t",
}
_ARGUMENTS = re.compile(r"<[^<>]*>")


def _read(source: Source) -> None:
    definitions = [
        each
        for each in source.definitions(lambda node, type_: _name(source, node, type_))
        if each.type != "type" or each.node.type != "type_definition" or each.name
    ]
    named = {(each.name, each.start) for each in definitions if each.type in {"struct", "enum"}}
    names = {name for name, _start in named}
    definitions = [each for each in definitions if not (each.node.type == "type_definition" and each.name in names)]
    source.scopes(definitions, lambda each: source.comment_above(_row(each.node)))
    source.calls()
    source.bases()
    for node in source.found.get("include", ()):
        source.imports(source.text(node).strip('<>"'), "", "", node)
    for node in source.found.get("using", ()):
        text = source.text(node)
        name = text.removeprefix("using").removesuffix(";").strip()
        if not name.startswith("namespace"):
            source.imports(name, "", name.rpartition("::")[2], node)
    for kind, prefix in (("typed", ""), ("fielded", "self.")):
        for node in source.found.get(kind, ()):
            _typed(source, node, prefix)
    for scope_index, each in enumerate(source.parsed.scopes):
        if each.type in {"function", "method"}:
            head = each.signature.partition("(")[0].rpartition(" ")[0]
            _bind(source, "()", head.rstrip("*& ").rpartition(" ")[2] or head, scope_index)


def _row(node: Node) -> int:
    parent = node.parent
    return (
        parent.start_point[0]
        if parent is not None and parent.type in {"template_declaration", "type_definition"}
        else node.start_point[0]
    )


def _name(source: Source, node: Node, type_: str) -> tuple[str, str]:
    if node.type in {"function_definition", "field_declaration", "declaration", "type_definition"}:
        declarator = node.child_by_field_name("declarator")
        function = False
        for _step in range(8):
            function = function or (declarator is not None and declarator.type == "function_declarator")
            inner = declarator.child_by_field_name("declarator") if declarator is not None else None
            if (
                inner is None
                and declarator is not None
                and declarator.type in {"reference_declarator", "parenthesized_declarator"}
            ):
                inner = next((child for child in declarator.children if child.is_named), None)
            if inner is None:
                break
            declarator = inner
        if not function and type_ == "function":
            return "", ""
        if declarator is None or declarator.end_byte - declarator.start_byte > 300:
            return "", ""
        parts = [part.strip() for part in _ARGUMENTS.sub("", source.text(declarator)).split("::") if part.strip()]
        if not parts or not re.fullmatch(r"~?\w+|operator.*", parts[-1], re.DOTALL):
            return "", ""
        return " ".join(parts[-1].split()), ".".join(parts[:-1])
    name = _ARGUMENTS.sub("", source.field(node, "name"))
    return name.replace("::", "."), ""


def _typed(source: Source, node: Node, prefix: str) -> None:
    declarator = node.child_by_field_name("declarator")
    if declarator is None or "function_declarator" in (declarator.type,):
        return
    match = _DECLARED.match(source.text(declarator)[:200])
    type_ = node.child_by_field_name("type")
    if match is None or type_ is None or type_.end_byte - type_.start_byte > 300:
        return
    scope, written = source.scope_at(node.start_byte), source.text(type_)
    value = declarator.child_by_field_name("value")
    if written == "auto" and value is not None and value.end_byte - value.start_byte < 1_000:
        chain = chain_of(source.text(value))
        source.bind(prefix + match[1], instance(chain) if value.type == "new_expression" else chain, scope)
        return
    held = re.match(
        r"(?:std::)?(?:unique_ptr|shared_ptr|optional|vector|list|set)<\s*(?:const\s+)?([\w:]+)[^>]*>$", written
    )
    many = held is not None and re.match(r"(?:std::)?(?:vector|list|set)<", written)
    _bind(source, prefix + match[1] + ("[]" if many else ""), held[1] if held else written, scope)


def _bind(source: Source, name: str, type_: str, scope: int) -> None:
    head = _KEYWORDS.sub("", type_).partition("<")[0].strip(" *&")
    if re.fullmatch(r"[\w:]+", head) and head not in _PLAIN:
        source.bind(name, instance(chain_of(head)), scope)


grammar("c", "tree_sitter_c", QUERY, extensions=(".c", ".h"))(_read)
grammar(
    "cpp",
    "tree_sitter_cpp",
    QUERY + _CPP,
    extensions=(".cc", ".cpp", ".cxx", ".c++", ".hpp", ".hh", ".hxx", ".h++", ".ipp", ".tpp", ".inl", ".cu", ".ino"),
)(_read)
