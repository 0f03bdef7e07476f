"""Export a reply, report or workflow: to a file, a printer or the clipboard."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QBuffer, QCoreApplication, QIODevice, QMarginsF, QMimeData
from PySide6.QtGui import QFont, QGuiApplication, QPageLayout, QPageSize, QPdfWriter, QTextDocument
from PySide6.QtWidgets import QLabel

from atelier_desk.desktop.file_dialogs.open_save_confirm import ask_save
from atelier_desk.desktop.file_dialogs.opening import open_path
from atelier_desk.desktop.sidebar.export_file_names import file_name
from atelier_desk.domain.errors import UsageError
from atelier_desk.engine.export.markdown_export_formats import exported
from atelier_desk.engine.export.markdown_to_html import page, part
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.regular_files import replace_file

if TYPE_CHECKING:
    from PySide6.QtWidgets import QFileDialog, QWidget

    from atelier_desk.desktop.bridge.jobs import Jobs
    from atelier_desk.desktop.widgets import ToastHost

KINDS = "Word (*.docx);;PDF (*.pdf);;HTML (*.html);;Markdown (*.md)"
"""Qt's file filter of the export formats, the most common first."""
_TEXT_PT = 11
_SEEN_MS = 15_000
_CHARACTERS_OF_GLYPHS = re.compile(rb"\[(?:<[0-9A-Fa-f]{4}> )+\]|<0009>(?=\r?\n)")
"""In a PDF of Qt: which characters its glyphs stand for. Qt names the tab for that of the space."""
Text = Callable[[], Awaitable[str]]
"""Returns the Markdown, called once the target is known."""


def copy(text: str) -> None:
    """Copy Markdown to the clipboard, with rich text for word processors."""
    data = QMimeData()
    data.setText(text)
    data.setHtml(part(text))
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


def format_of(path: Path) -> str:
    """The format of a file's extension; ``md`` if it is none of ``KINDS``."""
    return {".docx": "docx", ".pdf": "pdf", ".html": "html", ".htm": "html"}.get(path.suffix.lower(), "md")


def _write(path: Path, title: str, text: str) -> None:
    kind = format_of(path)
    try:
        if kind == "pdf":
            replace_file(path, pdf(title, text))
        else:
            replace_file(path, exported(text, title, kind))
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
    writer.setPageMargins(QMarginsF(), QPageLayout.Unit.Millimeter)  # printing a document adds 20 mm
    _laid_out(title, text).print_(writer)
    del writer  # writes the end of the file
    return _with_spaces(bytes(out.data().data()))


def _with_spaces(pdf: bytes) -> bytes:
    return _CHARACTERS_OF_GLYPHS.sub(lambda found: found[0].replace(b"<0009>", b"<0020>"), pdf)


def _laid_out(title: str, text: str) -> QTextDocument:
    made = QTextDocument()
    made.setMetaInformation(QTextDocument.MetaInformation.CssMedia, "print")
    # Qt multiplies it for headings; the window's font has its size in pixels, which are tiny dots on paper.
    made.setDefaultFont(QFont("sans-serif", _TEXT_PT))
    made.setHtml(page(text, title).replace("\n</code></pre>", "</code></pre>"))  # Qt would draw an empty line
    return made


def announce_saved(toasts: ToastHost, path: Path, *more: str) -> None:
    """Show where the file is, and offer to open it or its folder."""
    text = "\n".join([_("Exported to {path}", path=str(path)), *more])
    folder = (_("Show in folder"), lambda: open_path(toasts, path.parent))
    toasts.show(text, _("Open"), lambda: open_path(toasts, path), second=folder, duration_ms=_SEEN_MS)


def ask_print(parent: QWidget, toasts: ToastHost, title: str, text: str) -> None:
    """Show the system's print dialog, then print the text; offer to open it if it was printed to a file."""
    from PySide6.QtPrintSupport import QPrintDialog, QPrinter

    printer = QPrinter(QPrinter.PrinterMode.HighResolution)
    printer.setDocName(file_name(title))  # Qt makes a path of it, and cuts it at a dot

    def accepted() -> None:
        _laid_out(title, text).print_(printer)
        path = Path(printer.outputFileName())
        if path.is_file():  # not the empty name of a real printer
            replace_file(path, _with_spaces(path.read_bytes()))
            announce_saved(toasts, path)

    dialog = QPrintDialog(printer, parent)
    dialog.setObjectName("print-dialog")
    # qtbase_fr lacks this text, which got a mnemonic later
    if (pages := dialog.findChild(QLabel, "pageSetLabel")) is not None:
        pages.setText(QCoreApplication.translate("QPrintSettingsOutput", "Page Set:"))
    dialog.accepted.connect(lambda *_: accepted())
    dialog.finished.connect(dialog.deleteLater)
    super(QPrintDialog, dialog).open()  # its own takes a receiver and its slot
