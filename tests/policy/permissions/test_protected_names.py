"""Protected names, whose change always needs approval, in all spellings that lead to them."""

# judges: app/atelier_desk/policy/permissions/call_facts.py

from __future__ import annotations

import pytest

from atelier_desk.policy.permissions.call_facts import Path, protected

ROOT = "/work/app"


def asks(*spellings: str) -> bool:
    return (
        protected(
            [Path(tuple(one if one.startswith("/") else f"{ROOT}/{one}" for one in spellings), (ROOT,))],
            ["/data/atelier"],
        )
        != ""
    )


@pytest.mark.parametrize(
    "path",
    [
        ".git/hooks/pre-commit", ".git/hooks", "sub/module/.git/hooks/post-merge", ".git/config", ".gitmodules",
        ".GIT/Hooks/pre-push",
        ".git/modules/x/hooks/y", "AGENTS.md", "docs/agents.md", "Claude.md", ".claude/settings.json", ".mcp.json",
        ".github/workflows/ci.yml",
        ".gitlab-ci.yml", "Jenkinsfile", "/home/ann/.bashrc", "/home/ann/.ssh/authorized_keys",
        "/home/ann/.config/fish/config.fish",
        "/data/atelier/database", "/data/atelier", "/DATA/Atelier/x", ".husky/pre-commit", ".vscode/tasks.json", ".git",
        ".git./hooks/x",
        ".bashrc ", ".bashrc::$DATA", "ｅ/.ｇit/config",
    ],
)  # fmt: skip
def test_protected_names_need_approval(path: str) -> None:
    assert asks(path)


@pytest.mark.parametrize(
    "path",
    [
        "src/a.py",
        "git/hooks/x",
        ".gitignore",
        ".github/ISSUE_TEMPLATE/a.md",
        "agents.md.txt",
        "my.bashrc",
        "/data/atelier2/x",
        "hooks/x",
        "a.git/b",
    ],
)
def test_other_names_do_not(path: str) -> None:
    assert not asks(path)


def test_a_link_to_a_protected_name_is_reported_as_the_call_writes_it() -> None:
    link = Path((f"{ROOT}/notes", f"{ROOT}/.git/hooks/pre-commit"), (ROOT,))
    assert protected([Path((f"{ROOT}/a",)), link]) == f"{ROOT}/notes"


@pytest.mark.parametrize(
    "name",
    [
        ".git/hooks/pre-commit",
        ".git/config",
        ".git/modules/x/config",
        ".vscode/tasks.json",
        "AGENTS.md",
        ".github/workflows/ci.yml",
    ],
)
@pytest.mark.parametrize("folder", ["", "vendor/lib/", "packages/a/b/c/"])
def test_repositories_below_a_workspace_are_protected_too(folder: str, name: str) -> None:
    assert protected([Path((f"/w/{folder}{name}",))])
