"""Style sheets: rules, named by their selectors."""

from __future__ import annotations

import re

from atelier_desk.knowledge.parsing.languages.registry import grammar
from atelier_desk.knowledge.parsing.syntax_captures import Definition, Source

QUERY = """
(rule_set) @scope.rule
(keyframes_statement) @scope.keyframes
(media_statement) @scope.media
(supports_statement) @scope.media
(import_statement) @import
(declaration (property_name) @property)
(comment) @comment
"""
_SPACES = re.compile(r"\s+")
_ADDRESS = re.compile(r"@import\s+(?:url\()?\s*[\"']?([^\"')\s;]+)")


@grammar("css", "tree_sitter_css", QUERY, extensions=(".css", ".scss", ".pcss", ".qss"))
def read(source: Source) -> None:
    definitions = []
    for capture, type_ in (("scope.rule", "rule"), ("scope.keyframes", "keyframes"), ("scope.media", "media")):
        for node in source.found.get(capture, ()):
            block = next((child for child in node.children if child.type in {"block", "keyframe_block_list"}), None)
            end = block.start_byte if block is not None else node.end_byte
            name = _SPACES.sub(" ", source.slice(node.start_byte, min(end, node.start_byte + 400))).strip(" {")
            if name:
                definitions.append(Definition(node.start_byte, node.end_byte, node, type_, name[:200], body=end))
    seen: set[str] = set()
    for node in source.found.get("property", ()):
        name, around = source.text(node), node.parent
        if name.startswith("--") and name not in seen and around is not None:
            seen.add(name)
            definitions.append(
                Definition(around.start_byte, around.end_byte, around, "variable", name, body=around.end_byte)
            )
    source.scopes(definitions, lambda each: source.comment_above(each.node.start_point[0]))
    for node in source.found.get("import", ()):
        match = _ADDRESS.match(source.text(node))
        if match:
            source.imports(
                match[1] if match[1].startswith((".", "/")) or "://" in match[1] else "./" + match[1], "", "", node
            )
