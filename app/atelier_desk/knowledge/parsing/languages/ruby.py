"""Ruby. A bare word without arguments may be a call or a variable, so it is ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atelier_desk.knowledge.parsing.languages.registry import grammar
from atelier_desk.knowledge.parsing.syntax_captures import Definition, Source, chain_of, instance

if TYPE_CHECKING:
    from tree_sitter import Node

QUERY = """
(class) @scope.class
(module) @scope.module
(method) @scope.function
(singleton_method) @scope.function
[(program (assignment left: (constant)) @constant) (body_statement (assignment left: (constant)) @constant)]
(superclass (_) @base)
(call) @call_node
(assignment left: [(identifier) (instance_variable)] right: (call)) @assigned
(comment) @comment
"""
_MEMBERS = frozenset({"class", "module"})


@grammar("ruby", "tree_sitter_ruby", QUERY, extensions=(".rb", ".rake", ".gemspec", ".ru"),
         names=("Rakefile", "Gemfile", "Guardfile", "Vagrantfile"),
         programs=("ruby", "jruby"))  # fmt: skip
def read(source: Source) -> None:
    definitions = source.definitions(lambda node, _type: (source.field(node, "name").rpartition("::")[2], ""))
    for node in source.found.get("constant", ()):
        definitions.append(
            Definition(
                node.start_byte,
                node.end_byte,
                node,
                "constant",
                source.field(node, "left"),
                body=min(node.end_byte, node.start_byte + 200),
            )
        )
    source.scopes([each if each.body >= 0 else each._replace(body=_body(source, each.node)) for each in definitions],
                  lambda each: source.comment_above(each.node.start_point[0]), _MEMBERS)  # fmt: skip
    source.bases()
    for node in source.found.get("call_node", ()):
        method, given = source.field(node, "method"), node.child_by_field_name("arguments")
        name_node = node.child_by_field_name("method")
        place, line = node.start_byte, node.start_point[0] + 1
        if node.child_by_field_name("receiver") is None and given is not None:
            words = [source.text(child) for child in given.children if child.is_named]
            if method in {"require", "require_relative", "load"} and words and words[0][:1] in "\"'":
                module = words[0].strip("\"'")
                source.imports("./" + module if method == "require_relative" else module, "", "", node)
                continue
            if method in {"include", "extend", "prepend"}:
                for word in words:
                    source.refer("inherits", chain_of(word), place, line)
                continue
        if name_node is not None:
            text = source.slice(place, name_node.end_byte)
            if method == "new":
                text = text.removesuffix("new").rstrip(".:& ")
            source.refer("calls", chain_of(text), place, line)
    for node in source.found.get("assigned", ()):
        right = node.child_by_field_name("right")
        if right is not None and right.end_byte - right.start_byte < 1_000:
            name, method = source.field(node, "left"), source.field(right, "method")
            chain = (
                instance(chain_of(source.field(right, "receiver"))) if method == "new" else chain_of(source.text(right))
            )
            source.bind("self." + name if name.startswith("@") else name, chain, source.scope_at(node.start_byte))
            if name.startswith("@"):
                source.bind("self." + name.lstrip("@"), chain, source.scope_at(node.start_byte))


def _body(source: Source, node: Node) -> int:
    """Return the end of the first line: it is the signature."""
    end = source.raw.find("\n", node.start_byte)
    return min(node.end_byte, end if end >= 0 else node.end_byte)
