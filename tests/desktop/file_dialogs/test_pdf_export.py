"""Exports as PDF are laid out for paper, and can be opened from the message about them."""

from __future__ import annotations

import sys
from io import BytesIO
from typing import Any

import pytest
from pypdf import PdfReader
from PySide6.QtPrintSupport import QPrintDialog
from PySide6.QtWidgets import QLabel, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.file_dialogs import exporting
from atelier_desk.desktop.file_dialogs.exporting import ask_print, pdf
from atelier_desk.desktop.settings.application_language import switch_language
from atelier_desk.desktop.widgets import ToastHost
from tests.helpers.child_widgets import child

TEXT = """# Compte rendu

## Dépenses

Le loyer est payé.

| Poste | Montant |
|---|---:|
| Loyer | 1200 |
"""
POINTS_PER_CM = 72 / 2.54


def pieces(text: str) -> dict[str, tuple[float, float]]:
    """The words of the first page: font size in points, and distance from the left edge in cm."""
    found: dict[str, tuple[float, float]] = {}

    def visit(piece: str, matrix: Any, place: Any, _font: Any, size: float) -> None:
        for word in piece.split():
            found.setdefault(word, (size * abs(place[3] * matrix[3]), place[4] * matrix[0] / POINTS_PER_CM))

    PdfReader(BytesIO(pdf("T", text))).pages[0].extract_text(visitor_text=visit)
    return found


def test_headings_are_larger_than_text(qtbot: QtBot) -> None:
    size = {word: size for word, (size, _left) in pieces(TEXT).items()}
    assert size["Compte"] > size["Dépenses"] > size["loyer"] > 10
    assert size["Poste"] == pytest.approx(size["loyer"], rel=0.1)


def test_text_and_tables_begin_at_the_same_margin_of_two_centimetres(qtbot: QtBot) -> None:
    left = {word: left for word, (_size, left) in pieces(TEXT).items()}
    assert left["Compte"] == pytest.approx(2, abs=0.1)
    assert left["Poste"] == pytest.approx(2, abs=0.4), "a cell has its own padding"


def test_words_are_separated_by_spaces_when_the_text_is_copied(qtbot: QtBot) -> None:
    text = PdfReader(BytesIO(pdf("T", TEXT))).pages[0].extract_text()
    assert "\t" not in text
    assert "Le loyer est payé." in text


def test_code_has_no_empty_line_at_its_end(qtbot: QtBot) -> None:
    laid_out = exporting._laid_out("T", "```\na\nb\n```\n\nend\n").toPlainText()
    assert [line.strip() for line in laid_out.split("\n")] == ["a", "b", "end"]


@pytest.mark.skipif(sys.platform != "linux", reason="the system has a dialog of its own")
def test_the_french_print_dialog_has_no_english_text(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    switch_language("fr")
    ask_print(window, ToastHost(window), "T", "text")
    dialog = child(window, QPrintDialog, "print-dialog")
    shown = [each.text() for each in dialog.findChildren(QLabel)]
    dialog.reject()
    switch_language("en")
    assert not [text for text in shown if "Set" in text], shown
