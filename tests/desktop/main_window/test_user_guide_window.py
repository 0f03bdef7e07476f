"""The user guide: opened from the menu and by shortcut, in the window's language, with working links."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QImage, QPixmap, QTextBlock, QTextCursor, QTextDocument, QTextFragment
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.main_window import user_guide_window as module
from atelier_desk.desktop.main_window.user_guide_window import GuideWindow
from atelier_desk.desktop.settings.application_language import switch_language
from tests.helpers.main_window_with_fake_engine import Program


@pytest.fixture
def guide(qtbot: QtBot) -> Iterator[GuideWindow]:
    parent = QWidget()
    qtbot.addWidget(parent)
    made = GuideWindow(parent)
    made.show()
    yield made
    parent.close()  # kept alive until here


def heading(guide: GuideWindow) -> str:
    """The first visible line of the page."""
    return guide.view.toPlainText().partition("\n")[0]


def speak(code: str) -> None:
    """Switch the window's language; widgets are notified by a posted event."""
    switch_language(code)
    QApplication.processEvents()


def at_top(guide: GuideWindow, text: str) -> bool:
    """Whether the heading with this text is at the upper edge."""
    block = guide.view.document().begin()
    while block.isValid() and not (block.blockFormat().headingLevel() and block.text() == text):
        block = block.next()
    return block.isValid() and 0 <= guide.view.cursorRect(QTextCursor(block)).top() < 40


def test_it_opens_from_the_help_menu_before_the_engine_is_open(qtbot: QtBot) -> None:
    window = Program(qtbot).window
    menu = QMenu(window)
    window.actions_.fill(menu)
    menus = [each.menu() for each in menu.actions()]
    entries = {each.title(): each.actions() for each in menus if isinstance(each, QMenu)}
    (entry,) = [each for each in entries["Help"] if each.text() == "User guide"]
    assert (entry.text(), entry.shortcut().toString()) == ("User guide", "F1")
    entry.trigger()
    opened = window.findChild(GuideWindow)
    assert opened is not None
    assert opened.isVisible()
    QApplication.processEvents()
    assert heading(opened) == "User guide"
    assert at_top(opened, "User guide")
    opened.reject()
    entry.trigger()
    assert window.findChildren(GuideWindow) == [opened]
    assert opened.isVisible()


def test_it_follows_the_language(guide: GuideWindow) -> None:
    speak("fr")
    assert heading(guide) == guide.windowTitle() == "Guide d’utilisation"
    speak("en")
    assert heading(guide) == guide.windowTitle() == "User guide"


@pytest.mark.parametrize(
    ("language", "link", "shown"), [("en", "#undo", "Undo"), ("fr", "#limites-et-coût", "Limites et coût")]
)
def test_a_link_to_a_heading_scrolls_to_it_and_back(guide: GuideWindow, language: str, link: str, shown: str) -> None:
    speak(language)
    guide.view.anchorClicked.emit(QUrl(link))
    assert at_top(guide, shown)
    guide.back.click()
    assert at_top(guide, heading(guide))
    assert not at_top(guide, shown)
    assert not guide.back.isEnabled()


def test_a_link_to_another_page_opens_it_at_its_heading(guide: GuideWindow) -> None:
    guide.view.anchorClicked.emit(QUrl("security.md#git"))
    assert heading(guide) == "Security"
    assert at_top(guide, "Git")
    speak("fr")
    assert heading(guide) == "Security"
    guide.back.click()
    assert heading(guide) == "Guide d’utilisation"


def test_comments_in_a_page_are_not_shown(guide: GuideWindow) -> None:
    guide.show_page("install.md")
    assert "<!--" not in guide.view.toPlainText()


@pytest.mark.parametrize("link", ["../pyproject.toml", "/etc/hostname", "file:///etc/hostname"])
def test_nothing_outside_the_documentation_is_shown(guide: GuideWindow, link: str) -> None:
    guide.view.anchorClicked.emit(QUrl(link))
    assert guide.page == "user-guide.md"
    assert heading(guide) == "User guide"


def test_a_missing_page_is_reported(guide: GuideWindow, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "docs_dir", lambda: tmp_path)
    guide.show_page("user-guide.md")
    assert "user-guide.md cannot be read" in guide.view.toPlainText()


@pytest.mark.parametrize("code", ["en", "fr"])
def test_its_pictures_exist_and_fit_the_view(guide: GuideWindow, code: str) -> None:
    speak(code)
    found = pictures(guide)
    assert len(found) >= 7
    for name, width in found.items():
        assert name.endswith(f".{code}.png")
        assert 0 < width <= guide.view.viewport().width()
    speak("en")


def test_its_pictures_follow_the_windows_width_and_the_scroll_position_stays(guide: GuideWindow, qtbot: QtBot) -> None:
    guide.resize(700, 640)
    qtbot.waitUntil(lambda: not guide.view._refit.isActive())
    narrow = pictures(guide)
    guide.follow(QUrl("#teams"))
    for width in (1000, 700):
        guide.resize(width, 640)
        qtbot.waitUntil(lambda: not guide.view._refit.isActive())
        assert at_top(guide, "Teams")
        assert guide.view.horizontalScrollBar().maximum() == 0
        shown = pictures(guide)
        assert shown == narrow if width == 700 else all(shown[name] > narrow[name] for name in narrow)


def pictures(guide: GuideWindow) -> dict[str, float]:
    """The pictures of the page by name, each with its width as it is shown."""
    document, names = guide.view.document(), []
    block = document.begin()
    while block.isValid():
        names += [
            part.charFormat().toImageFormat().name() for part in _parts(block) if part.charFormat().isImageFormat()
        ]
        block = block.next()
    kind = QTextDocument.ResourceType.ImageResource.value
    loaded = {name: document.resource(kind, QUrl(name)) for name in names}
    found = {name: each for name, each in loaded.items() if isinstance(each, QImage | QPixmap)}
    return {name: each.deviceIndependentSize().width() for name, each in found.items()}


def _parts(block: QTextBlock) -> Iterator[QTextFragment]:
    part = block.begin()
    while not part.atEnd():
        yield part.fragment()
        part += 1


def test_it_loads_no_picture_from_elsewhere(
    guide: GuideWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for path in (tmp_path / "outside.png", docs / "inside.png"):
        assert QImage(4, 4, QImage.Format.Format_RGB32).save(str(path))
    monkeypatch.setattr(module, "docs_dir", lambda: docs)
    image = QTextDocument.ResourceType.ImageResource.value
    assert guide.view.loadResource(image, QUrl("inside.png")) is not None
    for name in ("../outside.png", str(tmp_path / "outside.png"), "pictures/../../outside.png"):
        assert guide.view.loadResource(image, QUrl(name)) is None


def test_enter_closes_it_on_its_button_and_not_in_the_text(guide: GuideWindow, qtbot: QtBot) -> None:
    guide.activateWindow()
    QTest.keyClick(guide.view, Qt.Key.Key_Return)
    assert guide.isVisible()
    close = guide.findChild(QPushButton, "user-guide-close")
    assert close is not None
    close.setFocus()
    qtbot.waitUntil(close.hasFocus)
    QTest.keyClick(close, Qt.Key.Key_Return)
    assert not guide.isVisible()
