"""``atelier mcp import``: import servers from other programs' files, bundles and links."""

from __future__ import annotations

from argparse import Namespace

from atelier_desk.cli.command_result import Note, Result, print_note
from atelier_desk.cli.file_arguments import folders, path_of, read_text
from atelier_desk.cli.headers_and_secrets import name_and_value, need_mcp_keyring
from atelier_desk.cli.mcp_output import described, found_text, preview
from atelier_desk.cli.terminal_io import Output
from atelier_desk.domain.errors import UsageError
from atelier_desk.engine.atelier import Atelier
from atelier_desk.engine.services.mcp_import import completed
from atelier_desk.mcp.config_import.bundle import SUFFIXES
from atelier_desk.mcp.config_import.found_server import FoundServer
from atelier_desk.support.i18n import N_, _


async def import_(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    """Import servers; without ``--add`` only preview them."""
    found: list[tuple[str, FoundServer]] = []
    bundle = ""
    if arguments.source is None:
        for file in await atelier.mcp_import.find_files(folders(out, arguments.workspace or [])):
            if file.problem is not None:
                out.note(f"{file.path}: {file.problem.localized(_)}", "warn")
            found += [(f"{file.program}: {file.path}", each) for each in file.servers]
    else:
        servers, where, bundle = await _read(atelier, arguments.source, out)
        found = [(where, each) for each in servers]
    wanted = arguments.add
    names = {each.name for _where, each in found}
    if wanted and (unknown := [name for name in wanted if name not in names]):
        raise UsageError(
            N_("{name} was not found. Servers found: {names}."),
            name=", ".join(unknown),
            names=", ".join(sorted(names)) or "-",
        )
    if not found:
        out.note(_("No MCP servers were found."))
    added, values = [], dict(map(name_and_value, arguments.value or ()))
    asked = {ask.name for _where, each in found for ask in each.asks}
    if strange := ", ".join(sorted(values.keys() - asked)):
        wants = ", ".join(sorted(asked)) or _("none")
        raise UsageError(
            N_("None of these servers needs {unknown}. Values they need: {names}."), unknown=strange, names=wants
        )
    for _where, each in found:
        if wanted is not None and (not wanted or each.name in wanted):
            answers = {ask.key: values[ask.name] for ask in each.asks if ask.name in values}
            missing = [ask.name for ask in each.open if ask.key not in answers]
            if missing:
                message = N_("The MCP server {server} needs values: {options}")
                raise UsageError(message, server=each.name, options=" ".join(f"--value {name}=…" for name in missing))
            await need_mcp_keyring(atelier, completed(each, answers)[1])
            status = await atelier.mcp_import.add(each, answers, bundle_file=bundle)
            added.append(described(status))
            print_note(out, _("Added {name}.", name=status.name))
    if wanted is not None or not found:
        return Result(added, ())
    more = Note(_("Nothing was added yet. To add servers, repeat the command with --add [NAME …]"))
    return Result(
        [preview(where, each) for where, each in found], (found_text(where, each) for where, each in found), more
    )


async def _read(atelier: Atelier, source: str, out: Output) -> tuple[list[FoundServer], str, str]:
    path = path_of(out, source) if len(source) < 1_000 and "\0" not in source else None
    if source != "-" and path is not None and path.is_file():
        return (
            await atelier.mcp_import.read_file(str(path)),
            str(path),
            str(path) if path.suffix.lower() in SUFFIXES else "",
        )
    text = await out.read_input() if source == "-" else source
    if source != "-" and ":" not in source and len(source.split()) == 1 and ("/" in source or "." in source):
        text = await read_text(out, source)  # raises when there is no such file
    return await atelier.mcp_import.read_text(text), _("your text"), ""
