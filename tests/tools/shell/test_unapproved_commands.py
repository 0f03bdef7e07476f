"""No command line that runs without approval runs a program of the workspace, writes a file or reads outside: run
for real.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from atelier_desk.tools.base import Effect, Risk
from atelier_desk.workspace.commands.judge import judge
from atelier_desk.workspace.processes import sandbox_contents
from tests.tools.shell.conftest import Bench
from tests.workspace.commands.option_injections import NAMED, SHELL, lines

pytestmark = pytest.mark.skipif(
    shutil.which("git") is None or shutil.which("bash") is None, reason="needs git and bash"
)


@pytest.fixture(autouse=True)
def open_air(monkeypatch: pytest.MonkeyPatch) -> None:
    """No sandbox: only the judgement of the line keeps the canary quiet here."""
    monkeypatch.setattr(sandbox_contents, "available", lambda: False)


def snapshot(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text("utf-8", "replace")
        if path.is_file() and not path.is_symlink()
        else ""
        for path in sorted(folder.rglob("*"))
    }


async def test_option_injections(bench: Bench) -> None:
    (bench.root / "link-out").symlink_to(bench.outside / "secret")
    (bench.root / "link-dir").symlink_to(bench.outside)
    (bench.root / "-o").write_text("x")
    (bench.root / "sub").mkdir()
    for name, text in (
        ("script.sed", "1e ./canary\n"),
        ("script.awk", 'BEGIN{system("./canary")}'),
        ("script.jq", "env"),
    ):
        (bench.root / name).write_text(text)
    tried = lines()
    assert len(tried) >= 600
    before, ran = snapshot(bench.root), []
    for line in tried:
        call = bench.call_of(line)
        assert (call.effect is Effect.READ) == (call.risk is Risk.LOW) == judge(line, str(bench.outside)).safe
        if call.effect is not Effect.READ:
            continue  # approval is needed
        ran.append(line)
        result = await bench.run(line, timeout_ms=5000)
        assert "s3cret" not in result.data.get("output", ""), line
        assert bench.canary_marks == [], line
        assert snapshot(bench.root) == before, line
    # The rest are lines that only look like an attack; some must exist, or nothing was tested.
    assert {"cat -- -o", "sort *", "cat lin*"} <= set(ran)
    assert len(ran) < len(tried) / 20, ran


async def test_files_that_no_operand_names(bench: Bench) -> None:
    """No line reads outside files, or writes, without an approval, however it names the file."""
    secret = bench.outside / "secret"
    (bench.root / "link-out").symlink_to(secret)
    (bench.root / "link-dir").symlink_to(bench.outside)
    lists = {
        "names": f"{secret}\n",
        "names0": f"{secret}\0",
        "options": f"-a {secret}\n",
        "sums": f"{'0' * 32}  {secret}\n",
    }
    for name, text in {**lists, "b.txt": "b\n"}.items():
        (bench.root / name).write_text(text)
    assert len(NAMED) >= 190
    before, ran = snapshot(bench.root), []
    for line in (each.replace("{out}", str(secret)) for each in NAMED):
        if bench.call_of(line).effect is not Effect.READ:
            continue  # approval is needed
        ran.append(line)
        result = await bench.run(line, timeout_ms=5000)
        assert "s3cret" not in result.data.get("output", ""), line
        assert snapshot(bench.root) == before, line
    # Plainly reading a link, which is refused when it is followed, or a file that really has such a name.
    assert {"cat @names", "wc -c < link-out", "cat link-dir/secret"} <= set(ran)
    assert len(ran) <= 15, ran


@pytest.mark.parametrize(
    "line",
    [
        "find . -maxdepth 0 -exec ./canary \\;", "sed -n '1e ./canary' in.txt", "awk 'BEGIN{system(\"./canary\")}'",
        "env ./canary",
        "ls | xargs -n1 ./canary", "ls $(./canary)", 'ls "$(./canary)"', "split --filter=./canary in.txt",
        "PATH=. canary",
        "tar -cf /dev/null in.txt --checkpoint=1 --checkpoint-action=exec=./canary", "nohup ./canary",
        "timeout 1 ./canary",
        "typeset -i 'x=a[$(./canary)]'", "git -c alias.x='!./canary' x", "git ls-remote --upload-pack=./canary .",
    ],
)  # fmt: skip
async def test_the_canary_works(bench: Bench, line: str) -> None:
    """The same attacks do run the program when a person allows them; before that, none runs without approval."""
    bench.git("init", "-q")
    assert bench.call_of(line).effect is not Effect.READ
    assert bench.canary_marks == []
    await bench.run(line, timeout_ms=5000)
    assert bench.canary_marks


def repository(bench: Bench) -> None:
    """A repository whose own settings run the canary wherever git allows it."""
    bench.git("init", "-q")
    (bench.root / "a.txt").write_text("one\n")
    (bench.root / "a.x").write_text("one\n")
    bench.git("add", ".")
    bench.git("commit", "-q", "-m", "first")
    (bench.root / ".gitattributes").write_text(
        "*.x filter=evil diff=evil\n*.txt filter=driver diff=ext\n*.b filter=Ev.il\n"
    )
    canary = str(bench.root / "canary")
    hooks = bench.root / "hooks"
    hooks.mkdir()
    for hook in ("post-index-change", "post-checkout", "fsmonitor-watchman", "reference-transaction", "pre-auto-gc"):
        shutil.copy(canary, hooks / hook)
    settings = {
        "core.fsmonitor": canary, "core.hooksPath": str(hooks), "core.pager": canary, "pager.status": canary,
        "pager.log": "true",
        "diff.external": canary, "diff.evil.textconv": canary, "diff.evil.command": canary, "diff.ext.textconv": canary,
        "filter.evil.clean": canary, "filter.evil.smudge": canary, "filter.evil.required": "true",
        "filter.driver.process": canary,
        "filter.Ev.il.clean": canary, "core.editor": canary, "core.sshCommand": canary, "core.askPass": canary,
        "credential.helper": canary,
        "gpg.program": canary, "gpg.ssh.program": canary, "log.showSignature": "true",
        "format.pretty": "format:%h %GG %GS",
        "alias.status": f"!{canary}", "alias.st": f"!{canary}", "core.alternateRefsCommand": canary,
        "interactive.diffFilter": canary,
        "diff.submodule": "diff", "status.submoduleSummary": "true", "core.gitProxy": canary,
        "uploadpack.packObjectsHook": canary,
        "trace2.eventTarget": str(bench.root / "traced"), "include.path": str(bench.root / "more.config"),
    }  # fmt: skip
    for name, value in settings.items():
        bench.git("config", name, value)
    (bench.root / "more.config").write_text(
        f'[filter "hidden"]\n\tclean = {canary}\n[diff "hidden"]\n\ttextconv = {canary}\n'
    )
    with (bench.root / ".gitattributes").open("a") as attributes:
        attributes.write("in.txt filter=hidden diff=hidden\n")
    for name in ("a.txt", "a.x", "in.txt"):
        (bench.root / name).write_text("two\n")
    shutil.rmtree(bench.marks)
    bench.marks.mkdir()


READING = [
    "git status", "git status -s", "git status --porcelain=v2 --branch", "git diff", "git diff --stat", "git diff HEAD",
    "git diff --cached",
    "git diff -- a.x", "git diff HEAD -- a.txt in.txt", "git log", "git log -p", "git log --oneline -3",
    "git log --stat", "git show",
    "git show HEAD", "git show HEAD:a.x", "git ls-files -m", "git ls-files -o --exclude-standard", "git branch -a",
    "git tag",
    "git remote -v",
    "git rev-parse --show-toplevel", "git describe --always", "git ls-tree HEAD", "git shortlog -ns HEAD",
    "git --version",
    "git --no-pager log -1", "git status && git diff", "git diff | head -3", "cd . && git status", "git log -S two",
    "git diff *.x",
]  # fmt: skip


async def test_a_repository_runs_nothing(bench: Bench) -> None:
    """Reading commands run nothing of it even after an approval of its settings."""
    repository(bench)
    refused = await bench.run("git status")
    assert refused.data["code"] == "unsafe_repository"
    bench.says_yes = True
    for line in READING:
        call = bench.call_of(line)
        assert call.effect is Effect.READ, line
        result = await bench.run(line, timeout_ms=20_000)
        assert result.success, (line, result.data)
        assert bench.canary_marks == [], line
    status = await bench.call("git_status")
    assert {each["path"] for each in status.data["files"]} >= {"a.txt", "a.x", "in.txt", ".gitattributes"}
    for arguments in ({}, {"staged": True}, {"file": "a.x"}, {"file": "in.txt"}):
        diff = await bench.call("git_diff", **arguments)
        assert diff.success, diff.data
        assert arguments == {"staged": True} or "+two" in diff.data["output"]
    assert bench.canary_marks == []
    assert not (bench.root / "written").exists()


@pytest.mark.parametrize(
    "line", [("git", "status"), ("git", "diff"), ("git", "diff", "--no-ext-diff", "--no-textconv")]
)
def test_git_itself_does_run_them(bench: Bench, line: tuple[str, ...]) -> None:
    repository(bench)
    subprocess.run(line, cwd=bench.root, capture_output=True, timeout=20, check=False)
    assert bench.canary_marks


async def test_a_bare_repository_in_a_folder_is_not_used(bench: Bench) -> None:
    """CVE-2026-45033: a bare repository in a cloned folder."""
    bench.git("init", "-q")
    bare = bench.root / "docs"
    bench.git("init", "-q", "--bare", str(bare))
    bench.git("config", "--file", str(bare / "config"), "core.fsmonitor", str(bench.root / "canary"))
    bench.git("config", "--file", str(bare / "config"), "core.bare", "false")
    bench.git("config", "--file", str(bare / "config"), "core.worktree", str(bench.root))
    for line in ("cd docs && git status", "cd docs && git diff", "cd docs && git log"):
        await bench.run(line)
    for line in ("git status", "git diff", "git log -p"):
        await bench.run(line, cwd="docs")
    assert bench.canary_marks == []
    subprocess.run(["git", "status"], cwd=bare, capture_output=True, timeout=20, check=False)
    assert bench.canary_marks


async def test_a_submodule_runs_nothing(bench: Bench) -> None:
    inner = bench.outside / "inner"
    inner.mkdir()
    bench.git("init", "-q", cwd=inner)
    (inner / "f.x").write_text("1\n")
    bench.git("add", ".", cwd=inner)
    bench.git("commit", "-q", "-m", "x", cwd=inner)
    bench.git("init", "-q")
    bench.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "sub")
    bench.git("commit", "-q", "-m", "sub")
    canary = str(bench.root / "canary")
    for name in ("core.fsmonitor", "filter.evil.clean", "diff.external"):
        bench.git("config", name, canary, cwd=bench.root / "sub")
    (bench.root / ".git/modules/sub/info/attributes").write_text("*.x filter=evil\n")
    (bench.root / "sub/f.x").write_text("2\n")
    for line in ("git status", "git diff", "git diff --stat", "git log -p"):
        assert bench.call_of(line).effect is Effect.READ
        await bench.run(line)
        assert bench.canary_marks == [], line
    assert (await bench.call("git_status")).success
    assert (await bench.call("git_diff")).success
    assert bench.canary_marks == []
    for line in (
        "git diff --ignore-submodules=none",
        "git diff --submodule=diff",
        "git status --ignore-submodules=none",
    ):
        assert bench.call_of(line).effect is not Effect.READ
    subprocess.run(["git", "status"], cwd=bench.root, capture_output=True, timeout=20, check=False)
    assert bench.canary_marks


async def test_a_repository_exposes_no_files_from_elsewhere(bench: Bench) -> None:
    bench.git("init", "-q")
    bench.git("config", "core.worktree", str(bench.outside))
    for result in (await bench.call("git_status"), await bench.call("git_diff"), await bench.run("git status")):
        assert not result.success
        assert result.data["code"] == "unsafe_repository"


async def test_a_program_of_the_workspace_does_not_replace_one_of_the_machine(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file named ``git`` or ``ls`` in the folder must not run, whatever PATH says."""
    folder = bench.root / "bin"
    folder.mkdir()
    for name in ("git", "ls", "cat", "bash", "head"):
        shutil.copy(bench.root / "canary", folder / name)
        shutil.copy(bench.root / "canary", bench.root / name)
    bench.git("init", "-q")
    monkeypatch.setenv("PATH", f":.:{folder}:{bench.root}:/usr/local/bin:/usr/bin:/bin")
    for line in ("git status", "ls", "cat in.txt", "ls | head -2", "cd bin && ls && git status"):
        assert (await bench.run(line)).success, line
    assert (await bench.call("git_status")).success
    assert bench.canary_marks == []


@pytest.mark.parametrize("line", [line for line in SHELL if "link" in line])
async def test_links_out_of_the_folder_are_refused(bench: Bench, line: str) -> None:
    (bench.root / "link-out").symlink_to(bench.outside / "secret")
    (bench.root / "link-dir").symlink_to(bench.outside)
    if bench.call_of(line).effect is Effect.READ:
        result = await bench.run(line)
        assert result.data["code"] == "outside"
        assert "s3cret" not in str(result.data)
