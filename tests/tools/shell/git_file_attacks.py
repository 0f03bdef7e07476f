# ruff: noqa: E501
"""Attacks by files that a sandboxed command leaves for git to run later, and by whom git is run there. Each is
made twice: without Atelier, where the canary must run, or the attack proves nothing; and by the tool, where it
must not.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from atelier_desk.tools.base import ToolResult
from tests.tools.shell.conftest import Bench

PLAIN = "git init -q . && echo hello >f.txt && git add f.txt && git commit -qm x"
BARE = 'cp -r "$FROM/objects" "$FROM/refs" "$TO"; cp "$FROM/index" "$TO"; echo "ref: refs/heads/main" >"$TO/HEAD"; '
BARE += 'printf "[core]\\nrepositoryformatversion = 0\\nbare = false\\nworktree = $PWD/$TO\\nfsmonitor = $CANARY\\n" >"$TO/config"'
EVIL = 'mkdir -p evil/hooks; cp -r .git/objects .git/refs evil; printf "[core]\\nfsmonitor = $CANARY\\n" >evil/config'
OTHER = f"{EVIL}; cp .git/HEAD .git/index evil; rm -r evil/hooks"
HOOK = 'printf "#!/bin/sh\\n$CANARY\\n" >"$AT"; chmod +x "$AT"'
MODULE = "git -c protocol.file.allow=always submodule -q add ../origin lib && git commit -qm lib"
HOSTILE = "mkdir src; echo x >src/f.txt; git init -q vendor; git -C vendor config core.fsmonitor $CANARY"
HOSTILE_BARE = (
    f"mkdir src vendor; FROM=.git TO=vendor; {BARE}; git -C vendor config core.worktree $PWD/src; cp f.txt src"
)
HOOKS = f"{PLAIN}; git config core.hooksPath tools/hooks; mkdir -p tools/hooks sub"
SUB_HOOK = f"mkdir -p sub/tools/hooks; AT=sub/tools/hooks/pre-commit; {HOOK}"
REBASE = (
    "git checkout -q -b side && echo a >f.txt && git commit -qam a && git checkout -q main && echo b >f.txt && git commit -qam b "
    "&& (git rebase -q side || true)"
)


@dataclass
class Attack:
    """``setup`` is what the owner did, ``steps`` are commands of an agent, ``visits`` the folders in which the
    owner runs git.
    """

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


class Person:
    """The owner of the folders, who runs git in them. Their canary leaves marks where no sandbox can."""

    def __init__(self, top: Path, attack: Attack) -> None:
        self.top, self.attack = top, attack
        self.work, self.home, self.marks = top / "ws", top / "home", top / "marks"
        for folder in (self.work, self.home, self.marks):
            folder.mkdir(parents=True)
        self.canary = top / "canary"
        self.canary.write_text(f'#!/bin/sh\n: >"{self.marks}/$$"\nexit 1\n')
        self.canary.chmod(0o755)
        (self.home / ".gitconfig").write_text(
            "[user]\nname = Ann\nemail = a@example.org\n[init]\ndefaultBranch = main\n" + attack.home
        )
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
        """Run git; returns the marks of the canary."""
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
