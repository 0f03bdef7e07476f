"""``--attach``: files, folders and piped input sent with a message."""

from __future__ import annotations

from argparse import Namespace

from atelier_desk.cli.file_arguments import path_of, workspace
from atelier_desk.cli.terminal_io import Output
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.workflow import Workflow
from atelier_desk.engine.atelier import Atelier
from atelier_desk.engine.attachments.reading import PreparedAttachments, text_file
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.visible_and_shortened_text import name_on_disk


async def attached_files(
    atelier: Atelier, arguments: Namespace, out: Output, workflow: Workflow | None = None
) -> list[PreparedAttachments]:
    """Read the files named by ``--attach``.

    A possible secret is reported and still attached, because the person named the file.

    Raises:
        UsageError, LimitError: a file cannot be read or attached.
    """
    folders = tuple(dict.fromkeys((*(workflow.workspace if workflow is not None else ()), *workspace(out, arguments))))
    found: list[PreparedAttachments] = []
    for name in arguments.attach:
        if not name:
            raise UsageError(N_("--attach needs a file name."))
        if name == "-":
            found.append(text_file(_("standard input"), await out.read_input()))
            continue
        found.append(await atelier.attachments.read(path_of(out, name_on_disk(name)), folders))
        if found[-1].secret:
            out.note(
                _("{name} may contain secrets and will be sent to the model's server.", name=found[-1].name), "warn"
            )
        if found[-1].left_out:
            names = ", ".join(found[-1].left_out)
            out.note(
                _("Files left out of {name} because they look like secrets: {names}", name=found[-1].name, names=names),
                "warn",
            )
        if found[-1].encoding:
            out.note(
                _("{name} is not UTF-8; it was read as {encoding}.", name=found[-1].name, encoding=found[-1].encoding),
                "warn",
            )
    return found


async def attachments(
    atelier: Atelier, arguments: Namespace, out: Output, workflow: Workflow | None = None
) -> list[PreparedAttachments]:
    """Attachments of ``--attach``, and piped input next to a prompt.

    Raises the errors of ``attached_files``.
    """
    read = [arguments.prompt, *arguments.attach, arguments.answers].count("-")
    if read > 1:
        raise UsageError(
            N_("Standard input (-) can be read for one purpose only: the prompt, an attachment or the answers.")
        )
    found = await attached_files(atelier, arguments, out, workflow)
    if not read and (piped := await out.read_piped()).strip():
        found.append(text_file(_("standard input"), piped))
    return found
