"""Files that a sandboxed command leaves in a workspace never run outside the sandbox when the owner runs git
there.

Each attack is made twice: without Atelier, where the canary must run, or the attack proves nothing; and by the
tool, where it must not.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from atelier_desk.domain.result_parts import TextPart
from atelier_desk.workspace.commands.judge import judge
from atelier_desk.workspace.processes import sandbox_contents
from tests.tools.shell.conftest import Bench
from tests.tools.shell.git_file_attacks import ATTACKS, MODULE, PLAIN, Attack, Person, by_the_tool

pytestmark = pytest.mark.skipif(not sandbox_contents.available(), reason="this system has no sandbox")


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
    "git remote set-url up /b && git remote -v": (
        "git config remote.up.url | grep /b",
        f"{PLAIN}; git remote add up /a",
    ),
    "git branch -u up/main": ("git config branch.main.merge", f"{PLAIN}; git remote add up . && git fetch -q up"),
    "git sparse-checkout set docs": ("git config core.sparseCheckout", PLAIN),
    "git submodule add ../origin lib": ("git config submodule.lib.url && test -e .gitmodules -a -e lib/f.txt", PLAIN),
    "git submodule update --init": (
        "git config submodule.lib.url && git -C lib status",
        f"{PLAIN}; {MODULE}; git submodule -q deinit -f lib; rm -rf .git/modules",
    ),
    "git init -q": ("git status", "true"),
}
"""An approved command, a check that its result stayed, and the state before."""


@pytest.mark.parametrize("line", PURPOSES)
async def test_approved_changes_stay(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
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
        "git -c core.fsmonitor=x config a.b c", "git config a.b c && make", "git config a.b c > .git/hooks/update",
        "make && git init",
        "git init --template=evil", "git clone -c core.fsmonitor=x a b", "git clone --template=evil a b",
        "git clone -u evil a b",
        "git submodule foreach evil", "git submodule update --upload-pack=x", "git remote update", "git branch new",
        "git commit -m x",
        "git config --edit", "git config -f .git/config a.b c", "git worktree add a", "$(git config a.b c)",
        "env git config a.b c",
    ],
)  # fmt: skip
def test_only_a_command_with_no_other_effect_may_change_repositories(line: str) -> None:
    assert not judge(line).changes_repositories


@pytest.mark.parametrize(
    "line", ["git config --get a.b", "git config a.b", "git config -l", "git config get a.b", "git config --list"]
)
def test_reading_settings_names_no_protected_file(bench: Bench, line: str) -> None:
    assert bench.call_of(line).subjects.writes == ()


QUIET = (
    (
        "git init -q pkg && cd pkg && git commit -q --allow-empty -m x && git config user.name n && git config "
        "commit.gpgsign false"
    ),
    "git clone -q . copy && git -C copy checkout -q -b x && git -C copy remote add y /y",
    "git clone -q --bare . up.git && git init -q --bare new.git",
    "git worktree add -q tree && git -C tree commit -q --allow-empty -m x",
    "git clone -q --recurse-submodules ../ws deep",
    (
        "git checkout -q -b x && echo x >f.txt && git commit -qam x && git rebase -q main && git stash -q || true && "
        "git "
        "switch -q main"
    ),
    "rm -rf pkg && mkdir hooks config && touch config/a hooks/pre-commit HEAD",
    "git commit -q --allow-empty -m x && git tag x && git gc -q && git reset -q --hard && git clean -qfdx",
)


async def test_ordinary_work_is_not_affected(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


async def test_a_move_that_runs_nothing_new_is_allowed(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    husky = (
        "mkdir -p .husky/_; echo true | tee .husky/pre-commit >.husky/_/pre-commit; git add .husky/pre-commit; git "
        "commit -qm y"
    )
    person = Person(
        tmp_path / "with", Attack(f"{PLAIN}; {husky}; git config core.hooksPath .husky/_; git clone -q . plain", MOVED)
    )
    for step, result in zip(MOVED, await by_the_tool(bench, person, monkeypatch), strict=True):
        assert result.success, (step, result.data)
        assert not {"held", "put_back", "gone", "note"} & set(result.data), (step, result.data)


async def test_a_new_repository_stays(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    person = Person(tmp_path / "with", Attack(PLAIN, "git clone -q . a && git -C a config core.fsmonitor $CANARY"))
    (result,) = await by_the_tool(bench, person, monkeypatch)
    assert result.data["held"] == ["a/.git/config"]
    assert "waits for the user" in result.data["note"]
    (part,) = (part for part in result.parts if isinstance(part, TextPart))
    assert part.title == "Held for review: with these files, git could run programs outside the sandbox"
    path, file = part.text.split("\n    ")
    assert path == "a/.git/config"
    assert "fsmonitor" in Path(file).read_text()
    assert Path(file).is_relative_to(person.top / "data/checkpoints/held")
    person.sh("git -C a status && git -C a fetch && git -C a config remote.origin.url", person.root)
    assert "fsmonitor" not in (person.root / "a/.git/config").read_text()


@pytest.mark.usefixtures("nothing_is_mounted")
async def test_a_deleted_file_is_reported_as_missing(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = Person(tmp_path / "with", Attack(PLAIN, "rm -rf .git"))
    (result,) = await by_the_tool(bench, person, monkeypatch)
    assert result.data["gone"] == [".git"]
    assert "put_back" not in result.data
    assert "cannot be restored" in result.data["note"]
