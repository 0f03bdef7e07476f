"""The gallery of ready-made agents, as a menu."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import TYPE_CHECKING

from atelier_desk.desktop.widgets.language_theme_bindings import bind_text
from atelier_desk.desktop.widgets.picker import PickerItem, PickerMenu
from atelier_desk.engine.services.agent_gallery import READY
from atelier_desk.support.i18n import N_, _, in_every_language

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget


def ready_agents(used: Container[str] = ()) -> list[PickerItem]:
    """Agents of the gallery whose names are not ``used``, by key; names are compared in every language."""
    items = (
        PickerItem(each.key, _(each.name), "", _(each.purpose), also=in_every_language(each.name)) for each in READY
    )
    return [each for each in items if each.text not in used]


def open_gallery(at: QWidget, chosen: Callable[[str], object]) -> PickerMenu:
    """A menu of all ready-made agents below a button; ``chosen`` receives a key."""
    menu = bind_text(PickerMenu(at), name=N_("Ready-made agents"))
    menu.chosen.connect(chosen)
    menu.closed.connect(menu.deleteLater)
    menu.open(ready_agents(), "", at)
    return menu
