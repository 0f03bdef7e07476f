"""Reading an ordinary clone with git needs no approval, and the sandbox gives the same output as a terminal."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.agent import AgentConfig, ApprovalMode
from atelier_desk.domain.model_messages import ToolCall
from atelier_desk.workspace.processes import sandbox_contents
from tests.engine.conftest import Opener, Recorder, send_and_wait
from tests.helpers.git_repositories import commit, git
from tests.helpers.tool_calls import tool_call

pytestmark = pytest.mark.skipif(
    shutil.which("git") is None or not sandbox_contents.available(),
    reason="needs git, and without a sandbox every command asks",
)
HOME = """
[include]
    path = ~/.config/work.gitconfig
[core]
    excludesFile = ~/.gitignore_global
    attributesFile = ~/.gitattributes_global
    pager = delta
    editor = vim
    hooksPath = ~/.githooks
[alias]
    st = status
    undo = !git reset HEAD~1
[pager]
    log = delta
[credential]
    helper = store
[filter "lfs"]
    clean = git-lfs clean -- %f
    smudge = git-lfs smudge -- %f
    process = git-lfs filter-process
    required = true
[filter "a=b"]
    clean = false
    required = true
[diff "pdf"]
    textconv = pdftotext
[diff]
    external = difft
[commit]
    gpgSign = true
[gpg]
    format = ssh
[gpg "ssh"]
    program = op-ssh-sign
[merge "ours"]
    driver = true
[url "git@example.org:"]
    insteadOf = https://example.org/
"""


def at_home(home: Path) -> None:
    """A person's own settings, in a folder of dotfiles."""
    (home / "dotfiles").mkdir()
    (home / "dotfiles/gitconfig").write_text(HOME)
    (home / ".gitconfig").symlink_to("dotfiles/gitconfig")
    (home / ".gitignore_global").write_text("*.swp\n")
    (home / ".gitattributes_global").write_text("*.pdf diff=pdf\n*.bin filter=lfs\n*.x filter=a=b\n")
    (home / ".config/git").mkdir(parents=True)
    (home / ".config/git/config").write_text("[user]\n\tname = Ann\n")
    (home / ".config/work.gitconfig").write_text(
        '[user]\n\temail = ann@example.org\n[filter "work"]\n\tclean = false\n'
    )


def set_up(folder: Path, *lines: str) -> None:
    for line in lines:
        git("config", *line.split(" ", 1), cwd=folder)


def lfs(root: Path, beside: Path) -> Path:
    """``git lfs install --local`` and ``git lfs track``."""
    commit(root)
    set_up(
        root, "lfs.repositoryformatversion 0", "filter.lfs.clean git-lfs clean -- %f",
        "filter.lfs.smudge git-lfs smudge -- %f",
        "filter.lfs.process git-lfs filter-process", "filter.lfs.required true",
        "lfs.https://example.org/x.git/info/lfs.access basic",
        "lfs.allowincompletepush true",
    )  # fmt: skip
    (root / ".gitattributes").write_text("*.txt filter=lfs diff=lfs merge=lfs -text\n")
    return root


def husky(root: Path, beside: Path) -> Path:
    commit(root)
    set_up(root, "core.hooksPath .husky/_")
    (root / ".husky/_").mkdir(parents=True)
    (root / ".husky/_/post-index-change").write_text("#!/bin/sh\nexit 1\n")
    return root


def submodule(root: Path, beside: Path) -> Path:
    commit(root)
    git("submodule", "add", "-q", str(commit(beside / "other")), "mod", cwd=root)
    set_up(root, "submodule.active .", "submodule.mod.update rebase", "fetch.recurseSubmodules on-demand")
    return root


def within_a_submodule(root: Path, beside: Path) -> Path:
    commit(beside / "above")
    git("submodule", "add", "-q", str(commit(beside / "other")), root.name, cwd=beside / "above")
    return beside / "above" / root.name


def work_tree(root: Path, beside: Path) -> Path:
    git("worktree", "add", "-q", "-b", "side", str(root), cwd=commit(beside / "main"))
    set_up(beside / "main", "extensions.worktreeConfig true")
    git("config", "--worktree", "core.sparseCheckout", "false", cwd=root)
    return root


def folder_of_a_repository(root: Path, beside: Path) -> Path:
    """A workspace in a repository that starts above it."""
    commit(beside / "above")
    (beside / "above/part").mkdir()
    (beside / "above/part/f.txt").write_text("one\n")
    git("add", ".", cwd=beside / "above")
    git("commit", "-q", "-m", "second", cwd=beside / "above")
    (beside / "above/f.txt").write_text("above\n")
    return beside / "above/part"


def sparse(root: Path, beside: Path) -> Path:
    git("clone", "-q", "--template=", str(commit(beside / "origin")), str(root), cwd=beside)
    git("sparse-checkout", "set", "--cone", "src", cwd=root)
    set_up(root, "index.sparse true")
    return root


def partial(root: Path, beside: Path) -> Path:
    origin = commit(beside / "origin")
    set_up(origin, "uploadpack.allowFilter true")
    git("clone", "-q", "--template=", "--filter=blob:none", f"file://{origin}", str(root), cwd=beside)
    return root


def fork(root: Path, beside: Path) -> Path:
    """A fork with several remotes, as the tools of hosting services create it."""
    git("clone", "-q", "--template=", str(commit(beside / "origin")), str(root), cwd=beside)
    set_up(
        root, "remote.upstream.url https://example.org/up.git",
        "remote.upstream.fetch +refs/heads/*:refs/remotes/upstream/*",
        "remote.upstream.gh-resolved base", "remote.origin.pushurl git@example.org:ann/x.git",
        "remote.pushDefault origin",
        "remote.upstream.prune true", "remote.upstream.tagOpt --no-tags", "branch.main.vscode-merge-base origin/main",
        "branch.main.github-pr-owner-number a#b#1", "branch.main.description text",
        "url.https://example.org/.insteadOf x:",
        "credential.https://example.org.helper !gh auth git-credential", "http.https://example.org/.extraheader AUTH",
        "core.sshCommand ssh -i ~/.ssh/id_work",
    )  # fmt: skip
    return root


def signed(root: Path, beside: Path) -> Path:
    """Settings of a team: signatures, line ends, letter case."""
    commit(root)
    set_up(
        root, "commit.gpgSign true", "tag.gpgSign true", "gpg.format ssh", "gpg.ssh.allowedSignersFile .allowed",
        "user.signingKey ~/.ssh/k", "gpg.program gpg2", "log.showSignature true", "user.name Ann",
        "user.email ann@example.org",
        "pull.rebase true", "rebase.autoStash true", "branch.autoSetupMerge always", "push.autoSetupRemote true",
        "core.autocrlf input", "core.eol lf", "core.ignoreCase true",
        "core.precomposeUnicode true", "core.fileMode false", "core.symlinks true", "core.longPaths true",
        "core.fsmonitor true",
        "core.untrackedCache true", "core.quotePath false", "core.commentChar ;", "feature.manyFiles true",
        "merge.conflictStyle zdiff3",
        "merge.tool vimdiff", "diff.tool meld", "diff.algorithm histogram", "diff.colorMoved zebra",
        "diff.py.xfuncname ^def",
        "rerere.enabled true", "blame.ignoreRevsFile .git-blame-ignore-revs", "commit.template .gitmessage",
        "pager.branch false",
        "gui.encoding utf-8", "gitflow.branch.master main", "gitflow.path.hooks .hooks", "advice.detachedHead false",
        "color.ui auto",
        "gc.auto 0", "maintenance.auto false", "maintenance.strategy incremental", "fetch.prune true",
        "i18n.commitEncoding utf-8",
        "format.pretty fuller", "init.defaultBranch main", "status.showUntrackedFiles all",
        "sendemail.to list@example.org",
    )  # fmt: skip
    return root


CLONES: tuple[Callable[[Path, Path], Path], ...] = (
    lfs, husky, submodule, within_a_submodule, work_tree, folder_of_a_repository, sparse, partial, fork, signed,
)  # fmt: skip
COMMANDS = (
    "git status", "git diff", "git diff --stat HEAD", "git log -p -2", "git log --oneline --graph", "git show --stat",
    "git ls-files -m",
    "git ls-files -o --exclude-standard", "git branch -a", "git tag", "git remote -v", "git rev-parse --show-toplevel",
    "git shortlog HEAD",
    "git describe --always", "git log --oneline | head -1", "git ls-tree HEAD",
)  # fmt: skip


def commands(turn: int) -> list[ToolCall]:
    """All commands, a fifth of them one by one: different ones in each clone."""
    alone = [line for place, line in enumerate(COMMANDS) if place % 5 == turn % 5]
    lines = [*alone, " && ".join(line for line in COMMANDS if line not in alone)]
    said = [{"command": line, "modifies_files": False} for line in lines]
    return [tool_call("run_command", f"c{number:02}", **each) for number, each in enumerate(said)]


async def test_ten_ordinary_clones(open_atelier: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    home.mkdir()
    at_home(home)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    places: dict[str, Path] = {}
    for clone in CLONES:
        beside = tmp_path / "beside" / clone.__name__
        beside.mkdir(parents=True)
        places[clone.__name__] = clone(tmp_path / clone.__name__, beside)
        (places[clone.__name__] / "f.txt").write_text("two\n")
    calls = [tool_call("git_status", "s"), tool_call("git_diff", "d")]
    turns = [[*calls, *commands(turn)] for turn in range(len(places))]
    below = tool_call("run_command", "m", command="git status", cwd="mod", modifies_files=False)
    agent = AgentConfig(
        name="A",
        provider="p",
        model="m",
        tools=("run_command", "git_status", "git_diff"),
        approval=ApprovalMode.SELECTIVE,
    )
    turns[list(places).index("submodule")].append(below)
    steps: list[Any] = [step for turn in turns for step in (turn, "done")]
    async with open_atelier(steps) as atelier:
        for turn, (name, root) in zip(turns, places.items(), strict=True):
            workflow = await atelier.workflows.create(name, workspace=(str(root),))
            heard = Recorder(atelier, workflow.id)
            await send_and_wait(atelier, workflow.id, "go", agent=agent)
            asked = [(each.arguments, each.about) for each in await atelier.approvals.pending()]
            assert asked == [], name
            ended = {
                str(each.data["call_id"]): each.data for each in heard.events if each.chunk_type.value == "tool_end"
            }
            assert len(ended) == len(turn)
            assert [(name, each) for each in ended.values() if not each["success"]] == []
            assert "two" in json.dumps(ended["d"]), name
            assert "f.txt" in json.dumps(ended["s"]), name
