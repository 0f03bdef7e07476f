"""SQL: created objects and the tables they refer to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atelier_desk.knowledge.parsing.languages.registry import grammar
from atelier_desk.knowledge.parsing.syntax_captures import Definition, Source

if TYPE_CHECKING:
    from tree_sitter import Node

QUERY = """
(create_table) @made.table
(create_view) @made.view
(create_materialized_view) @made.view
(create_function) @made.function
(create_trigger) @made.trigger
(create_index) @made.index
(create_type) @made.type
(create_schema) @made.schema
(invocation (object_reference) @call)
(relation (object_reference) @named)
(column_definition (object_reference) @named)
(constraint (object_reference) @named)
(create_index (object_reference) @named)
(insert (object_reference) @named)
[(comment) (marginalia)] @comment
"""


@grammar("sql", "tree_sitter_sql", QUERY, extensions=(".sql", ".ddl", ".psql", ".mysql"))
def read(source: Source) -> None:
    definitions = []
    for capture, nodes in source.found.items():
        if capture.startswith("made."):
            for node in nodes:
                name = _name(source, node, capture)
                if name:
                    definitions.append(
                        Definition(node.start_byte, node.end_byte, node, capture[5:], name, body=_body(source, node))
                    )
    source.scopes(definitions, lambda each: source.comment_above(each.node.start_point[0]))
    source.calls()
    own = {scope.start: scope.name for scope in source.parsed.scopes}
    for node in source.found.get("named", ()):
        chain = tuple(part.strip('"`[]') for part in source.text(node).split("."))
        scope = source.scope_at(node.start_byte)
        if scope < 0 or source.parsed.scopes[scope].name != chain[-1] or own.get(node.start_byte):
            source.refer("mentions", chain, node.start_byte, node.start_point[0] + 1)


def _name(source: Source, node: Node, capture: str) -> str:
    for child in node.children:
        if child.type == "object_reference":
            return source.text(child).rpartition(".")[2].strip('"`[]')
        if child.type == "identifier" and capture in {"made.index", "made.schema", "made.trigger", "made.type"}:
            return source.text(child).strip('"`[]')
    return ""


def _body(source: Source, node: Node) -> int:
    inside = next(
        (child for child in node.children if child.type in {"column_definitions", "create_query", "function_body"}),
        None,
    )
    if inside is not None:
        return inside.start_byte
    end = source.raw.find("\n", node.start_byte)
    return min(node.end_byte, end if end >= 0 else node.end_byte)
