"""Text about projects: kinds, relations, places, languages and stages."""

from __future__ import annotations

from atelier_desk.domain.project import FILES_MAX, Entity, EntityKind, IngestStage, IngestState, Project, RelationKind
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.locale_format import number

KIND_WORDS: dict[EntityKind, str] = {
    EntityKind.FILE: N_("Files"),
    EntityKind.SCOPE: N_("Classes and functions"),
    EntityKind.IMPORT: N_("Imports"),
    EntityKind.PACKAGE: N_("Packages"),
    EntityKind.DOCUMENT: N_("Documents"),
    EntityKind.SECTION: N_("Sections"),
    EntityKind.PAGE: N_("Web pages"),
    EntityKind.IMAGE: N_("Images"),
}
RELATION_WORDS: dict[RelationKind, str] = {
    RelationKind.CONTAINS: N_("contains"),
    RelationKind.IMPORTS: N_("imports"),
    RelationKind.CALLS: N_("calls"),
    RelationKind.INHERITS: N_("inherits from"),
    RelationKind.MENTIONS: N_("mentions"),
    RelationKind.LINKS_TO: N_("links to"),
}
_TYPES = {
    "file": N_("file"),
    "module": N_("module"),
    "class": N_("class"),
    "interface": N_("interface"),
    "struct": N_("structure"),
    "enum": N_("enumeration"),
    "trait": N_("trait"),
    "record": N_("record"),
    "type": N_("type"),
    "impl": N_("implementation"),
    "namespace": N_("namespace"),
    "macro": N_("macro"),
    "function": N_("function"),
    "method": N_("method"),
    "property": N_("property"),
    "variable": N_("variable"),
    "constant": N_("constant"),
    "rule": N_("rule"),
    "keyframes": N_("animation"),
    "media": N_("media query"),
}
_ONE = {
    EntityKind.FILE: N_("file"),
    EntityKind.SCOPE: N_("part of the code"),
    EntityKind.IMPORT: N_("import"),
    EntityKind.PACKAGE: N_("package"),
    EntityKind.DOCUMENT: N_("document"),
    EntityKind.SECTION: N_("section"),
    EntityKind.PAGE: N_("web page"),
    EntityKind.IMAGE: N_("image"),
}
_STAGES = {
    IngestStage.READING: N_("Reading files: {done} of {total}"),
    IngestStage.RELATING: N_("Finding relations: {done} of {total}"),
    IngestStage.EMBEDDING: N_("Computing embeddings: {done} of {total}"),
    IngestStage.PAUSED: N_("Paused at {done} of {total}"),
}
_BEGINNINGS = {
    IngestStage.READING: N_("Searching for files…"),
    IngestStage.RELATING: N_("Finding relations…"),
    IngestStage.EMBEDDING: N_("Computing embeddings…"),
    IngestStage.PAUSED: N_("Paused"),
}
"""Stages while the total is unknown."""
CUT_WORDS = {
    "files": N_(
        "Not all files were read: the folder has more than {most}. Index one of its subfolders as a separate project."
    ),
    "looks": N_(
        "The folder was not searched completely: it is too large or too slow. Index one of its "
        "subfolders as a separate project."
    ),
}
"""Text by ``Project.cut``."""
RUNNING = frozenset({IngestStage.READING, IngestStage.RELATING, IngestStage.EMBEDDING})
_CODE = {
    "python": "Python",
    "javascript": "JavaScript",
    "typescript": "TypeScript",
    "tsx": "TSX",
    "c": "C",
    "cpp": "C++",
    "csharp": "C#",
    "php": "PHP",
    "html": "HTML",
    "css": "CSS",
    "sql": "SQL",
    "json": "JSON",
    "yaml": "YAML",
    "toml": "TOML",
    "xml": "XML",
    "pdf": "PDF",
    "docx": "Word",
    "xlsx": "Excel",
    "pptx": "PowerPoint",
    "odt": "ODT",
    "ods": "ODS",
    "odp": "ODP",
    "rtf": "RTF",
    "epub": "EPUB",
    "eml": "E-mail",
}


def language_word(language: str) -> str:
    """Name of a programming language."""
    if language in ("", "text"):
        return _("Text")
    return _CODE.get(language, language[:1].upper() + language[1:])


def kind_word(entity: Entity) -> str:
    """Kind of an entity: class, method, section … for its type, or else for its kind."""
    if entity.kind is EntityKind.SECTION:
        return _("page of a PDF") if entity.language == "pdf" else _("section")
    known = _TYPES.get(entity.type) or (_ONE[entity.kind] if not entity.type or entity.type == str(entity.kind) else "")
    return _(known) if known else entity.type.replace("_", " ")


def place_word(entity: Entity) -> str:
    """An entity's path and line, as editors write it."""
    if not entity.path:
        return ""
    return (
        f"{entity.path}:{entity.start_line}"
        if entity.start_line and entity.kind is not EntityKind.FILE
        else entity.path
    )


def title_word(entity: Entity) -> str:
    """An entity's qualified name in its file, or its own name."""
    return entity.qualified or entity.name


def describe(entity: Entity) -> str:
    """An entity in one sentence, for screen readers."""
    return ", ".join(filter(None, (title_word(entity), kind_word(entity), place_word(entity))))


def state_word(state: IngestState) -> str:
    """Progress of indexing."""
    if state.stage is IngestStage.DONE:
        return _(
            "Up to date. Changed files: {changed}, removed: {removed}",
            changed=number(state.changed),
            removed=number(state.removed),
        )
    if state.stage is IngestStage.FAILED:
        return _("Failed: {error}", error=state.error) if state.error else _("Failed")
    if not state.total and state.stage in _BEGINNINGS:
        return _(_BEGINNINGS[state.stage])
    return _(_STAGES[state.stage], done=number(state.done), total=number(state.total))


def cut_word(cut: str) -> str:
    """Why a folder was not read completely; empty when it was."""
    return _(CUT_WORDS[cut], **({"most": number(FILES_MAX)} if cut == "files" else {})) if cut in CUT_WORDS else ""


def folder_word(project: Project) -> str:
    """A project's folder, or that it has none."""
    return project.root or _("No folder: web pages only")
