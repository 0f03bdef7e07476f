"""The window's figures: first paint, stalls while a reply streams, opening a long conversation, memory.

Run with ``python -m tests.bench.bench_desktop`` (``--quick`` for a short one). Each figure comes from its own process;
the parent only starts them and compares.

* first paint: from the start of the process to the painted window, ``python -m atelier_desk`` against an empty
  QMainWindow; goal ≤ 1.7
* stalls: gaps between the ticks of a 16 ms timer in the UI thread while one reply streams 1 000 tokens a second into a
  conversation of 10 000 messages, with the real engine on its own thread; goal p99 ≤ 20 ms, max ≤ 50 ms. Also the
  processor time the UI thread used between two ticks, which other programs on the machine do not change
* eight streams: that processor time while eight workflows stream at once, 1 000 tokens a second together, with the long
  conversation in view; goal p99 ≤ 16 ms
* open: from the click to the painted end of that conversation, loaded from the real database; goal ≤ 100 ms
* memory: resident memory with that conversation open, and with all its pages loaded, against an empty window; goal ≤
  180 MB, with all pages ≤ 200 MB. Another process wrote the folder, as in ordinary use
* change of style: from a change of theme, font size or language, with that conversation and every pane open, to the
  next painted frame; goal ≤ 150 ms of the UI thread's processor time
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

TEXT = (
    "the engine keeps every event in a journal so that a run can go on after a kill and nothing is done twice "
    "because an intent is "
    "written before a tool runs and its result after it while the window shows what was committed and never waits "
    "for the disk"
)
WORDS = TEXT.split()
RATE = 1000
"""Tokens a second."""
STREAMS = 8
"""Workflows that stream at once, at ``RATE`` together."""
MESSAGES = 10_000
OPENING = 60
"""Seconds after which a conversation that shows nothing ends the measurement."""
MERGE_S = 30
"""Seconds that the database may take to merge the tables of the long conversation."""
MERGED_FROM = 1_000_000
"""Bytes of a table that counts there."""
FIRST_WORDS = 90
"""Seconds after which a reply that does not begin ends it."""


def sentence(source: random.Random) -> str:
    return (" ".join(source.choices(WORDS, k=source.randint(6, 16))) + ". ").capitalize()


def paragraph(source: random.Random) -> str:
    return "".join(sentence(source) for _ in range(source.randint(2, 5)))


def reply_text(characters: int, seed: int = 7) -> str:
    """Markdown as models write it: headings, paragraphs, lists, code, tables."""
    source = random.Random(seed)
    parts: list[str] = []
    while sum(map(len, parts)) < characters:
        kind = source.random()
        if kind < 0.1:
            parts.append(f"## {sentence(source)[:40]}\n\n")
        elif kind < 0.25:
            parts.append(
                "".join(f"- **{source.choice(WORDS)}** {sentence(source)}\n" for _ in range(source.randint(3, 7)))
                + "\n"
            )
        elif kind < 0.37:
            calls = (
                f"compute({i}, name={source.choice(WORDS)!r})  # {source.choice(WORDS)}"
                for i in range(source.randint(4, 25))
            )
            lines = [f"    value_{i} = {call}" for i, call in enumerate(calls)]
            parts.append("```python\ndef work():\n" + "\n".join(lines) + "\n```\n\n")
        elif kind < 0.42:
            rows = "".join(
                f"| {source.choice(WORDS)} | {source.randint(1, 999)} |\n" for _ in range(source.randint(2, 6))
            )
            parts.append("| word | count |\n|---|--:|\n" + rows + "\n")
        else:
            parts.append(paragraph(source) + "\n\n")
    return "".join(parts)


def report(**figures: Any) -> None:
    """Print the figures as JSON; the parent reads the child's last line."""
    print("FIGURES " + json.dumps(figures), flush=True)


def resident_mb() -> float:
    import psutil

    return psutil.Process().memory_info().rss / 2**20


def child_empty(started: float) -> None:
    """An empty QMainWindow without a style sheet."""
    from PySide6.QtCore import QEvent, QObject, QTimer
    from PySide6.QtWidgets import QApplication, QMainWindow

    qt = QApplication([])
    window = QMainWindow()

    class Watcher(QObject):
        def eventFilter(self, watched: QObject, event: QEvent) -> bool:
            if event.type() == QEvent.Type.UpdateRequest:
                QTimer.singleShot(0, self, done)
            return False

    def done() -> None:
        report(paint=time.time() - started, cpu=time.process_time(), rss=resident_mb())
        os._exit(0)

    watcher = Watcher()
    window.installEventFilter(watcher)
    window.resize(1360, 860)
    window.show()
    qt.exec()


def child_atelier(started: float, folder: Path) -> None:
    """``python -m atelier_desk`` up to the first paint; none of its modules is imported in advance."""
    import atelier_desk.__main__ as program

    def painted() -> None:
        report(paint=time.time() - started, cpu=time.process_time(), rss=resident_mb())
        os._exit(0)

    program.register_commands = painted  # after the first paint
    program.main(["--data-dir", str(folder)])


def live_widgets(view: Any) -> int:
    """How many entries of a transcript have a widget."""
    return sum(view.widget_of(entry) is not None for entry in view.entries)


class PacedModel:
    """Stream one long text in pieces of four characters, ``rate`` of them a second; a reply has the rate set when it
    begins.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self.rate: float = RATE

    async def stream(self, request: Any) -> AsyncIterator[Any]:
        from atelier_desk.domain.model_messages import ChatReply, ReplyDone, TextDelta

        rate = self.rate
        pieces = [self._text[i : i + 4] for i in range(0, len(self._text), 4)]
        began = time.perf_counter()
        for number, piece in enumerate(pieces):
            due = began + number / rate
            if due > time.perf_counter():
                await asyncio.sleep(due - time.perf_counter())
            yield TextDelta(content=piece)
        yield ReplyDone(reply=ChatReply(content=self._text))


async def fill(atelier: Any, count: int) -> str:
    """A workflow with ``count`` messages, alternately a question and an answer."""
    from atelier_desk.domain.workflow import Message, MessageRole, Run, RunStatus
    from atelier_desk.storage.writing.journal_commit import Commit

    source = random.Random(3)
    workflow = await atelier.workflows.create("Long conversation")
    previous: Run | None = None
    for start in range(0, count, 500):
        runs, messages = [], []
        for seq in range(start + 1, start + 501, 2):
            before = previous.id if previous is not None else None
            previous = Run(workflow_id=workflow.id, previous_run_id=before, status=RunStatus.COMPLETED)
            previous = previous.model_copy(update={"correlation_id": previous.id})
            runs.append(previous)
            texts = reply_text(source.choice([120, 300, 900, 2000]), seed=seq)
            for at, role, content in (
                (seq, MessageRole.USER, sentence(source)),
                (seq + 1, MessageRole.ASSISTANT, texts),
            ):
                messages.append(
                    Message(workflow_id=workflow.id, run_id=previous.id, seq=at, role=role, content=content)
                )
        await atelier.repos.journal.commit(Commit(runs=tuple(runs), messages=tuple(messages)))
    assert previous is not None
    await atelier.repos.workflows.update(workflow.id, stream_seq=count, head_run_id=previous.id)
    return str(workflow.id)


class Probe:
    """Drives the window from inside and measures."""

    def __init__(self, program: Any, model: PacedModel, workflow_id: str, seconds: float) -> None:
        from PySide6.QtCore import Qt, QTimer

        self.program, self.model, self.workflow_id, self.seconds = program, model, workflow_id, seconds
        self.gaps: list[float] = []
        self.busy: list[float] = []
        self.last = self.worked = 0.0
        self.ticker = QTimer(program)
        self.ticker.setTimerType(Qt.TimerType.PreciseTimer)
        self.ticker.timeout.connect(self.tick)

    def tick(self) -> None:
        now, worked = time.perf_counter(), time.thread_time()
        if self.last:
            self.gaps.append((now - self.last) * 1000)
            self.busy.append((worked - self.worked) * 1000)
        self.last, self.worked = now, worked

    def measure_gaps(self, on: bool) -> list[float]:
        if on:
            self.gaps, self.busy, self.last = [], [], 0.0
            self.ticker.start(16)
            return []
        self.ticker.stop()
        return self.gaps

    async def run(self) -> None:
        panel = self.program.window.chat
        opened = []
        for _attempt in range(5):
            self.program.window.new_workflow()
            await asyncio.sleep(0.6)
            opened.append(await self.open_once(panel, self.workflow_id))
        opened_rss = resident_mb()
        await panel.pages.everything()
        await asyncio.sleep(0.5)
        loaded = len(panel.view.entries)
        memory = resident_mb()
        self.measure_gaps(True)
        await asyncio.sleep(3)
        idle = list(self.measure_gaps(False))
        styles = await self.change_style()
        panel.view.scroll_to_end()
        panel.composer.field.setPlainText("Tell me everything.")
        before = len(panel.view.entries)
        panel.composer.submit()
        first = await self.first_words(panel, before)
        self.measure_gaps(True)
        await asyncio.sleep(self.seconds)
        gaps = list(self.measure_gaps(False))
        busy = list(self.busy)
        shown = len(panel.view.entries[-1].content)
        eight = await self.eight_streams(panel)
        report(
            eight=eight,
            looks=styles,
            first=first,
            open=opened,
            idle=idle,
            gaps=gaps,
            busy=busy,
            loaded=loaded,
            opened_rss=opened_rss,
            rss=memory,
            shown=shown,
            widgets=live_widgets(panel.view),
        )
        os._exit(0)

    async def eight_streams(self, panel: Any) -> list[float]:
        """Milliseconds of the UI thread's own work between two ticks, from the start of the reply in view, one of
        eight.
        """
        engine = self.program.bridge.engine
        panel.composer.stop.click()
        while not panel.composer.stop.isHidden():
            await asyncio.sleep(0.05)
        self.model.rate = RATE / STREAMS
        for number in range(STREAMS - 1):
            workflow = await engine.workflows.create(f"Stream {number}")
            await engine.runs.send(workflow.id, "Tell me everything.")
        before = len(panel.view.entries)
        panel.composer.field.setPlainText("Tell me everything.")
        panel.composer.submit()
        await self.first_words(panel, before)
        self.measure_gaps(True)
        await asyncio.sleep(self.seconds)
        self.measure_gaps(False)
        return list(self.busy)

    async def first_words(self, panel: Any, before: int) -> float:
        """Seconds from sending to the first words of the reply, when streaming starts."""
        began = time.perf_counter()
        while not any(entry.kind == "assistant" and entry.content for entry in panel.view.entries[before:]):
            if time.perf_counter() - began > FIRST_WORDS:
                raise TimeoutError("no reply to measure")
            await asyncio.sleep(0.02)
        return time.perf_counter() - began

    async def change_style(self) -> dict[str, float]:
        """Milliseconds of the UI thread's processor time from a change of style to the next painted frame; the median
        of six changes each.
        """
        from atelier_desk.desktop.settings.application_language import switch_language
        from atelier_desk.desktop.theme import theme

        for name in self.program.window.rail.docks:
            self.program.window.rail.show_pane(name)
        await asyncio.sleep(1)
        changes = {
            "theme": (lambda: theme().set_mode("dark"), lambda: theme().set_mode("light")),
            "font size": (lambda: theme().set_scale(110), lambda: theme().set_scale(100)),
            "language": (lambda: switch_language("fr"), lambda: switch_language("en")),
        }
        found = {}
        for name, pair in changes.items():
            used = []
            for change in pair * 3:
                used.append(await self.repainted(change))
                await asyncio.sleep(0.4)
            found[name] = statistics.median(used)
        return found

    async def repainted(self, change: Callable[[], object]) -> float:
        """Milliseconds of processor time of a change with the frame after it.

        Measured outside a task: events that Qt delivers meanwhile may resume other tasks, which asyncio forbids inside
        one.
        """
        from PySide6.QtCore import QTimer
        from PySide6.QtWidgets import QApplication

        done: asyncio.Future[float] = asyncio.get_running_loop().create_future()

        def measure() -> None:
            began = time.thread_time()
            change()
            QApplication.sendPostedEvents()
            self.program.window.repaint()
            QApplication.processEvents()
            done.set_result((time.thread_time() - began) * 1000)

        QTimer.singleShot(0, measure)
        return await done

    async def open_once(self, panel: Any, workflow_id: str) -> float:
        """Seconds from the click to the painted end of the conversation."""
        from PySide6.QtCore import QEvent, QObject

        painted: asyncio.Future[float] = asyncio.get_running_loop().create_future()

        class Watcher(QObject):
            def eventFilter(self, watched: QObject, event: QEvent) -> bool:
                if event.type() == QEvent.Type.Paint and not painted.done() and live_widgets(panel.view):
                    painted.set_result(time.perf_counter())
                return False

        watcher = Watcher()
        began = time.perf_counter()
        panel.open_workflow(workflow_id)
        panel.view.viewport().installEventFilter(watcher)
        return await asyncio.wait_for(painted, OPENING) - began


def child_fill(folder: Path) -> None:
    """Fill a folder with a long conversation, in a process of its own, so that writing it is not measured.

    It is opened twice more: the database moves its log into tables at one start and merges them at the next, as in
    ordinary use. It is closed afterwards, because the merge leaves 20 MB in the memory of its process.
    """

    async def write() -> None:
        from atelier_desk.engine.atelier import Atelier

        async with Atelier.open(folder, fsync=False) as atelier:
            await atelier.settings.update(first_start_done=True, workflows_running=STREAMS)
            workflow_id = await fill(atelier, MESSAGES)
        async with Atelier.open(folder):
            pass
        async with Atelier.open(folder) as atelier:
            tables, until = Path(atelier.datadir.database) / "sstables", time.monotonic() + MERGE_S
            while (
                len([each for each in tables.iterdir() if each.stat().st_size > MERGED_FROM]) > 1
                and time.monotonic() < until
            ):
                await asyncio.sleep(0.2)
            report(workflow=workflow_id)

    asyncio.run(write())


def child_stream(folder: Path, seconds: float, workflow_id: str) -> None:
    """The real program with a paced model."""
    from atelier_desk.desktop import app as desktop

    model = PacedModel(reply_text(round(seconds * RATE * 4 * 1.1)))

    @asynccontextmanager
    async def opener(data_dir: Path | None) -> AsyncIterator[Any]:
        from atelier_desk.engine.atelier import Atelier

        async with Atelier.open(data_dir, model_factory=lambda _agent: cast("Any", model)) as atelier:
            yield atelier

    original = desktop.Program._on_opened

    async def then_measure(program: desktop.Program) -> None:
        try:
            await original(program)
            await asyncio.sleep(1)
            await Probe(program, model, workflow_id, seconds).run()
        except BaseException:
            traceback.print_exc()
            os._exit(1)

    desktop.Program._on_opened = then_measure  # type: ignore[method-assign, assignment]
    desktop.main(folder, [], opener=opener)


def measure(kind: str, folder: Path, seconds: float = 0, workflow_id: str = "") -> dict[str, Any]:
    """Run a child and read its figures."""
    command = [
        sys.executable,
        "-m",
        "tests.bench.bench_desktop",
        "--child",
        kind,
        "--folder",
        str(folder),
        "--seconds",
        str(seconds),
    ]
    command += ["--workflow", workflow_id, "--started", repr(time.time())]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, env=environment)
    lines = [line for line in done.stdout.splitlines() if line.startswith("FIGURES ")]
    if not lines:
        raise SystemExit(f"{kind} gave no figures:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    figures: dict[str, Any] = json.loads(lines[-1].removeprefix("FIGURES "))
    return figures


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer starts, a shorter stream")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, default=20, help=argparse.SUPPRESS)
    parser.add_argument("--workflow", default="", help=argparse.SUPPRESS)
    parser.add_argument("--started", type=float, default=0, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    # the usual size: in a narrow window the panes would be hidden
    screen = Path(__file__).parents[1] / "helpers" / "screen.json"
    os.environ.setdefault("QT_QPA_PLATFORM", f"offscreen:configfile={screen}")
    if arguments.child == "empty":
        child_empty(arguments.started)
    elif arguments.child == "atelier":
        child_atelier(arguments.started, arguments.folder)
    elif arguments.child == "fill":
        child_fill(arguments.folder)
    elif arguments.child == "stream":
        child_stream(arguments.folder, arguments.seconds, arguments.workflow)
    else:
        compare(arguments.quick, arguments.json)


def compare(quick: bool, target: Path | None) -> None:
    """Run everything and print the table."""
    starts = 4 if quick else 9
    with tempfile.TemporaryDirectory() as folder:
        pairs = [(measure("empty", Path(folder)), measure("atelier", Path(folder) / "start")) for _ in range(starts)]
        filled = measure("fill", Path(folder) / "stream")
        stream = measure("stream", Path(folder) / "stream", 8 if quick else 20, filled["workflow"])
    empty = statistics.median(pair[0]["paint"] for pair in pairs[1:])
    ours = statistics.median(pair[1]["paint"] for pair in pairs[1:])
    empty_rss = statistics.median(pair[0]["rss"] for pair in pairs[1:])
    cpu = [statistics.median(pair[which]["cpu"] for pair in pairs[1:]) for which in (0, 1)]
    gaps = stream["gaps"]
    rows = [
        ("first paint, empty window", empty * 1000, "ms", None),
        ("first paint, Atelier", ours * 1000, "ms", None),
        ("ratio", ours / empty, "", 1.7),
        ("ratio of processor time", cpu[1] / cpu[0], "", 1.7),
        (f"open, {stream['loaded']} messages, median", statistics.median(stream["open"]) * 1000, "ms", 100),
        ("first words of a reply in it", stream["first"] * 1000, "ms", None),
        ("frame gap idle, p50", percentile(stream["idle"], 0.5), "ms", None),
        ("frame gap idle, max", max(stream["idle"]), "ms", None),
        ("frame gap streaming, p50", percentile(gaps, 0.5), "ms", None),
        ("frame gap streaming, p99", percentile(gaps, 0.99), "ms", 20),
        ("frame gap streaming, max", max(gaps), "ms", 50),
        ("UI thread's own work a frame, p99", percentile(stream["busy"], 0.99), "ms", None),
        ("UI thread's own work a frame, max", max(stream["busy"]), "ms", None),
        ("its own work, eight streams, p99", percentile(stream["eight"], 0.99), "ms", 16),
        ("its own work, eight streams, max", max(stream["eight"]), "ms", None),
        ("memory, empty window", empty_rss, "MB", None),
        ("memory, conversation open", stream["opened_rss"], "MB", 180),
        ("memory, all its pages loaded", stream["rss"], "MB", 200),
        *((f"change of {name}", used, "ms", 150) for name, used in stream["looks"].items()),
    ]
    for name, value, unit, goal in rows:
        print(f"{name:<36} {value:>9.1f} {unit:<3} {f'goal {goal}' if goal is not None else ''}")
    print(f"shown {stream['shown']} characters, {stream['widgets']} live widgets")
    if target is not None:
        named = [
            {"name": name, "value": round(value, 3), "unit": unit, "goal": goal} for name, value, unit, goal in rows
        ]
        target.write_text(json.dumps({"bench": "desktop", "rows": named, "shown": stream["shown"]}, indent=1))


if __name__ == "__main__":
    main()
