"""``atelier prompts``: the person's own prompts, for ``/name`` and ``atelier run --prompt``."""

from __future__ import annotations

from argparse import Namespace

from atelier_desk.cli.command_result import Note, Result, Table, print_note
from atelier_desk.cli.file_arguments import path_of, read_text, text_or_input
from atelier_desk.cli.terminal_io import Output
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.prompt import Prompt, PromptDraft
from atelier_desk.engine.atelier import Atelier
from atelier_desk.support.i18n import N_, _
from atelier_desk.workspace.skills.argument_placeholders import variables


async def list_(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    wanted = arguments.search.casefold().split()
    rows = [each for each in await atelier.prompts.list() if all(word in each.searched for word in wanted)]
    files = {} if out.json else await atelier.skills.files_by_name((out.cwd,))
    message = N_("In this folder, /{name} calls {file}, not the prompt.")
    cells = (
        (f"/{each.name}", each.description, ", ".join(one.name for one in variables(each.content))) for each in rows
    )
    return Result(
        list(map(described, rows)),
        Table((_("name"), _("description"), _("variables")), cells),
        (Note(_(message, name=each.name, file=files[each.name]), "warn") for each in rows if each.name in files),
    )


async def show(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    prompt = await atelier.prompts.by_name(arguments.name)
    for source in prompt.tainted:
        out.note(_("This prompt comes from {source} and has not been reviewed yet.", source=source), "warn")
    return Result(described(prompt), await atelier.prompts.export_text(prompt.id))


async def add(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    text = await text_or_input(out, arguments.text)
    draft = PromptDraft(name=arguments.name, description=arguments.description or "", content=text)
    return _stored(await atelier.prompts.save(draft))


async def edit(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    prompt = await atelier.prompts.by_name(arguments.name)
    text = None if arguments.text is None else await text_or_input(out, arguments.text)
    given = {"name": arguments.rename, "description": arguments.description, "content": text}
    changed = {field: value for field, value in given.items() if value is not None}
    if not changed:
        raise UsageError(N_("Specify what to change: --text, --description or --rename."))
    return _stored(await atelier.prompts.save(prompt.draft.model_copy(update=changed), prompt.id))


async def remove(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    prompt = await atelier.prompts.delete((await atelier.prompts.by_name(arguments.name)).id)
    return Result({"removed": described(prompt)}, _("Removed {name}.", name=prompt.name))


async def import_(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    """Report what cannot be imported on standard error."""
    stored = []
    for file in arguments.files:
        text = await read_text(out, file)
        path = "prompt.md" if file == "-" else str(path_of(out, file))
        done = await atelier.prompts.import_text(text, path, arguments.on_conflict)
        stored.append(described(done.prompt))
        if done.ignored:
            out.note(_("Not imported from {file}: {fields}", file=file, fields=", ".join(done.ignored)), "warn")
        print_note(out, f"/{done.prompt.name}")
    return Result(stored, ())


def _stored(prompt: Prompt) -> Result:
    return Result(described(prompt), f"/{prompt.name}")


def described(prompt: Prompt) -> dict[str, object]:
    """A prompt as JSON, with its variables."""
    names = [{"name": each.name, "default": each.default} for each in variables(prompt.content)]
    return {**prompt.model_dump(mode="json"), "variables": names}
