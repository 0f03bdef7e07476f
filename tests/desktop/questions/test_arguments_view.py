"""The arguments in an approval card: editing, checking, undoing, copying."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from tests.desktop.questions.approval_fixtures import MakeScene, asks
from tests.helpers.fake_bridge import settle


@pytest.mark.parametrize(
    ("text", "changed"), [('{"n": true}', {"n": True}), ('{"n": 1.0}', {"n": 1.0}), ('{ "n":1 }', None)]
)
async def test_values_equal_only_in_python_are_a_change(
    scene: MakeScene, text: str, changed: dict[str, Any] | None
) -> None:
    s = scene(asks(arguments={"n": 1}))
    s.edit(text)
    assert repr(s.card.arguments.changed_arguments()) == repr(changed)


async def test_edited_arguments_are_checked_and_sent(scene: MakeScene, qtbot: QtBot) -> None:
    s = scene(asks())
    s.edit('{"operation": "create",\n "name": "x"')
    assert s.find("approval-arguments-error").text() == "Line 2, column 13: a comma is missing."
    assert not s.find("approval-approve").isEnabled()
    s.find("approval-arguments").setPlainText('{"operation": "create", "name": "x", "priority": 9}')
    error = s.find("approval-arguments-error")
    await s.card.arguments.checked()
    assert error.text() == "priority must be at most 5."
    assert not s.find("approval-approve").isEnabled()
    assert "priority" in s.find("approval-arguments").toPlainText()
    s.find("approval-arguments").setPlainText('{"operation": "create", "name": "x", "priority": 5}')
    assert s.find("approval-approve").text() == "Allow as edited"
    s.find("approval-approve").click()
    await settle()
    sent = s.engine.calls("approvals.approve")[0][1]["arguments"]
    assert sent == {"operation": "create", "name": "x", "priority": 5}


async def test_invalid_arguments_are_found_even_if_submitted_at_once(scene: MakeScene) -> None:
    s = scene(asks())
    s.edit('{"operation": "create"}')
    s.find("approval-approve").click()
    await settle()
    assert s.engine.calls("approvals.approve") == []
    assert s.find("approval-arguments-error").text() == "name is missing."
    assert s.find("approval-arguments").isEnabled()


async def test_changes_can_be_undone_and_the_same_text_is_no_change(scene: MakeScene) -> None:
    s = scene(asks())
    s.edit("nonsense")
    s.find("approval-edit").click()
    assert s.find("approval-approve").isEnabled()
    assert s.card.arguments.draft() is None
    s.find("approval-edit").click()
    assert s.find("approval-approve").text() == "Allow once"
    s.find("approval-approve").click()
    await settle()
    assert s.engine.calls("approvals.approve")[0][1]["arguments"] is None


async def test_copy_copies_long_arguments_completely(scene: MakeScene) -> None:
    s = scene(asks(arguments={"content": "x" * 50_000}))
    await settle()
    assert len(s.find("approval-arguments").toPlainText()) == 20_000
    s.find("approval-arguments-copy").click()
    assert len(QGuiApplication.clipboard().text()) > 50_000
    s.find("approval-edit").click()
    assert len(s.find("approval-arguments").toPlainText()) > 50_000
