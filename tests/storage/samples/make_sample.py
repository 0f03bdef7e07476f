"""Create the sample of this program's schema version: a data folder, a backup of it, and all its rows.

Run once in a checkout whose program writes the new version, and commit the file; a sample is never recreated:

    python -m tests.storage.samples.make_sample

It uses only the command line, with a scripted model server, so that a checkout of an older version can create its
sample, too: ``PYTHONPATH=OLD/app:. python -m tests.storage.samples.make_sample``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path

from tests.helpers.servers.openai import FakeOpenAI
from tests.helpers.servers.scripted_http_server import Call, Reply, Step
from tests.storage.samples.unpack_sample import SAMPLES, read_rows

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)
"""An image of one transparent pixel."""
CODE = '''def double(value: int) -> int:
    """Twice the value."""
    return value + value


def four() -> int:
    return double(2)
'''
LONG_TEXT = "\n".join(
    f"Line {number}: the quick brown fox jumps over {number * number} lazy dogs." for number in range(120)
)
"""Too large for the engine's tables: it is stored in the value log."""


class ModelServer(FakeOpenAI):
    """A server that always has a reply, because versions send different numbers of requests."""

    def __init__(self) -> None:
        super().__init__()
        self.models[0]["max_model_len"] = 128_000

    def next_step(self) -> Step:
        return self.steps.pop(0) if self.steps else Reply("There is nothing more to say.")


class Maker:
    """A data folder that is filled through the program's command line."""

    def __init__(self, folder: Path, server: ModelServer) -> None:
        self.folder, self.server = folder, server
        self.environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith("ATELIER_")},
            "ATELIER_DATA_DIR": str(folder / "data"),
            "HOME": str(folder / "home"),
            "XDG_CONFIG_HOME": str(folder / "home" / ".config"),
            "SAMPLE_KEY": "unused",
            "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
        }

    async def run(self, *arguments: str, optional: bool = False) -> str:
        """Run one command and return its standard output; an ``optional`` one may be unknown to the program."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-P", "-m", "atelier_desk", *arguments),
            env=self.environ,
            cwd=self.folder / "work",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        output, complaint = await process.communicate()
        said = complaint.decode()
        if process.returncode and not (optional and "invalid choice" in said):
            raise SystemExit(f"atelier {' '.join(arguments)}: status {process.returncode}\n{output.decode()}{said}")
        return output.decode()

    async def turn(self, prompt: str, *replies: Reply, more: tuple[str, ...] = ()) -> str:
        """One turn with scripted replies. Returns the workflow's id."""
        self.server.steps[:] = replies
        output = await self.run(
            *("--json", "run", "--provider", "sample", "--model", "test-model", "--tool-mode", "direct"),
            *("--tool-dialect", "native", "--answers", "skip", "--workspace", str(self.folder / "work")),
            *more,
            prompt,
        )
        found = re.search(r'"workflow_id":\s*"([^"]+)"', output)
        assert found, output
        return found[1]


async def fill(maker: Maker) -> None:
    """Everything a person might have after a first day, created by every command that the program knows."""
    work = maker.folder / "work"
    (work / "notes.txt").write_text("The train to Lyon leaves at 07:58.\n")
    (work / "pixel.png").write_bytes(PIXEL)
    (work / "calc.py").write_text(CODE)
    (work / "long.txt").write_text(LONG_TEXT)
    server = ("--kind", "openai", "--base-url", maker.server.url, "--api-key-env", "SAMPLE_KEY", "--no-test")
    await maker.run("providers", "add", "sample", *server)
    await maker.run("settings", "set", "name_by_model", "false")
    attached = ("--attach", "notes.txt", "--attach", "pixel.png")
    first = await maker.turn(
        "Plan the journey to Lyon",
        Reply(
            "I plan it.",
            reasoning="Three things to keep.",
            calls=(
                Call("TodoTool", {"operation": "create", "name": "Buy the ticket", "priority": 1}, "t1"),
                Call(
                    "MemoryTool",
                    {"operation": "add", "type": "user_pref", "content": "Prefers trains to planes."},
                    "t2",
                ),
                Call(
                    "ReportTool",
                    {"operation": "write", "name": "journey", "content": "# Journey\n\nÀ Lyon, 07:58.\n"},
                    "t3",
                ),
                Call("read_file", {"path": "long.txt"}, "t4"),
            ),
        ),
        Reply("The journey is planned."),
        more=("--tools", "TodoTool,MemoryTool,ReportTool,read_file", "--on-approval", "allow", *attached),
    )
    await maker.turn(
        "Write it down and ask me",
        Reply(
            calls=(
                Call("write_file", {"path": "plan.md", "content": "# Plan\n"}, "t5"),
                Call(
                    "UserQuestionTool", {"operation": "ask", "question": "First class?", "questionType": "text"}, "t6"
                ),
            )
        ),
        Reply("Not written: you said no."),
        more=("--tools", "write_file,UserQuestionTool", "--workflow", first, "--on-approval", "deny"),
    )
    team = await maker.turn(
        "Let a helper look",
        Reply(
            calls=(
                Call(
                    "SpawnAgentTool",
                    {"operation": "spawn", "name": "Helper", "prompt": "Say what notes.txt holds."},
                    "s1",
                ),
            )
        ),
        Reply("A train at 07:58."),
        Reply("The helper says: a train at 07:58."),
        more=("--tools", "SpawnAgentTool", "--agent", "Team lead", "--on-approval", "allow"),
    )
    await maker.run("memory", "add", "The office is in Nantes.", "--type", "knowledge", "--tags", "office,place")
    await maker.run("memory", "add", "Meets the bank on Tuesday.", "--type", "context", "--workflow", first)
    await maker.run(
        "permissions", "add", "read_file(notes.txt)", "--action", "allow", "--scope", "workflow", "--workflow", first
    )
    await maker.run("permissions", "add", "run_command(rm:*)", "--action", "deny")
    await maker.run("settings", "set", "audit_days", "400")
    await maker.run("workflows", "move", team, "Travel")
    gone = await maker.turn("Forget this", Reply("It will be forgotten."), more=("--tools", "read_file"))
    await maker.run("workflows", "delete", gone)
    await maker.run("projects", "create", "work", str(work), optional=True)
    await maker.run("projects", "ingest", str(work), optional=True)
    await maker.run("mcp", "add", "clock", "--no-test", "--command", "clock-server", "--utc", optional=True)
    await maker.run("prompts", "add", "greet", "--text", "Greet {{who}} in {{language=French}}.", optional=True)
    await maker.run("memory", "add", "The office was in Brest.")
    memories = json.loads(await maker.run("--json", "memory", "list"))
    (wrong,) = (each["id"] for each in memories if "Brest" in each["content"])
    await maker.run("memory", "delete", wrong)


async def make(target: Path) -> Path:
    """Create the sample in a folder and return its file."""
    with tempfile.TemporaryDirectory(prefix="sample-") as name:
        folder = Path(name)
        for each in ("work", "home", "sample"):
            (folder / each).mkdir()
        async with ModelServer() as server:
            maker = Maker(folder, server)
            await fill(maker)
            await maker.run("backup", "create", str(folder / "sample" / "backup.zip"))
        left_out = shutil.ignore_patterns("logs", "models", "model-list.json", "web", "*.sock")
        shutil.copytree(folder / "data", folder / "sample" / "data", ignore=left_out)
        shutil.copytree(folder / "data" / "database", folder / "copy")
        rows = await read_rows(folder / "copy")
        version = max(row.get("version", 0) for row in rows["schema_version"].values())
        (folder / "sample" / "rows.json").write_text(json.dumps(rows, indent=1, sort_keys=True))
        file = target / f"schema-{version}.tar.xz"
        with tarfile.open(file, "w:xz", preset=9) as archive:
            archive.add(folder / "sample", arcname=".", filter=anonymous)
    return file


def anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """The archive entry without the name of the file's owner."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, default=SAMPLES, help="folder of the file")
    print(asyncio.run(make(parser.parse_args().into)))


if __name__ == "__main__":
    main()
