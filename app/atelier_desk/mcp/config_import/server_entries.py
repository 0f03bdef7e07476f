"""One server's entry in the formats of different programs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from atelier_desk.domain.errors import AtelierError, UsageError
from atelier_desk.mcp.config_import.found_server import (
    Ask,
    FoundServer,
    build,
    is_secret,
    mapping,
    rows,
    text_of,
    texts,
)
from atelier_desk.support.i18n import N_
from atelier_desk.support.visible_and_shortened_text import shorten

_HTTP = frozenset({"http", "streamable-http", "streamable_http", "streamableHttp", "remote", "sse"})
_STARTED = re.compile(r"stdio|local")
"""Transport names of a local server."""
_INPUT = re.compile(r"\$\{input:([^}]+)\}")
_VARIABLE = re.compile(r"[^A-Za-z0-9_]+")
_OPENCODE = re.compile(r"\{env:([A-Za-z_]\w*)\}")


def entry(
    name: str, said: Mapping[str, object], source: str, inputs: Mapping[str, Mapping[str, object]] | None = None
) -> FoundServer:
    """Read a server's entry; ``inputs`` are VS Code's input variables, by id."""
    kind = text_of(said.get("type") or said.get("transport") or "").strip()
    url = text_of(said.get("httpUrl") or said.get("url") or said.get("serverUrl") or said.get("uri") or "")
    warnings: list[AtelierError] = []
    if kind == "sse" or ("url" in said and "httpUrl" not in said and source in ("Gemini", "Qwen")):
        warnings.append(
            UsageError(
                N_("This server uses an older transport (SSE). Atelier will try its address with streamable HTTP.")
            )
        )
    if kind in ("ws", "websocket"):
        return FoundServer(
            name,
            problem=UsageError(N_("This server uses {kind}, which is not an MCP transport."), kind=kind),
        )
    if kind and kind not in _HTTP and not _STARTED.fullmatch(kind):
        warnings.append(UsageError(N_("The server's type {kind} is unknown and was ignored."), kind=shorten(kind, 40)))
    if only := _only(said):
        warnings.append(
            UsageError(
                N_(
                    "The configuration allows only these tools: {names}. After the server's first start, disable its"
                    " other tools."
                ),
                names=shorten(only, 200),
            )
        )
    asked = _Inputs(inputs or {})
    common: dict[str, object] = {"enabled": _enabled(said), "timeout_s": _timeout(said), "tools_off": _off(said)}
    told = text_of(said.get("description") or "")
    if url and not _STARTED.fullmatch(kind):
        headers = texts(said.get("headers") or said.get("http_headers"))
        for header, variable in texts(said.get("env_http_headers")).items():
            headers[header] = f"${{{variable}}}"
        if variable := text_of(said.get("bearer_token_env_var") or ""):
            headers["Authorization"] = f"Bearer ${{{variable}}}"
        headers = {key: asked.header(key, _reference(text)) for key, text in headers.items()}
        oauth = mapping(said.get("oauth"))
        client = text_of(oauth.get("clientId") or oauth.get("client_id") or "")
        scopes = oauth.get("scopes", "")
        scopes = " ".join(map(text_of, scopes)) if isinstance(scopes, list) else text_of(scopes)
        return build(
            name, source, told, asks=asked.asks, warnings=warnings,
            transport="http", url=_reference(url), headers=headers, client_id=client, scopes=scopes, **common,
        )  # fmt: skip
    words = said.get("command", said.get("cmd", ""))
    arguments = said.get("args", [])
    if isinstance(words, list):
        words, arguments = (
            (words[0] if words else ""),
            [*words[1:], *(arguments if isinstance(arguments, list) else [])],
        )
    words = text_of(words).strip()
    if isinstance(arguments, str):
        arguments = _split(arguments)
    if " " in words and not arguments and "/" not in words.partition(" ")[0][1:]:
        # Some programs store the complete command line as the command.
        words, *arguments = _split(words) or [words]
    env = texts(said.get("env") or said.get("environment") or said.get("envs"))
    for variable in rows(said.get("env_vars")) or rows(said.get("env_keys")):
        if isinstance(variable, str):
            env.setdefault(variable, f"${{{variable}}}")
    env = {key: asked.env(key, _reference(text)) for key, text in env.items()}
    arguments = [
        asked.argument(_reference(text_of(each))) for each in rows(arguments) if isinstance(each, str | int | float)
    ]
    folder = text_of(said.get("cwd") or said.get("workingDirectory") or "")
    if "${workspaceFolder}" in " ".join((*arguments, folder, words)):
        warnings.append(
            UsageError(
                N_("This server uses ${workspaceFolder}, the folder open in the other program. Enter a folder instead.")
            )
        )
    env |= asked.variables
    return build(
        name, source, told, asks=asked.asks, warnings=warnings,
        transport="stdio", command=words, args=tuple(arguments), env=env, folder="" if "${" in folder else folder,
        sandbox=bool(said.get("sandbox") or said.get("sandboxEnabled")), **common,
    )  # fmt: skip


class _Inputs:
    """Input variables of a file; they become variables of the server."""

    def __init__(self, inputs: Mapping[str, Mapping[str, object]]) -> None:
        self._inputs = inputs
        self._asks: dict[str, Ask] = {}
        self.variables: dict[str, str] = {}

    @property
    def asks(self) -> tuple[Ask, ...]:
        return tuple(self._asks.values())

    def env(self, name: str, text: str) -> str:
        return self._setting(f"env:{name}", text) if _INPUT.fullmatch(text) else self.argument(text)

    def header(self, name: str, text: str) -> str:
        if not _INPUT.search(text):
            return text
        if _INPUT.fullmatch(text):
            return self._setting(f"header:{name}", text)
        # "Bearer ${input:token}": the complete header is asked for.
        said = self._description(text)
        self._asks[f"header:{name}"] = Ask(f"header:{name}", f"{_INPUT.sub('…', text)} {said}".strip(), secret=True)
        return ""

    def argument(self, text: str) -> str:
        def variable(found: re.Match[str]) -> str:
            name = _VARIABLE.sub("_", found[1]).strip("_").upper() or "INPUT"
            said = self._inputs.get(found[1], {})
            secret = bool(said.get("password")) or is_secret(name, "x")
            default = text_of(said.get("default") or "")
            self._asks.setdefault(
                f"env:{name}", Ask(f"env:{name}", text_of(said.get("description") or ""), secret, value=default)
            )
            self.variables[name] = "" if secret else default
            return f"${{{name}}}"

        return _INPUT.sub(variable, text)

    def _setting(self, key: str, text: str) -> str:
        said = self._inputs.get(_INPUT.fullmatch(text)[1], {})  # type: ignore[index]
        choices = tuple(text_of(each) for each in rows(said.get("options")) if isinstance(each, str))
        default = text_of(said.get("default") or "")
        secret = bool(said.get("password")) or key.startswith("header:") or is_secret(key.partition(":")[2], "x")
        self._asks[key] = Ask(key, text_of(said.get("description") or ""), secret, value=default, choices=choices)
        return default

    def _description(self, text: str) -> str:
        found = _INPUT.search(text)
        return text_of(self._inputs.get(found[1], {}).get("description") or "") if found else ""


def _reference(text: str) -> str:
    """Convert other programs' variable references to ours."""
    return _OPENCODE.sub(r"${\1}", text)


def _enabled(said: Mapping[str, object]) -> bool:
    return not said.get("disabled", False) and said.get("enabled", True) is not False


def _timeout(said: Mapping[str, object]) -> float:
    """Timeout in seconds; values over an hour are taken as milliseconds."""
    for key in ("tool_timeout_sec", "timeout", "timeoutMs"):
        value = said.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            seconds = value / 1000 if value > 3_600 or key == "timeoutMs" else float(value)
            return min(3_600.0, max(1.0, seconds))
    return 30.0


def _off(said: Mapping[str, object]) -> tuple[str, ...]:
    found = said.get("disabledTools") or said.get("excludeTools") or said.get("disabled_tools") or ()
    return tuple(text for text in found if isinstance(text, str) and text) if isinstance(found, list) else ()


def _only(said: Mapping[str, object]) -> str:
    """Names of the only tools the file allows; empty when it allows all.

    Which other tools exist is known only by the server.
    """
    for key in ("includeTools", "enabledTools", "enabled_tools", "tools"):
        names = [text for text in rows(said.get(key)) if isinstance(text, str) and text]
        if names and "*" not in names:
            return ", ".join(names)
    return ""


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()
