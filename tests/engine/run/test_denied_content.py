"""No tool, command or child process of a command gets at denied content: the attempts of a table, run for real."""

# judges: app/atelier_desk/policy/permissions/path_denials.py
from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.agent import AgentConfig, ApprovalMode
from atelier_desk.domain.approval import ApprovalPolicy
from atelier_desk.domain.events.run import ToolCallStarted
from atelier_desk.domain.permission import Action, PermissionRule, Verdict
from atelier_desk.domain.stream.event import StreamEvent
from atelier_desk.engine.run.call_verdict import verdict
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.llm.scripted_model import ScriptedModel
from atelier_desk.tools.registry.default_registry import create_default_tool_registry
from atelier_desk.workspace.processes import sandbox_contents
from tests.engine.conftest import Opener
from tests.helpers.tool_calls import tool_call

ATTEMPTS = Path(__file__).with_name("denied_content_attempts.txt")
CANARY = "CANARYqzx7"
TEXT = f"KEY={CANARY}{CANARY}{CANARY}\n"
RULES = ("read_file(.env)", "read_file(secrets/**)", "search_files(config/prod.yml)", "file_ops(*.pem)",
"read_file($HOME/notes/**)",
         "read_file(moved/**)", "read_file(nested/prod.txt)")  # fmt: skip
TOOLS = (
    "read_file", "write_file", "edit_file", "search_files", "get_file_info", "delete_path", "move_file", "copy_file",
    "run_command",
    "git_status", "git_diff", "run_npm_script", "read_image", "describe_image", "render_3d_asset", "get_project_info",
    "glob_files", "list_directory",
)  # fmt: skip
KEPT = (".env", "secrets/prod.txt", "config/prod.yml", "key.pem")
"""Denied files that no attempt may change either."""
PER_STEP = 24
Call = tuple[str, dict[str, Any]]
"""A tool and its arguments."""

pytestmark = pytest.mark.skipif(
    shutil.which("git") is None or not sandbox_contents.available(), reason="needs git and a sandbox"
)


@dataclass(frozen=True)
class Place:
    workspace: Path
    home: Path
    blob: str
    tree: str
    secrets: str


def git(folder: Path, *arguments: str) -> str:
    who = (
        "-c",
        "user.name=Ann",
        "-c",
        "user.email=ann@example.org",
        "-c",
        "init.defaultBranch=main",
        "-c",
        "protocol.file.allow=always",
    )
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder.parent), "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", *who, *arguments], cwd=folder, env=environ, check=True, capture_output=True, text=True, timeout=20
    )
    return done.stdout.strip()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    return made(tmp_path, monkeypatch)


def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    ws, home = tmp_path / "work", tmp_path / "home"
    for folder in ("d", "secrets", "config", "sub", "moved-real"):
        (ws / folder).mkdir(parents=True)
    (home / "notes").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    git(ws, "init", "-q")
    (ws / "plain.txt").write_text("KEY=plain\n")
    git(ws, "add", "plain.txt")
    git(ws, "commit", "-qm", "first")
    denied = (".env", "d/.env", "secrets/prod.txt", "secrets/a..b.txt", "config/prod.yml", "key.pem", "two..dots.pem")
    for name in denied:
        (ws / name).write_text(TEXT)
    git(ws, "add", "-f", ".")
    git(ws, "commit", "-qm", "second")
    git(ws, "mv", ".env", "renamed.txt")
    git(ws, "commit", "-qm", "third", "--allow-empty")
    git(ws, "reset", "-q", "--hard", "HEAD~1")
    (ws / ".env").write_text(TEXT + "stashed=1\n")
    git(ws, "stash", "-q")
    blob, tree = git(ws, "rev-parse", "HEAD:.env"), git(ws, "rev-parse", "HEAD:d")
    git(ws, "tag", "-a", "-m", "x", "v1-blob", blob)
    for name in denied:
        (ws / name).write_text(TEXT + f"changed=1{CANARY}\n")
    git(ws, "add", "d/.env", "secrets/prod.txt")
    git(ws / "sub", "init", "-q")
    (ws / "sub/.env").write_text(TEXT)
    git(ws / "sub", "add", ".env")
    git(ws / "sub", "commit", "-qm", "in sub")
    (ws / "nested").mkdir()
    git(ws / "nested", "init", "-q")
    (ws / "nested/prod.txt").write_text(TEXT)
    git(ws / "nested", "add", "prod.txt")
    git(ws / "nested", "commit", "-qm", "in nested")
    (home / "notes/private.txt").write_text(TEXT)
    (ws / "moved-real/prod.txt").write_text(TEXT)
    (ws / "moved").symlink_to("moved-real")
    (ws / "link-to-env").symlink_to(".env")
    (ws / "dlink").symlink_to("d")
    os.link(ws / ".env", ws / "hard.txt")
    os.link(ws / "secrets/prod.txt", ws / "d/hard-secret.txt")
    (ws / "r.py").write_text(
        "import glob\nfor f in ('.env', 'd/.env', *glob.glob('secrets/*'), 'hard.txt'): print(open(f).read())\n"
    )
    (ws / "o.py").write_text(
        "import pathlib, zlib\nfor f in pathlib.Path('.git/objects').rglob('*'):\n"
        "    if f.is_file() and len(f.parent.name) == 2: print(zlib.decompress(f.read_bytes()))\n"
    )
    (ws / "show.sh").write_text("#!/bin/sh\ncat .env secrets/* config/prod.yml; git show HEAD:.env; git log -p\n")
    (ws / "show.sh").chmod(0o755)
    (ws / "Makefile").write_text("show:\n\tcat .env secrets/prod.txt\n")
    (ws / "package.json").write_text(json.dumps({"name": "x", "scripts": {"show": "cat .env config/prod.yml"}}))
    return Place(ws, home, blob, tree, git(ws, "rev-parse", "HEAD:secrets"))


def attempts(place: Place) -> list[list[Call]]:
    """The calls of each row of the table."""
    found: list[list[Call]] = []
    for line in ATTEMPTS.read_text("utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        for name, value in (
            ("WS", place.workspace),
            ("HOME", place.home),
            ("BLOB", place.blob),
            ("TREE", place.tree),
            ("SECRETS", place.secrets),
        ):
            line = line.replace("{" + name + "}", str(value))
        row: list[Call] = []
        for call in line.split(" ; "):
            name, _space, rest = call.partition(" ")
            row.append(
                ("run_command", {"command": rest, "modifies_files": False}) if name == "$" else (name, json.loads(rest))
            )
        found.append(row)
    return found


def reduced(rows: list[list[Call]], start: int, step: int) -> list[list[Call]]:
    """The first row of each tool, and each ``step``-th row."""
    firsts = {rows[number][0][0]: number for number in reversed(range(len(rows)))}
    return [rows[number] for number in sorted({*firsts.values(), *range(start, len(rows), step)})]


def seen(text: str) -> bool:
    """Whether the text contains the canary, plain or in a common encoding."""
    packed = re.sub(r"\\+[nrt]|\s|\|.*?\|", "", text)
    hexed = "".join(re.findall(r"[0-9a-f]+", text.lower().replace(" ", "")))
    ways = [
        CANARY,
        CANARY[::-1],
        *(base64.b64encode(b"x" * lead + CANARY.encode() * 2)[4:-8].decode() for lead in range(3)),
    ]
    return any(way in packed or way in text for way in ways) or CANARY.encode().hex() in hexed


async def results(
    open_atelier: Opener,
    place: Place,
    approval: ApprovalMode,
    calls: list[Call],
    rules: Sequence[str] = RULES,
) -> list[str]:
    """The outcome of every call for the model, the window and the journal; questions are answered with no."""
    steps: list[Any] = []
    for start in range(0, len(calls), PER_STEP):
        part = calls[start : start + PER_STEP]
        steps.append([tool_call(name, f"c{start + at}", **said) for at, (name, said) in enumerate(part)])
    model = ScriptedModel([*steps, "done"])
    agent = AgentConfig(name="A", provider="p", model="m", tools=TOOLS, approval=approval, max_tool_iterations=200)
    told: list[str] = []
    async with open_atelier(model) as atelier:
        await atelier.permissions.add(*(PermissionRule(text=rule, action=Action.DENY) for rule in rules))
        await atelier.permissions.add(PermissionRule(text="run_command", action=Action.ALLOW))
        workflow = await atelier.workflows.create("W", workspace=(str(place.workspace),))
        atelier.bus.subscribe(lambda event: told.append(_plain(event)), workflow.id)
        run_id = await atelier.runs.send(workflow.id, "go", agent=agent)
        async with asyncio.timeout(120):
            # A run that waits for an answer counts as over until it has one.
            while len(model.requests) <= len(steps):
                await atelier.runs.wait(run_id)
                for asked in await atelier.approvals.pending():
                    await atelier.approvals.reject(asked.id)
                await asyncio.sleep(0)
        await atelier.runs.wait(run_id)
        told += [request.model_dump_json() for request in model.requests]
    return told


def _plain(event: StreamEvent) -> str:
    return json.dumps(event.model_dump(mode="json"), ensure_ascii=False)


@pytest.mark.parametrize(
    ("approval", "mounts", "start", "step"),
    [
        (ApprovalMode.AUTO, True, 0, 1),
        (ApprovalMode.PLAN, True, 0, 27),
        (ApprovalMode.SELECTIVE, True, 1, 27),
        (ApprovalMode.EDIT, True, 2, 27),
        (ApprovalMode.AUTO, False, 0, 3),
    ],
    ids=["auto", "plan", "selective", "edit", "without mounts"],
)
@pytest.mark.timeout(300)  # 45 s of processor time for the whole table
async def test_denied_content_is_never_reached(
    open_atelier: Opener,
    place: Place,
    approval: ApprovalMode,
    mounts: bool,
    start: int,
    step: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The complete table under the freest profile. A row of each tool, and each 27th row under each other one, where
    rules deny the same calls, or each third where the system has no mounts: there only the judgement of the call
    protects.
    """
    if not mounts:
        monkeypatch.setattr(sandbox_contents, "has_mounts", lambda: False)
    rows = attempts(place)
    assert sum(map(len, rows)) >= 400
    calls = [call for row in reduced(rows, start, step) for call in row]
    assert {name for name, _arguments in calls} == {row[0][0] for row in rows} <= set(TOOLS)
    before = {name: (place.workspace / name).read_text() for name in KEPT}
    told = await results(open_atelier, place, approval, calls)
    wrong = [each[:600] for each in told if seen(_without_arguments(each))]
    assert not wrong, "\n".join(wrong)
    ended = sum('"tool_end"' in each for each in told) + sum('"validation_response"' in each for each in told)
    assert ended >= len(calls)
    assert {name: (place.workspace / name).read_text() for name in KEPT} == before


async def test_the_result_of_a_denied_call_names_the_rule(open_atelier: Opener, place: Place) -> None:
    told = await results(open_atelier, place, ApprovalMode.AUTO, [("read_file", {"path": ".env"})])
    [end] = [json.loads(each)["data"] for each in told if '"tool_end"' in each]
    assert (end["result"]["code"], end["result"]["rule"]) == ("denied", "read_file(.env)")


def _without_arguments(text: str) -> str:
    """The text without the arguments of the call itself."""
    return text.replace("CANARY HEAD", "").replace('"CANARY"', "")


LOUD = """
ls | head                                  | allow | allow
cat plain.txt                              | allow | allow
head -1 plain.txt | wc -l                  | allow | allow
git status                                 | allow | allow
git log -p                                 | allow | allow
grep KEY plain.txt                         | allow | allow
grep -r KEY .                              | allow | ask denied
cat *.txt                                  | allow | ask denied
python3 r.py                               | allow | ask denied
make show                                  | allow | ask denied
git commit -m x                            | ask denied | ask denied
git cat-file -p HEAD                       | ask denied | ask denied
cat .env                                   | deny rule | deny rule
cat ./d/../.env                            | deny rule | deny rule
cat link-to-env                            | deny rule | deny rule
git show HEAD:.env                         | deny rule | deny rule
git checkout HEAD -- .env                  | deny rule | deny rule
python3 r.py secrets/prod.txt              | deny rule | deny rule
"""
"""A line, and its verdicts under Free with mounts and without them."""


@pytest.mark.parametrize("mounts", [True, False])
def test_a_command_needs_approval_where_denied_files_cannot_be_hidden(
    place: Place, mounts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox_contents, "has_mounts", lambda: mounts)
    wrong = []
    for line in filter(None, LOUD.splitlines()):
        command, *cells = (cell.strip() for cell in line.rsplit("|", 2))
        found = verdict_of(place, "run_command", {"command": command, "modifies_files": False})
        said = found.action.value if found.action is Action.ALLOW else f"{found.action.value} {found.reason}"
        if said != cells[0 if mounts else 1]:
            wrong.append((command, cells, said))
    assert not wrong


PATHS = [
    ("read_file", {"path": ".env"}), ("edit_file", {"path": ".env", "old_string": "a", "new_string": "b"}),
    ("write_file", {"path": "d/.env", "content": ""}), ("delete_path", {"path": "d"}),
    ("delete_path", {"path": "secrets"}),
    ("move_file", {"source": "d", "destination": "e"}), ("copy_file", {"source": "secrets", "destination": "e"}),
    ("copy_file", {"source": "plain.txt", "destination": ".env"}),
    ("move_file", {"source": "plain.txt", "destination": "secrets"}),
    ("get_file_info", {"path": "secrets/prod.txt"}), ("read_image", {"path": "secrets/prod.txt"}),
    ("describe_image", {"path": ".env", "prompt": "?"}), ("render_3d_asset", {"model_path": ".env", "output_dir": "r"}),
    ("git_diff", {"file": ".env"}), ("git_diff", {"file": "secrets/prod.txt"}), ("ingest_code", {"path": ".env"}),
    ("ingest_code", {"files": ["plain.txt", ".env"]}), ("ingest_directory", {"path": "secrets/x"}),
    ("generate_image", {"prompt": "x", "output_path": ".env"}), ("read_file", {"path": "moved-real/prod.txt"}),
    ("read_file", {"path": "hard.txt"}), ("read_file", {"path": "config/../config/PROD.yml"}),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "arguments"), PATHS)
def test_a_rule_against_reading_applies_to_every_tool_with_that_path(
    place: Place, tool: str, arguments: dict[str, Any]
) -> None:
    found = verdict_of(place, tool, arguments)
    assert (found.action, found.reason) == (Action.DENY, "rule")
    assert found.rule in RULES
    assert found.about


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_file", {"path": "plain.txt"}), ("list_directory", {"path": "d"}), ("file_exists", {"path": ".env"}),
        ("copy_file", {"source": "plain.txt", "destination": "e"}), ("search_files", {"pattern": "x"}),
        ("create_directory", {"path": "d/new"}),
        ("write_file", {"path": "d/other.txt", "content": "x"}), ("glob_files", {"pattern": "**/.env"}),
    ],
)  # fmt: skip
def test_files_next_to_a_denied_path_are_free(place: Place, tool: str, arguments: dict[str, Any]) -> None:
    assert verdict_of(place, tool, arguments).action is Action.ALLOW


MANIFESTS = ("package.json", "pyproject.toml")


@pytest.mark.parametrize("where", ["denied", "outside"])
async def test_tools_that_search_project_files_reveal_nothing_of_denied_ones(
    open_atelier: Opener, place: Place, where: str
) -> None:
    """No call names these files: a rule, or a link out of the folder, applies all the same."""
    folder = place.home if where == "outside" else place.workspace
    for name, text in (
        ("package.json", {"name": CANARY, "scripts": {CANARY: "x"}}),
        ("pyproject.toml", f'[project]\nname = "{CANARY}"\n'),
    ):
        (folder / name).write_text(json.dumps(text) if isinstance(text, dict) else text)
        if where == "outside":
            (place.workspace / name).unlink(missing_ok=True)
            (place.workspace / name).symlink_to(folder / name)
    calls = [("get_project_info", {}), ("run_npm_script", {"script": "nothing"})]
    rules = tuple(f"read_file({name})" for name in MANIFESTS) if where == "denied" else ()
    found = await results(open_atelier, place, ApprovalMode.AUTO, calls, rules)
    assert any("manifests" in each for each in found), "the call was made"
    assert not [each for each in found if seen(each)]


def verdict_of(place: Place, tool: str, arguments: dict[str, Any], *rules: str) -> Verdict:
    registry = create_default_tool_registry()
    found = registry.get_tool(tool)
    assert found is not None
    call = registry.prepare(found, arguments).described
    denied = tuple(PermissionRule(text=rule, action=Action.DENY) for rule in rules or RULES)
    agent = AgentConfig(name="A", provider="p", model="m")
    policy = ApprovalPolicy(mode=ApprovalMode.AUTO, rules=denied)
    run = RunState(run_id="r", workflow_id="w", agent=agent, approvals=policy, workspace=(str(place.workspace),))
    started = ToolCallStarted(
        call_id="c",
        tool=tool,
        arguments=arguments,
        section=found.section,
        effect=call.effect.value,
        risk=call.risk.value,
    )
    return verdict(run, started, call, repaired=False)


COMMANDS = """
cat ~/notes/private.txt     | cat ~/notes/private.txt
cat ~/notes/private.txt     | cat <HOME>/notes/private.txt
cat $HOME/notes/private.txt | cat ~/notes//private.txt
cat ${HOME}/notes/*         | cat ~/./notes/private.txt
cat <HOME>/notes/private.txt | cat ~/notes/PRIVATE.txt
cat config/prod.yml         | cat ./config/prod.yml
cat config/prod.yml         | cat config//prod.yml
cat config/prod.yml         | cat <WS>/config/prod.yml
cat config/prod.yml         | cat d/../config/prod.yml
cat .env                    | cat link-to-env
./show.sh                   | ./show.sh
./show.sh                   | <WS>/show.sh
show.sh:*                   | ./show.sh now
cat d/*                     | /bin/cat ./d/.env
"""
"""A rule that denies a command, and a spelling of the command that it covers."""


def test_rules_and_commands_are_normalised_by_one_function(place: Place) -> None:
    wrong = []
    for line in filter(None, COMMANDS.splitlines()):
        for name, value in (("<WS>", place.workspace), ("<HOME>", place.home)):
            line = line.replace(name, str(value))
        rule, command = (each.strip() for each in line.split(" | "))
        found = verdict_of(place, "run_command", {"command": command, "modifies_files": False}, f"run_command({rule})")
        if found.action is not Action.DENY:
            wrong.append((rule, command, found))
    assert not wrong


WRITES = """
printf x > config/prod.yml
sed -i s/KEY/x/ config/prod.yml
cp plain.txt config/prod.yml
mv config gone
rm -rf vendor
rm config/prod.yml
touch vendor/new.txt
python3 -c "open('config/prod.yml','w').write('x')"
python3 -c "import os; os.rename('config','gone')"
python3 -c "import os; os.remove('config/prod.yml')"
python3 -c "import os; os.rename('vendor','gone')"
python3 -c "open('vendor/new.txt','w').write('x')"
python3 -c "open('vendor/lib.txt','a').write('x')"
python3 -c "import os; os.chmod('vendor/lib.txt', 0)"
python3 -c "import os; os.truncate('config/prod.yml', 0)"
"""


async def test_nothing_changes_a_file_that_a_rule_protects_from_changes(open_atelier: Opener, place: Place) -> None:
    ws = place.workspace
    (ws / "vendor").mkdir()
    (ws / "vendor/lib.txt").write_text("lib\n")
    before = {name: (ws / name).read_text() for name in ("config/prod.yml", "vendor/lib.txt")}
    calls = [("run_command", {"command": line, "modifies_files": True}) for line in filter(None, WRITES.splitlines())]
    calls += [
        ("write_file", {"path": "vendor/new.txt", "content": "x"}),
        ("move_file", {"source": "config", "destination": "gone"}),
        ("delete_path", {"path": "vendor", "recursive": True}),
        ("copy_file", {"source": "plain.txt", "destination": "vendor"}),
        ("run_command", {"command": "python3 -c \"open('config/other.yml','w').write('x')\"", "modifies_files": True}),
    ]  # fmt: skip
    await results(
        open_atelier, place, ApprovalMode.AUTO, calls, ("edit_file(config/prod.yml)", "write_file(vendor/**)")
    )
    assert {name: (ws / name).read_text() for name in before} == before
    assert sorted(each.name for each in (ws / "vendor").iterdir()) == ["lib.txt"]
    # A build still creates files next to it.
    assert (ws / "config/other.yml").exists() is sandbox_contents.has_mounts()
