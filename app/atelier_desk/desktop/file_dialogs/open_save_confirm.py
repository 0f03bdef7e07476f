"""Non-blocking dialogs for files and confirmations: they are opened and call back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QMessageBox, QWidget

from atelier_desk.desktop.file_dialogs.start_folder import remember_folder, start_folder
from atelier_desk.desktop.file_dialogs.translated_dialog import translate_dialog
from atelier_desk.desktop.widgets.message_box import MessageBox
from atelier_desk.domain import limits
from atelier_desk.domain.errors import UsageError
from atelier_desk.support.i18n import N_
from atelier_desk.support.regular_files import open_plain, replace_file


def ask_save(parent: QWidget, title: str, name: str, kinds: str, then: Callable[[Path], object]) -> QFileDialog:
    """Ask where to save; ``kinds`` is Qt's filter, such as ``JSON (*.json)``. A missing extension is added from it."""
    dialog = QFileDialog(parent, title, str(start_folder()), kinds)
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.selectFile(name)
    dialog.setDefaultSuffix(Path(name).suffix.lstrip("."))
    dialog.filterSelected.connect(lambda kind: dialog.setDefaultSuffix(kind.rpartition("*.")[2].rstrip(")")))
    return _open(dialog, then)


def ask_open(parent: QWidget, title: str, kinds: str, then: Callable[[Path], object]) -> QFileDialog:
    """Ask for a file to read."""
    dialog = QFileDialog(parent, title, str(start_folder()), kinds)
    dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
    return _open(dialog, then)


def ask_open_files(parent: QWidget, title: str, kinds: str, then: Callable[[list[Path]], object]) -> QFileDialog:
    """Ask for files to read."""
    dialog = QFileDialog(parent, title, str(start_folder()), kinds)
    dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)

    def selected(names: list[str]) -> None:
        paths = [Path(each) for each in names]
        remember_folder(paths[0].parent)
        then(paths)

    dialog.filesSelected.connect(selected)
    return _show(dialog)


def ask_folder(parent: QWidget, title: str, then: Callable[[Path], object]) -> QFileDialog:
    """Ask for a folder. Its files are shown, so that it does not look empty."""
    dialog = QFileDialog(parent, title, str(start_folder()))
    dialog.setFileMode(QFileDialog.FileMode.Directory)
    return _open(dialog, then)


def _open(dialog: QFileDialog, then: Callable[[Path], object]) -> QFileDialog:
    def selected(text: str) -> None:
        path = Path(text)
        remember_folder(path if path.is_dir() else path.parent)
        then(path)

    dialog.fileSelected.connect(selected)
    return _show(dialog)


def _show(dialog: QFileDialog) -> QFileDialog:
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    translate_dialog(dialog).open()
    return dialog


async def write_text(path: Path, text: str) -> None:
    """Write a file in a thread.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        await asyncio.to_thread(replace_file, path, text.encode("utf-8"))
    except OSError as error:
        raise UsageError(
            N_("{path} cannot be written: {reason}"), path=path, reason=error.strerror or str(error)
        ) from error


async def read_text(path: Path, most: int = limits.IMPORT_FILE) -> str:
    """Read a UTF-8 file of at most ``most`` bytes in a thread. A byte order mark is removed.

    Raises:
        UsageError: it cannot be read, is too long, or is not UTF-8.
    """
    try:
        content = await asyncio.to_thread(_begin, path, most)
        if len(content) > most:
            raise UsageError(
                N_("{path} is too large; at most {most} MB can be imported."), path=path, most=most // 1048576
            )
        return content.decode("utf-8-sig")
    except OSError as error:
        raise UsageError(
            N_("{path} cannot be read: {reason}"), path=path, reason=error.strerror or str(error)
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(N_("{path} is not UTF-8 text."), path=path) from error


def _begin(path: Path, most: int) -> bytes:
    """The file's content; of a longer file, one byte more than allowed."""
    with open_plain(path) as file:
        return file.read(most + 1)


def confirm(
    parent: QWidget, text: str, details: str, action: str, then: Callable[[], object], no: str = ""
) -> QMessageBox:
    """Confirm an irreversible action; ``action`` is the label of its button.

    The default button is Cancel, or labelled ``no`` if both would read the same: in French, undo and cancel are one
    verb.
    """
    box = MessageBox(parent, "confirm")
    box.setText(text)
    box.setInformativeText(details)
    yes = box.add(action, "confirm-yes", QMessageBox.ButtonRole.DestructiveRole, "danger")
    reject = QMessageBox.ButtonRole.RejectRole
    box.setDefaultButton(box.add(no, "confirm-no", reject) if no else box.addButton(QMessageBox.StandardButton.Cancel))
    yes.clicked.connect(lambda *_: then())
    box.open()
    return box
