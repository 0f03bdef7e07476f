"""Names whose change asks a person every time: what programs run on their own, and what agents obey.

See docs/permissions.md, "What asks even when a rule allows it"; the start-up files and hooks are those of the programs' manuals.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

_FOLDERS = (
    ".git/hooks", ".git/info", ".git/modules", ".husky", ".lefthook", ".ssh", ".gnupg", ".jj/repo",
    ".github/workflows", ".github/actions", ".forgejo/workflows", ".gitea/workflows", ".circleci", ".buildkite", ".woodpecker",
    ".semaphore", ".teamcity",
    ".atelier", ".claude", ".cursor", ".codex", ".agents", ".gemini", ".opencode", ".continue", ".windsurf", ".goose", ".clinerules",
    ".roo", ".kilocode", ".kiro", ".amazonq", ".junie", ".trae", ".augment", ".qwen", ".crush", ".factory", ".copilot", ".cline", ".vibe",
    ".config/agents", ".config/zed", ".config/goose",
    ".config/opencode", ".github/prompts", ".github/instructions", ".github/agents", ".github/chatmodes",
    ".vscode", ".idea", ".zed", ".devcontainer", ".emacs.d", ".config/nvim", ".config/fish", ".config/autostart", ".config/systemd",
    ".config/mise", "library/launchagents",
)  # fmt: skip
"""What lies in these, at any depth below any folder."""

_FILES = (
    ".git", ".git/config", ".git/config.worktree", ".gitmodules", ".gitconfig", ".gitattributes", ".config/git/config",
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin",
    ".kshrc", ".cshrc", ".tcshrc", ".login", ".xprofile", ".xinitrc", ".xsession", ".inputrc", ".envrc", ".pam_environment",
    ".vimrc", ".gvimrc", ".exrc", ".nvimrc", ".nvim.lua", ".dir-locals.el", ".gdbinit", ".lldbinit", "mise.toml", ".mise.toml", ".hg/hgrc",
    ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".netrc", "pip.conf",
    "agents.md", "agents.override.md", "claude.md", "claude.local.md", "gemini.md", "qwen.md", "crush.md", "warp.md",
    ".github/copilot-instructions.md", ".cursorrules", ".windsurfrules", ".clinerules", ".goosehints", ".roorules", ".rules",
    ".augment-guidelines", ".aider.conf.yml", "mcp.json", ".mcp.json", ".claude.json", "claude_desktop_config.json",
    "kilo.json", "kilo.jsonc", "opencode.json", "opencode.jsonc", "crush.json", ".crush.json", ".atelier.toml",
    ".gitlab-ci.yml", ".woodpecker.yml", ".woodpecker.yaml", ".cirrus.yml", ".gitpod.yml", ".devcontainer.json", ".travis.yml",
    ".drone.yml", "jenkinsfile", "azure-pipelines.yml", "bitbucket-pipelines.yml", "appveyor.yml",
    ".pre-commit-config.yaml", "lefthook.yml", ".lefthook.yml", "lefthook.toml", ".lefthook.toml", "lefthook-local.yml",
)  # fmt: skip
"""These files, in any folder; ``.git`` is the file that leads a worktree to its repository."""

_HOLDERS = tuple({name.rpartition("/")[0] for name in (*_FOLDERS, *_FILES) if name.startswith(".") and "/" in name})
"""Folders that hold such names: one that is moved to this place, or away from it, takes them along."""

_IN_FOLDERS = re.compile("/(?:" + "|".join(map(re.escape, _FOLDERS)) + ")/")
_ENDS = tuple(f"/{name}/" for name in (*_FILES, *_HOLDERS))
_LAST = frozenset(name.rpartition("/")[2] for name in (*_FOLDERS, *_FILES))
_LAST_OF_ALL = _LAST | frozenset(name.rpartition("/")[2] for name in _HOLDERS)
DEPENDENCIES = frozenset({"node_modules", "bower_components", "site-packages", "dist-packages", "__pycache__", ".tox", ".nox"})
"""Folders of installed packages: what lies in them is obeyed by nobody, and packages bring such names by the hundred."""


@dataclass(frozen=True, slots=True)
class ProtectedTargets:
    """The protected files that a command line names or rewrites.

    Attributes:
        about: their names, in words; empty for none: nobody is asked.
        below: absolute paths that a yes lets the line change, with all below them.
        repositories: folders where git rewrites what it tracks; with a yes, that may change too.
    """

    about: str = ""
    below: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()


def may_be(name: str) -> bool:
    """Whether a file or folder called so can be one of them in some place: for whoever looks through many."""
    return _plainly(name) in _LAST


def may_stand_for(name: str) -> bool:
    """The same of a file or a link, which can also take the place of a folder that holds such names (``.github``)."""
    return _plainly(name) in _LAST_OF_ALL


def is_protected(path: str) -> bool:
    """Whether this path is such a name, or lies in a folder all of whose files are."""
    return is_named(folded(path))


def all_below(folder: str) -> bool:
    """Whether everything in the folder is protected."""
    return _IN_FOLDERS.search(f"/{folded(folder).strip('/')}/") is not None


def is_named(spelling: str) -> bool:
    """``is_protected`` of a path that is folded already."""
    padded = f"/{spelling.strip('/')}/"
    return padded.endswith(_ENDS) or _IN_FOLDERS.search(padded) is not None


def in_repository(spelling: str) -> bool:
    """Whether a folded path lies in a folder ``.git``: git alone has business there. What is named in it may lead git to other settings,
    as ``commondir`` does, or be what makes it a repository."""
    return "/.git/" in f"/{spelling.strip('/')}"


def folded(path: str) -> str:
    """As the most forgiving file system compares names: macOS and Windows ignore letter case, Windows dots and spaces at a name's end."""
    parts = unicodedata.normalize("NFKC", path).casefold().split("/")
    return "/".join(part if part in ("", ".", "..") else part.rstrip(". ").partition("::$")[0] for part in parts)


def _plainly(name: str) -> str:
    """``folded`` of one name; nearly all are spared the long way."""
    return name.lower() if name.isascii() and name[-1:] not in ". " and ":" not in name else folded(name)
