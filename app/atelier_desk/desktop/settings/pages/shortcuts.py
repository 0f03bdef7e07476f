"""Shortcuts: all actions of the registry with editable keys."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QWidget

from atelier_desk.desktop.main_window.action_registry import GROUPS, ActionRegistry, ActionSpec, refusal, registry_of
from atelier_desk.desktop.panes.pane_base import toast
from atelier_desk.desktop.settings.page_base import SettingsPage
from atelier_desk.desktop.settings.registry import settings_page
from atelier_desk.desktop.settings.setting_rows_and_footer import Row, SectionCard
from atelier_desk.desktop.settings.shortcut_field import KeyField
from atelier_desk.desktop.widgets.language_theme_bindings import made, native_keys
from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge

FIXED = (
    (N_("Questions: choose an option"), "1–9"),
    (N_("Questions: send the answer"), "Return"),
    (N_("Questions: answer later"), "Esc"),
    (N_("Tasks: rename"), "F2"),
    (N_("Tasks: mark as done or not done"), "Space"),
    (N_("Tasks: move up or down"), "Alt+Up"),
    (N_("Tasks, memories, reports: delete"), "Del"),
    (N_("Reports: save"), "Ctrl+S"),
)


@settings_page("shortcuts", order=100, icon="keyboard", title=N_("Shortcuts"))
class ShortcutsPage(SettingsPage):
    """A row per action with its keys; then the fixed keys of lists and dialogs. Stored at once, with undo."""

    topics = ("settings",)

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(bridge, parent)
        self._chosen: dict[str, str] = {}
        self._rows: dict[str, Row] = {}
        self._cards: dict[str, SectionCard] = {}
        hint = N_("Click a shortcut, then press new keys. Backspace clears, Esc cancels.")
        top = self.section()
        top.heading.hide()
        self.all = self.action_row(
            top, N_("Change shortcuts"), hint, N_("Reset all"), self._reset_all, "shortcuts-reset-all"
        )
        for group, title in GROUPS.items():
            self._cards[group] = self.section(title)
        fixed = self.section(N_("Lists and dialogs"))
        self.add_pairs(fixed, *((text, partial(_native, keys)) for text, keys in FIXED), looks=("", "pill"), wide=0)
        self.end()

    async def load(self) -> None:
        self._chosen = dict((await self.bridge.engine.settings.get()).shortcuts)
        self._show()

    @property
    def actions_(self) -> ActionRegistry | None:
        """The window's actions; None without a window."""
        return registry_of(self)

    def _show(self) -> None:
        registry = self.actions_
        if registry is not None:
            registry.set_shortcuts(self._chosen)
        for spec, done in registry or ():
            if spec.name not in self._rows and done.isVisible():
                self._add(spec)
            if spec.name in self._rows:
                field = self._field(spec.name)
                usual = self._chosen.get(spec.name, spec.shortcut) == spec.shortcut
                field.show_keys(done.shortcut(), usual)
        for group, card in self._cards.items():
            some = any(spec.group == group and spec.name in self._rows for spec, _made in registry or ())
            card.set_shown(some)
        self.all.setEnabled(bool(self._chosen))

    def _add(self, spec: ActionSpec) -> None:
        field = KeyField(spec.name, spec.text, self)
        field.recorded.connect(partial(self._recorded, spec))
        field.reset_requested.connect(partial(self._reset, spec))
        row = self._rows[spec.name] = self.row(self._cards[spec.group], field, spec.text)
        row.caption.setBuddy(field.button)

    def _field(self, name: str) -> KeyField:
        field = self._rows[name].control
        assert isinstance(field, KeyField)
        return field

    def _recorded(self, spec: ActionSpec, keys: QKeySequence) -> None:
        """Set the recorded keys, or show in the row why they are refused."""
        registry = self.actions_
        if registry is None:
            return
        why = refusal(keys, registry, spec.name)
        self._rows[spec.name].set_texts(spec.text, made(why) if why else "")
        if not why:
            self._store({**self._chosen, spec.name: keys.toString(QKeySequence.SequenceFormat.PortableText)})

    def _reset(self, spec: ActionSpec) -> None:
        """Restore an action's default keys, unless another action uses them."""
        self._recorded(spec, QKeySequence(spec.shortcut))

    def _reset_all(self) -> None:
        self._store({})

    def _store(self, chosen: dict[str, str]) -> None:
        """Store the keys that differ from the defaults."""
        registry, before = self.actions_, self._chosen
        usual = {spec.name: spec.shortcut for spec, _made in registry or ()}
        changed = {name: keys for name, keys in chosen.items() if usual.get(name) != keys}
        if changed == before:
            return

        async def job() -> None:
            await self.bridge.engine.settings.set("shortcuts", changed)
            toast(
                self,
                _("Shortcuts changed"),
                _("Undo"),
                lambda: self.call(self.bridge.engine.settings.set("shortcuts", before)),
            )
            await self.load()

        self.jobs.start(job())


def _native(keys: str) -> str:
    """Keys in the platform's notation; other texts are unchanged."""
    return native_keys(keys) or keys
