"""The style of a document that Qt parsed from Markdown."""

from __future__ import annotations

from PySide6.QtGui import QFont, QTextCursor
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.questions.markdown_view import MarkdownView

TEXT = "# Head\n\nplain **bold** plain ***both***\n\n| **a** | b |\n|---|---|\n| **c** | d |\n"


def test_bold_text_has_the_boldest_bundled_face_and_is_not_smeared(qtbot: QtBot) -> None:
    view = MarkdownView()
    qtbot.addWidget(view)
    view.set_text(TEXT)
    document = view.document()
    weights = {}
    cursor = QTextCursor(document)
    for position in range(1, document.characterCount()):
        cursor.setPosition(position)
        weights[document.characterAt(position - 1)] = cursor.charFormat().fontWeight()
    assert max(weights.values()) == QFont.Weight.DemiBold
    assert {"H", "o", "a", "c", "h"} <= {sign for sign, weight in weights.items() if weight == QFont.Weight.DemiBold}
    assert weights["p"] == QFont.Weight.Normal
