"""Estimates, their calibration, and money."""

from __future__ import annotations

import pytest

from atelier_desk.domain.model_messages import ChatMessage, ImagePart, Role, Usage
from atelier_desk.domain.provider import ModelInfo
from atelier_desk.llm.token_and_cost_estimates import (
    IMAGE_TOKENS,
    Calibration,
    cost,
    estimate,
    estimate_request,
    highest_input_price,
    priced,
)
from tests.llm.provider_requests import ADD, ask, called


def test_estimates_count_bytes() -> None:
    assert [estimate(text) for text in ("", "a", "abc", "abcd", "é" * 8, "\ud800")] == [0, 1, 1, 2, 5, 1]


def test_a_request_counts_messages_calls_images_and_tools() -> None:
    plain = estimate_request(ask("x" * 32))
    assert plain == 10 + 4
    assert estimate_request(ask("x" * 32, called("1", expression="1+1"))) > plain + 4
    image = ChatMessage(role=Role.USER, content="x" * 32, images=(ImagePart(media_type="image/png", data="a" * 9999),))
    assert estimate_request(ask(image)) == plain + IMAGE_TOKENS
    assert estimate_request(ask("x" * 32, tools=(ADD,))) > plain + 20


def test_calibration_follows_the_servers_counts() -> None:
    calibration = Calibration()
    assert (calibration.factor, calibration.apply(10)) == (1.0, 10)
    calibration.observe(100, 80)
    assert calibration.factor == pytest.approx(0.8)
    calibration.observe(100, 100)
    assert calibration.factor == pytest.approx(0.86)
    for _ in range(40):
        calibration.observe(100, 120)
    assert calibration.factor == pytest.approx(1.2, abs=0.001)
    assert calibration.apply(100) == 120


def test_calibration_ignores_nonsense_and_stays_in_bounds() -> None:
    calibration = Calibration()
    calibration.observe(0, 5)
    calibration.observe(5, 0)
    assert calibration.factor == 1.0
    calibration.observe(1, 1000)
    assert calibration.factor == 4.0
    assert Calibration(0.01).factor == 0.25


def test_the_savings_of_a_cache() -> None:
    info = ModelInfo(
        provider="p", name="m", price_input=3.0, price_output=15.0, price_cache_read=0.3, price_cache_write=3.75
    )
    usage = Usage(tokens_input=1_000_000, tokens_output=100_000, tokens_cached=800_000, tokens_stored=100_000)
    found = priced(usage, info)
    assert found.cost == pytest.approx(0.1 * 3 + 0.8 * 0.3 + 0.1 * 3.75 + 1.5)
    assert found.saved == pytest.approx(0.8 * 2.7 - 0.1 * 0.75)
    first = priced(usage.model_copy(update={"tokens_cached": 0}), info)
    assert first.saved == pytest.approx(-0.075), "what was written and not indexed yet has only cost"
    plain = priced(usage, info.model_copy(update={"price_cache_read": None, "price_cache_write": None}))
    assert plain.cost == pytest.approx(4.5)
    assert plain.saved == 0.0
    assert (found + first).saved == pytest.approx(0.8 * 2.7 - 0.15)
    assert (highest_input_price(info), highest_input_price(ModelInfo(provider="p", name="m"))) == (3.75, 0.0)


def test_cost() -> None:
    usage = Usage(tokens_input=1_000_000, tokens_output=500_000)
    assert cost(usage, ModelInfo(provider="p", name="m", price_input=0.5, price_output=1.5)) == pytest.approx(1.25)
    assert cost(usage, ModelInfo(provider="p", name="m")) == 0.0
    reported = usage.model_copy(update={"cost": 0.3})
    assert cost(reported, ModelInfo(provider="p", name="m")) == 0.3


@pytest.mark.parametrize(
    ("reported", "prices", "counted"),
    [
        (1e-12, {"price_input": 0.5, "price_output": 1.5}, 1.25),
        (3.0, {"price_input": 0.5, "price_output": 1.5}, 3.0),
        (0.3, {"price_input": 9.0}, 9.0),
        (0.3, {"price_input": 0.0, "price_output": 0.0}, 0.3),
    ],
)
def test_a_cost_reported_below_the_known_prices_does_not_count(
    reported: float, prices: dict[str, float], counted: float
) -> None:
    usage = Usage(tokens_input=1_000_000, tokens_output=500_000, cost=reported)
    found = priced(usage, ModelInfo(provider="p", name="m", **prices))  # type: ignore[arg-type]
    assert found.cost == pytest.approx(counted)
    assert priced(found, ModelInfo(provider="p", name="m", **prices)) == found  # type: ignore[arg-type]
