"""Views of a parsed file for tests."""

from __future__ import annotations

from textwrap import dedent

from atelier_desk.knowledge.parsing.parse import parse
from atelier_desk.knowledge.parsing.parsed_file import Parsed
from atelier_desk.knowledge.parsing.relation_resolution import Resolver
from atelier_desk.knowledge.parsing.symbols import symbols


def read(path: str, text: str) -> Parsed:
    """Parse this text as a file, without its indentation."""
    return parse(path, dedent(text).lstrip("\n").encode())


def scopes(parsed: Parsed) -> list[tuple[str, str, int, int]]:
    """Type, qualified name and lines of each scope."""
    return [(scope.type, scope.qualified, scope.start_line, scope.end_line) for scope in parsed.scopes]


def docs(parsed: Parsed) -> dict[str, str]:
    return {scope.qualified: scope.docstring for scope in parsed.scopes if scope.docstring}


def signatures(parsed: Parsed) -> dict[str, str]:
    return {scope.qualified: scope.signature for scope in parsed.scopes}


def imports(parsed: Parsed) -> list[tuple[str, str, str]]:
    return [(each.module, each.name, each.alias) for each in parsed.imports]


def references(parsed: Parsed, kind: str = "calls") -> set[tuple[str, str]]:
    """The qualified name of the source and the dotted name of the target."""
    return {
        (parsed.scopes[each.scope].qualified if each.scope >= 0 else "", ".".join(each.chain))
        for each in parsed.references
        if each.kind == kind
    }


def bindings(parsed: Parsed) -> set[tuple[str, str, str]]:
    return {
        (parsed.scopes[each.scope].qualified if each.scope >= 0 else "", each.name, ".".join(each.chain))
        for each in parsed.bindings
    }


def project(files: dict[str, str]) -> Resolver:
    return Resolver(symbols(path, read(path, text)) for path, text in files.items())


def named(resolver: Resolver, path: str, index: int) -> str:
    return f"{path}:{resolver.files[path].symbols[index].qualified}" if index >= 0 else path


def relations(resolver: Resolver, kind: str) -> dict[tuple[str, str], float]:
    """Source and target, each as ``path:name``, and the confidence."""
    return {
        (
            named(resolver, each.source_path, each.source_index),
            each.package or named(resolver, each.target_path, each.target_index),
        ): each.confidence
        for each in resolver.resolution().relations
        if each.kind == kind
    }
