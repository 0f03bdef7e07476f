"""Files named on the command line: read and written relative to the caller's folder, with errors that name them."""

from __future__ import annotations

from pathlib import Path

from atelier_desk.cli.output import Output
from atelier_desk.domain import limits
from atelier_desk.domain.errors import LimitError, UsageError
from atelier_desk.i18n import N_


def path_of(out: Output, name: str) -> Path:
    """The path, absolute, from the folder the command was typed in."""
    return Path(out.cwd).joinpath(Path(name).expanduser())


async def read_text(out: Output, name: str, *, most: int = limits.IMPORT_FILE) -> str:
    """The file's text, or standard input for ``-``; at most ``most`` bytes of UTF-8."""
    if name == "-":
        text = await out.read_input()
        if len(text.encode("utf-8", "surrogateescape")) > most:
            raise LimitError(N_("Standard input has more than {most} bytes."), most=most)
        return text
    path = path_of(out, name)
    try:
        if path.stat().st_size > most:
            raise LimitError(N_("{path} has {size} bytes; at most {most} are allowed."), path=path, size=path.stat().st_size, most=most)
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(N_("{path} is not UTF-8 text."), path=path) from None
    except OSError as error:
        raise UsageError(N_("{path} cannot be read: {reason}"), path=path, reason=error.strerror or error) from None
