"""One mark for the keyboard's place: a border in the accent colour means focus, and nothing else has one."""

from __future__ import annotations

import re

from atelier_desk.desktop.theme import assets

FILLED = ('[variant="primary"]', '[variant="send"]', "::indicator", "QTabBar::tab:selected", '[focused="true"]')
"""Filled with the accent, or a composer around the focused field; the line below the chosen tab is no frame."""


def test_only_what_has_the_focus_has_a_border_in_the_accent_colour() -> None:
    rules = re.findall(
        r"([^{}]+){([^{}]*)}", re.sub(r"\$\{(\w+)\}", r"<\1>", (assets.resource_dir() / "style.qss").read_text(encoding="utf-8"))
    )
    bordered = [selector.strip() for selector, body in rules if re.search(r"border[^;]*<accent>", body)]
    assert bordered
    others = [each for each in bordered if ":focus" not in each and not any(word in each for word in FILLED)]
    assert others == []
