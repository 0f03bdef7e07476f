"""Servers of the Model Context Protocol as their owner configured them, and what is known of them. Secrets are never part of these: they
live in the keyring."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, field_validator, model_validator

from atelier_desk.domain.addresses import with_scheme
from atelier_desk.domain.base import Model, Timestamp, utc_now
from atelier_desk.domain.errors import AtelierError
from atelier_desk.support.i18n import N_

NAME = r"^[A-Za-z0-9](?:_?[A-Za-z0-9-])*$"
"""Without two underscores in a row: they part the server from its tool in the names of tools."""
VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]*$"
MOST_SERVERS = 100
MOST_TOOLS = 500
"""Tools of one server; more than any agent could be told of."""
MOST_ROOTS = 32
TIMEOUT_S = 30.0
START_S = 60.0
"""Seconds a server may take to answer first: some are downloaded then."""
CallName = Annotated[str, Field(min_length=1, max_length=256)]


class McpError(AtelierError):
    """A server could not be reached, refused, broke the protocol or did not answer; the text names it."""

    code = "mcp"


class McpState(StrEnum):
    """How a server stands. ``off``: its owner switched it off. ``idle``: it is started when it is needed."""

    OFF = "off"
    IDLE = "idle"
    STARTING = "starting"
    READY = "ready"
    FAILED = "failed"
    SIGN_IN = "sign_in"


class McpServer(Model):
    """One server.

    Attributes:
        command, args: the program and its arguments, for ``stdio``. ``${NAME}`` in arguments and in ``url`` is a variable of ``env``, else
            one of this program's environment; ``${NAME:-text}`` has a text for when there is none.
        env: what the program's environment gets beside the allowed names (``workspace.processes.environment``): a text, in which
            ``${NAME}`` is replaced as above, or empty when the keyring holds the value.
        folder: where the program starts; empty for the owner's home.
        headers: what is sent with each request, by name: a text with ``$VARIABLE``, or empty when the keyring holds the value.
        sandbox: the program writes only in its folder and a temporary one, and cannot read secrets; the network stays open.
        tools_off: names of its tools that no agent gets.
        client_id: registered with its sign-in server by hand; empty registers one by itself. The secret of one that has one is in the
            keyring.
        scopes: what is asked for at sign-in; empty asks for what the server names.
        older_protocol: it is talked to in a revision before 2026-07-28, whatever it offers: some frameworks ask people for something only
            there.
        keyring: what tells its entries of the keyring from those of a server of this name in another data folder; given when it is stored.
        roots: folders that the server may be told of, where a run that calls it was granted them, or folders within them.
        source: the program whose file it was read from; empty when it was entered here.
    """

    name: str = Field(min_length=1, max_length=32)
    transport: Literal["stdio", "http"] = "stdio"
    command: str = Field(default="", max_length=4_096)
    args: tuple[Annotated[str, Field(max_length=16_384)], ...] = Field(default=(), max_length=256)
    env: dict[Annotated[str, Field(pattern=VARIABLE, max_length=128)], Annotated[str, Field(max_length=16_384)]] = Field(
        default_factory=dict, max_length=64
    )
    folder: str = Field(default="", max_length=4_096)
    url: Annotated[str, BeforeValidator(with_scheme)] = Field(default="", max_length=2_048)
    headers: dict[str, Annotated[str, Field(max_length=8_192)]] = Field(default_factory=dict, max_length=20)
    sandbox: bool = False
    timeout_s: float = Field(default=TIMEOUT_S, ge=1, le=3_600)
    enabled: bool = True
    older_protocol: bool = False
    tools_off: tuple[CallName, ...] = Field(default=(), max_length=MOST_TOOLS)
    client_id: str = Field(default="", max_length=2_048)
    scopes: str = Field(default="", max_length=2_048)
    roots: tuple[Annotated[str, Field(min_length=1, max_length=4_096)], ...] = Field(default=(), max_length=MOST_ROOTS)
    source: str = Field(default="", max_length=64)
    keyring: str = Field(default="", max_length=64, pattern=r"^[0-9a-f]*$")

    @field_validator("name")
    @classmethod
    def _named(cls, name: str) -> str:
        if not re.match(NAME, name):
            raise ValueError(N_("a name has letters, digits, dashes, and single underscores between them"))
        return name

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.transport == "stdio":
            if not self.command.strip():
                raise ValueError(N_("a server that is started needs a command"))
            if self.url or self.headers or self.client_id or self.scopes:
                raise ValueError(N_("a server that is started has no address, headers and sign-in"))
        else:
            if self.command or self.args or self.env or self.folder or self.sandbox:
                raise ValueError(N_("a server with an address has no command, arguments, environment, folder and sandbox"))
            if not re.match(r"https?://[^\s/]", self.url) or not _can_be_split(self.url):
                raise ValueError(N_("the address must begin with http:// or https://"))
        if any("\0" in text for text in (self.command, *self.args, *self.env.values(), self.folder, self.url)):
            raise ValueError(N_("a null character cannot stand in a command"))
        return self

    @property
    def place(self) -> str:
        """Where it is, in a line: the command with its arguments, or the address."""
        return " ".join((self.command, *self.args)) if self.transport == "stdio" else self.url


def _can_be_split(url: str) -> bool:
    try:
        urlsplit(url)
    except ValueError:
        return False
    return True


class McpArgument(Model):
    """What a prompt is given; always a text."""

    name: str
    about: str = ""
    required: bool = False


class McpPrompt(Model):
    """A prompt that a server offers to people.

    Attributes:
        call: how it is called, behind its server: its name without blanks.
    """

    name: str
    call: str
    title: str = ""
    about: str = ""
    arguments: tuple[McpArgument, ...] = ()


class McpTemplate(Model):
    """An address of resources with parts to fill in.

    Attributes:
        uri: the address with ``{name}`` in it (RFC 6570).
        variables: the names of its parts; those that are ``optional`` may stay empty.
    """

    uri: str
    name: str = ""
    about: str = ""
    media_type: str = ""
    variables: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


RejectedKind = Literal["tool", "resource", "template", "prompt"]


class McpRejected(Model):
    """What a server lists and nobody can use.

    Attributes:
        name: its server's name for it; empty for one without, or for the whole list.
        why: in English.
    """

    kind: RejectedKind
    name: str = ""
    why: str = ""


class ServerProblem(Model):
    """Why a run has less of an MCP server than its agent was given.

    Attributes:
        code: ``nothing``: it lists neither tools nor resources nor prompts; ``left_out``: some of its entries cannot be used.
        detail: the reason, or what was left out, in the language of the run.
        key: tells it from another problem with this code, whatever the language and the words: the error's code, or what was left out.
    """

    server: str
    code: Literal["unknown", "off", "failed", "nothing", "left_out"]
    detail: str = ""
    key: str = ""


class McpKnown(Model):
    """What a server said of itself.

    Attributes:
        title, version, protocol: of the server and of the protocol it speaks.
        icon: a small picture in base64, empty for none that can be shown.
        instructions: what it tells models of itself; of the connection that the tools were approved with.
        approved: definitions of tools as their server sent them, that its owner approved; None when it never listed any.
        seen: those of its newest list.
        latency_ms: what the newest connection took.
        resources, prompts: whether it offers any.
        listed: its resources as it listed them last: ``uri``, ``name``, ``about``, ``media_type``.
        templates: addresses of resources to fill in, as it listed them last.
        offered: its prompts as it listed them last.
        rejected: what it listed last and nobody can use, with the reasons.
    """

    title: str = ""
    version: str = ""
    protocol: str = ""
    icon: str = ""
    instructions: str = ""
    approved: tuple[dict[str, Any], ...] | None = None
    seen: tuple[dict[str, Any], ...] = ()
    resources: bool = False
    prompts: bool = False
    listed: tuple[dict[str, str], ...] = ()
    templates: tuple[McpTemplate, ...] = ()
    offered: tuple[McpPrompt, ...] = ()
    rejected: tuple[McpRejected, ...] = ()
    latency_ms: int = 0
    checked_at: Timestamp | None = None


class McpEntry(Model):
    """A stored server: its configuration and what is known of it."""

    name: str
    config: McpServer
    known: McpKnown = McpKnown()
    created_at: Timestamp = Field(default_factory=utc_now)
