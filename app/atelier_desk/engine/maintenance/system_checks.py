"""Diagnostics of the machine: window toolkit, display, sandbox, data folder and disk."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Literal

from atelier_desk.domain.base_model import Model
from atelier_desk.storage.data_folder.free_space import no_files_left
from atelier_desk.support import locale_format
from atelier_desk.support.display_check import desktop_problem, missing_library, qt_folder
from atelier_desk.support.i18n import _
from atelier_desk.support.worker.environment import environment
from atelier_desk.support.worker.errors import WorkerError
from atelier_desk.support.worker.requests_to_child import ask_once
from atelier_desk.workspace.processes import sandbox_contents

Status = Literal["ok", "warn", "fail"]
LOW_DISK = 1024**3
"""Free bytes below which the disk gets a warning: a local model and a backup need more."""
NO_DISK = 100 * 1024**2
"""Free bytes below which writing is about to fail."""
QT_PACKAGES = (
    "libglib2.0-0 libgl1 libegl1 libxkbcommon0 libfontconfig1 libfreetype6 libdbus-1-3 "
    "libxcb-cursor0 libxcb-icccm4 libxcb-keysyms1 libxcb-shape0 libxkbcommon-x11-0"
)
"""Debian packages of the libraries that Qt needs, without a screen and with X11."""
QT_IMPORT_S = 60.0
"""Seconds that importing Qt may take."""


class Check(Model):
    """One result.

    ``name`` is stable; ``title`` and ``message`` are for people; ``fix`` is what to do, empty if nothing.
    """

    name: str
    title: str
    status: Status
    message: str
    fix: str = ""


async def qt(deep: bool) -> Check:
    """Check that Qt is installed; with ``deep``, import it in a separate process, which a broken library would end."""
    title = _("GUI toolkit (Qt)")
    if qt_folder() is None:
        return Check(
            name="qt",
            title=title,
            status="fail",
            message=_("PySide6 is not installed."),
            fix="pip install PySide6-Essentials",
        )
    if getattr(sys, "frozen", False):
        return Check(name="qt", title=title, status="ok", message=_("PySide6 is bundled."))
    if not deep:
        return Check(name="qt", title=title, status="ok", message=_("PySide6 is installed."))
    try:
        version = (
            await ask_once("atelier_desk.support.display_check", None, limit_s=QT_IMPORT_S, env=environment())
        ).value
    except WorkerError as error:
        late = error.code == "timeout"
        message, fix = (_("Importing PySide6 takes too long."), "") if late else (str(error), _library_fix())
        return Check(name="qt", title=title, status="fail", message=message, fix=fix)
    return Check(name="qt", title=title, status="ok", message=_("PySide6 {version} can be imported.", version=version))


def display() -> list[Check]:
    """Check system libraries and the display; without a display the command line still works fully."""
    found = []
    folder = qt_folder()
    if sys.platform.startswith("linux") and folder is not None:
        library = missing_library(folder, "xcb")
        found.append(
            Check(
                name="libraries",
                title=_("System libraries"),
                status="ok",
                message=_("All libraries that the GUI toolkit needs are installed."),
            )
            if library is None
            else Check(
                name="libraries",
                title=_("System libraries"),
                status="warn",
                message=_("{library} is missing.", library=library),
                fix=_library_fix(),
            )
        )
    problem = desktop_problem()
    title = _("Display")
    if problem is None:
        found.append(Check(name="display", title=title, status="ok", message=_("A window can be opened.")))
    else:
        text = _(problem.template, **problem.params)
        found.append(
            Check(
                name="display",
                title=title,
                status="warn",
                message=text,
                fix=_("To work without a window, use: atelier chat"),
            )
        )
    return found


def command_sandbox() -> Check:
    """Check whether commands of agents can be sandboxed."""
    title = _("Sandbox")
    if sandbox_contents.available():
        message = _(
            "Agents' commands are confined by {means}. Those that run without asking can only read. Those you "
            "allow can write only in the workflow's folders. Network access needs your approval and is then "
            "unrestricted.",
            means=sandbox_contents.means(),
        )
        message_text = " ".join([message, *_namespaces()])
        if sandbox_contents.holds_signals() or sandbox_contents.has_processes():
            return Check(name="sandbox", title=title, status="ok", message=message_text)
        message_text += " " + _(
            "A command can stop your other programs. Preventing this requires user namespaces or Linux 6.12 or later."
        )
        fix = _("Allow user namespaces, or update the system.")
        return Check(name="sandbox", title=title, status="warn", message=message_text, fix=fix)
    return Check(
        name="sandbox",
        title=title,
        status="warn",
        message=_(
            "Not sandboxed: this system has neither Landlock nor a working sandbox-exec, so agents' commands "
            "run with your rights."
        ),
        fix=_("Allow only commands that you would run yourself."),
    )


def _namespaces() -> list[str]:
    """Describe the Linux namespaces of approved commands; empty on other systems."""
    if not sys.platform.startswith("linux"):
        return []
    if not sandbox_contents.has_processes():
        found = [
            _(
                "On this system, commands have no process namespace of their own: they see the names of other "
                "programs and cannot use System V shared memory, so fakeroot and PostgreSQL do not run in the "
                "sandbox."
            )
        ]
    elif sandbox_contents.has_proc():
        found = [_("Commands you allow see only their own processes. When a command ends, all its processes end too.")]
    else:
        found = [
            _(
                "Commands you allow see the names of other programs but cannot reach those programs. When a "
                "command ends, all its processes end too."
            )
        ]
    if sandbox_contents.has_processes() and not sandbox_contents.holds_signals():
        found.append(
            _("Read-only commands could stop your other programs. Only Linux 6.12 and later can prevent that.")
        )
    if not sandbox_contents.has_mounts():
        found.append(
            _(
                "Without mount namespaces, protected parts of a repository are only restored after a command has "
                "run, and paths that a rule denies cannot be hidden from commands."
            )
        )
    return found


def _library_fix() -> str:
    return _("On Debian or Ubuntu: apt install {packages}", packages=QT_PACKAGES)


def data_folder(folder: Path) -> Check:
    """Check that the data folder is writable, and private to its owner."""
    title = _("Data folder")
    probe = folder / f".doctor-{os.getpid()}"
    try:
        probe.write_text("ok", "utf-8")
        probe.unlink()
    except OSError as error:
        return Check(
            name="data_folder",
            title=title,
            status="fail",
            message=_("{path} cannot be written: {reason}", path=folder, reason=error.strerror or error),
            fix=_("Make the folder writable, or choose another one with --data-dir."),
        )
    if os.name == "posix" and folder.stat().st_mode & 0o077:
        return Check(
            name="data_folder",
            title=title,
            status="warn",
            message=_("Other users of this computer can read {path}.", path=folder),
            fix=f"chmod 700 {folder}",
        )
    return Check(
        name="data_folder", title=title, status="ok", message=_("{path} is writable and private to you.", path=folder)
    )


def disk_space(folder: Path) -> Check:
    """Check the free space of a folder's disk."""
    title = _("Disk space")
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return Check(name="disk", title=title, status="fail", message=str(error))
    message = _("{gb} GB free.", gb=locale_format.number(free / 1024**3, 1, trim=True))
    if no_files_left(folder):
        fix = _("Delete files you no longer need, even small ones.")
        words = _("{state} The disk has no room for more files: its inodes are used up.", state=message)
        return Check(name="disk", title=title, status="fail", message=words, fix=fix)
    if free < NO_DISK:
        return Check(
            name="disk",
            title=title,
            status="fail",
            message=message,
            fix=_("Free up some space: saving is about to fail."),
        )
    if free < LOW_DISK:
        return Check(
            name="disk", title=title, status="warn", message=message, fix=_("Backups and local models need more space.")
        )
    return Check(name="disk", title=title, status="ok", message=message)
