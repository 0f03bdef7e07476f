"""Command palette: search for any action, workflow, agent, model or settings page; recent commands come first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QFrame, QLineEdit, QWidget

from atelier_desk.desktop.command_palette.search_terms import found_by
from atelier_desk.desktop.main_window.action_registry import GROUPS, ActionRegistry, shortcut_text
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import bind, bind_text, control, vbox
from atelier_desk.desktop.widgets.list_rows import ListRow
from atelier_desk.desktop.widgets.rounded_popups import round_popup
from atelier_desk.desktop.widgets.search_result_list import SearchList
from atelier_desk.desktop.widgets.text_matching import rank
from atelier_desk.support.i18n import N_, _

_WIDTH, _ROWS = 560, 10
RECENT = 5
"""Number of recent commands at the top."""
CORNER = 14
"""Corner radius, the same as that of its card."""
MAX_RECENT = 20
"""Number of recent commands stored."""
DISABLED = 30
"""Added to the score of a disabled action: it stays above others that only search terms match, so that Enter on it does
not run one of them."""
MOST = 80
"""Maximum number of lines shown."""


@dataclass(frozen=True, slots=True)
class Command:
    """A line of the palette.

    Attributes:
        hint: on the right: a shortcut, or the kind of item.
        key: identifies the command among the recent ones.
        group: its heading while the search field is empty.
        enabled: False for one that only a search finds, greyed, with the reason as its hint.
    """

    text: str
    run: Callable[[], object]
    hint: str = ""
    icon: str = ""
    keywords: str = ""
    key: str = ""
    group: str = ""
    enabled: bool = True


def score(needle: str, command: Command) -> int | None:
    """How well a command matches (lower is better), None for no match."""
    return rank(needle, command.text, f"{command.keywords} {command.hint}")


class CommandPalette(QDialog):
    """Type to filter, arrow keys to select, Enter to run, Esc to close. Opened with ``popup``.

    Signals:
        ran: the key of a command that was run; the owner of ``recent`` stores it.
    """

    ran = Signal(str)

    def __init__(
        self, registry: ActionRegistry, window: QWidget, extra: Callable[[], Iterable[Command]] = tuple
    ) -> None:
        super().__init__(window)
        self.setObjectName("command-palette")
        self.setWindowFlags(Qt.WindowType.Popup | Qt.WindowType.FramelessWindowHint)
        self._registry, self._window, self._extra = registry, window, extra
        self._commands: list[Command] = []
        self.recent: list[str] = []
        self.field = control(
            QLineEdit(self),
            "palette-field",
            look="palette",
            hint=N_("Search commands, workflows, agents, models, settings"),
        )
        self.list = bind_text(SearchList(self, "palette", self.field), name=N_("Commands"))
        self.list.setUniformItemSizes(True)
        self.list.chosen.connect(self._run)
        card = control(QFrame(self), look="card-raised")
        vbox(card, self.field, self.list.nothing, (self.list, 1), margins=(6, 8, 6, 8), spacing=6)
        vbox(self, card)
        self.field.textChanged.connect(self._filter)
        bind_text(self, name=N_("Command palette"))
        bind(self._place, on="look")

    def popup(self) -> None:
        """Show it near the top of the window, with all commands."""
        self._commands = self._collect()
        self.field.clear()
        self._filter("")
        self._place()
        self.show()
        self.field.setFocus()

    def _place(self) -> None:
        self._fit()
        corner = self._window.mapToGlobal(self._window.rect().topLeft())
        self.move(corner.x() + (self._window.width() - self.width()) // 2, corner.y() + theme().px(72))

    def collect_again(self) -> None:
        """Reload the commands while the palette is open; search text and selection stay."""
        if self.isVisible():
            row = self.list.currentIndex().row()
            self._commands = self._collect()
            self._filter(self.field.text())
            if row >= 0:
                self.list.select_row(row)

    def _collect(self) -> list[Command]:
        found = [
            Command(
                made.text(),
                made.trigger,
                (shortcut_text(made) or _(GROUPS[spec.group])) if made.isEnabled() else _(spec.unavailable),
                spec.icon,
                f"{spec.keywords} {found_by(spec.name, spec.text, GROUPS[spec.group])}",
                spec.name,
                _("Commands"),
                made.isEnabled(),
            )
            for spec, made in self._registry
            if made.isVisible() and spec.name != "command-palette"
        ]
        return [*found, *self._extra()]

    def _filter(self, needle: str) -> None:
        self.list.fill([("", (_line(each, needle) for each in self._best(needle)))] if needle.strip() else self._all())
        self._fit()

    def _fit(self) -> None:
        """Fit the height to the results: empty space below a single line looks like something is missing."""
        style, nothing = theme(), self.list.nothing
        width = min(style.px(_WIDTH), self._window.width() - 32)
        inner = nothing.heightForWidth(width - 12) if self.list.isHidden() else self.list.height_of(_ROWS)
        self.setFixedSize(width, min(inner + style.px(64), self._window.height() - style.px(72) - 16))
        round_popup(self, CORNER)  # a translucent window would have black corners without a compositor

    def _best(self, needle: str) -> list[Command]:
        """The matches, best first; among equals, the most recently run."""
        places = {key: place for place, key in enumerate(self.recent)}
        scored = [
            (value if command.enabled else value + DISABLED, places.get(command.key, MAX_RECENT), number)
            for number, command in enumerate(self._commands)
            if (value := score(needle, command)) is not None
        ]
        return [self._commands[number] for _value, _place, number in sorted(scored)[:MOST]]

    def _all(self) -> Iterator[tuple[str, Iterable[tuple[ListRow, Command]]]]:
        """All commands by heading: recent ones first, then by group."""
        enabled = [command for command in self._commands if command.enabled]
        known = {command.key: command for command in enabled if command.key}
        recent = [known[key] for key in self.recent if key in known][:RECENT]
        groups: dict[str, list[Command]] = {_("Recent"): recent} if recent else {}
        for command in enabled:
            groups.setdefault(command.group, []).append(command)
        for title, commands in groups.items():
            yield title if len(groups) > 1 else "", map(_line, commands[:MOST])

    def _run(self, command: Command) -> None:
        if not command.enabled:
            return
        self.hide()
        if command.key:
            self.recent = [command.key, *(key for key in self.recent if key != command.key)][:MAX_RECENT]
            self.ran.emit(command.key)
        command.run()


def _line(command: Command, needle: str = "") -> tuple[ListRow, Command]:
    colour = "text" if command.enabled else "muted"
    return ListRow(command.text, end=command.hint, icon=command.icon, needle=needle, colour=colour), command
