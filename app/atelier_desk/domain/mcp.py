"""MCP servers: configuration and known state. Secrets are never part of these: they are in the keyring."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, field_validator, model_validator

from atelier_desk.domain.address_scheme import with_scheme
from atelier_desk.domain.base_model import Model, Timestamp, utc_now
from atelier_desk.domain.errors import AtelierError
from atelier_desk.support.i18n import N_

NAME = r"^[A-Za-z0-9](?:_?[A-Za-z0-9-])*$"
"""Without consecutive underscores, which separate server and tool in tool names."""
VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]*$"
MOST_SERVERS = 100
MOST_TOOLS = 500
"""Maximum tools of a server; no agent could be given more."""
MOST_ROOTS = 32
TIMEOUT_S = 30.0
START_S = 60.0
"""Seconds for a server's first answer: some are downloaded then."""
CallName = Annotated[str, Field(min_length=1, max_length=256)]


class McpError(AtelierError):
    """A server was unreachable, refused, violated the protocol or did not answer; the text names it."""

    code = "mcp"


class McpState(StrEnum):
    """State of a server. ``off``: disabled. ``idle``: started on demand."""

    OFF = "off"
    IDLE = "idle"
    STARTING = "starting"
    READY = "ready"
    FAILED = "failed"
    SIGN_IN = "sign_in"


class McpServer(Model):
    """One server.

    Attributes:
        command, args: program and arguments, for ``stdio``. ``${NAME}`` in arguments and ``url`` is a variable of
            ``env``, otherwise of this program's environment; ``${NAME:-text}`` has a default.
        env: additions to the allowed variables (``workspace.processes.environment``): a text with ``${NAME}`` as above,
            or empty if the keyring holds the value.
        folder: where the program starts; empty for the home folder.
        headers: request headers by name: a text with ``$VARIABLE``, or empty if the keyring holds the value.
        sandbox: the program writes only to its folder and a temporary one, and cannot read secrets; the network stays
            available.
        tools_off: its tools that are disabled for all agents.
        client_id: manually registered with its sign-in server; empty registers automatically. Its secret is in the
            keyring.
        scopes: requested at sign-in; empty requests those named by the server.
        older_protocol: use a protocol revision before 2026-07-28 even if the server offers it: some frameworks ask
            people only there.
        keyring: distinguishes its keyring entries from those of a server of this name in another data folder; set when
            stored.
        roots: folders that the server may be told about, if a calling run was granted them or folders within them.
        source: the program from whose file it was imported; empty if entered here.
    """

    name: str = Field(min_length=1, max_length=32)
    transport: Literal["stdio", "http"] = "stdio"
    command: str = Field(default="", max_length=4_096)
    args: tuple[Annotated[str, Field(max_length=16_384)], ...] = Field(default=(), max_length=256)
    env: dict[Annotated[str, Field(pattern=VARIABLE, max_length=128)], Annotated[str, Field(max_length=16_384)]] = (
        Field(default_factory=dict, max_length=64)
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
            raise ValueError(N_("a name may contain letters, digits and dashes, with single underscores between them"))
        return name

    @model_validator(mode="after")
    def _check_complete(self) -> Self:
        if self.transport == "stdio":
            if not self.command.strip():
                raise ValueError(N_("a local server needs a command"))
            if self.url or self.headers or self.client_id or self.scopes:
                raise ValueError(N_("a local server cannot have an address, headers or sign-in"))
        else:
            if self.command or self.args or self.env or self.folder or self.sandbox:
                raise ValueError(N_("a remote server cannot have a command, arguments, environment, folder or sandbox"))
            if not re.match(r"https?://[^\s/]", self.url) or not _can_be_split(self.url):
                raise ValueError(N_("the address must begin with http:// or https://"))
        if any("\0" in text for text in (self.command, *self.args, *self.env.values(), self.folder, self.url)):
            raise ValueError(N_("a command cannot contain a null character"))
        return self

    @property
    def place(self) -> str:
        """Return its location in one line: the command with arguments, or the address."""
        return " ".join((self.command, *self.args)) if self.transport == "stdio" else self.url


def _can_be_split(url: str) -> bool:
    try:
        urlsplit(url)
    except ValueError:
        return False
    return True


class McpArgument(Model):
    """An argument of a prompt; always text."""

    name: str
    about: str = ""
    required: bool = False


class McpPrompt(Model):
    """A prompt that a server offers to people.

    Attributes:
        call: how it is called, after its server: its name without spaces.
    """

    name: str
    call: str
    title: str = ""
    about: str = ""
    arguments: tuple[McpArgument, ...] = ()


class McpTemplate(Model):
    """A resource address with placeholders.

    Attributes:
        uri: the address with ``{name}`` in it (RFC 6570).
        variables: names of the placeholders; ``optional`` ones may stay empty.
    """

    uri: str
    name: str = ""
    about: str = ""
    media_type: str = ""
    variables: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


RejectedKind = Literal["tool", "resource", "template", "prompt"]


class McpRejected(Model):
    """A listed item that cannot be used.

    Attributes:
        name: the server's name for it; empty for one without, or for the whole list.
        why: in English.
    """

    kind: RejectedKind
    name: str = ""
    why: str = ""


class ServerProblem(Model):
    """Why an MCP server provides less than its agent was given.

    Attributes:
        code: ``nothing``: it lists neither tools nor resources nor prompts; ``left_out``: some of its entries cannot be
            used.
        detail: the reason, or the omitted items, in the run's language.
        key: distinguishes it from another problem with this code in any language: the error's code, or the omitted
            items.
    """

    server: str
    code: Literal["unknown", "off", "failed", "nothing", "left_out"]
    detail: str = ""
    key: str = ""


class McpKnown(Model):
    """What a server said about itself.

    Attributes:
        title, version, protocol: of the server and of its protocol.
        icon: a small image in base64, empty if there is no usable one.
        instructions: its instructions for models, from the connection in which the tools were approved.
        approved: approved tool definitions as the server sent them; None if it never listed any.
        seen: tool definitions of its newest list.
        latency_ms: duration of the newest connection.
        resources, prompts: whether it offers any.
        listed: its newest list of resources: ``uri``, ``name``, ``about``, ``media_type``.
        templates: its newest list of resource templates.
        offered: its newest list of prompts.
        rejected: unusable items of its newest lists, with reasons.
    """

    title: str = ""
    version: str = ""
    protocol: str = ""
    icon: str = ""
    instructions: str = ""
    approved: tuple[dict[str, object], ...] | None = None
    seen: tuple[dict[str, object], ...] = ()
    resources: bool = False
    prompts: bool = False
    listed: tuple[dict[str, str], ...] = ()
    templates: tuple[McpTemplate, ...] = ()
    offered: tuple[McpPrompt, ...] = ()
    rejected: tuple[McpRejected, ...] = ()
    latency_ms: int = 0
    checked_at: Timestamp | None = None


class McpEntry(Model):
    """A stored server: configuration and known state."""

    name: str
    config: McpServer
    known: McpKnown = McpKnown()
    created_at: Timestamp = Field(default_factory=utc_now)
