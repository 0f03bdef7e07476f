"""The card of a run that stopped at a limit: which buttons stand on it, and what each does."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QLabel, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.cards.limit_card import LimitCard, RaiseField
from atelier_desk.desktop.chat.transcript.transcript_host import TranscriptHost
from atelier_desk.desktop.settings.application_language import switch_language
from tests.helpers.child_widgets import child

Shown = Callable[..., LimitCard]
RAISE, FINISH, STOP = "notice-raise", "notice-finish", "notice-stop"
ALLOW, PRICE, AGAIN = "notice-allow-unpriced", "notice-enter-price", "notice-continue-priced"


@pytest.fixture
def host() -> TranscriptHost:
    return TranscriptHost()


@pytest.fixture
def shown(qtbot: QtBot, host: TranscriptHost) -> Shown:
    def show(kind: str, value: float = 42, cap: float = 40, **details: object) -> LimitCard:
        frame = QWidget()
        qtbot.addWidget(frame)
        card = LimitCard(host, frame)
        card.show_limit("r", "Ada", kind, value, cap, details)
        card.setGeometry(0, 0, 700, card.fit(700))
        frame.resize(700, 400)
        frame.show()
        vars(card)["frame"] = frame  # kept alive with the card
        return card

    return show


def buttons(card: LimitCard) -> dict[str, QPushButton]:
    return {each.objectName(): each for each in card.findChildren(QPushButton) if each.isVisible()}


@pytest.mark.parametrize(
    ("kind", "names", "field"),
    [
        ("tokens", {RAISE, FINISH, STOP}, True),
        ("cost", {RAISE, FINISH, STOP}, True),
        ("time", {RAISE, FINISH, STOP}, True),
        ("tool_calls", {RAISE, FINISH, STOP}, True),
        ("iterations", {RAISE, FINISH, STOP}, True),
        ("month", {RAISE, STOP}, True),  # a last answer would cost something, too
        ("unpriced", {PRICE, AGAIN, ALLOW, STOP}, False),  # there is no amount to add
        ("priced", {AGAIN, STOP}, False),
    ],
)
def test_each_limit_has_the_buttons_that_help(shown: Shown, kind: str, names: set[str], field: bool) -> None:
    card = shown(kind)
    assert set(buttons(card)) == names
    assert child(card, RaiseField, "limit-amount").isVisible() is field


@pytest.mark.parametrize(
    ("kind", "button", "to"),
    [
        ("tokens", RAISE, {"raise_limits": {"tokens": 40.0}}),
        ("month", RAISE, {"raise_limits": {"month": 40.0}}),
        ("time", FINISH, {"finish": True}),
        ("unpriced", ALLOW, {"raise_limits": {"unpriced": 1.0}}),
        ("unpriced", AGAIN, {}),  # the price was entered meanwhile
    ],
)
def test_a_button_continues_the_run(shown: Shown, host: TranscriptHost, kind: str, button: str, to: object) -> None:
    received: list[tuple[str, object]] = []
    host.resume_requested.connect(lambda run_id, choice: received.append((run_id, choice)))
    buttons(shown(kind))[button].click()
    assert received == [("r", to)]


def test_the_stop_and_prices_buttons(shown: Shown, host: TranscriptHost) -> None:
    received: list[str] = []
    host.stop_requested.connect(received.append)
    host.price_requested.connect(lambda run_id: received.append(f"price for {run_id}"))
    host.resume_requested.connect(lambda *_: received.append("continued"))
    card = shown("unpriced")
    buttons(card)[PRICE].click()
    buttons(card)[STOP].click()
    assert received == ["price for r", "r"]


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        (("input",), "The input price of large is missing."),
        (("output",), "The output price of large is missing."),
        (("input", "output"), "The input and output prices of large are missing."),
    ],
)
def test_an_unknown_price_says_which_one_of_which_model(shown: Shown, missing: tuple[str, ...], words: str) -> None:
    assert words in shown("unpriced", model="large", missing=missing).accessibleName()


def test_input_persists_while_the_run_waits_and_another_limit_starts_empty(shown: Shown) -> None:
    card = shown("tokens")
    amount: RaiseField = child(card, RaiseField, "limit-amount")
    amount.setValue(500)
    card.show_limit("r", "Ada", "tokens", 43, 40, {})
    assert amount.value() == 500
    card.show_limit("r", "Ada", "time", 61, 60, {})
    assert (amount.value(), amount.suffix().strip()) == (60, "s")


def test_texts_and_numbers_follow_the_language(shown: Shown) -> None:
    card = shown("tokens", value=42_000, cap=40_000)
    amount: RaiseField = child(card, RaiseField, "limit-amount")
    assert amount.text() == "+ 40,000 tokens"  # it is added
    switch_language("fr")
    assert [each.text() for each in buttons(card).values()] == ["Relever la limite", "Conclure maintenant", "Arrêter"]
    assert amount.text().replace("\u202f", " ").replace("\xa0", " ") == "+ 40 000 jetons"


def test_its_buttons_align_with_its_text_as_in_a_notice(shown: Shown) -> None:
    card = shown("month")
    text = next(each for each in card.findChildren(QLabel) if "used" in each.text())
    amount: RaiseField = child(card, RaiseField, "limit-amount")
    assert amount.mapTo(card, QPoint()).x() == text.mapTo(card, QPoint()).x()


@pytest.mark.parametrize(
    ("value", "title"),
    [(30_000, "Ada: Token limit reached"), (19_000, "Ada: The next request would exceed the token limit")],
)
def test_its_title_says_whether_the_limit_is_used_up(shown: Shown, value: float, title: str) -> None:
    card = shown("tokens", value=value, cap=30_000)
    assert card.accessibleName().startswith(f"{title}. ")
