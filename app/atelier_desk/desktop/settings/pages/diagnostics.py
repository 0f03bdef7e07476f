"""Diagnostics: checks, versions and the end of the log, to read and copy."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import qVersion
from PySide6.QtWidgets import QWidget

from atelier_desk import __version__
from atelier_desk.desktop.file_dialogs.open_save_confirm import confirm
from atelier_desk.desktop.settings.diagnostics_table import CheckTable
from atelier_desk.desktop.settings.page_base import SettingsPage
from atelier_desk.desktop.settings.progress_line import Busy
from atelier_desk.desktop.settings.registry import settings_page
from atelier_desk.desktop.theme.resource_paths_and_fonts import notices_file
from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge

LICENCES = N_(
    "Atelier is licensed under the Apache License 2.0. The core of its database, SurrealDB, is under the Business "
    "Source License 1.1, which"
    " allows every use except offering the database itself to others as a service. Qt is used under the LGPL 3.0."
)
LOG_LINES = 200
LOG_BYTES = 64 * 1024
PACKAGES = ("PySide6-Essentials", "surrealdb", "pydantic", "httpx", "qasync", "xllamacpp")


def versions() -> list[tuple[str, str]]:
    """Names and versions relevant for a bug report."""
    found = [
        ("Atelier", __version__),
        ("Python", platform.python_version()),
        ("Qt", str(qVersion())),
        ("OS", platform.platform()),
    ]
    for name in PACKAGES:
        try:
            found.append((name, version(name)))
        except PackageNotFoundError:
            continue
    return found


def log_tail(folder: Path) -> str:
    """The last lines of the newest log file, empty if there is none."""
    files = sorted(folder.glob("*.log"), key=lambda path: path.stat().st_mtime) if folder.is_dir() else []
    if not files:
        return ""
    with files[-1].open("rb") as file:
        file.seek(0, 2)
        file.seek(max(0, file.tell() - LOG_BYTES))
        text = file.read().decode("utf-8", errors="replace")
    return "\n".join(text.splitlines()[-LOG_LINES:])


@settings_page("diagnostics", order=91, icon="stethoscope", title=N_("Diagnostics"), part_of="data")
class DiagnosticsPage(SettingsPage):
    """Checks, versions, log."""

    listed_at_once = False  # the checks are slow

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(bridge, parent)
        self._checks: list[Any] = []
        self.table, self.busy = CheckTable(self), Busy(self)
        doctor = self.section(N_("Installation"), self.table, self.busy)
        self.again = self.button("doctor-again", N_("Check again"), self.reload)
        self.copy = self.button("diagnostics-copy", N_("Copy all"), lambda: self.copy_text(self.report()))
        self.remove = self.button("doctor-remove-damaged", N_("Remove damaged entries…"), self._ask_to_remove)
        self.remove.hide()
        self.button_row(doctor, self.again, self.copy, self.remove)
        names = "\n".join(f"{name} {number}" for name, number in versions())
        self.add_text(self.section(N_("Versions")), lambda: names, look="mono")
        self.log = self.add_read_only(self.section(N_("Log")), "log-tail", N_("End of the log"), 220)
        licences = self.section(N_("Licences"))
        self.action_row(
            licences, N_("Third-party notices"), LICENCES, N_("Show or hide"), self.show_notices, "notices-show"
        )
        self.notices = self.add_read_only(licences, "notices-text", N_("Third-party notices"), 320)
        self.notices.hide()
        self.end()

    async def load(self) -> None:
        task = self.jobs.start(self._examine(), "doctor")
        self.busy.watch(task, N_("Checking…"))

    async def _examine(self) -> None:
        self.log.setPlainText(log_tail((await self.bridge.engine.data.folders()).logs))
        self.log.verticalScrollBar().setValue(self.log.verticalScrollBar().maximum())
        self._checks = await self.bridge.engine.run_diagnostics()
        self._show()

    def show_notices(self) -> None:
        """Show all licences; loaded on demand, as they have half a million characters."""
        if not self.notices.toPlainText():
            self.notices.setPlainText(notices_file().read_text("utf-8"))
        self.notices.setVisible(self.notices.isHidden())

    def _ask_to_remove(self) -> None:
        damaged = "\n".join(check.message for check in self._checks if check.name == "configuration")
        words = _(
            "They are unusable and will be deleted permanently. Recreate them afterwards, or restore a backup instead."
        )
        confirm(
            self,
            _("Remove damaged entries?"),
            f"{damaged}\n\n{words}",
            _("Remove"),
            lambda: self.jobs.start(self._remove(), "remove"),
        )

    async def _remove(self) -> None:
        await self.bridge.engine.data.remove_damaged()
        self.reload()

    def _show(self) -> None:
        self.remove.setVisible(any(check.name == "configuration" and check.status == "fail" for check in self._checks))
        self.table.show_checks(self._checks)

    def report(self) -> str:
        """Everything on the page as text, for a bug report."""
        lines = [f"{check.status:4} {check.title}: {check.message}" for check in self._checks]
        names = [f"{name} {number}" for name, number in versions()]
        return "\n".join([*names, "", *lines, "", self.log.toPlainText()])
