"""Filling in a resource's address: suggestions of the server, missing values, refused values."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.compose.mcp_resource_variables_form import ResourceValues
from atelier_desk.domain.errors import UsageError
from atelier_desk.engine.mentions.mention_source import Mention
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle

MENTION = Mention(
    "mcp", "git\0repo://{owner}/{path}{?rev}", "File", "git · repo://…", needs=("owner", "path", "rev"), may=("rev",)
)


@pytest.fixture
async def dialog(qtbot: QtBot) -> Any:
    atelier = FakeAtelier()
    atelier.set("mcp.content", "propose", ["ada", "adam"])
    above = QWidget()
    qtbot.addWidget(above)
    made = ResourceValues(FakeBridge(atelier), MENTION, above)
    made.atelier, made.above = atelier, above  # type: ignore[attr-defined]
    made.show()
    return made


def field(dialog: ResourceValues, number: int) -> QLineEdit:
    found = dialog.findChild(QLineEdit, f"resource-value-{number}")
    assert found is not None
    return found


def press(dialog: ResourceValues) -> None:
    button = dialog.findChild(QPushButton, "form-submit")
    assert button is not None
    button.click()


async def test_values_are_suggested_and_the_complete_address_is_attached(dialog: Any, qtbot: QtBot) -> None:
    attached: list[Mention] = []
    dialog.filled.connect(attached.append)
    press(dialog)
    assert "owner, path" in dialog._error.text(), "optional values are not asked for"
    QTest.keyClicks(field(dialog, 0), "ad")
    completer = field(dialog, 0).completer()
    for _round in range(400):
        if completer.model().rowCount():
            break
        qtbot.wait(5)
        await settle()
    assert [completer.model().index(row, 0).data() for row in range(2)] == ["ada", "adam"]
    (args, _fields) = dialog.atelier.calls("mcp.content.propose")[-1]
    assert args == ("git", "repo://{owner}/{path}{?rev}", "owner", "ad", {"owner": "ad", "path": "", "rev": ""})
    QTest.keyClicks(field(dialog, 1), "a.py")
    dialog.atelier.set("mcp.content", "fill", UsageError("The address is longer than {most} characters.", most=2))
    press(dialog)
    await settle()
    assert "longer" in dialog._error.text()
    assert dialog.isVisible()
    dialog.atelier.set("mcp.content", "fill", "repo://ad/a.py")
    press(dialog)
    await settle()
    assert [(each.key, each.name, each.needs) for each in attached] == [("git\0repo://ad/a.py", "a.py", ())]
