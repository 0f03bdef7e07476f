"""A server found in another program's configuration, before a person accepts it."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from atelier_desk.domain.errors import AtelierError, UsageError
from atelier_desk.domain.mcp import McpServer
from atelier_desk.mcp.server_secrets import BARE as _BARE
from atelier_desk.mcp.server_secrets import REFERENCE as _REFERENCE
from atelier_desk.presentation.validation_problems import FIELD_TITLES, Problems
from atelier_desk.support.i18n import N_
from atelier_desk.support.visible_and_shortened_text import shorten

SECRET_NAME = re.compile(
    r"key|token|secret|passw|credential|auth|cookie|private|bearer|pwd|(?:^|_)pat(?:$|_)", re.IGNORECASE
)
_KEY_LIKE = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[A-Za-z0-9_\-]{24,}")
_KEY_FORMS = re.compile(r"\b(?:sk|pk|ghp|gho|github_pat|glpat|xox[abp]|AKIA)[-_A-Za-z0-9]{12,}")
_PLACEHOLDER = re.compile(
    r"\s*(?:(?:bearer|token|basic)\s+)?(?:<[^<>]*>|\[[^\]]*\]|x{3,}|\*{3,}|\.{3,}|…|changeme|todo"
    r"|(?:your|my|insert|enter|put|replace|change)[-_ ].*|.*[-_ ]here)\s*",
    re.IGNORECASE,
)
"""Placeholders that documentation uses instead of a key."""
_OF_PROGRAMS = frozenset({"workspaceFolder", "workspaceFolderBasename", "userHome", "pathSeparator"})
"""Variables that other programs set themselves."""
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9-]+")


@dataclass(frozen=True, slots=True)
class Ask:
    """A value that a person must enter: ``key`` is ``env:NAME`` or ``header:NAME``.

    Attributes:
        secret: stored in the keyring; other values become text of the configuration.
        value: value in the file, or a default; never shown when secret.
        choices: allowed values; empty for any.
    """

    key: str
    told: str = ""
    secret: bool = True
    required: bool = True
    value: str = field(default="", repr=False)
    choices: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.key.partition(":")[2]


@dataclass(frozen=True, slots=True)
class FoundServer:
    """One server found in the text.

    Attributes:
        config: as it would be stored; without secrets.
        asks: values to enter, and values that move from the file to the keyring.
        warnings: what a person should know, as errors with English templates, translated when shown.
        told: the file's description of the server.
        problem: why it cannot be used; ``config`` is None then.
    """

    name: str
    config: McpServer | None = None
    asks: tuple[Ask, ...] = ()
    warnings: tuple[AtelierError, ...] = ()
    told: str = ""
    problem: AtelierError | None = None

    @property
    def secrets(self) -> dict[str, str]:
        """Secrets in the file itself, by ``env:NAME`` or ``header:NAME``."""
        return {ask.key: ask.value for ask in self.asks if ask.secret and ask.value}

    @property
    def open(self) -> tuple[Ask, ...]:
        """Values that a person must enter."""
        return tuple(ask for ask in self.asks if ask.required and not ask.value)


def name_of(text: str) -> str:
    """Make a valid server name from any text; letters lose their accents."""
    last = text.rstrip("/").rpartition("/")[2] or text
    last = "".join(c for c in unicodedata.normalize("NFKD", last) if not unicodedata.combining(c))
    cleaned = _NOT_IN_NAMES.sub("-", last).strip("-")[:32].strip("-")
    return cleaned or "server"


def is_secret(name: str, text: str) -> bool:
    """Whether a value must not be stored as text: its name says so, or it looks like a key."""
    if not text or "${" in text:
        return False
    return bool(SECRET_NAME.search(name)) or bool(_KEY_LIKE.fullmatch(text)) or bool(_KEY_FORMS.search(text))


def build(
    name: str,
    source: str,
    told: str = "",
    *,
    asks: Iterable[Ask] = (),
    warnings: Iterable[AtelierError] = (),
    **fields: Any,
) -> FoundServer:
    """Create a server from its fields.

    Secret values of ``env`` and ``headers`` become asks; an invalid configuration becomes a problem.
    """
    found = {ask.key: ask for ask in asks}
    notes = list(warnings)
    env, headers = dict(fields.pop("env", {}) or {}), dict(fields.pop("headers", {}) or {})
    for key, text in list(env.items()):
        if is_secret(key, text) and _PLACEHOLDER.fullmatch(text):
            notes.append(UsageError(N_("{name} contains only an example: enter the real value."), name=key))
            text = env[key] = ""
        if f"env:{key}" in found:
            env[key] = "" if found[f"env:{key}"].secret else text
        elif is_secret(key, text):
            found[f"env:{key}"] = Ask(f"env:{key}", value=text)
            env[key] = ""
        elif not text:
            found[f"env:{key}"] = Ask(f"env:{key}")
    for key, text in list(headers.items()):
        if _PLACEHOLDER.fullmatch(text):
            notes.append(UsageError(N_("{name} contains only an example: enter the real value."), name=key))
            found[f"header:{key}"] = Ask(f"header:{key}", text)
        if f"header:{key}" in found:
            headers[key] = "" if found[f"header:{key}"].secret else text
        elif "$" not in text:
            found[f"header:{key}"] = Ask(f"header:{key}", value=text)
            headers[key] = ""
    env = _with_unset(env, headers, fields, found, notes)
    if any(_KEY_FORMS.search(text) for text in fields.get("args", ())):
        notes.append(
            UsageError(N_("An argument looks like a secret. Write ${NAME} instead, and add NAME as a variable."))
        )
    try:
        config = McpServer(name=name_of(name), env=env, headers=headers, source=source, **fields)
    except ValidationError as error:
        problem = UsageError(
            N_("This server cannot be used: {detail}"), detail=Problems(error, FIELD_TITLES, values=False)
        )
        return FoundServer(name_of(name), told=told, problem=problem)
    return FoundServer(config.name, config, tuple(found.values()), tuple(notes), shorten(told, 500))


def _with_unset(
    env: dict[str, str],
    headers: dict[str, str],
    fields: Mapping[str, Any],
    found: dict[str, Ask],
    notes: list[AtelierError],
) -> dict[str, str]:
    """Add variables that are named but not set; their values are asked for.

    A header is asked for as a unit.
    """
    missing: dict[str, None] = {}
    for key, text in list(env.items()):
        for name in _unset(text, {each: value for each, value in env.items() if each != key}):
            missing[name] = None
            if name == key:
                env[key] = ""
    for text in fields.get("args", ()):
        missing |= dict.fromkeys(_unset(text, env))
    added = {name: "" for name in missing if name not in env}
    for name in missing:
        found.setdefault(f"env:{name}", Ask(f"env:{name}", secret=bool(SECRET_NAME.search(name))))
    for key, text in headers.items():
        if f"header:{key}" not in found and (unset := _unset(_BARE.sub(r"${\1}", text), {})):
            missing |= dict.fromkeys(unset)
            found[f"header:{key}"] = Ask(f"header:{key}", text)
            headers[key] = ""
    missing |= dict.fromkeys(_unset(str(fields.get("url", "")), {}))
    if missing:
        notes.append(
            UsageError(
                N_("These variables are not set on this computer: {names}. Enter their values."),
                names=", ".join(missing),
            )
        )
    return {**added, **env}


def _unset(text: str, env: Mapping[str, str]) -> list[str]:
    """Variables in a text that are not set and have no default."""
    named = (match[1] for match in _REFERENCE.finditer(text) if match[2] is None)
    return [name for name in named if name not in env and name not in os.environ and name not in _OF_PROGRAMS]


def text_of(value: object) -> str:
    """A value of a file as text; numbers and booleans as in JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else ""


def texts(value: object) -> dict[str, str]:
    """Values of an object as texts; empty for another type."""
    return {str(key): text_of(each) for key, each in value.items()} if isinstance(value, Mapping) else {}


def mapping(value: object) -> Mapping[str, object]:
    """``value`` if it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def rows(value: object) -> list[Any]:
    """``value`` if it is a list, else an empty one."""
    return value if isinstance(value, list) else []
