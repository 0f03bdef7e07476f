"""Search terms of the palette, in both languages."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.command_palette.command_sources import commands
from atelier_desk.desktop.command_palette.palette import CommandPalette, score
from atelier_desk.desktop.command_palette.search_terms import WORDS
from atelier_desk.desktop.settings.registry import sections
from atelier_desk.desktop.widgets.date_format import short_moment
from atelier_desk.desktop.widgets.list_rows import RowRole
from atelier_desk.support import i18n
from tests.helpers.main_window_with_fake_engine import Program

SEARCHED = {
    "rejouer": "replay-run",
    "replay": "replay-run",
    "allow": "go-to-waiting",
    "autoriser": "go-to-waiting",
    "thème sombre": "theme-dark",
    "dark theme": "theme-dark",
    "fichiers": "show-files",
    "corbeille": "delete-workflow",
    "fournisseurs": "page:providers",
    "providers": "page:providers",
    "coût": "page:usage",
    "permissions": "page:approvals",
}


@pytest.mark.parametrize("language", ["en", "fr"])
async def test_every_command_is_found_in_both_languages(qtbot: QtBot, language: str) -> None:
    program = Program(qtbot)
    await program.start(workflow="w1")
    i18n.set_language(language)
    window = program.window
    palette = CommandPalette(window.actions_, window, lambda: commands(window, sections(), lambda _name: None))
    offered = {each.key: each for each in palette._collect()}
    assert {searched: found for searched, found in SEARCHED.items() if score(searched, offered[found]) is None} == {}
    assert {name for name in WORDS if not name.startswith("page:")} == {
        spec.name for spec, _made in window.actions_
    } - {"command-palette"}
    assert {name.removeprefix("page:") for name in WORDS if name.startswith("page:")} == {
        page.name for page in sections()
    }


async def test_workflows_show_their_date_and_matches_are_bold(qtbot: QtBot) -> None:
    program = Program(qtbot)
    await program.start(workflow="w1")
    window = program.window
    palette = CommandPalette(window.actions_, window, lambda: commands(window, sections(), lambda _name: None))
    each = window.sidebar.model.workflows[0]
    palette.popup()
    palette.field.setText(each.name)
    rows = [palette.list.rows.index(number, 0).data(RowRole) for number in range(palette.list.rows.rowCount())]
    assert {row.needle for row in rows} == {each.name}
    assert [row.end for row in rows if row.title == each.name] == [f"Workflow · {short_moment(each.updated_at)}"]
