"""Tool files: Python files a user drops into the ``tools`` folder of the data directory.

Code is only ever run after a person has confirmed the very bytes: the file's SHA-256 is kept in the settings, and a file that changed is
not loaded until it is confirmed again. The bytes that were hashed are the bytes that run.
"""

from __future__ import annotations

import hashlib
import logging
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import ModuleType

from app.domain.errors import AtelierError, UsageError
from app.i18n import N_
from app.tools.base import ToolCategory
from app.tools.custom import FunctionTool
from app.tools.registry import ToolRegistry

log = logging.getLogger(__name__)

MAX_BYTES = 1024 * 1024
_CATEGORIES = (ToolCategory.WORKFLOW, ToolCategory.AGENT)


class FileStatus(StrEnum):
    NEW = "new"
    CONFIRMED = "confirmed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class ToolFile:
    """A file that may hold tools. ``sha256`` is in hexadecimal digits; ``status`` compares it with what was confirmed."""

    name: str
    path: Path
    sha256: str
    size: int
    status: FileStatus


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """What came of loading a confirmed file: the names of its tools, or what is wrong with it, for a person."""

    name: str
    tools: tuple[str, ...] = ()
    error: str = ""


def list_candidates(folder: Path, confirmed: Mapping[str, str]) -> list[ToolFile]:
    """The Python files of the tools folder by name, none of them run. Names that begin with ``_`` or ``.`` are helpers and left out."""
    found = []
    for path in sorted(folder.glob("*.py")) if folder.is_dir() else []:
        if path.name.startswith(("_", ".")) or not path.is_file():
            continue
        data = _read(path)
        digest = hashlib.sha256(data).hexdigest()
        known = confirmed.get(path.name)
        status = FileStatus.NEW if known is None else FileStatus.CONFIRMED if known == digest else FileStatus.CHANGED
        found.append(ToolFile(path.name, path, digest, len(data), status))
    return found


def load_confirmed(folder: Path, confirmed: Mapping[str, str], registry: ToolRegistry) -> list[LoadedFile]:
    """Run the confirmed files and register their tools. A file with an error registers none; the others go on."""
    return [_load(file, registry) for file in list_candidates(folder, confirmed) if file.status is FileStatus.CONFIRMED]


def _load(file: ToolFile, registry: ToolRegistry) -> LoadedFile:
    data = _read(file.path)
    if hashlib.sha256(data).hexdigest() != file.sha256:
        return LoadedFile(file.name, error=str(UsageError(N_("The file {name} changed while it was loaded."), name=file.name)))
    module = ModuleType(f"atelier_user_tools.{file.path.stem}_{file.sha256[:8]}")
    module.__file__ = str(file.path)
    try:
        if len(data) > MAX_BYTES:
            raise UsageError(N_("The file {name} has {size} bytes; the limit is {limit}."), name=file.name, size=len(data), limit=MAX_BYTES)
        sys.modules[module.__name__] = module
        exec(compile(data, str(file.path), "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - the user confirmed these very bytes
        tools = [value for value in vars(module).values() if isinstance(value, FunctionTool)]
        for made in tools:
            if made.category not in _CATEGORIES:
                raise UsageError(N_("The tool {name} must be of category workflow or agent."), name=made.name)
        if not tools:
            raise UsageError(N_("The file {name} defines no tool. Decorate a function with @tool."), name=file.name)
        registry.register_all(tools)
    except AtelierError as error:
        sys.modules.pop(module.__name__, None)
        return LoadedFile(file.name, error=str(error))
    except (Exception, SystemExit) as error:
        sys.modules.pop(module.__name__, None)
        log.exception("tool file %s failed", file.name)
        return LoadedFile(file.name, error=f"{type(error).__name__}: {error}")
    return LoadedFile(file.name, tuple(made.name for made in tools))


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError as error:
        log.warning("tool file %s cannot be read: %s", path.name, error)
        return b""
