"""Find servers in any text: JSON with comments, TOML, YAML, a link or a command line."""

from __future__ import annotations

import base64
import binascii
import json
import re
import shlex
import tomllib
from collections.abc import Mapping
from urllib.parse import parse_qs, unquote, urlsplit

from atelier_desk.domain import jsonc
from atelier_desk.domain.errors import UsageError
from atelier_desk.mcp.config_import import registry_server_json
from atelier_desk.mcp.config_import.found_server import FoundServer, rows
from atelier_desk.mcp.config_import.server_entries import entry
from atelier_desk.support.i18n import N_

LONGEST = 2 * 1024 * 1024
"""Characters of a text; longer ones are refused."""
LONGEST_SLOW = 128 * 1024
"""Characters of YAML or TOML: a megabyte of YAML takes half a minute to parse.

No program's own file is this long.
"""
LONGEST_LINE = 16 * 1024
"""Characters of a command line."""
_DOTS = 64
"""Parts of one dotted TOML name: parsing takes time quadratic in them."""
MOST_VALUES = 200_000
"""Values of one text; a value that is referenced several times counts each time."""
MOST = 200
"""Servers of one text."""
NO_SERVER = N_(
    "No MCP server was found in this text. Accepted: the configuration file of another program, its "
    "“mcpServers” section, one server's entry, a server.json file, an install link, an address or a "
    "command."
)
_KEYS = ("mcpServers", "mcp_servers", "context_servers", "servers", "mcp", "extensions")
_LINKS = ("cursor:", "lmstudio:", "vscode:", "vscode-insiders:", "goose:")
_COMMANDS = ("npx", "uvx", "uv", "docker", "podman", "node", "python", "python3", "bunx", "deno", "pipx", "bun")
_COMMENTS = re.compile(r"\A(?:\s++|//[^\n]*+|/\*.*?\*/)*+", re.DOTALL)


def servers(text: str, source: str = "") -> list[FoundServer]:
    """Read the servers of a text; ``source`` is the name of its program.

    Raises:
        UsageError: the text has none or cannot be parsed.
    """
    text = text.removeprefix("\ufeff").strip()
    if len(text) > LONGEST:
        raise UsageError(
            N_("The text is too long: {length} characters; the maximum is {most}."), length=len(text), most=LONGEST
        )
    if not text:
        raise UsageError(NO_SERVER)
    if text.startswith(_LINKS) or "/mcp/install?" in text.split("\n", 1)[0]:
        return [link(text)]
    if re.fullmatch(r"https?://\S+", text):
        return [entry(_host(text), {"url": text}, source)]
    value = _parsed(text)
    if value is None:
        words = _words(text)
        if words and (words[0].rpartition("/")[2] in _COMMANDS or words[0].startswith(("/", "~/", "./"))):
            return [entry(_name_of_command(words), {"command": words[0], "args": words[1:]}, source)]
        raise UsageError(NO_SERVER)
    _count(value)
    try:
        found = of_value(value, source)
    except RecursionError:
        raise UsageError(NO_SERVER) from None  # nested deeper than any such file
    if not found:
        raise UsageError(NO_SERVER)
    return found[:MOST]


def of_value(value: object, source: str = "") -> list[FoundServer]:
    """Read the servers of a parsed file."""
    if isinstance(value, list):
        return [each for item in value[:MOST] for each in of_value(item, source)]
    if not isinstance(value, Mapping):
        return []
    if registry_server_json.is_server(value):
        return registry_server_json.servers(value)
    inputs = {str(each.get("id")): each for each in rows(value.get("inputs")) if isinstance(each, Mapping)}
    for key in _KEYS:
        inner = value.get(key)
        if key == "servers" and isinstance(inner, list):
            return [
                each
                for item in inner
                for each in of_value(item.get("server", item) if isinstance(item, Mapping) else item, source)
            ]
        if isinstance(inner, list):
            listed = [each for each in inner if isinstance(each, Mapping) and "name" in each]
            return [entry(str(each["name"]), each, source) for each in listed]
        if isinstance(inner, Mapping):
            if key == "mcp" and isinstance(inner.get("servers"), Mapping):
                inner = inner["servers"]
            named = {str(name): fields for name, fields in inner.items() if _is_entry(fields)}
            if named or not _is_entry(value):
                return [entry(name, fields, source, inputs) for name, fields in named.items()]
    projects = value.get("projects")
    if isinstance(projects, Mapping):
        # Claude Code stores the servers of each project in one file.
        return [each for project in projects.values() for each in of_value(project, source)]
    if _is_entry(value):
        return [entry(str(value.get("name") or _guess(value)), value, source, inputs)]
    if value and all(_is_entry(each) for each in value.values()):
        return [entry(str(name), fields, source, inputs) for name, fields in value.items()]
    return []


def _count(value: object) -> None:
    """Refuse too many values: a few lines of YAML aliases can expand beyond all memory."""
    left, waiting = MOST_VALUES, [value]
    while waiting:
        each = waiting.pop()
        inner = list(each.values()) if isinstance(each, Mapping) else each if isinstance(each, list) else []
        left -= 1 + len(inner)
        if left < 0:
            raise UsageError(N_("The text contains too many values; the maximum is {most}."), most=MOST_VALUES)
        waiting += [item for item in inner if isinstance(item, Mapping | list)]


def link(text: str) -> FoundServer:
    """Read the server of a one-click link.

    Raises:
        UsageError: it is not such a link or cannot be read.
    """
    parts = urlsplit(text.strip())
    query = {
        key: values[0] for key, values in parse_qs(parts.query, keep_blank_values=True, max_num_fields=100).items()
    }
    if parts.scheme.startswith("vscode") or (parts.query.startswith("%7B") and "config" not in query):
        value = _json(unquote(parts.query))
    elif parts.scheme == "goose":
        words = [query.get("cmd", ""), *parse_qs(parts.query).get("arg", [])]
        env = {item.partition("=")[0]: "" for item in parse_qs(parts.query).get("env", [])}
        url = query.get("url", "")
        value = {"url": url} if url else {"command": words[0], "args": words[1:], "env": env}
        value |= {"name": query.get("id") or query.get("name") or "", "description": query.get("description", "")}
    else:
        config = query.get("config", "")
        value = _json(unquote(config)) or _json(_base64(config))
    if isinstance(value, Mapping) and (
        inner := of_value(value if "name" in value or "name" not in query else {**value, "name": query["name"]})
    ):
        found = inner[0]
        warning = UsageError(
            N_("This server comes from a link: somebody else wrote the command. Read all of it before you run it.")
        )
        return FoundServer(found.name, found.config, found.asks, (*found.warnings, warning), found.told, found.problem)
    raise UsageError(N_("This link contains no readable MCP server."))


def _parsed(text: str) -> object:
    if text.startswith(("//", "/*")):
        # Zed's default file begins with a comment.
        text = _COMMENTS.sub("", text, count=1) or text
    if text[0] in "{[":
        value = _json(text)
        if value is not None:
            return value
        if text[0] == "{":
            raise UsageError(N_("The text looks like JSON but is not valid: {detail}"), detail=_why(text))
    if text[0] == '"':
        value = _json("{" + text.rstrip().rstrip(",") + "}")
        if value is not None:
            return value
    if re.search(r"^[ \t]*\[\[?[\w.\"'-]+\]\]?[ \t]*(?:#.*)?$", text, re.MULTILINE):
        _check_slow(text)
        try:
            return tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise UsageError(N_("The text looks like TOML but is not valid: {detail}"), detail=str(error)) from None
    if re.search(r"^(?:extensions|mcp_?[sS]ervers|mcp):\s*$", text, re.MULTILINE):
        import yaml

        _check_slow(text)
        try:
            return yaml.safe_load(text)
        except (yaml.YAMLError, RecursionError, ValueError) as error:
            raise UsageError(
                N_("The text looks like YAML but is not valid: {detail}"), detail=str(error)[:300]
            ) from None
    return None


def _check_slow(text: str) -> None:
    if len(text) > LONGEST_SLOW:
        raise UsageError(
            N_("The text is too long: {length} characters; the maximum is {most}."),
            length=len(text),
            most=LONGEST_SLOW,
        )
    if re.search(rf"""(?<![\w"'-])(?:[\w"'-]++[ \t]*+\.[ \t]*+){{{_DOTS}}}""", text):
        raise UsageError(
            N_("The text contains a name with more than {most} dots; such names are not read."), most=_DOTS
        )


def _json(text: str) -> object:
    """Parse JSON that may have comments and trailing commas; None when it is not JSON."""
    try:
        return jsonc.loads(text)
    except (ValueError, RecursionError):
        return None


def _why(text: str) -> str:
    try:
        jsonc.loads(text)
    except json.JSONDecodeError as error:
        return f"{error.msg} ({error.lineno}:{error.colno})"
    except (ValueError, RecursionError) as error:
        return type(error).__name__
    return ""


def _base64(text: str) -> str:
    try:
        return base64.b64decode(text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4)).decode()
    except (binascii.Error, ValueError):
        return ""


def _is_entry(value: object) -> bool:
    return isinstance(value, Mapping) and any(
        key in value for key in ("command", "cmd", "url", "httpUrl", "serverUrl", "uri")
    )


def _guess(value: Mapping[str, object]) -> str:
    url = value.get("url") or value.get("httpUrl") or value.get("uri")
    if isinstance(url, str):
        return _host(url)
    words = value.get("command", "")
    arguments = value.get("args", [])
    line = [*(words if isinstance(words, list) else [words]), *(arguments if isinstance(arguments, list) else [])]
    return _name_of_command([str(each) for each in line])


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or "server"
    except ValueError:  # not JSON; the result says so
        return "server"


def _name_of_command(words: list[str]) -> str:
    """The package name among a command's words."""
    for word in words[1:]:
        if not word.startswith("-") and word not in ("run", "exec", "x", "tool", "--"):
            return re.sub(r"(?<=.)@[\w.^~-]*$", "", word)
    return words[0] if words else "server"


def _words(text: str) -> list[str]:
    if "\n" in text.strip() or len(text) > LONGEST_LINE:
        return []
    try:
        return shlex.split(text)
    except ValueError:
        return []
