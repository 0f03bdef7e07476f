"""Flip one bit in a data folder: is it noticed, harmless, or a silent change of what the program shows?

    python -m tests.chaos.bit_flips build DATA_DIR closed|killed        ("killed": the rows are still in the log)
    python -m tests.chaos.bit_flips read    (reads folders named on standard input, one JSON line each)

A folder is read as the program and its diagnostics do: the database is opened, every row read, messages and calls
are compared with their hashes, as is every report, custom tool and downloaded model, and a backup is verified when
the flip is in it.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
READ_S = 120.0
UNCOVERED = frozenset({"attachments/picture.png", "logs"})
"""Files that no hash covers: an image that a person puts there to be shown in messages, and the log."""
NAMES = ("Plan", "Findings", "Été")
LARGE = 20_000
"""Length of some rows' texts in characters: the engine stores values of that size separately, in its ``vlog``,
without a checksum.
"""


@dataclass
class Figures:
    """Trials by folder and outcome: ``noticed``, ``harmless`` (everything read is the same) or ``silent``."""

    trials: int = 0
    noticed: int = 0
    harmless: int = 0
    silent: int = 0
    silent_where_a_hash_is: int = 0
    by_folder: dict[str, dict[str, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Trial:
    """One bit of one file (its path in the data folder); ``why`` is the first sign by which it was noticed."""

    file: str
    bit: int
    outcome: str
    why: str = ""

    @property
    def folder(self) -> str:
        """The part of the data folder; for database and attachments with one level more."""
        parts = Path(self.file).parts
        return "/".join(parts[:2]) if parts[0] in ("attachments", "database") else parts[0]


class Reader:
    """A process that reads one folder after the other, restarted when a damaged folder crashed it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def read(self, root: Path, backups: bool) -> dict[str, Any]:
        if self._process is None:
            command = [sys.executable, "-m", "tests.chaos.bit_flips", "read"]
            self._process = subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        guard = threading.Timer(READ_S, process.kill)
        guard.start()
        process.stdin.write(json.dumps({"root": str(root), "backups": backups}) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        guard.cancel()
        if not line:
            self.close()
            return {"noticed": ["the process ended"], "content": {}}
        found: dict[str, Any] = json.loads(line)
        return found

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def build(root: Path, ending: str) -> None:
    """Create a data folder with something in every part of it."""
    subprocess.run(
        [sys.executable, "-m", "tests.chaos.bit_flips", "build", str(root), ending],
        cwd=ROOT,
        timeout=120,
        check=ending == "closed",
    )


def trials(folder: Path, count: int, seed: int, under: str = "") -> Iterator[Trial]:
    """Flip ``count`` bits, each in a random file (in the folder ``under``) of a fresh copy of a closed or killed
    data folder.
    """
    chance = random.Random(seed)
    reader = Reader()
    try:
        whole = {ending: folder / ending for ending in ("closed", "killed")}
        before = {}
        for ending, root in whole.items():
            # Built where it will be read: the stored check of a model contains its path.
            build(folder / "copy", ending)
            (folder / "copy").rename(root)
            before[ending] = reader.read(_copy(root, folder / "copy"), False)
            shutil.rmtree(folder / "copy")
            assert before[ending]["noticed"] == []
        # A killed program leaves everything in the log: large values are not stored separately yet.
        endings = [ending for ending, root in whole.items() if any((root / under).iterdir())]
        for number in range(count):
            ending = endings[number % len(endings)]
            copy = _copy(whole[ending], folder / "copy")
            file = chance.choice(
                sorted(path for path in (copy / under).rglob("*") if path.is_file() and path.stat().st_size)
            )
            bit = chance.randrange(file.stat().st_size * 8)
            flip(file, bit)
            name = file.relative_to(copy).as_posix()
            after = reader.read(copy, name.startswith("backups/"))
            if after["noticed"]:
                yield Trial(name, bit, "noticed", after["noticed"][0])
            else:
                same = all(after["content"][part] == digest for part, digest in before[ending]["content"].items())
                yield Trial(name, bit, "harmless" if same else "silent")
    finally:
        reader.close()


def count(found: list[Trial]) -> Figures:
    outcomes = Counter(trial.outcome for trial in found)
    figures = Figures(len(found), outcomes["noticed"], outcomes["harmless"], outcomes["silent"])
    figures.silent_where_a_hash_is = sum(trial.outcome == "silent" and trial.folder not in UNCOVERED for trial in found)
    for trial in sorted(found, key=lambda each: each.folder):
        kinds = figures.by_folder.setdefault(trial.folder, {})
        kinds[trial.outcome] = kinds.get(trial.outcome, 0) + 1
    return figures


def flip(file: Path, bit: int) -> None:
    """Invert one bit like a failing disk: the file's times stay the same."""
    times = file.stat()
    with file.open("r+b") as stream:
        stream.seek(bit // 8)
        byte = stream.read(1)[0] ^ (1 << bit % 8)
        stream.seek(bit // 8)
        stream.write(bytes([byte]))
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


def _copy(source: Path, target: Path) -> Path:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
    return target


async def _build(root: Path, ending: str) -> None:
    from atelier_desk.domain.events.run import RunEvent, UserMessage
    from atelier_desk.domain.memory import Memory, MemoryType
    from atelier_desk.domain.model_messages import ImagePart
    from atelier_desk.domain.settings import Settings
    from atelier_desk.domain.system_prompt_and_tools import PromptFrame
    from atelier_desk.domain.workflow import Message, MessageRole, Report, Run, ToolExecution, Workflow
    from atelier_desk.llm.local.model_files import ModelStore
    from atelier_desk.storage.copies import backup
    from atelier_desk.storage.data_folder.artefacts import Artefacts
    from atelier_desk.storage.data_folder.datadir import DataDir
    from atelier_desk.storage.repositories import Repositories
    from atelier_desk.storage.store import Store
    from atelier_desk.storage.writing.journal_commit import Commit
    from atelier_desk.support.hashing import sha256_of
    from tests.llm.local.conftest import gguf_bytes

    datadir = DataDir(root).ensure()
    chance = random.Random(1)
    (datadir.tools / "mine.py").write_text("# a tool of my own\n" * 20)
    (datadir.attachments / "picture.png").write_bytes(chance.randbytes(2_000))
    (datadir.logs / "atelier.log").write_text("2026-11-22 a line of the log\n" * 50)
    model = datadir.models / "tiny.gguf"
    model.write_bytes(gguf_bytes())
    ModelStore(datadir.models).record_download(model, sha256_of(model))
    store = await Store.open(datadir.database)
    repos = Repositories(store, datadir)
    await repos.settings.save(
        Settings(font_scale=120, confirmed_tools={"mine.py": sha256_of(datadir.tools / "mine.py")})
    )
    workflow = await repos.workflows.create(Workflow(id="w", name="été", draft="a draft " * 20))
    artefacts = Artefacts(datadir)
    image = ImagePart(media_type="image/png", data="iVBORw0KGgo" * 50)
    for number in range(1, 25):
        run = Run(id=f"run-{number}", workflow_id=workflow.id, last_seq=1)
        large = "".join(chance.choices("abcdefgh ", k=LARGE)) if number % 2 else ""
        said = UserMessage(content=f"question {number} " * 20 + large, images=(image,) if number % 4 == 0 else ())
        named = {}
        if number % 8 == 0:
            part = await artefacts.store(workflow.id, "data.bin", chance.randbytes(LARGE), "application/octet-stream")
            named = {"attachments": [part.model_dump(mode="json")]}
        message = Message(
            workflow_id=workflow.id,
            run_id=run.id,
            seq=number,
            role=MessageRole.USER,
            content=said.content,
            details=named,
        )
        event = RunEvent(workflow_id=workflow.id, run_id=run.id, seq=1, stream_from=number, body=said)
        call = ToolExecution(
            id=f"{run.id}:c", workflow_id=workflow.id, run_id=run.id, call_id="c", tool="Read", result=large[::-1]
        )
        await repos.journal.commit(Commit(events=(event,), runs=(run,), messages=(message,), executions=(call,)))
    await repos.frames.save(
        PromptFrame(id="frame", workflow_id=workflow.id, system="You help. " * (LARGE // 10), tools=())
    )
    await repos.memories.save(Memory(type=MemoryType.KNOWLEDGE, content="herons fish"))
    for name in NAMES:
        await repos.reports.save(Report(workflow_id=workflow.id, name=name), f"# {name}\n\n" + "A finding. " * 60)
    if ending == "killed":
        os._exit(9)
    await backup.create(store, datadir, datadir.backups / "one.zip")
    await store.close()


async def _read(root: Path, backups: bool) -> dict[str, Any]:
    from atelier_desk.domain.errors import AtelierError
    from atelier_desk.llm.local.model_files import ModelStore
    from atelier_desk.storage.copies import backup_file, jsonl_export_import
    from atelier_desk.storage.copies.database_inspection import NAMING, damaged_attachments
    from atelier_desk.storage.damaged_row_search import damaged_anywhere
    from atelier_desk.storage.data_folder.datadir import DataDir
    from atelier_desk.storage.repositories import Repositories
    from atelier_desk.storage.store import Store
    from atelier_desk.tools.user_tools.tool_files import FileStatus, list_candidates

    datadir = DataDir(root)
    noticed: list[str] = []
    content = {
        "attachments": _digest(datadir.attachments),
        "logs": _digest(datadir.logs),
        "tools": _digest(datadir.tools),
    }
    models = ModelStore(datadir.models)
    try:
        local = [model for model in models.list() if not model.starter]
        for model in local:
            models.check(model, again=True)
        content["models"] = hashlib.sha256(b"".join(model.path.read_bytes() for model in local)).hexdigest()
    except AtelierError as error:
        noticed.append(f"model: {error.code}")
    if backups:
        for path in datadir.backups.glob("*.zip"):
            try:
                await backup_file.verify(path)
            except AtelierError as error:
                noticed.append(f"backup: {error.code}")
    try:
        async with await Store.open(datadir.database) as store:
            repos = Repositories(store, datadir)
            rows = hashlib.sha256()
            for table in await store.tables():
                # content that is only searched is never shown
                found = await store.query(f"SELECT * OMIT search FROM {table} ORDER BY id")
                rows.update(json.dumps(jsonl_export_import.to_plain(found), sort_keys=True, default=repr).encode())
            content["rows"] = rows.hexdigest()
            _count, damaged = await repos.reports.check_all()
            noticed += [f"report: {error.code}" for error in damaged]
            content["reports"] = _digest(datadir.reports)
            confirmed = (await repos.settings.load()).confirmed_tools
            noticed += [
                "tool: changed"
                for file in list_candidates(datadir.tools, confirmed)
                if file.status is not FileStatus.CONFIRMED
            ]
            kept = await damaged_attachments(store.query_all, datadir.attachments, NAMING.keys() | {"workflow"})
            noticed += [f"attachment: {each.name}" for each in kept]
            for workflow in await repos.workflows.list():
                await repos.messages.page(workflow.id)
            noticed += [f"row: {each.table} {each.problem}" for each in await damaged_anywhere(store)]
    except AtelierError as error:
        noticed.append(f"database: {error.code}")
    except Exception as error:  # an error that the window would show as unexpected counts as noticed
        noticed.append(f"database: {type(error).__name__}")
    return {"noticed": noticed, "content": content}


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            digest.update(path.relative_to(folder).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


async def _read_all() -> None:
    while line := await asyncio.to_thread(sys.stdin.readline):
        asked = json.loads(line)
        print(json.dumps(await _read(Path(asked["root"]), asked["backups"])), flush=True)


if __name__ == "__main__":
    asyncio.run(_build(Path(sys.argv[2]), sys.argv[3]) if sys.argv[1] == "build" else _read_all())
