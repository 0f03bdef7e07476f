"""Tool files: Python files that a user puts into the ``tools`` folder of the data directory.

Code runs only after a person confirmed exactly these bytes: the settings store the file's SHA-256, and a changed file
is not loaded until confirmed again. The hashed bytes are the ones executed, always read as UTF-8 regardless of a coding
line, so that what was shown is what runs. They run only in separate processes, see
``atelier_desk.tools.user_tools.worker``.
"""

from __future__ import annotations

import hashlib
import logging
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from atelier_desk.domain.errors import AtelierError, UsageError
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.tools.custom import FunctionTool

log = logging.getLogger(__name__)

MAX_BYTES = 1024 * 1024


class FileStatus(StrEnum):
    NEW = "new"
    CONFIRMED = "confirmed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class ToolFile:
    """A file that may contain tools. ``sha256`` is hexadecimal; ``status`` compares it with the confirmed hash."""

    name: str
    path: Path
    sha256: str
    data: bytes
    status: FileStatus


def list_candidates(folder: Path, confirmed: Mapping[str, str]) -> list[ToolFile]:
    """List the Python files of the tools folder by name without running them.

    Names that begin with ``_`` or ``.`` are helpers and skipped.
    """
    found = []
    for path in sorted(folder.glob("*.py")) if folder.is_dir() else []:
        if path.name.startswith(("_", ".")) or not path.is_file():
            continue
        data = _read(path)
        digest = hashlib.sha256(data).hexdigest()
        known = confirmed.get(path.name)
        status = FileStatus.NEW if known is None else FileStatus.CONFIRMED if known == digest else FileStatus.CHANGED
        found.append(ToolFile(path.name, path, digest, data, status))
    return found


def source(file: ToolFile) -> str:
    """Return the file's text as it would run.

    Raises:
        UsageError: it is longer than ``MAX_BYTES``, or not UTF-8.
    """
    if len(file.data) > MAX_BYTES:
        raise UsageError(
            N_("The file {name} is too long; the limit is {limit} bytes."), name=file.name, limit=MAX_BYTES
        )
    try:
        return file.data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(N_("The file {name} is not UTF-8 text."), name=file.name) from None


def run(file: ToolFile) -> tuple[FunctionTool, ...]:
    """Run the file and return its tools after checking their definitions.

    Only for confirmed files, and only in a worker process: what a file does when run cannot be stopped or undone here.

    Raises:
        UsageError: the problem, for a person; exceptions of the file include the line.
    """
    from atelier_desk.tools.custom import FunctionTool

    code = source(file)
    module = ModuleType(f"atelier_user_tools.{file.path.stem}_{file.sha256[:8]}")
    module.__file__ = str(file.path)
    sys.modules[module.__name__] = module
    try:
        exec(compile(code, str(file.path), "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - a person confirmed these very bytes
        return _checked(
            file.name, dict.fromkeys(value for value in vars(module).values() if isinstance(value, FunctionTool))
        )
    except AtelierError:
        sys.modules.pop(module.__name__, None)
        raise
    except BaseException as error:
        # Includes SystemExit and KeyboardInterrupt, which must not end the program.
        sys.modules.pop(module.__name__, None)
        raise UsageError(
            N_("The file {name} cannot be run: {reason}"), name=file.name, reason=reason(file, error)
        ) from error


def _checked(name: str, tools: Mapping[FunctionTool, None]) -> tuple[FunctionTool, ...]:
    if not tools:
        raise UsageError(N_("The file {name} defines no tool. Decorate a function with @tool."), name=name)
    for made in tools:
        made.definition()
    return tuple(tools)


def reason(file: ToolFile, error: BaseException) -> str:
    """Describe an exception of the file's code: type, message and line."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file.path)]
    where = f" ({file.name}, line {lines[-1]})" if lines else ""
    return f"{type(error).__name__}: {error}{where}"


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError as error:
        log.warning("tool file %s cannot be read: %s", path.name, error)
        return b""
