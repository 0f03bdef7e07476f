"""Kills between the order of a paid request and its answer: the month knows of every request that a service got, and
counts none twice.
"""

from __future__ import annotations

import json
import signal
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.kill_harness import World
from tests.chaos.paid_service_worker import MOST_TOKENS, PRICE, TOKENS
from tests.chaos.side_request_worker import KINDS
from tests.helpers.forked_workers import ForkedWorker
from tests.helpers.sample_images import png
from tests.helpers.servers.threaded_http import Handler, serving

REPLY = 110 * TOKENS / 1_000_000
"""US dollars that a reply costs which the model counted."""


@dataclass
class Services:
    """A search service and one for pictures; ``kill`` is the process that is killed when ``at`` gets its first
    request."""

    place: str = ""
    got: list[str] = field(default_factory=list)
    at: str = ""
    kill: ForkedWorker | None = None
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
            if self.path.endswith("/embeddings"):
                made.take("embedding")
                vectors = [{"index": 0, "embedding": [0.6, 0.8]}]
                self.said({"data": vectors, "usage": {"prompt_tokens": 3}})
            elif self.path.endswith("/chat/completions"):
                made.take("connection test")
                choice = {"index": 0, "delta": {"content": "Hello."}, "finish_reason": "stop"}
                said = f"data: {json.dumps({'choices': [choice]})}\n\ndata: [DONE]\n\n"
                with suppress(OSError):
                    self.answer(200, said.encode(), "text/event-stream")
            else:
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
    """What the worker said the month is."""

    month: tuple[float, float] = (0.0, 0.0)
    estimated: float = 0.0
    of_runs: float = 0.0
    replies: int = 0

    def on_line(self, line: str) -> None:
        super().on_line(line)
        if line.startswith("month "):
            stored, counted, self.estimated, *of_runs = map(float, line.split()[1:])
            self.month, self.of_runs = (stored, counted), sum(of_runs)
        self.replies += line == "sends"


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("point", "count", "searches", "pictures", "lost"),
    [
        # The moment of the kill; how often each service was asked in all, and how many answers were not stored.
        ("", 0, 1, 1, 0),
        ("asked:search", 0, 2, 1, 1),
        ("before_commit:media_paid", 1, 2, 1, 1),
        ("after_commit:media_paid", 1, 2, 1, 0),
        ("before_commit:tool_call_finished", 1, 2, 1, 0),
        ("after_commit:tool_call_finished", 1, 1, 1, 0),
        ("asked:image", 0, 1, 1, 1),
        ("before_commit:media_paid", 2, 1, 1, 1),
        ("after_commit:media_paid", 2, 1, 1, 0),
        ("before_commit:tool_call_finished", 2, 1, 1, 0),
        ("after_commit:tool_call_finished", 2, 1, 1, 0),
    ],
)
def test_the_month_after_a_kill(
    services: Services, tmp_path: Path, point: str, count: int, searches: int, pictures: int, lost: int
) -> None:
    world = Paying(tmp_path, "tests.chaos.paid_service_worker")
    if point.startswith("asked:"):
        process = world.start()
        services.at, services.kill = point.removeprefix("asked:"), process
        assert world.finish(process), f"{point} was not reached"
    elif point:
        assert world.finish(world.start(point, str(count))), f"{point} was not reached"
    world.run_to_the_end()
    assert world.status == "completed"
    assert (services.got.count("search"), services.got.count("image")) == (searches, pictures)
    spent = 3 * REPLY + PRICE * (searches + pictures)
    assert world.month == pytest.approx((spent, spent), abs=1e-6), "no request is forgotten, and none is counted twice"
    assert world.estimated == pytest.approx(PRICE * lost, abs=1e-6)
    world.finish(world.start())
    assert world.month == pytest.approx((spent, spent), abs=1e-6), "another start changes nothing"


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("point", "lost"),
    [("asked:model", 1), ("before_commit:model_replied", 1), ("after_commit:model_replied", 0)],
)
def test_a_reply_that_was_asked_for_is_counted(services: Services, tmp_path: Path, point: str, lost: int) -> None:
    """What the server would have said it used is not known then: it counts as the most that it may have used, and again
    when it is sent again.
    """
    world = Paying(tmp_path, "tests.chaos.paid_service_worker")
    if point == "asked:model":
        process = world.start()
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
    assert world.estimated == pytest.approx(stored - known, abs=1e-6)
    assert stored < known + 2 * MOST_TOKENS * TOKENS / 1_000_000 * lost + 0.01, "prompt and reply"
    before = world.month
    world.finish(world.start())
    assert world.month == before


BESIDE = {
    "title": (0.128, REPLY),
    "memory extraction": (0.4, REPLY),
    "sampling": (0.2, REPLY),
    "image description": (1.0, REPLY),
    "summary": (0.8, REPLY),
    "embedding": (0.007, 0.003),
    "search": (PRICE, PRICE),
    "connection test": (0.048, 0.048),
}
"""What a kind costs at least when its answer is lost: what the reply may have had, or the price; and when it is not."""


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("kind", "moment"),
    [
        *((kind, "sending") for kind in BESIDE),
        *((kind, moment) for kind in ("title", "summary", "embedding", "search") for moment in ("settling", "settled")),
    ],
)
def test_a_request_beside_replies(services: Services, tmp_path: Path, kind: str, moment: str) -> None:
    least, exact = BESIDE[kind]
    world = Paying(tmp_path, "tests.chaos.side_request_worker")
    world.finish(world.start())
    before, of_runs = world.month[0], world.of_runs
    process = world.start(kind, moment)
    in_run = bool(KINDS[kind][1])
    if moment == "sending" and in_run:
        while (line := process.stdout.readline()) != b"sends\n":
            assert line, process.communicate()[1].decode()[-2000:]
        process.kill()
    elif moment == "sending":
        services.at, services.kill = kind, process
    assert world.finish(process), "it was killed"
    world.finish(world.start())
    stored, counted = world.month
    cost, lost = stored - before, moment != "settled"
    assert stored == pytest.approx(counted, abs=1e-6)
    if lost:
        assert least <= cost + 1e-6 < 4 * least + 0.1, "it counts as the most it may have cost"
    elif kind != "connection test":
        assert cost == pytest.approx(exact, abs=1e-6), "it counts once, by what its server said"
    assert world.estimated == pytest.approx(cost if lost else 0.0, abs=1e-6), "and is shown as such"
    assert world.of_runs - of_runs == pytest.approx(cost if in_run else 0.0, abs=1e-6), "its run has it too"
    world.finish(world.start())
    assert world.month == (stored, counted), "another start changes nothing"
