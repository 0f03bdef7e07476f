"""JavaScript and TypeScript."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from atelier_desk.knowledge.parsing.languages.registry import grammar
from atelier_desk.knowledge.parsing.syntax_captures import Definition, Source, chain_of, instance

if TYPE_CHECKING:
    from tree_sitter import Node

QUERY = """
[(function_declaration) (generator_function_declaration)] @scope.function
(class_declaration) @scope.class
(class_body (method_definition) @scope.method)
(variable_declarator name: (identifier) value: [(arrow_function) (function_expression) (generator_function)])
  @scope.function
(variable_declarator name: (identifier) value: (class)) @scope.class
(assignment_expression left: [(member_expression) (identifier)] right: [(arrow_function) (function_expression)
  (generator_function)])
  @scope.function
(assignment_expression left: [(member_expression) (identifier)] right: (class)) @scope.class
(object (method_definition) @scope.function)
(object (pair key: (property_identifier) value: [(arrow_function) (function_expression) (generator_function)])
  @scope.function)
(program (lexical_declaration (variable_declarator name: (identifier)) @constant))
(program (variable_declaration (variable_declarator name: (identifier)) @constant))
(program (export_statement (lexical_declaration (variable_declarator name: (identifier)) @constant)))
(call_expression function: (_) @call)
(new_expression constructor: (_) @call)
(import_statement) @import
(export_statement source: (string)) @reexport
(export_statement value: (_) @default)
(export_statement "default" declaration: (_) @default)
(call_expression function: (identifier) @_require arguments: (arguments . (string) @required .) (#eq? @_require
  "require"))
(call_expression function: (import) arguments: (arguments . (string) @required))
(variable_declarator name: (identifier)
  value: [(new_expression) (call_expression) (await_expression) (member_expression) (identifier)]) @bound
(assignment_expression left: (member_expression) right: [(new_expression) (call_expression) (await_expression)
  (member_expression)
  (identifier) (object)]) @assigned
(comment) @comment
(decorator) @skip
"""
_JS = """
(class_heritage (_) @base)
(class_body (field_definition property: (_) value: [(arrow_function) (function_expression)]) @scope.method)
(class_body (field_definition property: (_) value: [(new_expression) (call_expression)]) @fielded)
"""
_TS = """
(abstract_class_declaration) @scope.class
(interface_declaration) @scope.interface
(enum_declaration) @scope.enum
(type_alias_declaration) @scope.type
(internal_module) @scope.namespace
(module) @scope.namespace
(function_signature) @scope.function
(abstract_method_signature) @scope.method
(interface_body (method_signature) @scope.method)
(extends_clause value: (_) @base)
(implements_clause (_) @base)
(extends_type_clause (_) @base)
(class_body (public_field_definition value: [(arrow_function) (function_expression)]) @scope.method)
(class_body (public_field_definition) @fielded)
(required_parameter type: (type_annotation)) @typed
(optional_parameter type: (type_annotation)) @typed
(variable_declarator name: (identifier) type: (type_annotation)) @typed
(property_signature type: (type_annotation)) @typed
(_ return_type: (type_annotation) @returned)
"""
_SPACES = re.compile(r"/\*.*?\*/|//[^\n]*|\s+", re.DOTALL)
_IMPORT = re.compile(r"(?:import|export)(?:\s*type\b)?(.*?)(?:\bfrom)?\s*[\"']([^\"']*)[\"']")
_PLAIN = {
    "string",
    "number",
    "boolean",
    "any",
    "unknown",
    "void",
    "never",
    "null",
    "undefined",
    "object",
    "bigint",
    "symbol",
    "this",
}


_WRAPPERS = {"export_statement", "lexical_declaration", "variable_declaration", "expression_statement",
"variable_declarator",
             "ambient_declaration"}  # fmt: skip


def _read(source: Source) -> None:
    definitions = source.definitions(lambda node, _type: _named(source, node))
    places = {each.start for each in definitions}
    for node in source.found.get("constant", ()):
        value = source.field(node, "value")
        if node.start_byte not in places and not value.startswith(("require(", "await import(")):
            definitions.append(
                Definition(
                    node.start_byte,
                    node.end_byte,
                    node,
                    "constant",
                    source.field(node, "name"),
                    body=min(node.end_byte, node.start_byte + 200),
                )
            )

    def doc(each: Definition) -> str:
        row, parent = each.node.start_point[0], each.node.parent
        while parent is not None and parent.type in _WRAPPERS:
            row, parent = parent.start_point[0], parent.parent
        return source.comment_above(row)

    source.scopes([each if each.body >= 0 else each._replace(body=_body(each)) for each in definitions], doc)
    source.calls(
        [
            node
            for node in source.found.get("call", ())
            if node.end_byte - node.start_byte != 7 or source.text(node) != "require"
        ]
    )
    source.bases()
    _imports(source)
    _bindings(source)


def _body(each: Definition) -> int:
    """Return where the body begins; for a variable holding a function, where that function's body begins."""
    node = each.node
    value = node.child_by_field_name("value") or node.child_by_field_name("right")
    body = (value if value is not None else node).child_by_field_name("body")
    return body.start_byte if body is not None else -1


def _named(source: Source, node: Node) -> tuple[str, str]:
    """Return name and owner of a definition.

    ``Store.prototype.save = function`` belongs to ``Store``, ``exports.save = …`` to none.
    """
    if node.type == "assignment_expression":
        left = source.field(node, "left")
        parts = [
            part
            for part in left.split(".")
            if part not in {"prototype", "exports", "module", "this", "window", "globalThis"}
        ]
        if not parts:
            return _own_name(source, node), ""
        if not all(part.isidentifier() or part.startswith("$") for part in parts) or len(parts) > 3:
            return "", ""
        return parts[-1], ".".join(parts[:-1])
    if node.type == "pair":
        return source.field(node, "key"), ""
    name = source.field(node, "name") or source.field(node, "property")
    return name.strip("\"'"), ""


def _own_name(source: Source, node: Node) -> str:
    right = node.child_by_field_name("right")
    return source.field(right, "name") if right is not None else ""


def _imports(source: Source) -> None:
    for node in source.found.get("import", ()):
        _import(source, node, bound=True)
    for node in source.found.get("reexport", ()):
        _import(source, node, bound=False)
    for node in source.found.get("required", ()):
        module = source.text(node).strip("\"'`")
        _required(source, module, node)
    for node in source.found.get("default", ()):
        value = node.child_by_field_name("name") or node
        chain = chain_of(source.text(value)) if value.end_byte - value.start_byte < 500 else ()
        if chain and chain[0]:
            source.bind("default", chain, -1)


def _import(source: Source, node: Node, *, bound: bool) -> None:
    text = _SPACES.sub(" ", source.text(node))
    match = _IMPORT.match(text)
    if match is None:
        return
    names, module = match[1].strip(), match[2]
    outer, brace, inner = names.partition("{")
    count = 0
    for part in outer.split(","):
        part = part.strip()
        if part.startswith("*"):
            alias = part.partition(" as ")[2].strip()
            source.imports(module, "" if alias else "*", alias, node)
            count += 1
        elif part:
            source.imports(module, "default", part, node)
            count += 1
    if brace:
        for part in inner.partition("}")[0].split(","):
            name, _as, alias = part.strip().removeprefix("type ").partition(" as ")
            if name.strip():
                source.imports(module, name.strip(), alias.strip() or name.strip(), node)
                count += 1
    if not count:
        source.imports(module, "", "", node)
    del bound


def _required(source: Source, module: str, node: Node) -> None:
    """Handle ``require("x")``: the bound name is in the enclosing declaration."""
    call = node.parent.parent if node.parent is not None else None
    around = call.parent if call is not None else None
    taken = ""
    if around is not None and around.type == "member_expression":
        taken = source.field(around, "property")
        around = around.parent
    while around is not None and around.type in {"call_expression", "await_expression"}:
        around = around.parent
    if around is not None and around.type == "variable_declarator":
        left = around.child_by_field_name("name")
        if left is not None and left.type == "object_pattern":
            for part in source.text(left).strip("{} \n").split(","):
                name, _colon, alias = part.partition(":")
                name = name.split("=")[0].strip()
                if name and not name.startswith("..."):
                    source.imports(module, name, alias.split("=")[0].strip() or name, node)
            return
        if left is not None:
            source.imports(module, taken, source.text(left), node)
            return
    if around is not None and around.type == "assignment_expression":
        written = source.field(around, "left")
        last = written.rpartition(".")[2]
        if written in {"module.exports", "exports"}:
            source.imports(module, "*", "", node)
            source.imports(module, "", "default", node)
            return
        source.imports(
            module,
            taken,
            last if written.startswith(("exports.", "module.exports.")) or "." not in written else "",
            node,
        )
        return
    source.imports(module, taken, "", node)


def _bindings(source: Source) -> None:
    for node in source.found.get("bound", ()):
        value = node.child_by_field_name("value")
        if value is not None and value.end_byte - value.start_byte < 1_000:
            text = source.text(value)
            if not text.startswith("require"):
                source.bind(source.field(node, "name"), _value(text, value.type), source.scope_at(node.start_byte))
    for node in source.found.get("assigned", ()):
        left, right = source.field(node, "left"), node.child_by_field_name("right")
        if right is None:
            continue
        if left == "module.exports":
            if right.type == "identifier":
                source.bind("default", (source.text(right),), -1)
        elif (
            left.startswith("this.")
            and left.count(".") == 1
            and right.type != "object"
            and right.end_byte - right.start_byte < 1_000
        ):
            source.bind("self." + left[5:], _value(source.text(right), right.type), source.scope_at(node.start_byte))
    for node in source.found.get("typed", ()):
        type_ = node.child_by_field_name("type")
        name = source.field(node, "pattern") or source.field(node, "name")
        if type_ is None or not name:
            continue
        scope = source.scope_at(node.start_byte)
        chain = _type(source.text(type_))
        if node.type == "property_signature":
            name = "self." + name
        elif node.child_count and node.children[0].type in {"accessibility_modifier", "readonly"}:
            source.bind("self." + name, chain, scope)
        source.bind(name, chain, scope)
    for node in source.found.get("fielded", ()):
        name = source.field(node, "name") or source.field(node, "property")
        type_, value = node.child_by_field_name("type"), node.child_by_field_name("value")
        chain = _type(source.text(type_)) if type_ is not None else ()
        if (
            not chain
            and value is not None
            and value.type in {"new_expression", "call_expression"}
            and value.end_byte - value.start_byte < 1_000
        ):
            chain = _value(source.text(value), value.type)
        source.bind("self." + name, chain, source.scope_at(node.start_byte))
    for node in source.found.get("returned", ()):
        source.bind("()", _type(source.text(node)), source.scope_at(node.start_byte))


def _value(text: str, type_: str) -> tuple[str, ...]:
    chain = chain_of(text)
    return instance(chain) if type_ == "new_expression" else chain


def _type(text: str) -> tuple[str, ...]:
    """Return the type of an annotation: the first non-primitive of a union, the result of a promise."""
    text = text.lstrip(": ?").strip()
    for each in text.split("|"):
        each = each.strip()
        while each.startswith(("Promise<", "Readonly<", "Partial<", "Awaited<")):
            each = each.partition("<")[2].removesuffix(">")
        name = each.partition("<")[0].strip()
        if name and name not in _PLAIN and re.fullmatch(r"[\w$.]+", name):
            return instance(chain_of(name))
    return ()


grammar(
    "javascript",
    "tree_sitter_javascript",
    QUERY + _JS,
    extensions=(".js", ".mjs", ".cjs", ".jsx"),
    programs=("node", "bun"),
)(_read)
grammar(
    "typescript", "tree_sitter_typescript", QUERY + _TS, extensions=(".ts", ".mts", ".cts"),
    function="language_typescript",
    programs=("deno", "ts-node", "tsx"),
)(_read)  # fmt: skip
grammar("tsx", "tree_sitter_typescript", QUERY + _TS, extensions=(".tsx",), function="language_tsx")(_read)
