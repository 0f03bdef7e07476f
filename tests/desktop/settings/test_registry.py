"""A settings page is one new file: it appears in list and search, and is built of rows like the others."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QSpinBox
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.settings import pages as package
from atelier_desk.desktop.settings import registry
from atelier_desk.desktop.settings.application_language import switch_language
from atelier_desk.desktop.settings.search import found_in, index_of
from atelier_desk.desktop.settings.window import SettingsWindow
from tests.desktop.settings.conftest import Engine
from tests.helpers.fake_bridge import FakeBridge, settle

EXTRA = """
from atelier_desk.desktop.settings.registry import settings_page
from atelier_desk.desktop.settings.fields import Number, Toggle
from atelier_desk.desktop.settings.declarative_page import RowsPage, Section
from atelier_desk.support.i18n import N_

@settings_page("extra", order=12, icon="pencil", title=N_("Projects"))
class ExtraPage(RowsPage):
    sections = (
        Section(
            N_("Work"),
            Number("workflows_running", N_("Parallel workflows"), N_("Workflows beyond this number wait in a queue.")),
            Toggle("approvals.auto_approve_low", N_("Allow low-risk calls without asking")),
        ),
    )
"""


@pytest.fixture
def _a_new_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if ``extra.py`` had been added to the folder."""
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "extra.py").write_text(EXTRA)
    registry.pages()  # registers the existing ones
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
    monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    yield
    sys.modules.pop(f"{package.__name__}.extra", None)
    vars(package).pop("extra", None)


@pytest.mark.usefixtures("_a_new_file")
async def test_a_page_is_one_new_file(qtbot: QtBot, atelier: Engine, bridge: FakeBridge) -> None:
    window = SettingsWindow(bridge)
    qtbot.addWidget(window)
    window.show()
    assert [window.list.item(row).text() for row in (0, 1)] == ["General", "Projects"]
    assert not window.list.item(1).icon().isNull()
    window.show_page("extra")
    await settle()
    page: Any = window.page("extra")
    running = page.control("workflows_running")
    assert isinstance(running, QSpinBox)
    assert (running.value(), running.minimum(), running.maximum()) == (3, 1, 32)
    running.setValue(7)
    page.control("approvals.auto_approve_low").click()
    await settle()
    assert (atelier.stored.workflows_running, atelier.stored.approvals.auto_approve_low) == (7, False)
    switch_language("fr")
    await settle()
    assert (window.list.item(1).text(), window.title.text()) == ("Projets", "Projets")
    assert running.accessibleName() == "Workflows en parallèle"
    assert found_in(page, index_of(page), lambda text: "en parallele" in text)
    switch_language("en")


def test_no_page_has_its_own_retranslation() -> None:
    """Texts are bound, values are reloaded: see ``SettingsPage``."""
    folder = Path(registry.__file__).parent
    assert [file.name for file in folder.rglob("*.py") if "retranslate" in file.read_text("utf-8")] == []
