"""The menu in the header: actions on the workflow in view."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QMenu, QWidget

from atelier_desk.desktop.main_window.action_registry import registry_of
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import IconButton, control
from atelier_desk.desktop.widgets.button_menu import popup_from
from atelier_desk.desktop.widgets.picker import PickerItem
from atelier_desk.support.i18n import N_, _

ACTIONS = (
    ("workflow-settings", "pause-run", "step-mode", "replay-run"),
    (
        "find",
        "rename-workflow",
        "title-workflow",
        "pin-workflow",
        "duplicate-workflow",
        "export-workflow",
        "print-workflow",
    ),
    ("archive-workflow", "delete-workflow"),
)
"""Actions of the window, separated by lines between groups."""


class MoreButton(IconButton):
    """``workflow-menu``.

    Attributes:
        pinned: adds the workflow's pinned messages to the menu.

    Signals:
        effort_chosen: a ``Thinking`` value; empty for the agent's own.
    """

    effort_chosen = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__("ellipsis", parent=parent)
        control(self, "workflow-menu", on=self.open, tip=N_("More"))
        self.efforts: tuple[PickerItem, ...] = ()
        self.effort = ""
        self.pinned: Callable[[QMenu], object] | None = None

    def set_efforts(self, choices: Sequence[PickerItem], current: str) -> None:
        """Set the levels of reasoning effort; empty if the model has none."""
        self.efforts, self.effort = tuple(choices), current

    def open(self) -> QMenu:
        """Show it below the button."""
        menu = QMenu(self)
        menu.setObjectName("workflow-more")
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if self.efforts:
            self._add_efforts(menu)
        if self.pinned is not None:
            self.pinned(menu)
        if (registry := registry_of(self)) is not None:
            icons = {spec.name: spec.icon for spec, _action in registry}
            for names in ACTIONS:
                menu.addSeparator()
                for name in names:
                    registry[name].setIcon(theme().icon(icons[name]))
                    menu.addAction(registry[name])
        popup_from(self, menu, self.mapToGlobal(QPoint(self.width() - menu.sizeHint().width(), self.height())))
        return menu

    def _add_efforts(self, menu: QMenu) -> None:
        levels = menu.addMenu(theme().icon("brain"), _("Thinking"))
        levels.setObjectName("effort-menu")
        group = QActionGroup(levels)
        for each in self.efforts:
            level = levels.addAction(each.text, partial(self.effort_chosen.emit, each.key))
            level.setCheckable(True)
            level.setChecked(each.key == self.effort)
            group.addAction(level)
