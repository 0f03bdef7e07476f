"""Files on the command line, relative to the caller's folder; errors name the file."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from atelier_desk.cli.terminal_io import Output, in_thread
from atelier_desk.domain import final_answer_schema, limits
from atelier_desk.domain.errors import LimitError, UsageError
from atelier_desk.support.i18n import N_


def path_of(out: Output, name: str) -> Path:
    """The absolute path, relative to the folder the command was typed in."""
    return Path(out.cwd).joinpath(Path(name).expanduser())


async def write_new(path: Path, data: bytes) -> None:
    """Write a new file.

    Raises:
        UsageError: a file of this name exists, or it cannot be written.
    """
    try:
        await asyncio.to_thread(_create, path, data)
    except FileExistsError:
        raise UsageError(N_("{path} already exists. Choose another name, or delete it first."), path=path) from None
    except OSError as error:
        raise UsageError(N_("{path} cannot be written: {reason}"), path=path, reason=error.strerror or error) from None


def _create(path: Path, data: bytes) -> int:
    with path.open("xb") as file:
        return file.write(data)


async def read_text(out: Output, name: str, most: int = limits.IMPORT_FILE) -> str:
    """The text of a file, or of standard input for ``-``.

    At most ``most`` bytes are read. The file may be a pipe of the shell, ``<(command)``.
    """
    if name == "-":
        return await out.read_input(most)
    path = path_of(out, name)
    try:
        content = await in_thread(lambda: _begin(path, most))
        if len(content) > most:
            raise LimitError(N_("{path} is too large: the maximum is {most} bytes."), path=path, most=most)
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(N_("{path} is not UTF-8 text."), path=path) from None
    except OSError as error:
        raise UsageError(N_("{path} cannot be read: {reason}"), path=path, reason=error.strerror or error) from None


async def text_or_input(out: Output, given: str) -> str:
    """The argument itself; standard input for ``-``."""
    return await out.read_input() if given == "-" else given


def _begin(path: Path, most: int) -> bytes:
    """The file's content, cut off one byte after the allowed length."""
    with path.open("rb") as file:
        return file.read(most + 1)


async def schema_from(out: Output, name: str) -> dict[str, object] | None:
    """The schema in a file, checked; None for an empty name.

    Raises:
        UsageError, LimitError: the file cannot be read, or is not a JSON Schema of an object.
    """
    return final_answer_schema.schema_of(await read_text(out, name))


def workspace(out: Output, arguments: Namespace) -> tuple[str, ...]:
    """The folders of ``--workspace`` as absolute paths; each must exist."""
    return folders(out, arguments.workspace)


def folders(out: Output, names: Sequence[str]) -> tuple[str, ...]:
    """The named folders as absolute paths; each must exist."""
    found = []
    for name in names:
        folder = Path(path_of(out, name)).resolve()
        if not folder.is_dir():
            raise UsageError(N_("{path} is not a folder."), path=folder)
        found.append(str(folder))
    return tuple(dict.fromkeys(found))
