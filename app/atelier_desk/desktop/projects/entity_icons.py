"""Icons and colours of project contents."""

from __future__ import annotations

from atelier_desk.domain.project import EntityKind, RelationKind

KIND_ICONS: dict[EntityKind, str] = {
    EntityKind.FILE: "file-text",
    EntityKind.SCOPE: "braces",
    EntityKind.IMPORT: "import",
    EntityKind.PACKAGE: "package",
    EntityKind.DOCUMENT: "book-open",
    EntityKind.SECTION: "heading",
    EntityKind.PAGE: "globe",
    EntityKind.IMAGE: "image",
}
KIND_COLOURS: dict[EntityKind, str] = {
    EntityKind.FILE: "accent",
    EntityKind.SCOPE: "function",
    EntityKind.IMPORT: "muted",
    EntityKind.PACKAGE: "warn",
    EntityKind.DOCUMENT: "ok",
    EntityKind.SECTION: "teal",
    EntityKind.PAGE: "keyword",
    EntityKind.IMAGE: "err",
}
"""Theme token by kind of entity."""
RELATION_COLOURS: dict[RelationKind, str] = {
    RelationKind.CONTAINS: "muted",
    RelationKind.IMPORTS: "warn",
    RelationKind.CALLS: "function",
    RelationKind.INHERITS: "keyword",
    RelationKind.MENTIONS: "teal",
    RelationKind.LINKS_TO: "ok",
}
"""Theme token by kind of relation."""
