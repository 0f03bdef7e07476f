"""Allow widgets that may take texts for HTML only in the modules listed here, each with its reason.

    python packaging/check_plain_text_widgets.py

Qt guesses HTML in tool tips, labels, message boxes and static texts, and the names of files, servers and agents come
from strangers. A label is a ``PlainLabel``, a message box a ``MessageBox``, and a tool tip goes through ``plain_tip``.
Fails for anything else, and for a listed module that no longer needs it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

DESKTOP = Path(__file__).resolve().parent.parent / "app" / "atelier_desk" / "desktop"
LISTED = {
    "chat/cards/live_output.py": "a label that colours output: each line is escaped by support/ansi",
    "chat/transcript/message_blocks.py": "copies the tables that it shows as HTML",
    "file_dialogs/exporting.py": "lays out an export, whose HTML has escaped texts",
    "workspace_folders/undo_file_changes.py": "a progress dialog with a text of its own",
    "projects/graph/paint.py": "static texts that are set to plain",
    "questions/markdown_view.py": "Markdown without HTML, which loads nothing",
    "widgets/cards_buttons_labels.py": "defines PlainLabel",
    "widgets/message_box.py": "defines MessageBox, which is plain",
}
"""Modules of the desktop, and why."""
GUESSING = {
    "QErrorMessage",
    "QGraphicsTextItem",
    "QInputDialog",
    "QLabel",
    "QMessageBox",
    "QProgressDialog",
    "QStaticText",
    "QTextBrowser",
    "QTextEdit",
    "QWhatsThis",
}
"""Classes of Qt whose texts may be HTML: not to be created or derived from. Their names may be used in types."""
RICH = {"setHtml", "insertHtml", "setMarkdown", "insertMarkdown", "fromHtml", "setWhatsThis"}
TIPS = {"setToolTip": -1, "setTabToolTip": 1, "showText": 1}
"""Methods that set a tool tip, and the place of its text."""
PLAIN = {"plain_tip", "wrapped_tip"}


def places(source: str) -> Iterator[tuple[int, str]]:
    """The lines of a module where Qt may take a text for HTML, with the name used."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ClassDef(bases=bases):
                yield from ((node.lineno, each) for each in map(_name, bases) if each in GUESSING)
            case ast.Call(func=ast.Attribute(attr=name), args=args) if name in TIPS and args:
                if not _is_plain(args[TIPS[name]]):
                    yield node.lineno, name
            case ast.Call(func=func):
                made = _name(func)
                static = isinstance(func, ast.Attribute) and _name(func.value) in GUESSING and made[:1].islower()
                if made in GUESSING | RICH or static:
                    yield node.lineno, made
            case ast.If(test=test, body=[*body]) if _names_tips(test):
                for each in body:
                    if isinstance(each, ast.Return) and each.value is not None and not _is_plain(each.value):
                        yield each.lineno, "ToolTipRole"
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    if key is not None and _names_tips(key) and not _is_plain(value):
                        yield key.lineno, "ToolTipRole"


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _names_tips(node: ast.expr) -> bool:
    return any(isinstance(each, ast.Attribute) and each.attr == "ToolTipRole" for each in ast.walk(node))


def _is_plain(text: ast.expr) -> bool:
    """Whether a text is constant, translated without values, or made plain."""
    match text:
        case ast.Constant():
            return True
        case ast.IfExp(body=body, orelse=orelse):
            return _is_plain(body) and _is_plain(orelse)
        case ast.Call(func=ast.Name(id="_"), args=[ast.Constant()], keywords=[]):
            return True
        case ast.Call(func=ast.Name(id=name)):
            return name in PLAIN
    return False


def problems(desktop: Path = DESKTOP, listed: Mapping[str, str] = LISTED) -> list[str]:
    """What is wrong, a line each."""
    messages, used = [], set()
    for path in sorted(desktop.rglob("*.py")):
        name = path.relative_to(desktop).as_posix()
        for line, what in sorted(places(path.read_text("utf-8"))):
            if what not in TIPS and what != "ToolTipRole":
                used.add(name)
                if name in listed:
                    continue
            messages.append(
                f"desktop/{name}:{line}: {what}: use PlainLabel, MessageBox or plain_tip, or list it in LISTED"
            )
    return messages + [f"desktop/{name}: needs no entry in LISTED any more" for name in sorted(set(listed) - used)]


if __name__ == "__main__":
    found = problems()
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(bool(found))
