# ruff: noqa: E501
"""What a sandboxed command leaves in a workspace never runs outside of the sandbox, when its owner calls git there.

Each attack is made twice: without Atelier, where the canary must run, or the attack proves nothing; and by the tool, where it must not.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from atelier_desk.domain.parts import HeldPart, TextPart
from atelier_desk.tools.base import ToolResult
from atelier_desk.tools.shell import running
from atelier_desk.workspace.checkpoints import answering
from atelier_desk.workspace.checkpoints.files import WorkspaceFiles
from atelier_desk.workspace.checkpoints.protected_files import ProtectedFiles, settle_all
from atelier_desk.workspace.commands.judge import judge
from atelier_desk.workspace.processes import process, sandbox
from atelier_desk.workspace.processes.talking import Talking
from tests.tools.shell.conftest import Bench

pytestmark = pytest.mark.skipif(not sandbox.available(), reason="this system has no sandbox")

PLAIN = "git init -q . && echo hello >f.txt && git add f.txt && git commit -qm x"
BARE = 'cp -r "$FROM/objects" "$FROM/refs" "$TO"; cp "$FROM/index" "$TO"; echo "ref: refs/heads/main" >"$TO/HEAD"; '
BARE += 'printf "[core]\\nrepositoryformatversion = 0\\nbare = false\\nworktree = $PWD/$TO\\nfsmonitor = $CANARY\\n" >"$TO/config"'
EVIL = 'mkdir -p evil/hooks; cp -r .git/objects .git/refs evil; printf "[core]\\nfsmonitor = $CANARY\\n" >evil/config'
OTHER = f"{EVIL}; cp .git/HEAD .git/index evil; rm -r evil/hooks"
HOOK = 'printf "#!/bin/sh\\n$CANARY\\n" >"$AT"; chmod +x "$AT"'
MODULE = "git -c protocol.file.allow=always submodule -q add ../origin lib && git commit -qm lib"
HOSTILE = "mkdir src; echo x >src/f.txt; git init -q vendor; git -C vendor config core.fsmonitor $CANARY"
HOSTILE_BARE = f"mkdir src vendor; FROM=.git TO=vendor; {BARE}; git -C vendor config core.worktree $PWD/src; cp f.txt src"
HOOKS = f"{PLAIN}; git config core.hooksPath tools/hooks; mkdir -p tools/hooks sub"
SUB_HOOK = f"mkdir -p sub/tools/hooks; AT=sub/tools/hooks/pre-commit; {HOOK}"
REBASE = (
    "git checkout -q -b side && echo a >f.txt && git commit -qam a && git checkout -q main && echo b >f.txt && git commit -qam b "
    "&& (git rebase -q side || true)"
)


@dataclass
class Attack:
    """``setup`` is what the owner did, ``steps`` are commands of an agent, ``visits`` the folders in which the owner calls git."""

    setup: str
    steps: tuple[str, ...] | str
    visits: tuple[str, ...] = (".",)
    then: str = ""
    home: str = ""
    works: bool = True
    """Whether it works without Atelier, for root too."""
    root: str = "."


ATTACKS = {
    "settings": Attack(PLAIN, "git config core.fsmonitor $CANARY && true"),
    "settings through a second link": Attack(PLAIN, ("ln .git/config x", 'printf "[core]\\nfsmonitor = $CANARY\\n" >>x')),
    "settings by another file": Attack(PLAIN, 'printf "[core]\\nfsmonitor = $CANARY\\n" >n; mv n .git/config'),
    "settings that include": Attack(PLAIN, 'printf "[core]\\nfsmonitor = $CANARY\\n" >n; git config include.path ../n; true'),
    "settings as a folder": Attack(PLAIN, "rm .git/config; mkdir .git/config", works=False),
    "settings as a pipe": Attack(PLAIN, "rm .git/config; mkfifo .git/config", works=False),
    "a hook": Attack(PLAIN, f"AT=.git/hooks/pre-commit; mkdir -p .git/hooks; {HOOK}"),
    "hooks as a link": Attack(PLAIN, f"rm -rf .git/hooks; mkdir h; AT=h/post-checkout; {HOOK}; ln -s ../h .git/hooks"),
    "hooks of no rights": Attack(PLAIN, f"AT=.git/hooks/pre-commit; {HOOK}; chmod 0111 .git/hooks"),
    "the file a hook links to": Attack(
        f"{PLAIN}; mkdir scripts; touch scripts/check; chmod +x scripts/check; ln -s ../../scripts/check .git/hooks/pre-commit",
        f"AT=scripts/check; {HOOK}",
    ),
    "a folder on the way of a hook's link": Attack(
        f"{PLAIN}; mkdir scripts; touch scripts/check; chmod +x scripts/check; ln -s ../../scripts/check .git/hooks/pre-commit",
        f"mv scripts old; mkdir evil; AT=evil/check; {HOOK}; ln -s evil scripts",
    ),
    "core.hooksPath: a new hook": Attack(
        f"{PLAIN}; git config core.hooksPath .githooks; mkdir .githooks", f"AT=.githooks/post-checkout; {HOOK}"
    ),
    "core.hooksPath: a changed hook": Attack(
        f"{PLAIN}; git config core.hooksPath .githooks; mkdir .githooks; AT=.githooks/pre-commit; CANARY=true; {HOOK}",
        'echo "$CANARY" >>.githooks/pre-commit',
    ),
    "core.hooksPath: a link": Attack(
        f"{PLAIN}; git config core.hooksPath .githooks", f"mkdir h; AT=h/pre-commit; {HOOK}; ln -s h .githooks"
    ),
    "core.hooksPath: the root": Attack(f"{PLAIN}; git config core.hooksPath .", f"AT=pre-commit; {HOOK}", works=False),
    "core.hooksPath in letters of another case": Attack(
        f'{PLAIN}; printf "[CORE]\\n\\thooKSpath = .githooks\\n" >>.git/config', f"mkdir .githooks; AT=.githooks/pre-commit; {HOOK}"
    ),
    "core.hooksPath of husky": Attack(
        f"{PLAIN}; git config core.hooksPath .husky/_; mkdir -p .husky/_; "
        'printf \'#!/bin/sh\\nsh "$(dirname "$0")/../pre-commit"\\n\' >.husky/_/pre-commit; chmod +x .husky/_/pre-commit; touch .husky/pre-commit',
        'echo "$CANARY" >.husky/pre-commit',
    ),
    "core.hooksPath of an included file": Attack(
        f'{PLAIN}; printf "[core]\\nhooksPath = .githooks\\n" >team; git config include.path ../team',
        f"mkdir .githooks; AT=.githooks/pre-commit; {HOOK}",
    ),
    "core.hooksPath of the user": Attack(
        PLAIN, f"mkdir .teamhooks; AT=.teamhooks/pre-commit; {HOOK}", home="[core]\nhooksPath = .teamhooks\n"
    ),
    "core.hooksPath of a repository above": Attack(
        f"{PLAIN}; mkdir app; git config core.hooksPath app/.githooks", f"mkdir .githooks; AT=.githooks/pre-commit; {HOOK}", root="app"
    ),
    "an included file": Attack(
        f'{PLAIN}; git config include.path ../team; printf "[alias]\\nst = status\\n" >team',
        'printf "[core]\\nfsmonitor = $CANARY\\n" >team',
    ),
    "an included file that was missing": Attack(
        f"{PLAIN}; git config include.path ../conf/team", 'mkdir -p conf; printf "[core]\\nfsmonitor = $CANARY\\n" >conf/team'
    ),
    "an included file behind a link": Attack(
        f"{PLAIN}; git config include.path ../team; echo >real; ln -s real team", 'printf "[core]\\nfsmonitor = $CANARY\\n" >real'
    ),
    "a file included for another branch, and by that one": Attack(
        f'{PLAIN}; git config includeIf.onbranch:tmp.path ../team; printf "[include]\\npath = more\\n" >team; echo >more',
        'printf "[core]\\nfsmonitor = $CANARY\\n" >more',
        then="git checkout -q -b tmp; git status",
    ),
    "the user's own settings in the workspace": Attack(
        f'{PLAIN}; printf "[user]\\nname = A\\n" >gitconfig; rm -f "$HOME/.gitconfig"; ln -s "$PWD/gitconfig" "$HOME/.gitconfig"',
        'printf "[core]\\nfsmonitor = $CANARY\\n" >>gitconfig',
    ),
    "settings of a working tree": Attack(
        f"{PLAIN}; git config extensions.worktreeConfig true", 'printf "[core]\\nfsmonitor = $CANARY\\n" >.git/config.worktree'
    ),
    "attributes and a filter": Attack(
        PLAIN, 'echo "* filter=a" >.git/info/attributes; git config filter.a.clean "$CANARY"; touch f.txt', then="touch f.txt; git add f.txt"
    ),
    "commondir": Attack(PLAIN, f'{EVIL}; echo ../evil >.git/commondir'),
    ".git as a file": Attack(PLAIN, f'{OTHER}; mv .git old; echo "gitdir: evil" >.git'),
    ".git as a link": Attack(PLAIN, f"{OTHER}; mv .git old; ln -s evil .git"),
    ".git deleted, another made": Attack(PLAIN, f"{OTHER}; rm -rf .git; mv evil .git"),
    ".git within another .git": Attack(PLAIN, f"{OTHER}; mv .git old; mv evil .git; mv old .git/old"),
    ".git renamed, the root as a repository": Attack(PLAIN, f"mv .git old; FROM=old TO=.; {BARE}"),
    ".git of no rights, the root as a repository": Attack(
        PLAIN, f"FROM=.git TO=.; {BARE}; chmod 0 .git", works=os.geteuid() != 0
    ),
    "HEAD removed, the root as a repository": Attack(PLAIN, f"FROM=.git TO=.; {BARE}; rm .git/HEAD"),
    "HEAD of nothing, the root as a repository": Attack(PLAIN, f"FROM=.git TO=.; {BARE}; echo x >.git/HEAD"),
    "HEAD as a folder, the root as a repository": Attack(PLAIN, f"FROM=.git TO=.; {BARE}; rm .git/HEAD; mkdir .git/HEAD"),
    "refs removed, the root as a repository": Attack(PLAIN, f"FROM=.git TO=.; {BARE}; rm -r .git/refs"),
    "a repository in docs": Attack(PLAIN, f"mkdir docs; FROM=.git TO=docs; {BARE}", ("docs",)),
    "a repository in docs, in two commands": Attack(
        PLAIN, (f"mkdir docs; FROM=.git TO=docs; {BARE}; mv docs/HEAD docs/head", "mv docs/head docs/HEAD"), ("docs",)
    ),
    "a repository in docs, by links": Attack(
        PLAIN, f"mkdir docs; FROM=.git TO=docs; {BARE}; cd docs; mv objects o; ln -s o objects; mv refs r; ln -s r refs", ("docs",)
    ),
    "a repository in docs, in a folder of no rights": Attack(
        PLAIN, f"mkdir docs; FROM=.git TO=docs; {BARE}; chmod 0311 docs", ("docs",)
    ),
    "a linked repository in docs": Attack(
        PLAIN, f"{EVIL}; mkdir docs; cp .git/HEAD docs; echo ../evil >docs/commondir; AT=evil/hooks/reference-transaction; {HOOK}",
        then="cd docs; git branch new",
    ),
    "a repository in 60 folders": Attack(
        PLAIN, f'TO=$(printf "d/%.0s" $(seq 60)); TO=${{TO%/}}; mkdir -p $TO; FROM=.git; {BARE}', ("/".join(["d"] * 60),)
    ),
    "a new repository": Attack(PLAIN, "git init -q lib && git -C lib config core.fsmonitor $CANARY", ("lib",)),
    "a new repository where there was none": Attack("true", "git init -q . && git config core.fsmonitor $CANARY"),
    "a new repository with hooks": Attack("true", f"git init -q .; mkdir -p .git/hooks; AT=.git/hooks/pre-commit; {HOOK}"),
    "a new repository by a template": Attack(
        "true", f"mkdir -p t/hooks; AT=t/hooks/pre-commit; {HOOK}; git init -q --template=t ."
    ),
    "a new repository by a clone with settings": Attack(
        PLAIN, "git clone -q -c core.fsmonitor=$CANARY . copy 2>/dev/null; git clone -q --no-hardlinks -c core.fsmonitor=$CANARY . copy || true",
        ("copy",),
    ),
    "a new repository that includes": Attack(
        PLAIN, 'git init -q lib; printf "[core]\\nfsmonitor = $CANARY\\n" >n; git -C lib config include.path ../../n', ("lib",)
    ),
    "a new repository as a submodule of this one": Attack(
        PLAIN, 'git init -q lib; cd lib; git commit -q --allow-empty -m x; git config core.fsmonitor $CANARY; cd ..; git add lib; true'
    ),
    "a new pointer": Attack(PLAIN, f'{OTHER}; mkdir -p a/b lib; mv evil a/b; echo "gitdir: ../a/b/evil" >lib/.git', ("lib",)),
    "a new pointer to a temporary folder": Attack(
        PLAIN, f'{OTHER}; mkdir lib; rm -rf "$TMPDIR/evil"; mv evil "$TMPDIR"; echo "gitdir: $TMPDIR/evil" >lib/.git', ("lib",)
    ),
    "a new link": Attack(PLAIN, f"{OTHER}; mkdir -p lib; ln -s ../evil lib/.git", ("lib",)),
    "a pointer through a link that leads elsewhere": Attack(
        f'{PLAIN}; mkdir lib store; ln -s store way; git init -q --bare store/r; git -C store/r config core.bare false; echo "gitdir: ../way/r" >lib/.git',
        f'{OTHER}; cp evil/config evil/c; mv evil "$TMPDIR/r"; rm way; ln -s "$TMPDIR" way',
        ("lib",),
    ),
    "settings of a submodule": Attack(f"{PLAIN}; {MODULE}", "git -C lib config core.fsmonitor $CANARY"),
    "hooks of a submodule": Attack(
        f"{PLAIN}; {MODULE}", f"mkdir -p .git/modules/lib/hooks; AT=.git/modules/lib/hooks/pre-commit; {HOOK}", ("lib",)
    ),
    "the pointer of a submodule": Attack(f"{PLAIN}; {MODULE}", f'{OTHER}; echo "gitdir: ../evil" >lib/.git', ("lib",)),
    "a folder in the place of a submodule's pointer": Attack(f"{PLAIN}; {MODULE}", f"{OTHER}; rm lib/.git; mv evil lib/.git", ("lib",)),
    "commondir of a working tree": Attack(
        f"{PLAIN}; git worktree add -q tree", f'{EVIL}; echo ../../../evil >.git/worktrees/tree/commondir', ("tree",)
    ),
    "a working tree without commondir": Attack(
        f"{PLAIN}; git worktree add -q tree",
        f"{EVIL}; cd .git/worktrees/tree; rm commondir; cp -r ../../../evil/* .; rmdir hooks || true", ("tree",),
    ),
    "settings of a repository below": Attack(
        f"{PLAIN}; git init -q vendor/lib", "git -C vendor/lib config core.fsmonitor $CANARY", ("vendor/lib",)
    ),
    "settings of a repository below that is moved": Attack(
        f"{PLAIN}; git init -q vendor/lib", "mv vendor/lib vendor/new; git -C vendor/new config core.fsmonitor $CANARY", ("vendor/new",)
    ),
    "a repository below renamed, another in its place": Attack(
        f"{PLAIN}; git init -q vendor/lib", f"{OTHER}; mv vendor/lib/.git vendor/lib/old; mv evil vendor/lib/.git", ("vendor/lib",)
    ),
    "hooks of a bare repository": Attack(
        f"{PLAIN}; git init -q --bare up; git remote add up up", f"mkdir -p up/hooks; AT=up/hooks/post-update; {HOOK}",
        then="git push -q up main",
    ),
    "lines of a rebase": Attack(
        f"{PLAIN}; {REBASE}", 'echo "exec $CANARY" >>.git/rebase-merge/git-rebase-todo', then="git add .; GIT_EDITOR=true git rebase --continue"
    ),
    "a strategy of a rebase": Attack(
        f"{PLAIN}; {REBASE}",
        'mkdir git-merge-a; AT=git-merge-a/b; printf "#!/bin/sh\\n$CANARY\\n" >$AT; chmod +x $AT; echo a/b >.git/rebase-merge/strategy; '
        "git rev-parse side^ | sed 's/^/pick /' >>.git/rebase-merge/git-rebase-todo",
        works=False,
    ),
    "a hostile repository moved to where its owner works": Attack(f"{PLAIN}; {HOSTILE}", "mv vendor/.git src", ("src",)),
    "a hostile repository in the place of a folder": Attack(f"{PLAIN}; {HOSTILE}", "mv src old; mv vendor src", ("src",)),
    "a hostile repository moved to the root": Attack(HOSTILE, "mv vendor/.git ."),
    "two repositories swapped": Attack(
        f"{PLAIN}; {HOSTILE}; git init -q src", "mv src/.git x; mv vendor/.git src; mv x vendor/.git", ("src",)
    ),
    "a hostile bare repository moved": Attack(f"{PLAIN}; {HOSTILE_BARE}", "mv vendor src/.git", ("src",)),
    "a pointer to a hostile bare repository": Attack(f"{PLAIN}; {HOSTILE_BARE}", 'echo "gitdir: ../vendor" >src/.git', ("src",)),
    "a link to a hostile repository": Attack(f"{PLAIN}; {HOSTILE}", "ln -s ../vendor/.git src/.git", ("src",)),
    "commondir of a hostile bare repository": Attack(
        f"{PLAIN}; {HOSTILE_BARE}", "mkdir src/.git; cp .git/HEAD .git/index src/.git; echo ../../vendor >src/.git/commondir", ("src",)
    ),
    "a link in the place of a folder": Attack(f"{PLAIN}; {HOSTILE}", "mv src old; ln -s vendor src", ("src",)),
    "a link to a folder in a hostile repository": Attack(
        f"{PLAIN}; {HOSTILE}; mkdir vendor/src", "mv src old; ln -s vendor/src src", ("src",)
    ),
    "a link above a hostile repository": Attack(
        f"{PLAIN}; {HOSTILE}; mkdir -p a/vendor", "mv a old; ln -s . a", ("a/vendor",)
    ),
    "a link through another one": Attack(
        f"{PLAIN}; {HOSTILE}", ("ln -s vendor way; mv src old; ln -s way src", "rm -f way; ln -s vendor way; ln -s way src || true"), ("src",)
    ),
    "a link that leads elsewhere than before": Attack(
        f"{PLAIN}; {HOSTILE}; mv src real; ln -s real src", "ln -sfn vendor src", ("src",)
    ),
    "a link in a folder that is moved": Attack(
        f"{PLAIN}; {HOSTILE}; mkdir -p d/vendor e; ln -s vendor d/src; rm -r src", "mv d/src src", ("src",)
    ),
    "a link to a hostile bare repository": Attack(
        f"{PLAIN}; {HOSTILE_BARE}; git -C vendor config --unset core.worktree; git -C vendor config core.bare true; AT=vendor/hooks/pre-auto-gc; "
        f"mkdir -p vendor/hooks; AT=vendor/hooks/reference-transaction; {HOOK}; git config --global --add safe.bareRepository all",
        "mv src old; ln -s vendor src", then="cd src; git branch new",
    ),
    "a link to a working tree of a hostile repository": Attack(
        f"{PLAIN}; {HOSTILE}; git -C vendor commit -q --allow-empty -m x; git -C vendor worktree add -q ../tree", "mv src old; ln -s tree src", ("src",)
    ),
    "a link to a repository among temporary files": Attack(
        f"{PLAIN}; mkdir src", 'rm -rf "$TMPDIR/e"; git init -q "$TMPDIR/e"; git -C "$TMPDIR/e" config core.fsmonitor $CANARY; rmdir src; ln -s "$TMPDIR/e" src', ("src",)
    ),
    "a link to temporary files, where a repository is made later": Attack(
        f"{PLAIN}; mkdir src",
        ('rm -rf "$TMPDIR/e"; rmdir src; ln -s "$TMPDIR/e" src', 'mkdir -p "$TMPDIR/e/f"; git init -q "$TMPDIR/e/f"; git -C "$TMPDIR/e/f" config core.fsmonitor $CANARY'),
        ("src/f",),
    ),
    "core.hooksPath from a new pointer": Attack(HOOKS, f'{SUB_HOOK}; echo "gitdir: ../.git" >sub/.git', ("sub",)),
    "core.hooksPath from a new link": Attack(HOOKS, f"{SUB_HOOK}; ln -s ../.git sub/.git", ("sub",)),
    "core.hooksPath from a new working tree": Attack(HOOKS, f"rmdir sub; git worktree add -q sub; {SUB_HOOK}", ("sub",)),
    "core.hooksPath of the user from a new pointer": Attack(
        f"{PLAIN}; mkdir sub", f'{SUB_HOOK}; echo "gitdir: ../.git" >sub/.git', ("sub",), home="[core]\nhooksPath = tools/hooks\n"
    ),
    "core.hooksPath from where core.worktree leads": Attack(
        f"{HOOKS}; git config core.worktree $PWD/sub", f"{SUB_HOOK}", ("sub",), then="git commit -q --allow-empty -m y"
    ),
}  # fmt: skip


@pytest.fixture
def nothing_is_mounted(monkeypatch: pytest.MonkeyPatch) -> None:
    """What would be read-only for the command otherwise can be changed, as on systems without mounts."""
    monkeypatch.setattr(sandbox, "KEPT", ())
    monkeypatch.setattr(sandbox, "PINNED", "")
    monkeypatch.setattr(ProtectedFiles, "read_only", property(lambda self: (), lambda self, found: None), raising=False)


class Person:
    """Who owns the folders, and calls git in them. Their canary leaves marks where no sandbox can."""

    def __init__(self, top: Path, attack: Attack) -> None:
        self.top, self.attack = top, attack
        self.work, self.home, self.marks = top / "ws", top / "home", top / "marks"
        for folder in (self.work, self.home, self.marks):
            folder.mkdir(parents=True)
        self.canary = top / "canary"
        self.canary.write_text(f'#!/bin/sh\n: >"{self.marks}/$$"\nexit 1\n')
        self.canary.chmod(0o755)
        (self.home / ".gitconfig").write_text("[user]\nname = Ann\nemail = a@example.org\n[init]\ndefaultBranch = main\n" + attack.home)
        (self.home / "tmp").mkdir()
        self.environment = {
            "HOME": str(self.home), "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "TMPDIR": str(self.home / "tmp"),
            "GIT_CEILING_DIRECTORIES": str(top), "LC_ALL": "C",
        }  # fmt: skip
        if "origin" in attack.setup:
            (top / "origin").mkdir()
            self.sh(PLAIN, top / "origin")
        self.sh(attack.setup, self.work)
        self.root = self.work / attack.root
        for mark in self.marks.iterdir():
            mark.unlink()

    def sh(self, line: str, folder: Path, *, check: bool = True) -> None:
        subprocess.run(
            ("bash", "-c", f'CANARY="{self.canary}"; {line}'),
            cwd=folder,
            env=self.environment,
            check=check,
            capture_output=True,
            timeout=30,
        )

    def calls_git(self) -> list[str]:
        """The marks of the canary after the calls."""
        for visit in self.attack.visits:
            folder = self.root / visit
            if folder.is_dir():
                for line in ("git status", "git commit -q --allow-empty -m y", "git checkout -q -b new"):
                    self.sh(line, folder, check=False)
        if self.attack.then:
            self.sh(self.attack.then, self.root, check=False)
        return [mark.name for mark in self.marks.iterdir()]

    @property
    def steps(self) -> list[str]:
        steps = self.attack.steps
        return [f'CANARY="{self.canary}"; {step}' for step in ((steps,) if isinstance(steps, str) else steps)]


async def by_the_tool(
    bench: Bench, person: Person, monkeypatch: pytest.MonkeyPatch, *, plain: bool = False, **more: object
) -> list[ToolResult]:
    """``plain``: without the name of the canary before it."""
    monkeypatch.setenv("HOME", str(person.home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    bench.root = person.root
    bench.services.hidden = (person.top / "data",)
    if plain:
        assert isinstance(person.attack.steps, str)
        return [await bench.run(person.attack.steps)]
    return [await bench.run(step, **more) for step in person.steps]


@pytest.mark.usefixtures("nothing_is_mounted")
@pytest.mark.parametrize("name", ATTACKS)
async def test_nothing_runs_later(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    attack = ATTACKS[name]
    if attack.works:
        alone = Person(tmp_path / "alone", attack)
        for step in alone.steps:
            alone.sh(step, alone.root)
        assert alone.calls_git(), "the attack itself"
    person = Person(tmp_path / "with", attack)
    results = await by_the_tool(bench, person, monkeypatch)
    assert person.calls_git() == [], results[-1].data
    for result in results:
        assert "not_restored" not in result.data, result.data
    said = {word for result in results for word in ("held", "put_back", "gone") if word in result.data}
    assert said, results[-1].data
    assert "note" in results[-1].data


FILES = '[protocol "file"]\nallow = always\n'
PURPOSES = {
    "git config core.hooksPath .githooks": ("git config core.hooksPath", PLAIN),
    "git config --unset user.name": ("! git config --local user.name", f"{PLAIN}; git config user.name x"),
    "git config core.pager less && git status": ("git config core.pager", PLAIN),
    "git remote add up ../up.git": ("git config remote.up.url", PLAIN),
    "git remote set-url up /b && git remote -v": ("git config remote.up.url | grep /b", f"{PLAIN}; git remote add up /a"),
    "git branch -u up/main": ("git config branch.main.merge", f"{PLAIN}; git remote add up . && git fetch -q up"),
    "git sparse-checkout set docs": ("git config core.sparseCheckout", PLAIN),
    "git submodule add ../origin lib": ("git config submodule.lib.url && test -e .gitmodules -a -e lib/f.txt", PLAIN),
    "git submodule update --init": (
        "git config submodule.lib.url && git -C lib status",
        f"{PLAIN}; {MODULE}; git submodule -q deinit -f lib; rm -rf .git/modules",
    ),
    "git init -q": ("git status", "true"),
}
"""What a person said yes to, a test that it stayed, and what there was before."""


@pytest.mark.parametrize("line", PURPOSES)
async def test_what_was_asked_for_stays(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    check, setup = PURPOSES[line]
    person = Person(tmp_path / "with", Attack(f"true origin; {setup}", line, home=FILES))
    assert bench.call_of(line).subjects.writes[-1:] == (".git/config",)
    (result,) = await by_the_tool(bench, person, monkeypatch, plain=True)
    assert result.success, result.data
    assert not {"held", "put_back", "gone", "note"} & set(result.data)
    person.sh(check, person.root)


@pytest.mark.parametrize(
    "line",
    [
        "git -c core.fsmonitor=x config a.b c", "git config a.b c && make", "git config a.b c > .git/hooks/update", "make && git init",
        "git init --template=evil", "git clone -c core.fsmonitor=x a b", "git clone --template=evil a b", "git clone -u evil a b",
        "git submodule foreach evil", "git submodule update --upload-pack=x", "git remote update", "git branch new", "git commit -m x",
        "git config --edit", "git config -f .git/config a.b c", "git worktree add a", "$(git config a.b c)", "env git config a.b c",
    ],
)  # fmt: skip
def test_only_what_does_nothing_else_may_change_repositories(line: str) -> None:
    assert not judge(line).changes_repositories


@pytest.mark.parametrize("line", ["git config --get a.b", "git config a.b", "git config -l", "git config get a.b", "git config --list"])
def test_reading_settings_names_no_protected_file(bench: Bench, line: str) -> None:
    assert bench.call_of(line).subjects.writes == ()


QUIET = (
    "git init -q pkg && cd pkg && git commit -q --allow-empty -m x && git config user.name n && git config commit.gpgsign false",
    "git clone -q . copy && git -C copy checkout -q -b x && git -C copy remote add y /y",
    "git clone -q --bare . up.git && git init -q --bare new.git",
    "git worktree add -q tree && git -C tree commit -q --allow-empty -m x",
    "git clone -q --recurse-submodules ../ws deep",
    "git checkout -q -b x && echo x >f.txt && git commit -qam x && git rebase -q main && git stash -q || true && git switch -q main",
    "rm -rf pkg && mkdir hooks config && touch config/a hooks/pre-commit HEAD",
    "git commit -q --allow-empty -m x && git tag x && git gc -q && git reset -q --hard && git clean -qfdx",
)


async def test_ordinary_work_is_left_alone(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    person = Person(tmp_path / "with", Attack(f"{PLAIN}; {MODULE}", QUIET, home=FILES))
    for step, result in zip(QUIET, await by_the_tool(bench, person, monkeypatch), strict=True):
        assert result.success, (step, result.data)
        assert not {"held", "put_back", "gone", "note"} & set(result.data), (step, result.data)
    for folder in ("copy", "tree", "deep/lib"):
        person.sh("git log -1", person.root / folder)


MOVED = (
    "git worktree add -q tree && git -C tree commit -q --allow-empty -m x",
    "mv plain moved && git -C moved commit -q --allow-empty -m x",
    "mkdir deep && mv moved deep/again && git -C deep/again status",
    "git worktree move tree deep/tree && git -C deep/tree commit -q --allow-empty -m x",
)


async def test_what_runs_nothing_new_may_move(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    husky = "mkdir -p .husky/_; echo true | tee .husky/pre-commit >.husky/_/pre-commit; git add .husky/pre-commit; git commit -qm y"
    person = Person(tmp_path / "with", Attack(f"{PLAIN}; {husky}; git config core.hooksPath .husky/_; git clone -q . plain", MOVED))
    for step, result in zip(MOVED, await by_the_tool(bench, person, monkeypatch), strict=True):
        assert result.success, (step, result.data)
        assert not {"held", "put_back", "gone", "note"} & set(result.data), (step, result.data)


async def test_a_new_repository_keeps_its_files(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    person = Person(tmp_path / "with", Attack(PLAIN, "git clone -q . a && git -C a config core.fsmonitor $CANARY"))
    (result,) = await by_the_tool(bench, person, monkeypatch)
    assert result.data["held"] == ["a/.git/config"]
    assert "waits for the user" in result.data["note"]
    (part,) = (part for part in result.parts if isinstance(part, TextPart))
    assert part.title == "Held: git would run it outside the sandbox"
    path, file = part.text.split("\n    ")
    assert path == "a/.git/config"
    assert "fsmonitor" in Path(file).read_text()
    assert Path(file).is_relative_to(person.top / "data/checkpoints/held")
    person.sh("git -C a status && git -C a fetch && git -C a config remote.origin.url", person.root)
    assert "fsmonitor" not in (person.root / "a/.git/config").read_text()


@pytest.mark.usefixtures("nothing_is_mounted")
async def test_what_is_gone_is_said_to_be_gone(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    person = Person(tmp_path / "with", Attack(PLAIN, "rm -rf .git"))
    (result,) = await by_the_tool(bench, person, monkeypatch)
    assert result.data["gone"] == [".git"]
    assert "put_back" not in result.data
    assert "cannot be restored" in result.data["note"]


@pytest.mark.usefixtures("nothing_is_mounted")
async def test_in_the_background(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attack = Attack(PLAIN, "git config core.fsmonitor $CANARY; git init -q lib; git -C lib config core.fsmonitor $CANARY; : >done; cat")
    person = Person(tmp_path / "with", attack)
    (result,) = await by_the_tool(bench, person, monkeypatch, background=True)
    async with asyncio.timeout(30):
        while not (person.root / "done").exists():
            await asyncio.sleep(0.01)
    stopped = await bench.call("command_stop", command_id=result.data["command_id"])
    assert stopped.data["put_back"] == [".git/config"]
    assert stopped.data["held"] == [".git/config", "lib/.git/config"]
    output = await bench.call("command_output", command_id=result.data["command_id"])
    assert output.data["put_back"] == [".git/config"]
    assert person.calls_git() == []


WHILE = {
    "settings": (PLAIN, "git config core.fsmonitor $CANARY", (".",)),
    "a hook": (PLAIN, f"AT=.git/hooks/pre-commit; mkdir -p .git/hooks; {HOOK}", (".",)),
    "commondir": (PLAIN, f"{EVIL}; echo ../evil >.git/commondir", (".",)),
    "HEAD removed": (PLAIN, f"FROM=.git TO=.; {BARE}; rm .git/HEAD", (".",)),
    ".git renamed": (PLAIN, f"mv .git old; FROM=old TO=.; {BARE}", (".",)),
    "a new repository": (PLAIN, "git init -q lib && git -C lib config core.fsmonitor $CANARY", ("lib",)),
    "a new pointer": (PLAIN, f'{OTHER}; mkdir lib; echo "gitdir: ../evil" >lib/.git', ("lib",)),
    "a repository in docs": (PLAIN, f"mkdir docs; FROM=.git TO=docs; {BARE}", ("docs",)),
    "settings of a submodule": (f"{PLAIN}; {MODULE}", "git -C lib config core.fsmonitor $CANARY", (".", "lib")),
    "a link": (f"{PLAIN}; {HOSTILE}", "mv src old; ln -s vendor src", ("src",)),
    "a file that settings include": (
        f"{PLAIN}; git config include.path ../team; echo >team",
        'printf "[core]\\nfsmonitor = $CANARY\\n" >team',
        (".",),
    ),
}
"""What was there before, what a command in the background does and then waits, and where its owner calls git meanwhile."""


@pytest.fixture
def checked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "CHECK_S", 0.05)


@pytest.mark.usefixtures("nothing_is_mounted", "checked_at_once")
@pytest.mark.parametrize("name", WHILE)
async def test_nothing_runs_while_a_command_goes_on(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    setup, step, visits = WHILE[name]
    alone = Person(tmp_path / "alone", Attack(setup, step, visits))
    alone.sh(f"CANARY={alone.canary}; {step}", alone.root)
    assert alone.calls_git(), "the attack itself"
    person = Person(tmp_path / "with", Attack(setup, f"{step}; : >done; cat", visits))
    (result,) = await by_the_tool(bench, person, monkeypatch, background=True)
    (command,) = bench.services.commands.of("") if bench.services.commands else []
    async with asyncio.timeout(30):
        while not (person.root / "done").exists():
            await asyncio.sleep(0.01)
        for count in (1, 2):
            # The check that tells of the first one may have begun before; what tells of the second began after that.
            while [each["path"] for each in command.process.so_far().held].count(".git/hooks") < count:
                with contextlib.suppress(OSError):
                    (person.root / f".git/hooks/marker-{count}").touch()
                await asyncio.sleep(0.01)
    output = await bench.call("command_output", command_id=result.data["command_id"])
    assert output.data["held"]
    assert command.process.running
    assert person.calls_git() == []
    stopped = await bench.call("command_stop", command_id=result.data["command_id"])
    assert "not_restored" not in stopped.data
    assert stopped.data["held"]
    assert person.calls_git() == []


@pytest.mark.usefixtures("nothing_is_mounted")
@pytest.mark.parametrize("first_ends", [True, False])
async def test_two_at_once(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first_ends: bool) -> None:
    attack = Attack(
        f"{PLAIN}; git config core.hooksPath .githooks; mkdir .githooks",
        (
            f"git config core.fsmonitor $CANARY; git init -q lib; git -C lib config core.fsmonitor $CANARY; {OTHER}; mkdir l; "
            f'echo "gitdir: ../evil" >l/.git; AT=.githooks/pre-commit; {HOOK}; echo begun; cat',
            "echo begun; cat",
        ),
        ("lib", "l", "."),
    )
    person = Person(tmp_path / "with", attack)
    results = await by_the_tool(bench, person, monkeypatch, background=True)
    ids = [result.data["command_id"] for result in results]
    for command_id in ids if first_ends else ids[::-1]:
        assert "not_restored" not in (await bench.call("command_stop", command_id=command_id)).data
    assert person.calls_git() == []
    person.sh("git config --unset core.hooksPath; ! git config core.fsmonitor", person.root)


async def test_too_much_to_remember_is_not_started(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    person = Person(tmp_path / "with", Attack(f"{PLAIN}; truncate -s 9M .git/hooks/huge", "touch made"))
    (result,) = await by_the_tool(bench, person, monkeypatch)
    assert result.data["exit_status"] == 126
    assert "hooks and settings" in result.data["output"]
    assert "larger than 8 MB" in result.data["output"]
    assert not (person.root / "made").exists()


async def test_a_launcher_that_was_killed_restored_nothing(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    person = Person(tmp_path / "with", Attack(PLAIN, "git init -q lib; git -C lib config core.fsmonitor $CANARY; echo $$; cat"))
    (result,) = await by_the_tool(bench, person, monkeypatch, background=True)
    (command,) = bench.services.commands.of("") if bench.services.commands else []
    async with asyncio.timeout(30):
        while not command.process.output.size:
            await asyncio.sleep(0.01)
    (child,) = psutil.Process(command.process.pid).children()
    os.kill(command.process.pid, signal.SIGKILL)
    assert await command.process.wait(20)
    output = await bench.call("command_output", command_id=result.data["command_id"])
    assert "was not checked" in output.data["note"]
    assert isinstance(command.process.guarded, process.Guarded)
    psutil.wait_procs([child], timeout=20)
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


async def test_a_server_in_the_sandbox(tmp_path: Path) -> None:
    person = Person(tmp_path / "with", Attack(PLAIN, ""))
    box = sandbox.working([person.root], tmp_path / "tmp", held=tmp_path / "held")
    line = f"git init -q lib; git -C lib config core.fsmonitor {person.canary}; echo done; cat"
    program = await Talking.start(process.Order("/bin/sh", ("sh", "-c", line), person.root, person.environment, sandbox=box))
    assert [said async for said in first(program.lines())] == [b"done"]
    await program.end()
    assert [each["path"] for each in program.guarded.held] == ["lib/.git/config"]
    assert "lib/.git/config" not in program.guarded.put_back
    assert str(tmp_path / "held") in program.guarded.text


async def first(lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for line in lines:
        yield line
        return


async def test_a_person_keeps_or_discards_what_is_held(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    person = Person(tmp_path / "with", Attack(PLAIN, "true", works=False))
    data = person.top / "data"
    files = bench.services.files = WorkspaceFiles(data / "checkpoints", (data,))
    told: list[str] = []
    files.announce_held = told.append
    results = []
    for name in ("lib", "other"):
        step = f"git init -q {name}; git -C {name} config core.fsmonitor {person.canary}"
        (person.root / "make.sh").write_text(step)
        monkeypatch.setenv("HOME", str(person.home))
        bench.root, bench.services.hidden = person.root, (data,)
        results.append(await bench.run("sh make.sh"))
    assert [result.data["held"] for result in results] == [["lib/.git/config"], ["other/.git/config"]]
    assert told == ["w", "w"]
    lib, other = files.held.of("w")
    assert [(each.path, bool(each.replaces), each.call_id) for each in (lib, other)] == [
        ("lib/.git/config", True, "c"),
        ("other/.git/config", True, "c"),
    ]
    assert [part.path for part in results[0].parts if isinstance(part, HeldPart)] == ["lib/.git/config"]
    assert not list((data / "checkpoints/held/-launcher").iterdir()), "handed over"
    assert person.calls_git() == []
    answering.discard(files, "w", other.id)
    answering.keep(files, "w", lib.id)
    assert str(person.canary) in (person.root / "lib/.git/config").read_text(), "it is the person's own wish now"
    assert "fsmonitor" not in (person.root / "other/.git/config").read_text()
    assert files.held.of("w") == []


async def test_what_was_held_before_a_kill_is_found_and_survives_cleaning(bench: Bench, tmp_path: Path) -> None:
    data = tmp_path / "data"
    left = data / "checkpoints/held/-launcher/1-2-0"
    left.mkdir(parents=True)
    (left / "held.json").write_text(json.dumps({"path": str(bench.root / "lib/.git/config"), "root": str(bench.root), "why": "new"}))
    (left / "config").write_text("[core]\n\tfsmonitor = x\n")
    (left.parent / "1-2-1").mkdir()
    files = WorkspaceFiles(data / "checkpoints", (data,))
    files.held.forget_workflows(files.held.workflows())
    settle_all(files)
    (held,) = files.held.of("w")
    assert (held.path, held.workflow_id) == ("lib/.git/config", "")
    answering.keep(files, "w", held.id)
    assert (bench.root / "lib/.git/config").read_text() == "[core]\n\tfsmonitor = x\n"


@pytest.mark.parametrize(
    "line", ["git config core.hooksPath .husky", "git push -q -u . main:x", "git remote add a b", "echo x >.git/hooks/update", "true"]
)
async def test_read_only_settings_are_named(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    """As by npm's ``prepare``: the result says what to do next, also where the program goes on."""
    if not sandbox.has_mounts():
        pytest.skip("this system has no mounts of its own")
    person = Person(tmp_path / "with", Attack(PLAIN, f"echo '{line}' >prepare.sh; sh prepare.sh; true"))
    (result,) = await by_the_tool(bench, person, monkeypatch)
    assert result.success
    assert ("git config KEY VALUE" in result.data.get("git_read_only", "")) is (line != "true")


async def test_what_is_there_cannot_be_replaced(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not sandbox.has_mounts():
        pytest.skip("this system has no mounts of its own")
    steps = (
        "mv .git old", "mv .git/config x", "rm .git/config", "mv .git/hooks x", "touch .git/hooks/update", "echo >>.git/config",
        "git -C tree status && mv .git x",
    )  # fmt: skip
    person = Person(tmp_path / "with", Attack(f"{PLAIN}; git worktree add -q tree", steps))
    for step, result in zip(steps, await by_the_tool(bench, person, monkeypatch), strict=True):
        assert not result.success, step
        assert not {"put_back", "held", "gone"} & set(result.data), (step, result.data)
    bench.root = person.root / "tree"
    for step in ("mv .git x", "echo gitdir: x >.git", "rm .git"):
        result = await bench.run(step)
        assert not result.success, step
        assert not {"put_back", "held", "gone"} & set(result.data), (step, result.data)
