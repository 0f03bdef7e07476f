"""A changed setting is sent to the subscribers of its key, and to nobody else."""

from __future__ import annotations

import pytest

from atelier_desk.domain.setting_subscribers import SettingSubscribers
from atelier_desk.domain.settings import Settings, WebSettings


async def test_only_subscribers_of_the_changed_key_are_called() -> None:
    subscribers, heard = SettingSubscribers(), list[object]()

    async def later(depth: int) -> None:
        heard.append(("later", depth))

    subscribers.subscribe(lambda theme: heard.append(("theme", theme)), "theme")
    subscribers.subscribe(lambda on, keys: heard.append(("quick", on, keys)), "quick_key_on", "quick_key")
    subscribers.subscribe(lambda search: heard.append(("search", search)), "web.search")
    subscribers.subscribe(later, "max_depth", at_once=False)
    await subscribers.publish(Settings())
    assert heard == [
        ("theme", "system"),
        ("quick", False, "Ctrl+Alt+Space"),
        ("search", "ddgs"),
        ("later", Settings().max_depth),
    ]
    heard.clear()
    await subscribers.publish(Settings())
    assert heard == [], "nothing changed"
    await subscribers.publish(Settings(quick_key="Ctrl+Q", web=WebSettings(address="https://a.example"), max_depth=1))
    assert heard == [("quick", False, "Ctrl+Q"), ("later", 1)]


async def test_a_later_subscriber_gets_the_current_value() -> None:
    subscribers, heard = SettingSubscribers(), list[object]()
    subscribers.subscribe(heard.append, "font_scale")
    assert heard == [], "nothing is known yet"
    await subscribers.publish(Settings(font_scale=150))
    subscribers.subscribe(heard.append, "font_scale")
    subscribers.subscribe(heard.append, "font_scale", at_once=False)
    assert heard == [150, 150]


async def test_a_failing_subscriber_does_not_block_the_others() -> None:
    subscribers, heard = SettingSubscribers(), list[object]()

    def fails(search: str) -> None:
        raise ValueError(search)

    subscribers.subscribe(fails, "web.search")
    subscribers.subscribe(heard.append, "font_scale")
    with pytest.raises(ValueError, match="ddgs"):
        await subscribers.publish(Settings(font_scale=150))
    assert heard == [150]
