"""The filters of the memory list: a button with a menu of types, scopes and tags, and a line with the selection."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from atelier_desk.desktop.panes.memory.list import TYPE_WORDS
from atelier_desk.desktop.widgets import ElidedLabel, IconButton, bind, bind_text, control, hbox
from atelier_desk.desktop.widgets.button_menu import paint_after
from atelier_desk.domain.memory import MemoryScope, MemoryType
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.visible_and_shortened_text import visible

ANY: dict[str, object] = {"type": None, "scope": MemoryScope.BOTH, "tag": ""}
"""The default choice of each menu, which filters nothing; it comes first."""
_TITLES = {"type": N_("Type: {choice}"), "scope": N_("Scope: {choice}"), "tag": N_("Tag: {choice}")}
_SCOPES = {
    MemoryScope.BOTH: N_("Everywhere"),
    MemoryScope.WORKFLOW: N_("This workflow"),
    MemoryScope.GENERAL: N_("All workflows"),
}


class MemoryFilters(QWidget):
    """``memory-filters``: the line below the search, hidden if nothing is filtered. ``button`` is beside the search.

    Without a workflow only memories of all workflows exist: the line says so, and no other scope can be selected.

    ``changed`` is emitted when the user changes a filter; ``choose`` does so programmatically.
    """

    changed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("memory-filters")
        self._chosen: dict[str, object] = dict(ANY)
        self._tags: tuple[str, ...] = ()
        self._in_workflow = True
        self.button = control(IconButton("list-filter", parent=self), "memory-filter")
        self.button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._menu = QMenu(self.button)
        self.menus: dict[str, QMenu] = {}
        for name in ANY:
            menu = QMenu(self._menu)  # created here: wrappers of objects created by Qt can be lost while those live
            self._menu.addMenu(menu)
            menu.setObjectName(f"memory-{name}-filter")
            self.menus[name] = menu
        self._menu.addSeparator()
        self._clear_action = QAction(self._menu)
        self._clear_action.triggered.connect(lambda *_: self.clear())
        self._menu.addAction(self._clear_action)
        self.button.setMenu(self._menu)
        paint_after(self.button, self._menu)
        self._summary = control(ElidedLabel("", self), "memory-filter-summary", look="small")
        self._clear = control(
            IconButton("x", parent=self, size=12), "memory-filter-clear", tip=N_("Clear the filters"), on=self.clear
        )
        hbox(self, (self._summary, 1), self._clear, spacing=4)
        bind_text(self._clear_action, N_("Clear the filters"))
        for name in self.menus:
            bind(self._fill, name, on="language")
        bind(self._show, on="language")

    @property
    def type(self) -> MemoryType | None:
        kind = self._chosen["type"]
        return kind if isinstance(kind, MemoryType) else None

    @property
    def scope(self) -> MemoryScope:
        return MemoryScope(str(self._chosen["scope"])) if self._in_workflow else MemoryScope.GENERAL

    @property
    def tag(self) -> str:
        return str(self._chosen["tag"])

    @property
    def active(self) -> bool:
        """Whether anything is filtered."""
        return any(self._chosen[name] != ANY[name] for name in ANY if name != "scope" or self._in_workflow)

    def set_in_workflow(self, on: bool) -> None:
        """Set whether a workflow is in view; the scope is remembered for the next one."""
        self._in_workflow = on
        self._fill("scope")
        self._show()

    @property
    def tags(self) -> tuple[str, ...]:
        """The selectable tags."""
        return self._tags

    def set_tags(self, tags: Sequence[str]) -> None:
        """Set the tags in use; a selected tag no longer in use remains so that it can be deselected."""
        selected = (self.tag,) if self.tag and self.tag not in tags else ()
        if (offered := (*tags, *selected)) != self._tags:
            self._tags = offered
            self._fill("tag")

    def choose(self, name: str, value: object) -> None:
        """Set one of type, scope and tag, and emit ``changed``."""
        if self._chosen[name] != value:
            self._chosen[name] = value
            self._show()
            self.changed.emit()

    def clear(self) -> None:
        """Remove all filters; the focus returns to the button, as the line is hidden."""
        if self.active:
            self._chosen = dict(ANY)
            self.button.setFocus()
            self._show()
            self.changed.emit()

    def _choices(self, name: str) -> list[tuple[object, str]]:
        if name == "type":
            return [(None, _("All types")), *((kind, _(TYPE_WORDS[kind])) for kind in MemoryType)]
        if name == "scope":
            return [
                (scope, _(text)) for scope, text in _SCOPES.items() if self._in_workflow or scope is MemoryScope.GENERAL
            ]
        return [("", _("All tags")), *((tag, f"#{tag}") for tag in self._tags)]

    def _fill(self, name: str) -> None:
        menu = self.menus[name]
        menu.clear()
        group = QActionGroup(menu)
        for value, text in self._choices(name):
            action = QAction(visible(text).replace("&", "&&"), menu)
            action.setCheckable(True)
            action.setData(value)
            action.setChecked(value == self._now(name))
            action.triggered.connect(lambda _on=False, value=value: self.choose(name, value))
            group.addAction(action)
            menu.addAction(action)

    def _now(self, name: str) -> object:
        """The effective value: the selected one, except for the scope without a workflow."""
        return self.scope if name == "scope" else self._chosen[name]

    def _word(self, name: str) -> str:
        return next((text for value, text in self._choices(name) if value == self._now(name)), "")

    def _show(self) -> None:
        for name, menu in self.menus.items():
            menu.setTitle(_(_TITLES[name], choice=self._word(name)).replace("&", "&&"))
            for action in menu.actions():
                action.setChecked(action.data() == self._now(name))
        text = " · ".join(self._word(name) for name in ANY if self._now(name) != ANY[name])
        self._summary.setText(text)
        self._clear.setVisible(self.active)
        self.setVisible(bool(text))
        self._clear_action.setEnabled(self.active)
        self.button.set_icon("list-filter", "accent" if self.active else "muted")
        self.button.describe(_("Filter: {choices}", choices=text) if text else _("Filter the memories"))

    def query(self) -> dict[str, object]:
        """The query for the engine: ``scope``, ``type`` and ``tags``."""
        return {"scope": self.scope, "type": self.type, "tags": (self.tag,) if self.tag else ()}
