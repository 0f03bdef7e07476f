"""Files that programs read as data: whether one can still be read after a change, and the cells of a notebook."""

from __future__ import annotations

import json
import re

from atelier_desk.domain.errors import ToolError
from atelier_desk.workspace.text import Text, decode

MAX_BYTES = 4 * 1024 * 1024
"""Larger files are not looked at."""
_FORMATS = {".ipynb": "JSON", ".json": "JSON", ".toml": "TOML", ".yaml": "YAML", ".yml": "YAML"}
_KEEPENDS = re.compile(r"[^\n]*\n|[^\n]+")


def warning(path: str, before: bytes | None, after: bytes) -> str:
    """What to tell of a change that leaves a file unreadable, in a sentence for the model; empty when there is nothing to tell.

    Of a notebook always, since no program opens such a one; of other files only when they could be read before.
    """
    ending = path[path.rfind(".") :].lower()
    if ending not in _FORMATS or len(after) > MAX_BYTES:
        return ""
    problem = _problem(ending, after)
    if not problem or (ending != ".ipynb" and (before is None or _problem(ending, before))):
        return ""
    what = "No program can open this notebook now" if ending == ".ipynb" else "It could be read before"
    hint = " To change a cell, give its id or number as cell and its new source as new_string." if ending == ".ipynb" else ""
    return f"{path} is no longer valid {_FORMATS[ending]} ({problem}). {what}: correct it, or undo the change.{hint}"


def _problem(ending: str, data: bytes) -> str:
    """Why data cannot be read, empty when it can."""
    text = decode(data)
    if text is None:
        return "it is binary"
    try:
        if ending == ".toml":
            import tomllib

            tomllib.loads(text.text)
        elif ending in (".yaml", ".yml"):
            import yaml  # expensive to load, and needed for such files alone

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
    """A notebook with another source in one cell; all else, also its outputs, stays as it is.

    Args:
        cell: the cell's id, or its number from 0.

    Raises:
        ToolError: ``bad_notebook`` when it is none, ``no_cell`` with the cells there are.
    """
    try:
        notebook = json.loads(file.text)
        cells = [each for each in notebook["cells"] if isinstance(each, dict)]
    except (ValueError, RecursionError, KeyError, TypeError):
        raise ToolError("{path} is no notebook that can be read. Edit it as text.", code="bad_notebook", path=path) from None
    found = next((each for each in cells if each.get("id") == cell), None)
    if found is None and cell.isdecimal() and int(cell) < len(cells):
        found = cells[int(cell)]
    if found is None:
        ids = ", ".join(str(each.get("id", number)) for number, each in enumerate(cells[:40]))
        raise ToolError("{path} has no cell {cell}. It has: {cells}", code="no_cell", path=path, cell=cell, cells=ids or "none")
    style = _style_of(file.text, notebook)
    found["source"] = _KEEPENDS.findall(source) if isinstance(found.get("source"), list) else source
    return file.with_text(file.with_ends(_dump(notebook, style)))


_Style = tuple[int | str | None, bool, str]


def _style_of(text: str, notebook: object) -> _Style:
    """How a notebook is written: indent, whether only in ASCII, and its end. As Jupyter does when it is written in no known way."""
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
