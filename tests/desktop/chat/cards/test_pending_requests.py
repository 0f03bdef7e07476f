"""Requests to the user in the transcript: what must be read before a decision is in sight."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton, QWidget

from atelier_desk.desktop.questions.approval_card import ApprovalCard
from atelier_desk.desktop.questions.approval_group import ApprovalGroup
from atelier_desk.desktop.theme import theme
from atelier_desk.domain.result_parts import FileChange
from atelier_desk.presentation.rows.transcript_entries import Entry
from tests.desktop.chat.conftest import Team
from tests.desktop.questions.approval_fixtures import asks
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import settle
from tests.helpers.mouse_wheel import turn_over

LONG = {"content": "word " * 2_000}


async def ask(team: Team, *names: str, arguments: dict[str, Any] = LONG, **fields: Any) -> None:
    """Calls of one reply wait for approval."""
    for number, name in enumerate(names, 20):
        team.approvals.append(asks(name, run_id="ada", call_id=f"c-{name}", arguments=arguments, **fields))
        await team.send_event(
            number, "validation_required", validation_id=name, call_id=f"c-{name}", tool="TodoTool", arguments=arguments
        )
    await settle(30)


def in_sight(team: Team, part: QWidget) -> bool:
    """Whether all of it is within the transcript's visible part."""
    viewport = team.panel.view.viewport()
    return viewport.rect().contains(part.rect().translated(part.mapTo(viewport, QPoint(0, 0))))


@pytest.mark.parametrize("scale", [100, 150])
async def test_sentence_risk_and_buttons_of_a_long_approval_are_in_sight_together(team: Team, scale: int) -> None:
    theme().set_scale(scale)
    team.panel.resize(700, theme().px(480))
    await ask(team, "v1")
    (card,) = team.all(ApprovalCard, "approval-card")
    names = ("approval-title", "approval-risk", "approval-approve", "approval-reject", "approval-scope")
    assert [name for name in names if not in_sight(team, child(card, QWidget, name))] == []
    team.panel.resize(700, theme().px(430))
    await settle(30)
    assert [name for name in names if not in_sight(team, child(card, QWidget, name))] == []
    lower = card.height()
    team.panel.resize(700, theme().px(480))
    await settle(30)
    assert card.height() > lower, "a higher view shows more of it"


async def test_the_end_is_followed_again_when_an_opened_call_of_a_group_is_closed(team: Team) -> None:
    team.panel.resize(700, 600)
    await ask(team, "v1", "v2")
    view = team.panel.view
    (group,) = team.all(ApprovalGroup, "approval-group")
    review = child(group, QPushButton, "approval-review-v1")
    assert in_sight(team, review)
    QTest.mouseClick(review, Qt.MouseButton.LeftButton)
    await settle(30)
    assert group.lines["v1"].card is not None
    QTest.mouseClick(review, Qt.MouseButton.LeftButton)
    await settle(30)
    assert view.following, "closed again, the end is in sight and is followed"


@pytest.mark.parametrize("scale", [100, 150])
async def test_the_wheel_scrolls_a_group_with_an_opened_call(team: Team, scale: int) -> None:
    theme().set_scale(scale)
    team.panel.resize(750, 600)
    await ask(team, "v1", "v2", "v3", arguments={"content": "word " * 100})
    (group,) = team.all(ApprovalGroup, "approval-group")
    group.lines["v1"].toggle()
    await settle(30)
    team.panel.view.scroll_to_end()
    await settle(30)
    bar = group.area.verticalScrollBar()
    bar.setValue(0)
    places = []
    for _notch in range(2):
        turn_over(group.area)
        await settle(30)
        places.append(bar.value())
    assert 0 < places[0] < places[1]


async def test_the_button_to_the_end_covers_no_approval(team: Team) -> None:
    team.panel.resize(700, 600)
    await ask(team, "v1")
    view = team.panel.view
    (card,) = team.all(ApprovalCard, "approval-card")
    view.prepend([Entry(f"m{number}", "user", run_id="r", seq=number + 1, content="Hello") for number in range(30)])
    bar = view.verticalScrollBar()
    hidden = []
    for up in range(0, view.viewport().height(), 20):
        bar.setValue(bar.maximum() - up)
        await settle()
        at = card.rect().translated(card.mapTo(view, QPoint(0, 0)))
        hidden.append(view.jump.isHidden())
        assert view.jump.isHidden() or not view.jump.geometry().intersects(at)
    assert not all(hidden), "it is there once the approval is out of view"


@pytest.mark.parametrize("scale", [100, 150])
async def test_an_opened_call_of_a_group_can_be_rejected_without_scrolling(team: Team, scale: int) -> None:
    theme().set_scale(scale)
    team.panel.resize(750, 600)
    ready = asyncio.Event()

    async def preview(*_args: object) -> list[FileChange]:
        await ready.wait()
        diff = "@@ -0,0 +1,12 @@\n" + "+line\n" * 12
        return [FileChange(action="created", path="note.md", diff=diff, added=12)]

    team.engine.answers["approvals.preview"] = preview
    await ask(team, "v1", "v2", "v3", arguments={"content": "word " * 100}, effect="write")
    (group,) = team.all(ApprovalGroup, "approval-group")
    review = child(group, QPushButton, "approval-review-v1")
    review.setFocus()
    review.click()
    await settle(30)
    card = group.lines["v1"].card
    assert card is not None
    assert card.hasFocus(), "the focus ring shows what was opened"

    def hidden() -> list[str]:
        part = group.area.viewport()
        return [
            button.objectName()
            for button in (card.buttons.approve, card.buttons.reject)
            if not in_sight(team, button)
            or not part.rect().contains(button.rect().translated(button.mapTo(part, QPoint(0, 0))))
        ]

    assert hidden() == []
    ready.set()
    await settle(30)
    assert child(card, QWidget, "approval-file-1").isVisibleTo(card)
    assert hidden() == [], "nor does the diff push them out of view"
    card.arguments.fold.setFocus()
    review.click()
    await settle(30)
    assert review.hasFocus(), "closed, the focus stays in the group"
