"""Kills between a paid request and its answer: the monthly total contains every request that a service got, and
none twice.
"""

from __future__ import annotations

import signal
import subprocess
import threading
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.kills import World
from tests.chaos.paid_worker import PRICE, TOKENS
from tests.support.pictures import png
from tests.support.servers.plain_http import Handler, serving

REPLY = 110 * TOKENS / 1_000_000
"""US dollars for a reply whose usage the model reported."""


@dataclass
class Services:
    """A search service and an image service; ``kill`` is the process that is killed when ``at`` gets its first
    request.
    """

    place: str = ""
    got: list[str] = field(default_factory=list)
    at: str = ""
    kill: subprocess.Popen[bytes] | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, service: str) -> None:
        with self.lock:
            self.got.append(service)
            if service == self.at and self.kill is not None:
                self.kill.send_signal(signal.SIGKILL)
                self.kill.wait()
                self.kill = None


@pytest.fixture
def services(monkeypatch: pytest.MonkeyPatch) -> Iterator[Services]:
    made = Services()

    class Service(Handler):
        def do_GET(self) -> None:
            made.take("search")
            self.said({"web": {"results": [{"title": "A", "url": "https://a.org/", "description": "x"}]}})

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            made.take("image")
            self.said({"data": [{"b64_json": b64encode(png()).decode()}]})

        def said(self, answer: Any) -> None:
            try:
                self.answer_json(200, answer)
            except OSError:
                assert made.at, "nobody was killed"

    with serving(Service) as host:
        made.place = f"http://{host}"
        monkeypatch.setenv("ATELIER_PAID", made.place)
        yield made


class Paying(World):
    """The monthly total as the worker reports it."""

    month: tuple[float, float] = (0.0, 0.0)
    replies: int = 0

    def on_line(self, line: str) -> None:
        super().on_line(line)
        if line.startswith("month "):
            _, stored, counted = line.split()
            self.month = float(stored), float(counted)
        self.replies += line == "sends"


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("point", "count", "searches", "pictures", "unsent"),
    [
        # The moment of the kill; the number of requests each service got, and how many were counted without being
        # sent.
        ("", 0, 1, 1, 0),
        ("before_commit:media_paid", 1, 1, 1, 0),
        ("after_commit:media_paid", 1, 1, 1, 1),
        ("asked:search", 0, 2, 1, 0),
        ("before_commit:tool_call_finished", 1, 2, 1, 0),
        ("after_commit:tool_call_finished", 1, 1, 1, 0),
        ("before_commit:media_paid", 2, 1, 0, 0),
        ("after_commit:media_paid", 2, 1, 0, 1),
        ("asked:image", 0, 1, 1, 0),
        ("before_commit:tool_call_finished", 2, 1, 1, 0),
        ("after_commit:tool_call_finished", 2, 1, 1, 0),
    ],
)
def test_the_monthly_total_after_a_kill(
    services: Services, tmp_path: Path, point: str, count: int, searches: int, pictures: int, unsent: int
) -> None:
    world = Paying(tmp_path, "tests.chaos.paid_worker")
    if point.startswith("asked:"):
        process = world.start()
        services.at, services.kill = point.removeprefix("asked:"), process
        assert world.finish(process), f"{point} was not reached"
    elif point:
        assert world.finish(world.start(point, str(count))), f"{point} was not reached"
    world.run_to_the_end()
    assert world.status == "completed"
    assert (services.got.count("search"), services.got.count("image")) == (searches, pictures)
    spent = 3 * REPLY + PRICE * (searches + pictures + unsent)
    assert world.month == pytest.approx((spent, spent), abs=1e-6), "no request is forgotten, and none is counted twice"
    world.finish(world.start())
    assert world.month == pytest.approx((spent, spent), abs=1e-6), "another start changes nothing"


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("point", "lost"),
    [("asked:model", 1), ("before_commit:model_replied", 1), ("after_commit:model_replied", 0)],
)
def test_a_reply_that_was_requested_is_counted(services: Services, tmp_path: Path, point: str, lost: int) -> None:
    """The usage that the server would have reported is unknown: the prompt counts by its estimate, and again when
    it is sent again.
    """
    world = Paying(tmp_path, "tests.chaos.paid_worker")
    if point == "asked:model":
        process = world.start()
        assert process.stdout is not None
        while (line := process.stdout.readline()) != b"sends\n":
            assert line, process.communicate()[1].decode()[-2000:]
        process.kill()
        world.on_line("sends")
        assert world.finish(process)
    else:
        assert world.finish(world.start(point, "1")), f"{point} was not reached"
    world.run_to_the_end()
    assert (world.status, world.replies) == ("completed", 3 + lost)
    known = 3 * REPLY + 2 * PRICE
    stored, counted = world.month
    assert stored == pytest.approx(counted, abs=1e-6)
    assert (stored > known + 0.01) == bool(lost), "a request that may have been answered costs"
    assert stored < known + 10 * REPLY * lost + 0.01
    before = world.month
    world.finish(world.start())
    assert world.month == before
