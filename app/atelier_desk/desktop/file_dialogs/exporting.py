"""Export a reply, report or workflow: to a file, a printer or the clipboard."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QBuffer, QIODevice, QMarginsF, QMimeData, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication, QPageLayout, QPageSize, QPdfWriter, QTextDocument

from atelier_desk.desktop.file_dialogs.open_save_confirm import ask_save
from atelier_desk.desktop.sidebar.export_file_names import file_name
from atelier_desk.domain.errors import UsageError
from atelier_desk.engine.export.formats import exported
from atelier_desk.engine.export.markdown_to_html import page, part
from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    from PySide6.QtWidgets import QFileDialog, QWidget

    from atelier_desk.desktop.bridge.jobs import Jobs
    from atelier_desk.desktop.widgets import ToastHost

KINDS = "Word (*.docx);;PDF (*.pdf);;HTML (*.html);;Markdown (*.md)"
"""Qt's file filter of the export formats, the most common first."""
_MARGIN_MM = 20.0
_SEEN_MS = 15_000
Text = Callable[[], Awaitable[str]]
"""Returns the Markdown, called once the target is known."""


def copy(text: str, html: str | None = None) -> None:
    """Copy Markdown to the clipboard, with rich text for word processors."""
    data = QMimeData()
    data.setText(text)
    data.setHtml(part(text) if html is None else html)
    data.setData("text/markdown", text.encode("utf-8", "replace"))
    QGuiApplication.clipboard().setMimeData(data)


def ask_export(parent: QWidget, jobs: Jobs, toasts: ToastHost, title: str, text: Text) -> QFileDialog:
    """Ask for a file name, export Markdown in the format of its extension, and offer to open the file."""

    async def then(path: Path) -> None:
        await write(path, title, await text())
        announce_saved(toasts, path)

    return ask_save(parent, _("Export"), f"{file_name(title)}.docx", KINDS, lambda path: jobs.start(then(path)))


async def write(path: Path, title: str, text: str) -> None:
    """Export Markdown in the format of the file's extension; Markdown if the extension is none of ``KINDS``.

    Raises:
        UsageError: the file cannot be written.
    """
    await asyncio.to_thread(_write, path, title, text)


def _write(path: Path, title: str, text: str) -> None:
    kind = {".docx": "docx", ".pdf": "pdf", ".html": "html", ".htm": "html"}.get(path.suffix.lower(), "md")
    try:
        if kind == "pdf":
            path.write_bytes(pdf(title, text))
        else:
            path.write_bytes(exported(text, title, kind))
    except OSError as error:
        raise UsageError(
            N_("{path} cannot be written: {reason}"), path=path, reason=error.strerror or str(error)
        ) from error


def pdf(title: str, text: str) -> bytes:
    """The bytes of a PDF on A4. Slow: call it in a thread."""
    out = QBuffer()
    out.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QPdfWriter(out)
    writer.setTitle(title)
    writer.setCreator("Atelier")
    writer.setPageSize(QPageSize(QPageSize.PageSizeId.A4))
    writer.setPageMargins(QMarginsF(_MARGIN_MM, _MARGIN_MM, _MARGIN_MM, _MARGIN_MM), QPageLayout.Unit.Millimeter)
    _laid_out(title, text).print_(writer)
    del writer  # writes the end of the file
    return bytes(out.data().data())


def _laid_out(title: str, text: str) -> QTextDocument:
    made = QTextDocument()
    made.setHtml(page(text, title))
    return made


def announce_saved(toasts: ToastHost, path: Path, *more: str) -> None:
    """Show where the file is, and offer to open it or its folder."""
    text = "\n".join([_("Exported to {path}", path=str(path)), *more])
    folder = (_("Show in folder"), lambda: show(path.parent))
    toasts.show(text, _("Open"), lambda: show(path), second=folder, duration_ms=_SEEN_MS)


def show(path: Path) -> bool:
    """Open a file with the system's default program."""
    return QDesktopServices.openUrl(QUrl.fromLocalFile(str(path)))


def ask_print(parent: QWidget, title: str, text: str) -> None:
    """Show the system's print dialog, then print the text."""
    from PySide6.QtPrintSupport import QPrintDialog, QPrinter

    printer = QPrinter(QPrinter.PrinterMode.HighResolution)
    printer.setDocName(title)
    dialog = QPrintDialog(printer, parent)
    dialog.setObjectName("print-dialog")
    dialog.accepted.connect(lambda *_: _laid_out(title, text).print_(printer))
    dialog.finished.connect(dialog.deleteLater)
    super(QPrintDialog, dialog).open()  # its own takes a receiver and its slot
