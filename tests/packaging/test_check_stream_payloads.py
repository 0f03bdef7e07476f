"""The check that only the router of the window, and listed modules, know the classes of stream payloads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("from atelier_desk.domain.stream.payloads import Token, Waiting", "Token"),
        ("def f():\n    from atelier_desk.domain.stream import event, payloads as p", "payloads"),
        ("import atelier_desk.domain.stream.payloads", "atelier_desk.domain.stream.payloads"),
        ("match event.payload:\n    case _: ...", "payload"),
        ("from atelier_desk.domain.stream.payloads import Attachment, UsageTotals, Waiting", None),
        ("from atelier_desk.domain.stream.event import StreamEvent", None),
        ("'atelier_desk.domain.stream.payloads'", None),
    ],
)
def test_a_payload_is_found(load: Callable[[str], ModuleType], source: str, what: str | None) -> None:
    assert {each for _line, each in load("check_stream_payload_imports").payloads(source)} == (
        {what} if what else set()
    )


def test_an_unlisted_module_and_an_unneeded_entry_are_reported(
    load: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    for name in ("desktop/bridge/stream_router.py", "desktop/new.py", "desktop/listed.py", "desktop/plain.py", "x.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(
            "a = 1" if "plain" in name else "a = 1\nfrom atelier_desk.domain.stream import payloads"
        )
    found = load("check_stream_payload_imports").problems(
        tmp_path, {"desktop/listed.py": "so", "desktop/plain.py": "so", "desktop/gone.py": "so"}
    )
    assert [each.partition(": ")[0] for each in found] == ["desktop/new.py:2", "desktop/gone.py", "desktop/plain.py"]
