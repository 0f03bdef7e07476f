"""Language and theme are switched while the program runs, and persist over a restart."""

from __future__ import annotations

import gettext
import re

import pytest
from PySide6.QtCore import QLocale
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QAbstractButton, QApplication, QComboBox, QPlainTextEdit, QWidget

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.theme.design_tokens import DARK, LIGHT
from atelier_desk.support import i18n
from tests.e2e.conftest import OpenApp
from tests.e2e.harness import AppDriver, rendered
from tests.e2e.scripted_tool_calls import ask_user, calculate

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


def untranslated(app: AppDriver, *own: str) -> list[str]:
    """Lines on the screen that did not come from the catalogue; ``own`` are the texts of the conversation."""
    lines = [line.strip() for line in rendered(app.window).splitlines()]
    return [line for line in lines if line and "«" not in line and line not in own and not SAME_IN_BOTH.match(line)]


@pytest.mark.usefixtures("_marked_french")
def test_every_text_follows_the_language_live(open_app: OpenApp) -> None:
    app = open_app([[calculate("c1", "6*7")], [ask_user("q1", "Sure?", "mixed", context="Forty-two.")], "Yes."])
    own = (
        "Count",
        "Sure?",
        "Forty-two.",
        "Red",
        "Green",
        "Blue",
        "6*7",
    )
    app.send("Count")
    app.find("user-question-modal")
    app.action("language-french")
    app.until(lambda: i18n.language() == "fr", "French is in force")
    app.settle()
    assert QLocale().language() is QLocale.Language.French
    assert "«New workflow»" in rendered(app.find("new-workflow"))
    assert "«Later»" in rendered(app.find("question-later"))
    assert app.find("question-answer").accessibleName() == "«Your answer»"
    assert untranslated(app, *own) == []
    field = app.find("chat-input", QPlainTextEdit)
    app.until(lambda: "«Assistant»" in field.placeholderText(), "built-in agents too")
    app.action("language-english")
    app.until(lambda: i18n.language() == "en", "English is in force")
    app.settle()
    assert "«" not in rendered(app.window)
    assert rendered(app.find("question-later")) == "Later"


@pytest.mark.usefixtures("_marked_french")
def test_the_language_is_stored(open_app: OpenApp) -> None:
    app = open_app()
    app.action("language-french")
    app.until(lambda: app.engine(lambda a: a.settings.get()).language == "fr", "it is stored")
    app.close()
    i18n.set_language("en")
    app = open_app()
    assert i18n.language() == "fr"
    assert "«New workflow»" in rendered(app.find("new-workflow"))


def ground(widget: QWidget) -> QColor:
    """The most frequent colour of a widget, by a sparse grid of its painted pixels."""
    image = widget.grab().toImage()
    points = [image.pixelColor(x, y).name() for x in range(2, image.width(), 7) for y in range(2, image.height(), 7)]
    return QColor(max(set(points), key=points.count))


def test_the_theme_is_switched_in_settings_and_persists(open_app: OpenApp) -> None:
    app = open_app(["Bright."])
    app.send("Hello")
    app.until_reply("Bright.")
    app.wait_done()
    view = app.find("chat-view")
    assert ground(view) == QColor(LIGHT.surface)
    app.action("settings")
    settings = app.find("settings-window")
    app.settle()
    app.choose(app.find("theme-select", QComboBox, settings), "dark")
    app.until(lambda: ground(view) == QColor(DARK.surface), "the transcript is dark")
    assert QApplication.palette().window().color() == QColor(DARK.bg)
    app.until(lambda: app.engine(lambda a: a.settings.get()).theme == "dark", "it is stored")
    app.close()
    app = open_app()
    app.until_reply("Bright.")
    assert ground(app.find("chat-view")) == QColor(DARK.surface)


def test_the_font_scale_enlarges_the_transcript(open_app: OpenApp) -> None:
    app = open_app(["Some words to measure."])
    app.send("Hello")
    reply = app.until_reply("Some words")
    app.wait_done()
    before = reply.height()
    for _step in range(5):
        app.action("larger-text")  # faster than the engine stores them
    app.until(lambda: theme().scale == 1.5, "every step counts")
    app.until(lambda: app.until_reply("Some words").height() > before, "the reply is higher")


@pytest.mark.parametrize("scale", [100, 150])
def test_controls_in_a_row_have_one_height(open_app: OpenApp, scale: int) -> None:
    """Also for a widget that was added to the row before the text size changed."""
    app = open_app([])
    theme().set_scale(scale)
    app.settle()
    for row in (app.window.chat.header, app.window.chat.composer):
        buttons = [each for each in row.findChildren(QAbstractButton) if each.isVisible()]
        # The picker of agent and model is one control with two parts: its frame is in the row.
        controls = {
            each.parentWidget() if each.objectName() in ("agent-select", "model-select") else each for each in buttons
        }
        assert len(controls) > 2
        assert len({each.height() for each in controls if each is not None}) == 1, [
            each.objectName() for each in buttons
        ]
