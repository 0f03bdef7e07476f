"""Import MCP servers from other programs' files, texts, links and bundles, after a person agreed."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from atelier_desk.domain.errors import AtelierError, UsageError
from atelier_desk.domain.mcp import McpServer
from atelier_desk.engine.services.common.mcp_status import McpStatus
from atelier_desk.engine.services.common.service import Service
from atelier_desk.mcp.config_import import bundle, config_locations, config_parsing
from atelier_desk.mcp.config_import.found_server import Ask, FoundServer
from atelier_desk.presentation.validation_problems import FIELD_TITLES, Problems
from atelier_desk.support.i18n import N_
from atelier_desk.support.regular_files import open_plain
from atelier_desk.support.threads import in_tool_thread


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file of another program with servers, or with a problem."""

    program: str
    path: str
    servers: tuple[FoundServer, ...] = ()
    problem: AtelierError | None = None


class McpImportService(Service):
    """Reading gives a preview: nothing is started, unpacked or stored before ``add``."""

    async def read_text(self, text: str) -> builtins.list[FoundServer]:
        """Return the servers of a text in any known format. Raises ``UsageError``, which lists the formats."""
        return await in_tool_thread(config_parsing.servers, text)

    async def read_file(self, path: str) -> builtins.list[FoundServer]:
        """Return the servers of a file or bundle. Raises ``UsageError``."""
        return await in_tool_thread(self._file, path)

    async def find_files(self, folders: Sequence[str] = ()) -> builtins.list[FoundFile]:
        """Return other programs' files with servers on this machine.

        The person's own, then those of granted folders.
        """
        return await in_tool_thread(self._find_files, tuple(folders))

    async def add(
        self, found: FoundServer, answers: Mapping[str, str] | None = None, *, name: str = "", bundle_file: str = ""
    ) -> McpStatus:
        """Store a server that was read.

        Args:
            answers: requested values, by ``env:NAME`` or ``header:NAME``; secrets go to the keyring.
            name: replaces its name.
            bundle_file: its bundle, which is unpacked now.

        Raises:
            UsageError: a required value is missing. ConflictError: the name is taken.
        """
        config, secrets = completed(found, answers or {}, name)
        known = {each.name for each in await self._context.mcp.list()}
        if config.name in known:
            return await self._context.mcp.save(config, secrets, new=True)  # raises if the name is taken
        if bundle_file:
            await in_tool_thread(self._unpack, bundle_file, config.folder)
        return await self._context.mcp.save(config, secrets, new=True)

    def _file(self, name: str) -> builtins.list[FoundServer]:
        path = Path(name).expanduser().absolute()
        if path.suffix.lower() in bundle.SUFFIXES:
            preview = bundle.read(path, Path("/"))
            return [bundle.read(path, self._folder(preview.name))]
        return config_parsing.servers(_text(path), config_locations.program_of(path))

    def _unpack(self, file: str, folder: str) -> None:
        parent = Path(self._context.datadir.root) / "mcp"
        if Path(folder).parent != parent:
            raise UsageError(N_("Open the bundle file again."))
        bundle.unpack(Path(file).expanduser().absolute(), Path(folder))

    def _folder(self, name: str) -> Path:
        """Return a new folder for unpacking a bundle."""
        parent = Path(self._context.datadir.root) / "mcp"
        return next(
            each
            for each in (parent / name, *(parent / f"{name}-{number}" for number in range(2, 1000)))
            if not each.exists()
        )

    @staticmethod
    def _find_files(folders: tuple[str, ...]) -> builtins.list[FoundFile]:
        found = []
        for place in (
            *config_locations.of_user(),
            *(each for folder in folders for each in config_locations.of_folder(Path(folder))),
        ):
            try:
                if not place.path.is_file():
                    continue
                found.append(
                    FoundFile(
                        place.program, str(place.path), tuple(config_parsing.servers(_text(place.path), place.program))
                    )
                )
            except OSError:
                continue
            except AtelierError as error:
                if error.template != config_parsing.NO_SERVER:
                    found.append(FoundFile(place.program, str(place.path), problem=error))
        return found


def completed(found: FoundServer, answers: Mapping[str, str], name: str = "") -> tuple[McpServer, dict[str, str]]:
    """Return configuration and keyring secrets from a preview and a person's answers. Raises ``UsageError``."""
    if found.config is None:
        raise found.problem or UsageError(N_("This server cannot be used."))
    env, headers, args = dict(found.config.env), dict(found.config.headers), builtins.list(found.config.args)
    secrets: dict[str, str] = {}
    for ask in found.asks:
        value = answers.get(ask.key, "").strip() or ask.value
        kind, part = ask.key.split(":", 1)
        values = env if kind == "env" else headers
        if not value and ask.required:
            raise UsageError(
                N_("The MCP server {server} needs a value for {name}."), code="asked", server=found.name, name=part
            )
        if ask.choices and value and value not in ask.choices:
            raise UsageError(N_("{name} must be one of {choices}."), name=part, choices=", ".join(ask.choices))
        if not value:
            values.pop(part, None)
            args = [each for each in args if f"${{{part}}}" not in each]
        elif "${" in value or (kind == "header" and value.startswith("$")) or not (ask.secret or kind == "header"):
            values[part] = value
        else:
            values[part], secrets[ask.key] = "", value
    changes = {"env": env, "headers": headers, "args": tuple(args), **({"name": name} if name else {})}
    try:
        return McpServer.model_validate({**found.config.model_dump(), **changes}), secrets
    except ValidationError as error:
        problems = Problems(error, FIELD_TITLES, values=False)
        raise UsageError(N_("This server cannot be used: {detail}"), detail=problems) from None


def asked(found: FoundServer) -> tuple[Ask, ...]:
    """Return the values to ask for, required ones first."""
    return tuple(sorted(found.asks, key=lambda ask: not ask.required or bool(ask.value)))


def _text(path: Path) -> str:
    try:
        with open_plain(path) as file:
            content = file.read(config_parsing.LONGEST + 1)
        if len(content) > config_parsing.LONGEST:
            raise UsageError(N_("{file} is too large to be read."), file=str(path))
        return content.decode("utf-8", "replace").replace("\r\n", "\n")
    except OSError as error:
        raise UsageError(
            N_("{file} cannot be read: {detail}"), file=str(path), detail=error.strerror or error
        ) from None
