"""Protected names apply to programs: naming one needs approval, existing ones are read-only, new ones are held for
a person.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from atelier_desk.domain.agent import AgentConfig, ApprovalMode
from atelier_desk.domain.approval import ApprovalPolicy
from atelier_desk.domain.events.run import ToolCallStarted
from atelier_desk.domain.permission import Action, PermissionRule, RuleScope, Verdict
from atelier_desk.domain.protected_names import is_protected
from atelier_desk.domain.result_parts import HeldPart
from atelier_desk.engine.run.call_verdict import verdict
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.workspace.checkpoints import held_file_decisions
from atelier_desk.workspace.checkpoints.protected_file_guard import ProtectedFiles, settle_all
from atelier_desk.workspace.checkpoints.undoable_file_operations import Author, WorkspaceFiles
from atelier_desk.workspace.processes import sandbox_contents
from tests.tools.shell.conftest import Bench

needs_sandbox = pytest.mark.skipif(not sandbox_contents.available(), reason="without a sandbox every command asks")

NAMES = (
    "AGENTS.md", "CLAUDE.md", ".envrc", ".vscode/tasks.json", ".github/workflows/ci.yml", ".husky/pre-commit", ".npmrc",
    ".mcp.json",
    ".bashrc", ".gitattributes", ".git/info/attributes", "sub/AGENTS.md",
)  # fmt: skip
WRITERS = (
    "sed -i s/ok/evil/ {}", "sort -o {} in.txt", "sort -o{} in.txt", "sort --output={} in.txt", "xxd in.txt {}",
    "install in.txt {}",
    "truncate -s 0 {}", "ln -sf in.txt {}", "uniq in.txt {}", "perl -pi -e s/ok/evil/ {}", "rm {}",
    "dd if=in.txt of={}", "tee {}",
    "git mv -f in.txt {}", "git log --output={}", "mv in.txt {}", "cp in.txt {}", "touch {}", "echo x > {}",
    "python3 w.py {}",
    "curl -o {} file:///etc/passwd", "tar -cf {} in.txt", "make OUT={}", "./canary {}",
    "cd . && perl -pi -e s/ok/evil/ {}", "patch {} p",
)  # fmt: skip
PLAIN_READS = ("cat {}", "grep x {}", "git diff {}", "git log -- {}", "head -n 1 {}", "wc -l {}")


def said(bench: Bench, command: str, mode: ApprovalMode, *rules: str, **more: object) -> Verdict:
    described = bench.call_of(command, **more)
    held = tuple(PermissionRule(id=text, text=text, action=Action.ALLOW, scope=RuleScope.ALWAYS) for text in rules)
    policy = ApprovalPolicy(mode=mode, rules=held)
    agent = AgentConfig(name="A", provider="p", model="m")
    run = RunState(run_id="r", workflow_id="w", agent=agent, approvals=policy, workspace=(str(bench.root),))
    started = ToolCallStarted(
        call_id="c", tool="run_command", arguments={}, section="shell", effect=described.effect.value
    )
    return verdict(run, started, described, repaired=False)


@pytest.fixture
def files(bench: Bench) -> WorkspaceFiles:
    bench.services.files = WorkspaceFiles(bench.outside / "checkpoints", (bench.outside,))
    return bench.services.files


def fill(root: Path, names: tuple[str, ...] = NAMES) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("ok\n")


@needs_sandbox
def test_a_named_one_needs_approval_in_every_profile_and_despite_rules(bench: Bench) -> None:
    fill(bench.root)
    quiet = [
        (mode.value, line)
        for name in NAMES
        for line in (each.format(name) for each in WRITERS)
        for mode in (ApprovalMode.AUTO, ApprovalMode.EDIT, ApprovalMode.SELECTIVE)
        if said(bench, line, mode, "run_command").action is Action.ALLOW
    ]
    assert len(NAMES) * len(WRITERS) >= 300
    assert quiet == []
    asked = [line for name in NAMES for line in (each.format(name) for each in PLAIN_READS)
             if said(bench, line, ApprovalMode.SELECTIVE).action is not Action.ALLOW]  # fmt: skip
    assert asked == []


@needs_sandbox
def test_other_spellings_of_a_name(bench: Bench) -> None:
    fill(bench.root)
    (bench.root / "link").symlink_to("AGENTS.md")
    (bench.root / "docs").symlink_to(".github")
    for line in (
        "perl -pi -e 1 agents.MD", "perl -pi -e 1 ./sub/../AGENTS.md", "perl -pi -e 1 link",
        "perl -pi -e 1 docs/workflows/ci.yml",
        "cd .github && perl -pi -e 1 workflows/ci.yml", "cd .github/workflows && ./x ci.yml",
        "git -C .github mv workflows x",
        "x -v a:AGENTS.md", "x --out AGENTS.md", "x -xyzoAGENTS.md", "perl -pi -e 1 AGENTS.m?", "perl -pi -e 1 *.md",
        "chmod +x .husky",
    ):  # fmt: skip
        assert said(bench, line, ApprovalMode.AUTO, "run_command").action is Action.ASK, line
    assert said(bench, "./x ci.yml", ApprovalMode.AUTO, cwd=".github/workflows").action is Action.ASK
    for line in (
        "perl -pi -e 1 in.txt",
        "make",
        "git commit -m 'about AGENTS.md'",
        "./x docs2/agents",
        "python3 -m pytest tests",
    ):
        assert said(bench, line, ApprovalMode.AUTO).action is Action.ALLOW, line


ATTACKS = {
    "writes": "for f in names: open(f, 'w').write('evil')",
    "appends": "for f in names: open(f, 'a').write('evil')",
    "deletes": "for f in names: os.unlink(f)",
    "replaces": "for f in names: open('new', 'w').write('evil'); os.replace('new', f)",
    "links": (
        "for f in names: open('evil.txt', 'w').write('evil'); os.unlink(f); os.symlink(os.path.abspath('evil.txt'), f)"
    ),
    "renames": "for f in names: os.rename(f, 'away'); open(f, 'w').write('evil')",
    "carries the folder away": (
        "for f in names:\n  d = f.split('/')[0]\n  os.rename(d, d + '.old')\n"
        "  os.makedirs(os.path.dirname(f) or '.', exist_ok=True); open(f, 'w').write('evil')"
    ),
    "puts a link for the folder": (
        "for f in names:\n  d = f.split('/')[0]\n  os.rename(d, d + '.old'); os.makedirs('evil/workflows', "
        "exist_ok=True)\n"
        "  open('evil/workflows/ci.yml', 'w').write('evil'); os.symlink('evil', d)"
    ),
    "writes another name of it": "for f in names: os.link(f, 'other'); open('other', 'w').write('evil')",
    "writes a name it had before": "for f in glob.glob('hard*'): open(f, 'w').write('evil')",
    "changes modes": "for f in names: os.chmod(f, 0o777)",
}


@needs_sandbox
@pytest.mark.parametrize("mounts", [True, False])
async def test_an_existing_one_is_unchanged(
    bench: Bench, files: WorkspaceFiles, mounts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not mounts:
        unmounted(monkeypatch)
    fill(bench.root)
    bench.git("init", "-q")
    os.link(bench.root / "AGENTS.md", bench.root / "hard")
    (bench.root / "CLAUDE.md").unlink()
    (bench.root / "CLAUDE.md").symlink_to("guide.txt")
    (bench.root / "guide.txt").write_text("ok\n")
    names = [name for name in NAMES if name != ".git/info/attributes"]
    before = state(bench.root, names)
    for what, code in ATTACKS.items():
        body = "\n".join(f"  {line}" for line in code.split("\n"))
        (bench.root / "attack.py").write_text(
            f"import glob, os\nfor name in {[*names, 'guide.txt']!r}:\n try:\n  names = [name]\n{body}\n except "
            f"OSError as e: print(e)\n"
        )
        result = await bench.run(f"{sys.executable} attack.py")
        assert result.data["exit_status"] == 0, (what, result.data)
        assert "not_restored" not in result.data, (what, result.data)
        now = state(bench.root, names)
        assert {name: now[name] for name in names if now[name] != before[name]} == {}, (what, result.data)
    assert all(held.path == "guide.txt" or is_protected(held.path) for held in files.held.of("w"))


def state(root: Path, names: list[str]) -> dict[str, object]:
    return {
        name: (
            path.readlink() if path.is_symlink() else "",
            path.read_text() if path.is_file() else None,
            path.stat().st_mode,
        )
        for name in names
        if (path := root / name)
    }


def unmounted(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a system without namespaces: nothing is read-only, only restored."""
    true = sandbox_contents.working

    def working(*arguments: object, **more: object) -> object:
        made = true(*arguments, **{**more, "read_only": ()})  # type: ignore[arg-type]
        return {**made, "keep": []} if made is not None else None

    monkeypatch.setattr(sandbox_contents, "working", working)
    monkeypatch.setattr(sandbox_contents, "has_mounts", lambda: False)


MAKERS: tuple[Callable[[str], str], ...] = (
    lambda name: f"mkdir -p {name.rpartition('/')[0] or '.'}; echo evil > {name}",
    lambda name: f"mkdir -p {name.rpartition('/')[0] or '.'}; echo evil > evil; ln -s $PWD/evil {name}",
    lambda name: (
        f"mkdir -p t; echo evil > t/x; mkdir -p {name.rpartition('/')[0] or '.'}; mv t/x {name}; echo '/*' > .gitignore"
    ),
    lambda name: (
        f"mkdir -p {name.rpartition('/')[0] or '.'}; echo evil > hard; ln hard {name} || cp hard {name}; (sleep 0; "
        f"echo worse > hard)"
    ),
)


@needs_sandbox
async def test_new_ones_are_held_for_a_person(bench: Bench, files: WorkspaceFiles) -> None:
    bench.git("init", "-q")
    for make in MAKERS:
        (bench.root / "make.sh").write_text("\n".join(map(make, NAMES)) + "\n")
        result = await bench.run("bash make.sh")
        assert [name for name in NAMES if os.path.lexists(bench.root / name)] == [], result.data
        assert set(result.data["held"]) == set(NAMES)
        assert {part.path for part in result.parts if isinstance(part, HeldPart)} == set(NAMES)
        assert not [part for part in result.data.get("changed_files", ()) if part.removeprefix("created ") in NAMES]
    waiting = files.held.of("w")
    assert list(files.held.begun()) == []
    assert len(waiting) == len(MAKERS) * len(NAMES)
    assert all(files.held.read(held, 100) in (b"evil\n", b"worse\n", None) for held in waiting)


@needs_sandbox
async def test_a_folder_full_of_new_ones_is_held_in_one_piece(bench: Bench, files: WorkspaceFiles) -> None:
    (bench.root / "make.sh").write_text(
        "mkdir .vscode; for each in $(seq 200); do echo evil > .vscode/$each.json; done\n"
    )
    result = await bench.run("bash make.sh")
    assert result.data["held"] == [".vscode"]
    assert not (bench.root / ".vscode").exists()
    (held,) = files.held.of("w")
    assert held_file_decisions.accept(files, "w", held.id) is None
    assert len(list((bench.root / ".vscode").iterdir())) == 200
    assert files.held.of("w") == []


@needs_sandbox
async def test_restore_and_discard(bench: Bench, files: WorkspaceFiles) -> None:
    (bench.root / "make.sh").write_text(
        "echo one > AGENTS.md; mkdir .husky; echo 'two' > .husky/pre-commit; chmod +x .husky/pre-commit\n"
    )
    await bench.run("bash make.sh")
    first, second = files.held.of("w")
    assert (first.path, second.path) == (".husky/pre-commit", "AGENTS.md")
    change = held_file_decisions.accept(files, "w", first.id)
    assert (bench.root / ".husky/pre-commit").read_text() == "two\n"
    assert os.access(bench.root / ".husky/pre-commit", os.X_OK)
    assert change is not None
    assert change.undoable
    (bench.root / "AGENTS.md").write_text("of a person\n")
    with pytest.raises(Exception, match="Something else is now"):
        held_file_decisions.accept(files, "w", second.id)
    assert (bench.root / "AGENTS.md").read_text() == "of a person\n"
    assert [held.path for held in WorkspaceFiles(bench.outside / "checkpoints").held.of("w")] == ["AGENTS.md"]
    (bench.root / "AGENTS.md").unlink()
    held_file_decisions.discard(files, "w", second.id)
    # A link in place of the folder does not redirect a restored file.
    (bench.root / "make.sh").write_text("mkdir notes; echo three > notes/AGENTS.md\n")
    await bench.run("bash make.sh")
    await bench.run("rm -r notes && ln -s . notes")
    (third,) = files.held.of("w")
    with pytest.raises(Exception, match="Something else is now") as refused:
        held_file_decisions.accept(files, "w", third.id)
    assert (refused.value.params["path"], (bench.root / "AGENTS.md").exists()) == ("notes", False)  # type: ignore[attr-defined]
    (bench.root / "notes").unlink()
    held_file_decisions.accept(files, "w", third.id)
    assert (bench.root / "notes/AGENTS.md").read_text() == "three\n"
    assert files.held.of("w") == []
    # A restored file counts as existing from now on, and is read-only for programs.
    (bench.root / "change.sh").write_text("echo evil >> .husky/pre-commit\n")
    result = await bench.run("bash change.sh")
    assert (bench.root / ".husky/pre-commit").read_text() == "two\n"
    if sandbox_contents.has_mounts():
        assert ".husky/pre-commit" in result.data["read_only"]


@needs_sandbox
async def test_an_approval_covers_the_named_files(bench: Bench, files: WorkspaceFiles) -> None:
    fill(bench.root)
    bench.git("init", "-q")
    for line, path, want in (
        ("sed -i s/ok/new/ AGENTS.md", "AGENTS.md", "new\n"),
        ("cp in.txt .github/workflows/new.yml", ".github/workflows/new.yml", "b\na\nb\n"),
        ("rm -r .husky", ".husky/pre-commit", None),
        ("mv sub sub2", "sub2/AGENTS.md", "ok\n"),
        ("perl -pi -e s/ok/new/ .envrc", ".envrc", "new\n"),
    ):
        assert said(bench, line, ApprovalMode.AUTO).action is Action.ASK, line
        result = await bench.run(line)
        assert result.data["exit_status"] == 0, (line, result.data)
        assert "held" not in result.data, (line, result.data)
        assert ((bench.root / path).read_text() if (bench.root / path).exists() else None) == want, line


@needs_sandbox
async def test_git_rewrites_tracked_ones_after_an_approval(bench: Bench, files: WorkspaceFiles) -> None:
    bench.git("init", "-q")
    bench.git("add", "in.txt")
    bench.git("commit", "-qm", "one")
    for line in ("git checkout main", "git stash", "git pull", "git reset --hard", "git switch main"):
        assert said(bench, line, ApprovalMode.AUTO).action is Action.ALLOW, line  # nothing protected is tracked
    fill(bench.root, ("AGENTS.md", ".github/workflows/ci.yml", ".envrc"))
    bench.git("add", "AGENTS.md", ".github")
    bench.git("commit", "-qm", "two")
    bench.git("branch", "old")
    (bench.root / "AGENTS.md").write_text("newer\n")
    (bench.root / ".npmrc").write_text("tracked later\n")
    bench.git("add", "AGENTS.md", ".npmrc")
    bench.git("commit", "-qm", "three")
    for line in (
        "git switch old",
        "git -C . checkout old",
        "git pull",
        "git stash",
        "git reset --hard old",
        "cd sub2 || git merge old",
    ):
        asked = said(bench, line, ApprovalMode.AUTO, "run_command")
        assert (asked.action, asked.reason) == (Action.ASK, "opaque" if "-C" in line else "protected"), line
    assert said(bench, "git switch old", ApprovalMode.AUTO).about == ".github/workflows/ci.yml, .npmrc, AGENTS.md"
    assert said(bench, "git clean -fd", ApprovalMode.AUTO).about == ".envrc"
    for line in ("git switch -c new", "git reset", "git stash list", "git add -A", "git commit -qm x"):
        assert said(bench, line, ApprovalMode.AUTO).action is Action.ALLOW, line
    result = await bench.run("git switch -q old")
    assert result.data["exit_status"] == 0, result.data
    assert ((bench.root / "AGENTS.md").read_text(), (bench.root / ".npmrc").exists()) == ("ok\n", False)
    result = await bench.run("git switch -q main")
    assert (result.data["exit_status"], result.data.get("held")) == (0, None)
    assert (bench.root / ".npmrc").exists()
    await bench.run("git worktree add -q tree && git worktree add -q plain")
    assert (
        said(bench, "git worktree remove tree", ApprovalMode.AUTO).about
        == "tree/.github/workflows/ci.yml, tree/.npmrc, tree/AGENTS.md"
    )
    assert said(bench, "git worktree remove gone", ApprovalMode.AUTO).action is Action.ALLOW
    assert (await bench.run("git worktree remove tree")).success
    assert not (bench.root / "tree").exists()
    # A program that does the same without approval finds them read-only, or they are restored.
    (bench.root / "switch.sh").write_text("git switch -q old\n")
    await bench.run("bash switch.sh")
    assert (bench.root / "AGENTS.md").read_text() == "newer\n"


@needs_sandbox
async def test_git_moves_them_with_a_folder_after_an_approval(bench: Bench, files: WorkspaceFiles) -> None:
    bench.git("init", "-q")
    (bench.root / "docs/more").mkdir(parents=True)
    (bench.root / "plain").mkdir()
    for name in ("docs/AGENTS.md", "docs/more/.npmrc", "docs/a.txt", "plain/a.txt"):
        (bench.root / name).write_text("ok\n")
    bench.git("add", "-A")
    bench.git("commit", "-qm", "one")
    (bench.root / "docs/.envrc").write_text("not tracked\n")
    asks = (
        "git mv docs guide", "git mv d*s guide", "git -C docs mv more less", "git mv docs/more plain", "git rm -r docs",
        "git rm -rf .", "git rm 'docs/*'", "git rm ':(top)docs/more/*'", "cd docs && git rm -r more",
        "git mv -k -- docs plain",
        "git mv docs plain/a.txt ..", "cd plain && git rm ':/docs'", "git rm '*.md'", "git rm 'docs/[^a]*'",
    )  # fmt: skip
    for line in asks:
        asked = said(bench, line, ApprovalMode.AUTO, "run_command")
        assert (asked.action, asked.reason) == (Action.ASK, "opaque" if "-C" in line else "protected"), line
    for line in (
        "git mv plain guide",
        "git rm -r plain",
        "git mv docs/a.txt plain/b.txt",
        "git rm -r --cached docs",
        "git rm docs/a.txt",
        "git rm '*.txt'",
    ):
        assert said(bench, line, ApprovalMode.AUTO).action is Action.ALLOW, line
    names = "docs/.envrc, docs/AGENTS.md, docs/more/.npmrc, guide/.envrc, guide/AGENTS.md … (6)"
    assert said(bench, "git mv docs guide", ApprovalMode.AUTO).about == names
    for line, path in (("git mv docs guide", "guide/AGENTS.md"), ("git mv guide plain", "plain/guide/.envrc")):
        result = await bench.run(line)
        assert (result.data["exit_status"], result.data.get("held"), result.data.get("restored")) == (0, None, None), (
            result.data
        )
        assert (bench.root / path).exists()
    assert (bench.root / "plain/guide/more/.npmrc").read_text() == "ok\n"
    result = await bench.run("git rm -rqf plain/guide")
    assert (result.data["exit_status"], result.data.get("held"), result.data.get("restored")) == (0, None, None), (
        result.data
    )
    assert not (bench.root / "plain/guide/AGENTS.md").exists()


@needs_sandbox
async def test_an_identical_rewrite_is_not_reported(
    bench: Bench, files: WorkspaceFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    unmounted(monkeypatch)
    fill(bench.root, ("AGENTS.md", ".npmrc"))
    result = await bench.run("bash -c 'touch AGENTS.md; cp .npmrc x; mv x .npmrc; exit 255'")
    assert not {"restored", "held", "not_restored"} & set(result.data)
    assert result.data["error"] == "The command ended with exit status 255."


@needs_sandbox
async def test_a_background_command(bench: Bench, files: WorkspaceFiles) -> None:
    fill(bench.root, ("CLAUDE.md",))
    (bench.root / "serve.sh").write_text(
        "echo evil > AGENTS.md; echo evil > CLAUDE.md; echo begun; read line; echo evil > .envrc\n"
    )
    started = await bench.run("bash serve.sh", background=True)
    command_id = started.data["command_id"]
    async with asyncio.timeout(20):
        while "begun" not in (await bench.call("command_output", command_id=command_id, offset=0)).data["output"]:
            await asyncio.sleep(0.02)
    # Programs that obey such files read them right at the start.
    await asyncio.to_thread(settle_all, files)
    assert not (bench.root / "AGENTS.md").exists()
    await bench.call("command_input", command_id=command_id, text="go\n")
    async with asyncio.timeout(20):
        while files.running:
            await asyncio.sleep(0.02)
    assert {held.path for held in files.held.of("w")} >= {"AGENTS.md", ".envrc"}
    assert ((bench.root / "CLAUDE.md").read_text(), (bench.root / ".envrc").exists()) == ("ok\n", False)


@needs_sandbox
async def test_a_file_created_by_one_command_is_not_restored_by_another(bench: Bench, files: WorkspaceFiles) -> None:
    """Two commands at once, the first one creating a file repeatedly; and one that waits until a person replaced a
    file.
    """
    fill(bench.root, ("CLAUDE.md", ".vscode/settings.json"))
    (bench.root / "first.sh").write_text("while ! test -e go; do echo evil > AGENTS.md; done\n")
    (bench.root / "second.sh").write_text(
        "echo begun; while ! test -e go2; do sleep 0.02; done; echo evil > .vscode/settings.json\n"
    )
    first = asyncio.create_task(bench.run("bash first.sh"))
    async with asyncio.timeout(20):
        while not (bench.root / "AGENTS.md").exists():
            await asyncio.sleep(0.01)
    second = asyncio.create_task(bench.run("bash second.sh"))
    async with asyncio.timeout(20):
        while not any("begun" in text for text in bench.progress):
            await asyncio.sleep(0.02)
    (bench.root / "new").write_text("of a person\n")
    (bench.root / "new").replace(bench.root / ".vscode/settings.json")
    (bench.root / "go").touch()
    await first
    (bench.root / "go2").touch()
    await second
    assert not (bench.root / "AGENTS.md").exists()
    assert (bench.root / ".vscode/settings.json").read_text() == "ok\n"
    assert files.running == []


async def test_new_ones_are_held_after_a_kill(bench: Bench, files: WorkspaceFiles) -> None:
    fill(bench.root, ("CLAUDE.md",))
    ProtectedFiles(files, (bench.root,)).begin(Author("w"))
    fill(bench.root, ("AGENTS.md", ".vscode/tasks.json"))
    again = WorkspaceFiles(bench.outside / "checkpoints", (bench.outside,))
    assert settle_all(again) == {"w"}
    assert {held.path for held in again.held.of("w")} == {"AGENTS.md", ".vscode/tasks.json"}
    assert (bench.root / "CLAUDE.md").exists()
    assert list(again.held.begun()) == []


@needs_sandbox
async def test_writes_by_others_meanwhile_stay(bench: Bench, files: WorkspaceFiles) -> None:
    """A person's editor, and file tools, which need approval themselves."""
    fill(bench.root, (".vscode/settings.json",))
    (bench.root / "wait.sh").write_text("echo begun; while ! test -e go; do sleep 0.02; done\n")
    call = asyncio.create_task(bench.run("bash wait.sh"))
    async with asyncio.timeout(20):
        while not any("begun" in text for text in bench.progress):
            await asyncio.sleep(0.02)
    written = await bench.call(
        "write_file", replace(bench.context, roots=(bench.root,)), path="AGENTS.md", content="allowed\n"
    )
    assert written.success, written.data
    if sandbox_contents.has_mounts():
        (bench.root / ".vscode/settings.json").write_text("edited\n")
    (bench.root / "go").touch()
    result = await call
    assert "held" not in result.data
    assert (bench.root / "AGENTS.md").read_text() == "allowed\n"
    if sandbox_contents.has_mounts():
        assert (bench.root / ".vscode/settings.json").read_text() == "edited\n"


def test_without_a_sandbox_only_plain_reads_of_the_table_need_no_approval(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox_contents, "available", lambda: False)
    for mode in (ApprovalMode.AUTO, ApprovalMode.EDIT, ApprovalMode.SELECTIVE):
        for line in (
            "make",
            "python3 x.py",
            "touch x",
            "cp in.txt x",
            "npm test",
            "git commit -m x",
            "rm in.txt",
            "./canary",
        ):
            assert said(bench, line, mode, "run_command").action is Action.ASK, line


@pytest.mark.skipif(sys.platform == "win32", reason="Windows deletes no open file")
def test_a_replacement_of_a_read_only_file_is_never_mistaken_for_it(bench: Bench, files: WorkspaceFiles) -> None:
    """Many file systems reuse the inode number of a deleted file: a program's file could be mistaken for the
    person's.
    """
    fill(bench.root, ("CLAUDE.md",))
    path = bench.root / "CLAUDE.md"
    protected = ProtectedFiles(files, (bench.root,), mounted=True)
    protected.begin(Author("w"))
    first = path.stat().st_ino
    for _ in range(20):
        path.unlink()
        path.write_text("evil\n")
        assert path.stat().st_ino != first
    settled = protected.settle()
    protected.close()
    assert path.read_text() == "ok\n"
    assert [held.path for held in settled.held] == ["CLAUDE.md"]
