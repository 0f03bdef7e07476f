"""Size hints have no side effects.

Setting a text, a limit or a visibility in a size hint invalidates the layout that asks, and QBoxLayout then reads
data it has just discarded (``QBoxLayoutPrivate::calcHfw`` and ``setDirty`` in Qt's ``qboxlayout.cpp``).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import atelier_desk.desktop

ROOM = Path(atelier_desk.desktop.__file__).parent
ASKED = {"heightForWidth", "hasHeightForWidth", "sizeHint", "minimumSizeHint", "minimumSize"}
CHANGES = {"show", "hide", "updateGeometry", "adjustSize", "resize", "addWidget", "invalidate", "setText", "setVisible",
"setEnabled",
           "setFixedHeight", "setFixedWidth", "setFixedSize", "setMinimumWidth", "setMinimumHeight", "setMaximumWidth",
           "setMaximumHeight", "setIcon", "setPixmap", "setFont", "setStyleSheet", "setContentsMargins",
           "setSpacing"}  # fmt: skip


def called(function: ast.FunctionDef) -> Iterator[tuple[str, bool]]:
    """The methods called inside, and whether on the object itself."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield node.func.attr, isinstance(node.func.value, ast.Name) and node.func.value.id == "self"


def changing(source: str) -> list[str]:
    """``Class.method: call`` for changes made in size hints, directly or by methods of the class."""
    found = []
    for made in (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)):
        methods = {each.name: each for each in made.body if isinstance(each, ast.FunctionDef)}
        for name in ASKED & set(methods):
            reached, waiting = set[str](), [name]
            while waiting:
                current = waiting.pop()
                reached.add(current)
                for call, own in called(methods[current]):
                    if call in CHANGES:
                        found.append(f"{made.name}.{name}: {call}")
                    elif own and call in methods and call not in reached:
                        waiting.append(call)
    return found


def test_size_hints_change_nothing() -> None:
    found = {
        str(path.relative_to(ROOM)): changing(path.read_text(encoding="utf-8")) for path in sorted(ROOM.rglob("*.py"))
    }
    assert {path: calls for path, calls in found.items() if calls} == {}


@pytest.mark.parametrize("body", ["self.name.setText(str(width))", "self._fit(width)"])
def test_a_change_is_found_in_a_size_hint_and_in_methods_it_calls(body: str) -> None:
    source = f"""
class Row(QWidget):
    def heightForWidth(self, width):
        {body}
        return 1

    def _fit(self, width):
        self.name.setText(str(width))
"""
    assert changing(source) == ["Row.heightForWidth: setText"]


FOLLOWS = ("setFixed", "setMinimum", "setMaximum", "setFont", "setIcon", "setPixmap")


def set_once(source: str) -> list[str]:
    """``function: call`` for sizes and colours that depend on the theme, but are set once without a binding."""
    found = []
    for function in (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)):
        if function.name != "__init__" and not function.name.startswith(("_build", "_add")):
            continue
        for node in ast.walk(function):
            if (
                not isinstance(node, ast.Call)
                or not isinstance(node.func, ast.Attribute)
                or not node.func.attr.startswith(FOLLOWS)
            ):
                continue
            names = {each.id for part in node.args for each in ast.walk(part) if isinstance(each, ast.Name)}
            if "theme" in names:
                found.append(f"{function.name}: {node.func.attr}")
    return found


def test_sizes_of_visible_widgets_follow_the_text_size() -> None:
    """``bind(field.setFixedHeight, lambda: theme().px(84), on="look")``: otherwise an open form keeps its old size."""
    found = {
        path.relative_to(ROOM).as_posix(): set_once(path.read_text(encoding="utf-8"))
        for path in sorted(ROOM.rglob("*.py"))
    }
    assert {path: calls for path, calls in found.items() if calls} == {}
