"""Notices after changes of theme or text size."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QLabel, QPushButton
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.cards.notice_card import NoticeCard
from atelier_desk.desktop.chat.transcript.transcript_host import Picked, TranscriptHost
from atelier_desk.desktop.theme import theme
from atelier_desk.presentation.rows.transcript_entries import Entry


@pytest.fixture
def _theme() -> Iterator[None]:
    yield
    theme().set_scale(100)
    theme().set_mode("light")


@pytest.mark.usefixtures("_theme")
def test_its_button_is_not_clipped_after_a_change_of_theme(qtbot: QtBot) -> None:
    entry = Entry("n", "notice", run_id="r", topic="error", content="No.", details={"code": "auth"}, actionable=True)
    card = NoticeCard(entry, TranscriptHost())
    qtbot.addWidget(card)
    card.height_changed.connect(lambda: card.resize(600, card.fit(600)))
    card.resize(600, card.fit(600))
    card.show()

    def not_clipped() -> None:
        retry = card.findChildren(QPushButton, "notice-retry")[-1]  # earlier ones are about to be deleted
        assert retry.height() >= retry.sizeHint().height()
        row = retry.parentWidget()
        assert row is not None
        assert row.height() >= retry.mapTo(row, QPoint(0, retry.height())).y()
        assert card.height() >= retry.mapTo(card, QPoint(0, retry.height())).y()

    for change in (partial(theme().set_scale, 150), partial(theme().set_scale, 100), partial(theme().set_mode, "dark")):
        change()
        qtbot.waitUntil(not_clipped, timeout=2000)


def test_narrowed_permissions_are_a_plain_line(qtbot: QtBot) -> None:
    details = {"denied": ["read_file(.env)"], "asked": [], "folders": [], "stricter": False}
    card = NoticeCard(Entry("n", "notice", run_id="r", topic="rights_narrowed", details=details), TranscriptHost())
    qtbot.addWidget(card)
    texts = [each.text() for each in card.findChildren(QLabel)]
    assert "Permissions withdrawn from here on: read_file(.env)" in texts
    assert not card.findChildren(QPushButton)


@pytest.mark.parametrize(
    ("details", "buttons"),
    [
        ({"code": "auth", "provider": "Mine"}, ["notice-provider", "notice-retry"]),
        ({"code": "disabled", "provider": "Mine"}, ["notice-provider", "notice-retry"]),
        ({"code": "held", "provider": "Mine"}, ["notice-provider", "notice-retry"]),
        ({"code": "auth"}, ["notice-retry"]),  # from an earlier version, without the provider
        ({"code": "overloaded", "provider": "Mine"}, ["notice-retry"]),
    ],
)
def test_a_refused_key_or_a_disabled_provider_leads_to_its_settings(
    qtbot: QtBot, details: dict[str, str], buttons: list[str]
) -> None:
    host = TranscriptHost()
    requested: list[str] = []
    host.provider_requested.connect(requested.append)
    card = NoticeCard(
        Entry("n", "notice", run_id="r", topic="error", content="No.", details=details, actionable=True), host
    )
    qtbot.addWidget(card)
    found = [
        each
        for each in card.findChildren(QPushButton)
        if each.objectName().startswith("notice-") and "detail" not in each.objectName()
    ]
    assert [each.objectName() for each in found] == buttons
    found[0].click()
    assert requested == (["Mine"] if len(buttons) > 1 else [])


def offers(card: NoticeCard) -> dict[str, QPushButton]:
    """The buttons of a notice that are not about to be deleted, by object name."""
    items = [card._flow.itemAt(index) for index in range(card._flow.count())]
    found = [item.widget() for item in items if item is not None]
    return {each.objectName(): each for each in found if isinstance(each, QPushButton)}


def test_a_stopped_reply_is_continued_by_a_button_with_keyboard_access(qtbot: QtBot) -> None:
    host = TranscriptHost()
    details = {"status": "cancelled"}
    entry = Entry("n", "notice", run_id="r", topic="run_finished", details=details, actionable=True)
    card = NoticeCard(entry, host)
    qtbot.addWidget(card)
    (button,) = offers(card).values()
    assert (button.objectName(), button.text()) == ("notice-continue-reply", "Continue")
    assert button.focusPolicy() & Qt.FocusPolicy.TabFocus
    with qtbot.waitSignal(host.continue_requested) as asked:
        button.click()
    assert asked.args == ["stopped"]
    entry.actionable = False
    card.refresh()
    assert not offers(card)


FAILED = {"code": "busy", "agent_id": "ada", "model_provider": "p", "model": "small"}


@pytest.mark.parametrize(
    ("details", "picked", "buttons"),
    [
        (FAILED, Picked("p", "small", "ada", "Ada"), {"notice-retry": "Retry"}),
        (FAILED, Picked(), {"notice-retry": "Retry"}),
        (
            FAILED,
            Picked("p", "big", "ada", "Ada"),
            {"notice-retry": "Retry", "notice-ask-picked": "Ask Big && Co instead"},
        ),
        (FAILED, Picked("q", "small", "ada"), {"notice-retry": "Retry", "notice-ask-picked": "Ask small instead"}),
        (FAILED, Picked("p", "small", "bob", "Bob"), {"notice-retry": "Retry", "notice-ask-picked": "Ask Bob instead"}),
        ({**FAILED, "agent_id": ""}, Picked("p", "small", "bob", "Bob"), {"notice-retry": "Retry"}),
        ({**FAILED, "recoverable": False}, Picked("p", "small", "ada"), {}),
        ({**FAILED, "recoverable": False}, Picked("q", "huge", "ada"), {"notice-ask-picked": "Ask huge instead"}),
        ({"code": "busy"}, Picked("p", "big", "ada"), {"notice-retry": "Retry"}),  # from an earlier version
        ({**FAILED, "agent_id": []}, Picked("p", "small", "ada"), {"notice-retry": "Retry"}),  # from another program
    ],
)
def test_after_a_failure_the_model_picked_since_can_be_asked(
    qtbot: QtBot, details: dict[str, object], picked: Picked, buttons: dict[str, str]
) -> None:
    host = TranscriptHost()
    host.models = {("p", "big"): "Big & Co", ("p", "small"): "Small"}
    entry = Entry("n", "notice", run_id="r", topic="error", content="No.", details=details, actionable=True)
    card = NoticeCard(entry, host)
    qtbot.addWidget(card)
    host.set_picked(picked)
    shown = offers(card)
    assert {name: button.text() for name, button in shown.items()} == buttons
    if "notice-retry" in shown:
        assert shown["notice-retry"].toolTip() == ("Ask Small again" if "model" in details else "")
    if "notice-ask-picked" in shown:
        with qtbot.waitSignal(host.ask_picked_requested) as asked:
            shown["notice-ask-picked"].click()
        assert asked.args == ["r"]


def test_at_a_cost_limit_it_shows_the_requests_cost_and_the_remaining_amount(qtbot: QtBot) -> None:
    host = TranscriptHost()
    details = {"limit": "month", "value": 9.9912, "cap": 10.0, "needed": 0.01234, "left": 0.0088}
    card = NoticeCard(Entry("n", "notice", run_id="r", topic="limit_reached", details=details, actionable=True), host)
    qtbot.addWidget(card)
    text = " ".join(label.text() for label in card.findChildren(QLabel))
    assert "The next request could exceed the monthly cost limit" in text
    assert "may cost up to $0.0124; only $0.0088 is left." in text
    asked: list[object] = []
    host.resume_requested.connect(lambda run_id, changes: asked.append((run_id, changes)))
    card.findChildren(QPushButton, "notice-raise")[0].click()
    assert asked == [("r", {"raise_limits": {"month": 10.0}})]
    assert card.findChildren(QPushButton, "notice-finish")[0].isHidden(), "a last answer would cost something, too"


def test_at_a_token_limit_it_shows_the_requests_tokens_and_suggests_enough(qtbot: QtBot) -> None:
    host = TranscriptHost()
    details = {"limit": "tokens", "value": 700.0, "cap": 1000.0, "needed": 4200.0, "left": 300.0}
    card = NoticeCard(Entry("n", "notice", run_id="r", topic="limit_reached", details=details, actionable=True), host)
    qtbot.addWidget(card)
    text = " ".join(label.text() for label in card.findChildren(QLabel))
    assert "The next request needs at least 4,200 tokens; only 300 are left." in text
    asked: list[object] = []
    host.resume_requested.connect(lambda run_id, changes: asked.append((run_id, changes)))
    card.findChildren(QPushButton, "notice-raise")[0].click()
    assert asked == [("r", {"raise_limits": {"tokens": 3900.0}})]


def test_a_superseded_limit_refers_to_the_newer_notice(qtbot: QtBot) -> None:
    details = {"limit": "tokens", "value": 19_000, "cap": 30_000, "needed": 12_000, "left": 11_000, "superseded": True}
    card = NoticeCard(Entry("n", "notice", run_id="r", topic="limit_reached", details=details), TranscriptHost())
    qtbot.addWidget(card)
    text = " ".join(label.text() for label in card.findChildren(QLabel))
    assert "See the newer notice below." in text
    assert "at least" not in text
