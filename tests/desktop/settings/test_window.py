"""The settings window: registry of pages, search, keyboard, languages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QComboBox, QLabel, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.settings import registry
from atelier_desk.desktop.settings.application_language import switch_language
from atelier_desk.desktop.settings.page_base import SettingsPage
from atelier_desk.desktop.settings.search import FoundMark
from atelier_desk.desktop.settings.window import SettingsWindow
from atelier_desk.desktop.theme import theme
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.settings import Settings
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import DelayedResult, settle

PAGES = {
    "General": ("general", "quick"),
    "Providers": ("providers",),
    "Agents and skills": ("agents", "skills"),
    "Permissions and tools": ("approvals", "tools"),
    "MCP": ("mcp",),
    "Memory and projects": ("memory", "projects"),
    "Prompts": ("prompts",),
    "Web and media": ("web", "media"),
    "Data and diagnostics": ("data", "diagnostics", "usage"),
    "Shortcuts": ("shortcuts",),
}
"""The ten pages with their sections; each section was a page once, and opens by that name."""
NAMES = [name for names in PAGES.values() for name in names]
Find = Callable[[str], Any]


@pytest.fixture
def _quick_doctor(monkeypatch: pytest.MonkeyPatch) -> None:
    async def checks(_atelier: Any) -> list[Any]:
        return []

    monkeypatch.setattr("atelier_desk.engine.maintenance.doctor.checks", checks)
    return


def test_pages_register_themselves_in_order_and_names_are_unique() -> None:
    assert [entry.title for entry in registry.pages()] == list(PAGES)
    assert [entry.name for entry in registry.sections()] == NAMES
    with pytest.raises(ValueError, match="registered by"):

        @registry.settings_page("general", order=1, icon="x", title="X")
        class Other(SettingsPage):
            """Another class under the same name."""


@pytest.mark.usefixtures("_quick_doctor")
async def test_every_page_opens_by_its_name_and_every_control_has_an_accessible_name(
    window: SettingsWindow, find: Find
) -> None:
    assert window.objectName() == "settings-window"
    for name in NAMES:
        window.show_page(name)
        await settle()
        page = find(f"settings-page-{name}")
        assert page.isVisible()
        for kind in (QAbstractButton, QComboBox, QLineEdit):
            for control in page.findChildren(kind):
                inside = isinstance(control.parentWidget(), QComboBox | QLineEdit) or control.objectName().startswith(
                    "qt_"
                )
                text = control.text() if isinstance(control, QAbstractButton) else ""
                assert inside or control.accessibleName() or text, (name, control, control.objectName())


@pytest.mark.usefixtures("_quick_doctor")
async def test_icons_have_one_size_on_every_screen(window: SettingsWindow) -> None:
    assert (window.list.iconSize().width(), window.list.iconSize().height()) == (theme().px(16), theme().px(16))


async def test_the_name_of_a_former_page_opens_the_matching_section(window: SettingsWindow) -> None:
    for title, names in PAGES.items():
        for name in names:
            window.show_page(name)
            assert window.list.currentItem().text() == window.title.text() == title
            assert (window.current, window.page(name).isVisible()) == (name, True)
            assert window.tabs.isVisible() is (len(names) > 1)
    window.show_page("skills")
    assert [window.tabs.tabText(tab) for tab in range(window.tabs.count())] == ["Agents", "Skills"]
    QTest.keyClick(window.tabs, Qt.Key.Key_Left)
    assert window.current == "agents"
    window.show_page("general")
    window.list.setCurrentRow(list(PAGES).index("Agents and skills"))
    assert window.current == "agents", "a page opens where it was left"
    switch_language("fr")
    await settle()
    assert [window.tabs.tabText(tab) for tab in range(window.tabs.count())] == ["Agents", "Compétences"]
    assert window.title.text() == window.list.currentItem().text() == "Agents et compétences"
    switch_language("en")
    await settle()


def shown(window: SettingsWindow) -> list[str]:
    return [list(PAGES)[row] for row in range(window.list.count()) if not window.list.item(row).isHidden()]


async def search(window: SettingsWindow, words: str) -> None:
    window.search.setText(words)
    QTest.keyClick(window.search, Qt.Key.Key_Return)
    await settle()


async def test_search_finds_a_setting_on_any_page(window: SettingsWindow, qtbot: QtBot) -> None:
    await search(window, "embedder")
    assert shown(window) == ["Memory and projects"]
    assert window.current == "memory"
    await search(window, "zebra crossing")
    assert window.results.text() == "No matching settings."
    assert window.findChild(FoundMark) is None or not child(window, FoundMark).isVisible()
    QTest.keyClick(window, Qt.Key.Key_Escape)
    window._find()
    assert not window.results.isVisible()
    assert all(not window.list.item(row).isHidden() for row in range(window.list.count()))
    with qtbot.waitSignal(window.closed):
        window.close()


FOUND = {
    "Wait for undo": None,
    "icon in the notification area": ("quick", "tray-icon"),
    "icone dans la zone": ("quick", "tray-icon"),
    "délai d’inactivité": ("general", "inactivity"),
    "delai d'inactivite": ("general", "inactivity"),
    "timeout inactivity": ("general", "inactivity"),
    "inactivity timeout": ("general", "inactivity"),
    "Sombre": ("general", "theme-select"),
    "autorité (ca)": ("providers", "provider-ca-file"),
    "ca file": ("providers", "provider-ca-file"),
    "generate titles": ("general", "name_by_model"),
    "budget per month": ("usage", "usage-limit"),
}


async def test_typing_in_the_search_does_not_reload_pages(
    window: SettingsWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loading all pages takes 300 ms, searching loaded ones a few."""
    await search(window, "e")  # creates all pages
    await search(window, "em")  # and loads their lists
    read: list[SettingsPage] = []

    def index_of(page: SettingsPage) -> list[object]:
        read.append(page)
        return []

    monkeypatch.setattr("atelier_desk.desktop.settings.window.index_of", index_of)
    for typed in range(3, len("embedder") + 1):
        window.search.setText("embedder"[:typed])
        QTest.keyClick(window.search, Qt.Key.Key_Return)
        await settle()
    assert len(read) == len(set(read)), "but for those whose lists came meanwhile"


@pytest.mark.parametrize("language", ["en", "fr"])
async def test_search_leads_to_the_matching_row_in_either_language_and_marks_it(
    window: SettingsWindow, find: Find, language: str
) -> None:
    window.show_page("providers")
    await settle()
    find("provider-list").setCurrentRow(0)  # a remote one, whose Advanced is collapsed
    switch_language(language)
    for words, place in FOUND.items():
        await search(window, words)
        visible_marks = [each for each in window.findChildren(FoundMark) if each.isVisible()]
        if place is None:
            assert (shown(window), visible_marks) == ([], [])
            continue
        section, name = place
        assert (window.current, len(visible_marks)) == (section, 1), words
        row, target = visible_marks[0].row, find(name)
        assert target.isVisible(), "folded under Advanced before"
        labelled = isinstance(row, QLabel | QAbstractButton) and target.accessibleName() in row.text()
        assert row is target or row.isAncestorOf(target) or labelled, words
        assert visible_marks[0].visibleRegion().boundingRect().height() > 10, "in sight"
    switch_language("en")
    await settle()


async def test_a_found_row_stays_in_sight_while_its_page_grows(window: SettingsWindow, qtbot: QtBot) -> None:
    await search(window, "monthly cost limit")
    mark = child(window, FoundMark)
    filled_later = QWidget()
    filled_later.setFixedHeight(3_000)
    window.page(window.current).column.insertWidget(0, filled_later)
    await settle()
    column = filled_later.parentWidget()
    assert column is not None
    qtbot.waitUntil(lambda: mark.row.mapTo(column, QPoint()).y() > 3_000)
    qtbot.waitUntil(lambda: mark.visibleRegion().boundingRect().height() > 10)


async def test_what_follows_a_found_heading_is_in_sight(window: SettingsWindow) -> None:
    """A heading just above the edge counted as in sight."""
    window.show_page("approvals")
    await settle()
    area = window.page("approvals").area
    heading = next(each for each in area.findChildren(QLabel) if each.text().casefold() == "audit trail")
    bottom = heading.mapTo(area.viewport(), QPoint()).y() + heading.height()
    window.resize(window.width(), window.height() + bottom + 2 - area.viewport().height())
    await settle()
    assert abs(area.viewport().height() - bottom) < 10
    await search(window, "audit trail")
    assert heading.mapTo(area.viewport(), QPoint()).y() + heading.height() + 40 < area.viewport().height()


async def test_a_row_of_a_table_with_a_header_counts_once(window: SettingsWindow) -> None:
    await search(window, "file")  # creates all pages
    await search(window, "b2sum")
    rows = [(name, each.at.row()) for name, each in window._found if each.at is not None]
    assert rows
    assert len(rows) == len(set(rows))
    first = window.results.text()
    for _enter in window._found:
        QTest.keyClick(window.search, Qt.Key.Key_Return)
    assert window.results.text() == first


async def test_search_finds_and_selects_items_of_lists(window: SettingsWindow, find: Find) -> None:
    """Also on pages that were never shown."""
    await search(window, "researcher")
    assert window.current == "agents"
    assert find("agent-list").currentItem().text() == "Researcher"
    await search(window, "todotool")
    assert "Permissions and tools" in shown(window)


async def test_a_word_is_found_at_its_start_before_anywhere(window: SettingsWindow) -> None:
    """Otherwise "limit" leads to the option ``--delimiter`` of a safe command, and past the limits."""
    await search(window, "limit")
    assert "usage-limit" in [place.objectName() for _name, row in window._found for place in inside(row.widget)]
    assert "safe-commands" not in [row.widget.objectName() for _name, row in window._found]
    await search(window, "month")
    assert "usage-limit" in [place.objectName() for _name, row in window._found for place in inside(row.widget)]
    assert "safe-commands" not in [row.widget.objectName() for _name, row in window._found]
    for option in ("--month-sort", "month-sort", "elimiter"):
        await search(window, option)
        assert "safe-commands" in [row.widget.objectName() for _name, row in window._found], "where nothing starts so"


def inside(widget: QWidget) -> list[QWidget]:
    return [widget, *widget.findChildren(QWidget)]


async def test_a_page_chosen_while_searching_opens_at_its_first_match(window: SettingsWindow, find: Find) -> None:
    await search(window, "limit")
    for row, page in enumerate(PAGES):
        if not window.list.item(row).isHidden():
            window.list.setCurrentRow(row)
            await settle()
            assert window._found[window._at][0] == window.current in PAGES[page]
    await search(window, "monthly cost limit")
    window.show_page("general")
    window.list.setCurrentRow(list(PAGES).index("Data and diagnostics"))
    await settle()
    assert window.current == "usage"
    assert child(window, FoundMark).visibleRegion().boundingRect().height() > 10


async def test_what_changed_while_it_was_closed_is_shown_on_opening(
    window: SettingsWindow, find: Find, atelier: Any
) -> None:
    await settle()
    window.close()
    await atelier.settings.update(font_scale=150)
    window.show()
    await settle()
    assert find("font-scale").value() == 15


async def test_enter_goes_from_match_to_match(window: SettingsWindow) -> None:
    await search(window, "notification")
    assert window.results.text().endswith("matches. Press Enter for the next one.")
    seen = []
    for _each in window._found:
        seen.append((window.current, window._at))
        QTest.keyClick(window.search, Qt.Key.Key_Return)
        await settle()
    assert {section for section, _at in seen} >= {"general", "quick"}
    assert len({at for _section, at in seen}) == len(seen)
    assert (window.current, window._at) == seen[0], "round and round"


async def test_the_general_page_stores_at_once(window: SettingsWindow, find: Find, atelier: Any, qtbot: QtBot) -> None:
    theme_box = find("theme-select")
    theme_box.setCurrentIndex(theme_box.findData("dark"))
    theme_box.activated.emit(theme_box.currentIndex())
    await settle()
    scale = find("font-scale")
    scale.setValue(15)
    qtbot.waitUntil(lambda: not scale.parent().saving.isActive())
    await settle()
    find("notifications").click()
    await settle()
    assert (atelier.stored.theme, atelier.stored.font_scale, atelier.stored.notifications) == ("dark", 150, False)
    find("workflows-running").setValue(7)
    await settle()
    assert atelier.stored.workflows_running == 7
    silence = find("inactivity")
    assert (silence.value(), silence.minimum(), silence.maximum()) == (300, 5, 3600)
    silence.setValue(900)
    await settle()
    assert atelier.stored.inactivity_s == 900


async def test_a_row_shows_what_was_stored_without_reading_it_again(
    window: SettingsWindow, find: Find, atelier: Any
) -> None:
    number, reads = find("workflows-running"), len(atelier.calls("settings.get"))
    atelier.set("settings", "set", Settings(workflows_running=9))
    number.setValue(7)
    await settle()
    assert (number.value(), len(atelier.calls("settings.get"))) == (9, reads)
    atelier.set("settings", "set", UsageError("no"))
    number.setValue(7)
    await settle()
    assert number.value() == atelier.stored.workflows_running == 3, "a refused change is not shown as stored"


async def test_a_chosen_language_is_stored(window: SettingsWindow, find: Find, atelier: Any) -> None:
    box = find("language-select")
    box.setCurrentIndex(box.findData("fr"))
    await settle()
    assert atelier.stored.language == "fr"


async def test_a_result_is_removed_with_its_page_and_running_work_stays_visible(
    window: SettingsWindow, atelier: Any, find: Find
) -> None:
    window.show_page("memory")
    await settle()
    page: Any = window.page("memory")
    atelier.set("memories", "reembed", 80)
    find("memory-reembed").click()
    await settle()
    assert page.busy.isVisible()
    page.form.controls["kind"].setCurrentIndex(page.form.controls["kind"].currentIndex() + 1)
    assert page.busy.isHidden(), "the form has other values now"
    find("memory-reembed").click()
    await settle()
    window.show_page("projects")
    window.show_page("memory")
    await settle()
    assert page.busy.isHidden(), "seen, and another page shown since"
    delayed = DelayedResult(80)
    atelier.set("memories", "reembed", delayed)
    find("memory-reembed").click()
    await settle()
    window.show_page("projects")
    window.show_page("memory")
    await settle()
    assert (page.busy.isVisible(), page.busy.running) == (True, True)
    await delayed.release()


async def test_a_language_change_notifies_every_widget(window: SettingsWindow) -> None:
    received: list[QEvent.Type] = []

    class Listener(QWidget):
        def changeEvent(self, event: QEvent) -> None:
            received.append(event.type())

    listener = Listener(window)
    switch_language("fr")
    await settle()
    assert QEvent.Type.LanguageChange in received
    from atelier_desk.support.i18n import language

    assert language() == "fr"
    listener.deleteLater()
    assert QApplication.instance() is not None
