"""Names whose change always asks: files that programs execute, or agents obey.

See docs/permissions.md, "What asks even when a rule allows it"; start-up files and hooks are from the programs'
manuals.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

_FOLDERS = (
    ".git/hooks", ".git/info", ".git/modules", ".husky", ".lefthook", ".ssh", ".gnupg", ".jj/repo",
    ".github/workflows", ".github/actions", ".forgejo/workflows", ".gitea/workflows", ".circleci", ".buildkite",
    ".woodpecker",
    ".semaphore", ".teamcity",
    ".atelier", ".claude", ".cursor", ".codex", ".agents", ".gemini", ".opencode", ".continue", ".windsurf", ".goose",
    ".clinerules",
    ".roo", ".kilocode", ".kiro", ".amazonq", ".junie", ".trae", ".augment", ".qwen", ".crush", ".factory", ".copilot",
    ".cline", ".vibe",
    ".config/agents", ".config/zed", ".config/goose",
    ".config/opencode", ".github/prompts", ".github/instructions", ".github/agents", ".github/chatmodes",
    ".vscode", ".idea", ".zed", ".devcontainer", ".emacs.d", ".config/nvim", ".config/fish", ".config/autostart",
    ".config/systemd",
    ".config/mise", "library/launchagents",
)  # fmt: skip
"""Everything in these folders, at any depth below any folder."""

_FILES = (
    ".git", ".git/config", ".git/config.worktree", ".gitmodules", ".gitconfig", ".gitattributes", ".config/git/config",
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv",
    ".zprofile", ".zlogin",
    ".kshrc", ".cshrc", ".tcshrc", ".login", ".xprofile", ".xinitrc", ".xsession", ".inputrc", ".envrc",
    ".pam_environment",
    ".vimrc", ".gvimrc", ".exrc", ".nvimrc", ".nvim.lua", ".dir-locals.el", ".gdbinit", ".lldbinit", "mise.toml",
    ".mise.toml", ".hg/hgrc",
    ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".netrc", "pip.conf",
    "agents.md", "agents.override.md", "claude.md", "claude.local.md", "gemini.md", "qwen.md", "crush.md", "warp.md",
    ".github/copilot-instructions.md", ".cursorrules", ".windsurfrules", ".clinerules", ".goosehints", ".roorules",
    ".rules",
    ".augment-guidelines", ".aider.conf.yml", "mcp.json", ".mcp.json", ".claude.json", "claude_desktop_config.json",
    "kilo.json", "kilo.jsonc", "opencode.json", "opencode.jsonc", "crush.json", ".crush.json", ".atelier.toml",
    ".gitlab-ci.yml", ".woodpecker.yml", ".woodpecker.yaml", ".cirrus.yml", ".gitpod.yml", ".devcontainer.json",
    ".travis.yml",
    ".drone.yml", "jenkinsfile", "azure-pipelines.yml", "bitbucket-pipelines.yml", "appveyor.yml",
    ".pre-commit-config.yaml", "lefthook.yml", ".lefthook.yml", "lefthook.toml", ".lefthook.toml", "lefthook-local.yml",
)  # fmt: skip
"""These files, in any folder; ``.git`` is the file that leads a worktree to its repository."""

_HOLDERS = tuple({name.rpartition("/")[0] for name in (*_FOLDERS, *_FILES) if name.startswith(".") and "/" in name})
"""Folders that contain such names: moving one moves these too."""

_IN_FOLDERS = re.compile("/(?:" + "|".join(map(re.escape, _FOLDERS)) + ")/")
_ENDS = tuple(f"/{name}/" for name in (*_FILES, *_HOLDERS))
_LAST = frozenset(name.rpartition("/")[2] for name in (*_FOLDERS, *_FILES))
_LAST_OF_ALL = _LAST | frozenset(name.rpartition("/")[2] for name in _HOLDERS)
DEPENDENCIES = frozenset(
    {"node_modules", "bower_components", "site-packages", "dist-packages", "__pycache__", ".tox", ".nox"}
)
"""Folders of installed packages: their files are not obeyed, and packages contain such names by the hundred."""


@dataclass(frozen=True, slots=True)
class ProtectedTargets:
    """Protected files that a command line names or rewrites.

    Attributes:
        about: their names, for display; empty if nobody needs to be asked.
        below: absolute paths that the line may change after approval, including everything below.
        repositories: folders where git rewrites tracked files; after approval these may change too.
    """

    about: str = ""
    below: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()


def may_be(name: str) -> bool:
    """Whether a file or folder with this name can be protected anywhere; a quick check for scans."""
    return _plainly(name) in _LAST


def may_stand_for(name: str) -> bool:
    """Like ``may_be`` for a file or link, which can also replace a folder that contains such names (``.github``)."""
    return _plainly(name) in _LAST_OF_ALL


def is_protected(path: str) -> bool:
    """Whether this path is a protected name, or lies in a fully protected folder."""
    return is_named(folded(path))


def all_below(folder: str) -> bool:
    """Whether everything in the folder is protected."""
    return _IN_FOLDERS.search(f"/{folded(folder).strip('/')}/") is not None


def is_named(spelling: str) -> bool:
    """Like ``is_protected`` for a folded path."""
    padded = f"/{spelling.strip('/')}/"
    return padded.endswith(_ENDS) or _IN_FOLDERS.search(padded) is not None


def in_repository(spelling: str) -> bool:
    """Whether a folded path lies in a ``.git`` folder, which only git should write.

    Files in it may lead git to other settings, as ``commondir`` does, or make a folder a repository.
    """
    return "/.git/" in f"/{spelling.strip('/')}"


def folded(path: str) -> str:
    """Normalise a path as the most lenient file system compares names.

    Ignoring case (macOS, Windows) and trailing dots and spaces (Windows).
    """
    parts = unicodedata.normalize("NFKC", path).casefold().split("/")
    return "/".join(part if part in ("", ".", "..") else part.rstrip(". ").partition("::$")[0] for part in parts)


def _plainly(name: str) -> str:
    """Like ``folded`` for one name, with a fast path for most names."""
    return name.lower() if name.isascii() and name[-1:] not in ". " and ":" not in name else folded(name)
