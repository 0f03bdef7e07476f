"""Ask what to do with running agents when the window is closed.

They continue to cost money, now or at the next start, only if the user chose that.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QMessageBox

from atelier_desk.desktop.system.tray_icon import there_is_a_tray
from atelier_desk.desktop.widgets.message_box import MessageBox
from atelier_desk.support.i18n import _, ngettext

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from atelier_desk.desktop.main_window.window_actions import WindowActions

log = logging.getLogger(__name__)

ANSWERS_S = 2.0
"""Seconds to wait for the list of running workflows; after that the window closes without asking.

Running work is saved anyway.
"""
NAMED = 5
"""Maximum number of workflows named in the question."""


class ClosingQuestion(QObject):
    """``closing-question``: stop, continue in the background, continue at the next start, or cancel.

    Args:
        end: closes the window without asking.
    """

    def __init__(self, window: WindowActions, end: Callable[[], object]) -> None:
        super().__init__(window)
        self._window, self._end = window, end
        self._box: MessageBox | None = None

    def ask(self) -> None:
        """Close the window; ask first if an agent is running."""
        if self._box is not None:
            self._window.raise_up()
        else:
            self._window.bridge.jobs.once("close", self._ask)

    async def _ask(self) -> None:
        working: dict[str, str] = {}
        try:
            async with asyncio.timeout(ANSWERS_S):
                working = await self._window.bridge.engine.runs.at_work()
        except Exception:
            log.exception("nobody knows whether an agent works; the window closes all the same")
        if working:
            self._open(working)
        else:
            self._end()

    def _open(self, working: dict[str, str]) -> None:
        window, role = self._window, QMessageBox.ButtonRole
        window.raise_up()  # it may already be in the background
        box = self._box = MessageBox(window, "closing-question")
        box.setWindowTitle("Atelier")
        count = len(working)
        box.setText(ngettext("{n} workflow is still running", "{n} workflows are still running", count))
        saved = _("Whatever you choose, everything up to this point is saved.")
        box.setInformativeText(f"{named(list(working.values()))}\n\n{saved}")
        runs = window.bridge.engine.runs
        choices: list[tuple[str, str, QMessageBox.ButtonRole, str, Callable[[], object]]] = [
            (
                _("Stop and quit"),
                "closing-stop",
                role.DestructiveRole,
                "danger",
                lambda: self._then(self._stop(list(working))),
            ),
            (
                _("Continue next time"),
                "closing-next-start",
                role.AcceptRole,
                "",
                lambda: self._then(runs.continue_at_start()),
            ),
        ]
        if there_is_a_tray():
            choices.append(
                (
                    _("Keep running in the background"),
                    "closing-background",
                    role.AcceptRole,
                    "primary",
                    self._to_background,
                )
            )
        for text, name, kind, variant, then in choices:
            box.add(text, name, kind, variant).clicked.connect(lambda *_on, then=then: then())
        stay = box.add(_("Cancel"), "closing-cancel", role.RejectRole)
        box.setDefaultButton(stay)
        box.setEscapeButton(stay)
        box.finished.connect(self._over)
        box.open()

    def _over(self, _code: int) -> None:
        self._box = None

    def _then(self, work: Coroutine[object, None, object]) -> None:
        async def finish() -> None:
            await work
            self._end()

        self._window.bridge.jobs.start(finish(), "closing")

    async def _stop(self, runs: Sequence[str]) -> None:
        for run_id in runs:
            await self._window.bridge.engine.runs.cancel(run_id)

    def _to_background(self) -> None:
        """Hide the window; the tray icon, a notification or a second start shows it again."""
        self._window.show_tray(True)
        self._window.hide()


def named(names: Sequence[str]) -> str:
    """The names of workflows, one per line."""
    more = ["…"] if len(names) > NAMED else []
    return "\n".join([*(_("“{name}”", name=name) for name in names[:NAMED]), *more])
