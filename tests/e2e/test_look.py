"""Language and theme are switched while the program runs, and persist over a restart."""

from __future__ import annotations

import gettext
import re

import pytest
from PySide6.QtCore import QLocale
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QAbstractButton, QApplication, QComboBox, QWidget

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.theme.tokens import DARK, LIGHT
from atelier_desk.support import i18n
from tests.e2e.asking import ask, calculate
from tests.e2e.conftest import OpenDesk
from tests.e2e.harness import Desk, rendered

SAME_IN_BOTH = re.compile(r"^(Français|English|Ctrl\+K|Assistant|SmolLM2.*|[\W\d]*( m?s)?)$".replace(" ", r"\s"))
"""Texts on the screen that are names, keys or numbers."""


class Marked(gettext.NullTranslations):
    """A complete French catalogue with each text in guillemets, so that untranslated ones are visible."""

    def gettext(self, message: str) -> str:
        return f"«{message}»"

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return f"«{msgid1 if n < 2 else msgid2}»"


@pytest.fixture
def _marked_french(monkeypatch: pytest.MonkeyPatch) -> None:
    catalogue = i18n._catalogue
    monkeypatch.setattr(i18n, "_catalogue", lambda code: Marked() if code == "fr" else catalogue(code))


def left_behind(desk: Desk, *own: str) -> list[str]:
    """Lines on the screen that did not come from the catalogue; ``own`` are the texts of the conversation."""
    lines = [line.strip() for line in rendered(desk.window).splitlines()]
    return [line for line in lines if line and "«" not in line and line not in own and not SAME_IN_BOTH.match(line)]


@pytest.mark.usefixtures("_marked_french")
def test_every_text_follows_the_language_live(open_desk: OpenDesk) -> None:
    desk = open_desk([[calculate("c1", "6*7")], [ask("q1", "Sure?", "mixed", context="Forty-two.")], "Yes."])
    own = (
        "Count",
        "Sure?",
        "Forty-two.",
        "Red",
        "Green",
        "Blue",
        "6*7",
    )
    desk.send("Count")
    desk.find("user-question-modal")
    desk.action("language-french")
    desk.until(lambda: i18n.language() == "fr", "French is in force")
    desk.settle()
    assert QLocale().language() is QLocale.Language.French
    assert "«New workflow»" in rendered(desk.find("new-workflow"))
    assert "«Later»" in rendered(desk.find("question-later"))
    assert desk.find("question-answer").accessibleName() == "«Your response»"
    assert left_behind(desk, *own) == []
    desk.action("language-english")
    desk.until(lambda: i18n.language() == "en", "English is in force")
    desk.settle()
    assert "«" not in rendered(desk.window)
    assert rendered(desk.find("question-later")) == "Later"


@pytest.mark.usefixtures("_marked_french")
def test_the_language_is_stored(open_desk: OpenDesk) -> None:
    desk = open_desk()
    desk.action("language-french")
    desk.until(lambda: desk.engine(lambda a: a.settings.get()).language == "fr", "it is stored")
    desk.close()
    i18n.set_language("en")
    desk = open_desk()
    assert i18n.language() == "fr"
    assert "«New workflow»" in rendered(desk.find("new-workflow"))


def ground(widget: QWidget) -> QColor:
    """The most frequent colour of a widget, by a sparse grid of its painted pixels."""
    image = widget.grab().toImage()
    points = [image.pixelColor(x, y).name() for x in range(2, image.width(), 7) for y in range(2, image.height(), 7)]
    return QColor(max(set(points), key=points.count))


def test_the_theme_is_switched_in_settings_and_kept(open_desk: OpenDesk) -> None:
    desk = open_desk(["Bright."])
    desk.send("Hello")
    desk.last_reply("Bright.")
    desk.wait_done()
    view = desk.find("chat-view")
    assert ground(view) == QColor(LIGHT.surface)
    desk.action("settings")
    settings = desk.find("settings-window")
    desk.settle()
    desk.choose(desk.find("theme-select", QComboBox, settings), "dark")
    desk.until(lambda: ground(view) == QColor(DARK.surface), "the transcript is dark")
    assert QApplication.palette().window().color() == QColor(DARK.bg)
    desk.until(lambda: desk.engine(lambda a: a.settings.get()).theme == "dark", "it is stored")
    desk.close()
    desk = open_desk()
    desk.last_reply("Bright.")
    assert ground(desk.find("chat-view")) == QColor(DARK.surface)


def test_the_font_scale_grows_the_transcript(open_desk: OpenDesk) -> None:
    desk = open_desk(["Some words to measure."])
    desk.send("Hello")
    reply = desk.last_reply("Some words")
    desk.wait_done()
    before = reply.height()
    for _step in range(5):
        desk.action("larger-text")
        desk.settle()
    desk.until(lambda: desk.last_reply("Some words").height() > before, "the reply is higher")


@pytest.mark.parametrize("scale", [100, 150])
def test_what_can_be_pressed_in_a_row_has_one_height(open_desk: OpenDesk, scale: int) -> None:
    """Also for a widget that was added to the row before the text size changed."""
    desk = open_desk([])
    theme().set_scale(scale)
    desk.settle()
    for row in (desk.window.chat.header, desk.window.chat.composer):
        found = [each for each in row.findChildren(QAbstractButton) if each.isVisible()]
        # The picker of agent and model is one control with two parts: its frame is in the row.
        shown = {
            each.parentWidget() if each.objectName() in ("agent-select", "model-select") else each for each in found
        }
        assert len(shown) > 2
        assert len({each.height() for each in shown if each is not None}) == 1, [each.objectName() for each in found]
