"""Shell scripts."""

from __future__ import annotations

from atelier_desk.knowledge.parsing.languages.registry import grammar
from atelier_desk.knowledge.parsing.syntax_captures import Source

QUERY = """
(function_definition) @scope.function
(program (variable_assignment name: (variable_name)) @scope.variable)
(command name: (command_name (word)) @call)
(command name: (command_name) @_name argument: (_) @sourced (#any-of? @_name "source" "."))
(comment) @comment
"""


@grammar(
    "bash", "tree_sitter_bash", QUERY, extensions=(".sh", ".bash", ".zsh", ".ksh", ".bats"),
    names=(".bashrc", ".bash_profile", ".profile", ".zshrc", "PKGBUILD"),
    programs=("sh", "bash", "zsh", "dash", "ksh"),
)  # fmt: skip
def read(source: Source) -> None:
    definitions, seen = [], set()
    for each in source.definitions():
        if each.type != "variable" or each.name not in seen:
            seen.add(each.name)
            definitions.append(each)
    source.scopes(definitions, lambda each: source.comment_above(each.node.start_point[0]))
    own = {scope.name for scope in source.parsed.scopes}
    for node in source.found.get("call", ()):
        name = source.text(node)
        if name in own or ("/" not in name and name not in {"source", "."}):
            source.refer("calls", (name,), node.start_byte, node.start_point[0] + 1)
    seen_lines = set()
    for node in source.found.get("sourced", ()):
        if node.start_point[0] not in seen_lines:
            seen_lines.add(node.start_point[0])
            written = source.text(node).strip("\"'")
            # drop variables and command substitutions: usually the script's own folder
            source.imports(written.rpartition("/")[2] if "$" in written else written, "", "", node)
