"""An untrusted link shows its target before anything opens."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QAction, QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QMenu, QTextBrowser
from pytestqt.qtbot import QtBot

from atelier_desk import desktop
from atelier_desk.desktop.chat.transcript.message_blocks import ProseBlock
from atelier_desk.desktop.questions.markdown_view import MarkdownView
from atelier_desk.desktop.widgets.untrusted_links import open_address
from atelier_desk.markdown.parser import parse


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    addresses: list[str] = []

    def open_url(url: QUrl) -> bool:
        addresses.append(url.toString())
        return True

    monkeypatch.setattr(QDesktopServices, "openUrl", open_url)
    return addresses


def shown(qtbot: QtBot, kind: type[QTextBrowser]) -> QTextBrowser:
    view = kind()
    qtbot.addWidget(view)
    view.show()
    return view


def entry(menu: QMenu, name: str) -> QAction:
    return next(each for each in menu.actions() if each.objectName() == name)


@pytest.mark.parametrize("kind", [ProseBlock, MarkdownView])
def test_a_click_shows_the_address_and_opens_it_on_the_second(
    qtbot: QtBot, opened: list[str], kind: type[QTextBrowser]
) -> None:
    view = shown(qtbot, kind)
    view.anchorClicked.emit(QUrl("https://аpple.com/a?b=1&c"))
    menu = view.findChild(QMenu, "link-menu")
    assert isinstance(menu, QMenu)
    assert menu.isVisible()
    assert opened == []
    assert entry(menu, "link-address").text() == "https://xn--pple-43d.com/a?b=1&&c", (
        "a Cyrillic letter in place of the first one"
    )
    entry(menu, "link-copy").trigger()
    assert QGuiApplication.clipboard().text() == "https://xn--pple-43d.com/a?b=1&c"
    entry(menu, "link-open").trigger()
    assert len(opened) == 1
    menu.close()


@pytest.mark.parametrize("address", ["mailto:me@example.com", "http://www.example.com"])
def test_an_address_that_no_program_opens_is_copied(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: False)
    view = shown(qtbot, ProseBlock)
    view.anchorClicked.emit(QUrl(address))
    menu = view.findChild(QMenu, "link-menu")
    assert isinstance(menu, QMenu)
    assert entry(menu, "link-address").text() == address
    entry(menu, "link-open").trigger()
    assert QGuiApplication.clipboard().text() == address.removeprefix("mailto:")
    menu.close()


@pytest.mark.parametrize(
    "address", ["file:///etc/passwd", "javascript:alert(1)", "data:text/html,x", "smb://host/share", "relative.html"]
)
def test_other_schemes_do_nothing(qtbot: QtBot, opened: list[str], address: str) -> None:
    view = shown(qtbot, ProseBlock)
    view.anchorClicked.emit(QUrl(address))
    assert view.findChild(QMenu, "link-menu") is None
    assert opened == []


def test_a_bare_address_in_a_reply_is_a_link(qtbot: QtBot) -> None:
    view = ProseBlock()
    qtbot.addWidget(view)
    view.append_blocks(parse("See https://example.com/__init__.py."))
    fragments, found = view.document().begin().begin(), []
    while not fragments.atEnd():
        found.append((fragments.fragment().text(), fragments.fragment().charFormat().anchorHref()))
        fragments += 1
    assert found == [("See ", ""), ("https://example.com/__init__.py", "https://example.com/__init__.py"), (".", "")]


@pytest.mark.parametrize(
    "address",
    [
        "file:///etc/passwd",
        "javascript:alert(1)",
        "ms-msdt:/id",
        "smb://host/share",
        "/bin/sh",
        "",
        "HTTP",
        "vscode://x",
    ],
)
def test_only_web_and_mail_addresses_are_opened(opened: list[str], address: str) -> None:
    assert not open_address(address)
    assert opened == []
    assert open_address("https://example.com/")
    assert opened == ["https://example.com/"]


def test_a_mail_link_attaches_no_file(opened: list[str]) -> None:
    assert open_address("mailto:a@b.example?subject=x&attach=/etc/passwd")
    assert opened == ["mailto:a@b.example?subject=x"]


def test_nothing_else_opens_addresses() -> None:
    """Local files and folders, which the program chooses, are opened with ``QUrl.fromLocalFile``."""
    folder = Path(desktop.__file__).parent
    calls = [
        f"{path.relative_to(folder)}: {line.strip()}"
        for path in folder.rglob("*.py")
        for line in path.read_text("utf-8").splitlines()
        if "openUrl(" in line and "fromLocalFile(" not in line
    ]
    assert calls == ["widgets/untrusted_links.py: return url.scheme() in OPENABLE and QDesktopServices.openUrl(url)"]
