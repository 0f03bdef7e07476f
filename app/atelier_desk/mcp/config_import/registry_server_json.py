"""The registry's ``server.json``: packages run by a package runner, and remote addresses."""

from __future__ import annotations

import re
from collections.abc import Mapping

from atelier_desk.domain.errors import AtelierError, UsageError
from atelier_desk.mcp.config_import.found_server import Ask, FoundServer, build, is_secret, name_of, rows, text_of
from atelier_desk.support.i18n import N_

_RUNNERS = {
    "npm": ("npx", ("-y",)),
    "pypi": ("uvx", ()),
    "oci": ("docker", ("run", "-i", "--rm")),
    "nuget": ("dnx", ("--yes",)),
}
_VARIABLE = re.compile(r"\{([A-Za-z_][\w-]*)\}")


def is_server(value: Mapping[str, object]) -> bool:
    """Whether a JSON object is a ``server.json``."""
    return isinstance(value.get("name"), str) and (
        isinstance(value.get("packages"), list) or isinstance(value.get("remotes"), list)
    )


def servers(value: Mapping[str, object]) -> list[FoundServer]:
    """One server for each way to run it; local ones first."""
    name, told = str(value["name"]), text_of(value.get("description") or "")
    found = [_package(name, told, each) for each in rows(value.get("packages")) if isinstance(each, Mapping)]
    return found + [_remote(name, told, each) for each in rows(value.get("remotes")) if isinstance(each, Mapping)]


def _package(name: str, told: str, package: Mapping[str, object]) -> FoundServer:
    kind = text_of(package.get("registryType") or package.get("registry_name") or "")
    if kind not in _RUNNERS:
        said = N_(
            "Its package is of type {kind}. Supported types: {known}. A bundle (.mcpb) can be imported from its file."
        )
        return FoundServer(
            name_of(name), told=told, problem=UsageError(said, kind=kind or "-", known=", ".join(_RUNNERS))
        )
    values = _Values()
    command, usual = _RUNNERS[kind]
    command = text_of(package.get("runtimeHint") or "") or command
    before = values.arguments(package.get("runtimeArguments")) or list(usual)
    identifier, version = (
        text_of(package.get("identifier") or package.get("name") or ""),
        text_of(package.get("version") or ""),
    )
    env = {}
    for each in rows(package.get("environmentVariables")):
        if isinstance(each, Mapping) and isinstance(each.get("name"), str):
            env[each["name"]] = values.value(f"env:{each['name']}", each)
    between = [word for key in env for word in ("-e", key)] if kind == "oci" else []
    mark = {"npm": "@", "pypi": "==", "oci": ":", "nuget": "@"}[kind]
    exact = (
        f"{identifier}{mark}{version}" if version and version != "latest" and mark not in identifier[1:] else identifier
    )
    after = values.arguments(package.get("packageArguments"))
    notes: list[AtelierError] = []
    transport = package.get("transport")
    if isinstance(transport, Mapping) and text_of(transport.get("type") or "stdio") != "stdio":
        notes.append(
            UsageError(
                N_(
                    "This server is reached through a URL, which works only while the server is running. You may have "
                    "to start the server yourself."
                )
            )
        )
    return build(
        name, "server.json", told, asks=values.asks, warnings=notes,
        transport="stdio", command=command, args=(*before, *between, exact, *after), env={**env, **values.variables},
    )  # fmt: skip


def _remote(name: str, told: str, remote: Mapping[str, object]) -> FoundServer:
    values = _Values()
    headers = {}
    for each in rows(remote.get("headers")):
        if isinstance(each, Mapping) and isinstance(each.get("name"), str):
            headers[each["name"]] = values.value(f"header:{each['name']}", each)
    url = text_of(remote.get("url") or "")
    asked = remote.get("variables")
    notes: list[AtelierError] = []
    if isinstance(asked, Mapping):
        for variable, said in asked.items():
            default = text_of(said.get("default") or "") if isinstance(said, Mapping) else ""
            if default:
                url = url.replace(f"{{{variable}}}", default)
    if _VARIABLE.search(url):
        notes.append(UsageError(N_("Part of its address must be filled in: {url}"), url=url))
    if text_of(remote.get("type") or "") == "sse":
        notes.append(
            UsageError(
                N_("This server uses an older transport (SSE). Atelier will try its address with streamable HTTP.")
            )
        )
    return build(
        name, "server.json", told, asks=values.asks, warnings=notes, transport="http", url=url, headers=headers
    )


class _Values:
    """Values that a person must enter."""

    def __init__(self) -> None:
        self._asks: dict[str, Ask] = {}
        self.variables: dict[str, str] = {}

    @property
    def asks(self) -> tuple[Ask, ...]:
        return tuple(self._asks.values())

    def value(self, key: str, said: Mapping[str, object]) -> str:
        given = text_of(said.get("value") or "")
        if given and not _VARIABLE.search(given):
            return given
        name = key.partition(":")[2]
        secret = bool(said.get("isSecret")) or key.startswith("header:") or is_secret(name, "x")
        choices = tuple(text_of(each) for each in rows(said.get("choices")))
        default = text_of(said.get("default") or "")
        told = text_of(said.get("description") or "")
        told = f"{given} {told}".strip() if given else told
        self._asks[key] = Ask(key, told, secret, bool(said.get("isRequired")), default, choices)
        return "" if secret else default

    def arguments(self, said: object) -> list[str]:
        """Words of a command; one that must be entered becomes a variable of the server."""
        found: list[str] = []
        for each in said if isinstance(said, list) else ():
            if not isinstance(each, Mapping):
                continue
            name, value = text_of(each.get("name") or ""), text_of(each.get("value") or each.get("default") or "")
            if not value and (each.get("isRequired") or each.get("type") == "positional"):
                hint = text_of(each.get("valueHint") or name or "argument")
                variable = re.sub(r"\W+", "_", hint).strip("_").upper() or "ARGUMENT"
                secret = bool(each.get("isSecret"))
                told = text_of(each.get("description") or "")
                self._asks[f"env:{variable}"] = Ask(f"env:{variable}", told, secret, bool(each.get("isRequired", True)))
                self.variables[variable] = ""
                value = f"${{{variable}}}"
            if each.get("type") == "named" or name.startswith("-"):
                found.append(name)
            if value:
                found.append(value)
        return found
