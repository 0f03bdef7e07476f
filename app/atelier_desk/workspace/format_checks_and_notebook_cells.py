"""Structured files: check whether they are still valid after a change, and edit notebook cells."""

from __future__ import annotations

import json
import re
import tomllib

from atelier_desk.domain.errors import ToolError
from atelier_desk.workspace.text_files import Text, decode

MAX_BYTES = 4 * 1024 * 1024
"""Maximum bytes; larger files are not checked."""
_FORMATS = {".ipynb": "JSON", ".json": "JSON", ".toml": "TOML", ".yaml": "YAML", ".yml": "YAML"}
_KEEPENDS = re.compile(r"[^\n]*\n|[^\n]+")


def warning(path: str, before: bytes | None, after: bytes) -> str:
    """Return a warning for the model about a change that makes a file invalid; empty if there is nothing to report.

    Notebooks always warn, because no program opens an invalid one; other files only if they were valid before.
    """
    ending = path[path.rfind(".") :].lower()
    if ending not in _FORMATS or len(after) > MAX_BYTES:
        return ""
    problem = _problem(ending, after)
    if not problem or (ending != ".ipynb" and (before is None or _problem(ending, before))):
        return ""
    what = "No program can open this notebook now" if ending == ".ipynb" else "It could be read before"
    hint = (
        " To change a cell, give its id or number as cell and its new source as new_string."
        if ending == ".ipynb"
        else ""
    )
    return f"{path} is no longer valid {_FORMATS[ending]} ({problem}). {what}: correct it, or undo the change.{hint}"


def _problem(ending: str, data: bytes) -> str:
    """Return why data is invalid, empty if it is valid."""
    text = decode(data)
    if text is None:
        return "it is binary"
    try:
        if ending == ".toml":
            tomllib.loads(text.text)
        elif ending in (".yaml", ".yml"):
            import yaml  # slow to import, and only needed for such files

            try:
                for _event in yaml.parse(text.text, Loader=yaml.SafeLoader):
                    pass
            except yaml.YAMLError as error:
                return " ".join(str(error).split())[:200]
        else:
            found = json.loads(text.text)
            if ending == ".ipynb" and not (isinstance(found, dict) and isinstance(found.get("cells"), list)):
                return "it has no list of cells"
    except (ValueError, RecursionError) as error:
        return " ".join(str(error).split())[:200] or type(error).__name__
    return ""


def with_cell(file: Text, cell: str, source: str, path: str) -> Text:
    """Replace the source of one notebook cell; everything else, including outputs, stays.

    Args:
        cell: the cell's id, or its number from 0.

    Raises:
        ToolError: ``bad_notebook``, or ``no_cell`` with the existing cells.
    """
    try:
        notebook = json.loads(file.text)
        cells = [each for each in notebook["cells"] if isinstance(each, dict)]
    except (ValueError, RecursionError, KeyError, TypeError):
        raise ToolError(
            "{path} is no notebook that can be read. Edit it as text.", code="bad_notebook", path=path
        ) from None
    found = next((each for each in cells if each.get("id") == cell), None)
    if found is None and cell.isdecimal() and int(cell) < len(cells):
        found = cells[int(cell)]
    if found is None:
        ids = ", ".join(str(each.get("id", number)) for number, each in enumerate(cells[:40]))
        raise ToolError(
            "{path} has no cell {cell}. It has: {cells}", code="no_cell", path=path, cell=cell, cells=ids or "none"
        )
    style = _style_of(file.text, notebook)
    found["source"] = _KEEPENDS.findall(source) if isinstance(found.get("source"), list) else source
    return file.with_text(file.with_ends(_dump(notebook, style)))


_Style = tuple[int | str | None, bool, str]


def _style_of(text: str, notebook: object) -> _Style:
    """Detect how a notebook is formatted: indent, ASCII only, and final newline. Unknown formats become Jupyter's."""
    plain = text.replace("\r\n", "\n")
    end = plain[len(plain.rstrip("\n")) :]
    for indent in (1, 2, 4, "\t", None):
        for ascii_only in (False, True):
            if _dump(notebook, (indent, ascii_only, end)) == plain:
                return indent, ascii_only, end
    return 1, False, end


def _dump(notebook: object, style: _Style) -> str:
    indent, ascii_only, end = style
    return json.dumps(notebook, indent=indent, ensure_ascii=ascii_only) + end
