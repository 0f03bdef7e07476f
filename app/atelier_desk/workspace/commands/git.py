"""git: which of its commands only read, and what must be said to it so that a repository's own settings run nothing meanwhile.

A repository is data that somebody else may have written: ``core.fsmonitor``, ``diff.external``, text conversions, clean filters, hooks,
signature programs, pagers and a second repository hidden in a folder all run programs on ``git status`` or ``git diff``
(CVE-2026-19592, CVE-2026-45033). So a person is asked about every setting of a repository that is not known
(``git_settings``), and what has a fixed name, or stands in the person's own settings, is switched off by its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from atelier_desk.support.i18n import N_
from atelier_desk.workspace.commands.git_settings import ASKS_GPG, is_switched_off
from atelier_desk.workspace.commands.options import Operands, Rules, UnknownOptionError, take

_DOCS = "https://git-scm.com/docs/git-{}"
_DIFF_LONG = (
    "stat=", "numstat", "shortstat", "dirstat=", "summary", "name-only", "name-status", "patch", "no-patch", "raw", "minimal", "patience",
    "histogram", "no-renames", "find-renames=", "color=", "no-color", "color-words=", "word-diff=", "check", "full-index", "abbrev=",
    "ignore-space-at-eol", "ignore-space-change", "ignore-all-space", "ignore-blank-lines", "function-context", "exit-code", "quiet",
    "unified=", "no-ext-diff", "no-textconv", "text", "no-prefix", "relative=", "compact-summary", "cached", "staged",
    "merge-base",
)  # fmt: skip
_LOG_LONG = (
    "oneline", "graph", "all", "branches=", "tags=", "remotes=", "decorate=", "no-decorate", "reverse", "merges", "no-merges",
    "first-parent", "follow", "date=", "abbrev-commit", "no-abbrev-commit", "max-count=", "skip=", "since=", "after=", "until=", "before=",
    "author=", "committer=", "grep=", "all-match", "invert-grep", "regexp-ignore-case", "fixed-strings", "date-order", "topo-order",
    "author-date-order", "parents", "children", "left-right", "cherry-pick", "simplify-by-decoration", "full-history", "format=", "pretty=",
    "no-notes",
)  # fmt: skip
READING: dict[str, Rules] = {
    "status": Rules(
        # -v is a diff, and status has no option that keeps text conversions from it.
        _DOCS.format("status"), flags="sbz",
        long=("short", "branch", "porcelain=", "long", "show-stash", "ignored=", "untracked-files=", "ahead-behind", "no-ahead-behind",
              "no-renames", "column="),
        values="u",
    ),
    "diff": Rules(_DOCS.format("diff"), flags="pswbzMRaW", values="US", long=_DIFF_LONG, number=True),
    "log": Rules(_DOCS.format("log"), flags="pswbzMiE", values="USGnL", long=(*_LOG_LONG, *_DIFF_LONG), number=True),
    "show": Rules(_DOCS.format("show"), flags="pswbzM", values="U", long=(*_LOG_LONG, *_DIFF_LONG), number=True),
    "rev-parse": Rules(
        _DOCS.format("rev-parse"), flags="q",
        long=("show-toplevel", "abbrev-ref=", "short=", "verify", "git-dir", "is-inside-work-tree", "show-prefix", "show-cdup", "symbolic",
              "symbolic-full-name", "all", "branches=", "tags=", "quiet", "is-bare-repository"),
    ),
    "ls-files": Rules(
        # Not -X: what its file's lines are can be told from the names that are left out, and it starts where the repository does.
        _DOCS.format("ls-files"), flags="cdmoistuvz", values="x",
        long=("cached", "deleted", "modified", "others", "ignored", "stage", "unmerged", "killed", "directory", "exclude-standard",
              "full-name", "error-unmatch"),
    ),
    "ls-tree": Rules(_DOCS.format("ls-tree"), flags="drtlz", long=("name-only", "name-status", "full-name", "full-tree", "long")),
    "branch": Rules(
        # A name that is no pattern of --list would make a branch.
        _DOCS.format("branch"), flags="arv", long=("all", "remotes", "list", "show-current", "verbose", "no-color", "column="), most=0,
        operands=Operands.NONE,
    ),
    "tag": Rules(_DOCS.format("tag"), flags="l", long=("list", "column="), operands=Operands.NONE, most=0),
    "remote": Rules(_DOCS.format("remote"), flags="v", long=("verbose",), operands=Operands.NONE, most=0),
    "describe": Rules(_DOCS.format("describe"), long=("tags", "all", "always", "long", "abbrev=", "exact-match", "first-parent")),
    "shortlog": Rules(_DOCS.format("shortlog"), flags="nse", long=("numbered", "summary", "email", "no-merges")),
    "version": Rules(_DOCS.format("version"), long=("build-options",), operands=Operands.NONE, most=0),
}  # fmt: skip
"""git's commands that only read, with the options that keep it so. ``blame`` and ``grep`` are not here: they run text conversions and
pagers that no setting switches off for certain."""

SWITCHED_OFF: Mapping[str, str] = {
    "core.fsmonitor": "false", "core.hooksPath": "/dev/null", "core.pager": "cat", "core.editor": "true", "core.askPass": "true",
    "core.sshCommand": "false", "core.gitProxy": "false", "core.alternateRefsCommand": "true", "core.untrackedCache": "false",
    "safe.bareRepository": "explicit", "protocol.allow": "never", "log.showSignature": "false", "gpg.program": "false",
    "gpg.openpgp.program": "false", "gpg.x509.program": "false", "gpg.ssh.program": "false", "diff.ignoreSubmodules": "all",
    "diff.submodule": "short", "status.submoduleSummary": "false", "submodule.recurse": "false", "maintenance.auto": "false", "gc.auto":
    "0",
    "credential.helper": "", "column.ui": "never",
}  # fmt: skip
"""Settings that a repository may hold and that run programs, by git-config(1), with what is said in their place."""
_OFF_OPTIONS: dict[str, tuple[str, ...]] = {
    "diff": ("--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--submodule=short"),
    "log": ("--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--submodule=short", "--no-show-signature"),
    "show": ("--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--submodule=short", "--no-show-signature"),
    "status": ("--ignore-submodules=all",),
}
_NOTHING = "ATELIER_NOTHING"
"""An empty variable: ``--config-env`` splits at its last ``=``, ``-c`` at the first, which may belong to the name of a filter."""
ENVIRONMENT: Mapping[str, str] = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_ASKPASS": "true",
    "GIT_NO_REPLACE_OBJECTS": "1",
    _NOTHING: "",
}
"""What git is told besides, for commands that only read. ``GIT_OPTIONAL_LOCKS`` keeps ``status`` from writing the index."""
OPEN_ENVIRONMENT: Mapping[str, str] = {"GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat", "GIT_EDITOR": "true", _NOTHING: ""}
"""The same for git commands a person allowed: hooks and helpers run as in a terminal, but nobody can answer a prompt."""


def reads(arguments: tuple[str, ...]) -> list[str]:
    """The operands of a git command that only reads, which may be files; raises ``UnknownOptionError``.

    Options before the command are refused (``-c``, ``--git-dir``, ``--exec-path``), but for ``--no-pager``.
    """
    words = list(arguments)
    while words and words[0] == "--no-pager":
        words.pop(0)
    if words == ["--version"]:
        return []
    rules = READING.get(words[0]) if words else None
    if rules is None:
        raise UnknownOptionError(N_("it runs programs or changes files"), words[0] if words else "git")
    taken = take(rules, tuple(words[1:]))
    for word in words[1:]:
        if ASKS_GPG.search(word) or "(trailers" in word or (word.startswith("-L") and words[0] == "log" and word.startswith("-L:")):
            raise UnknownOptionError(N_("its format is not known to be harmless"), word)
    return [*taken.operands]


def hardened(words: tuple[str, ...], settings: Iterable[str]) -> tuple[str, ...]:
    """A git command that only reads, made safe: ``words`` begin with ``git``, ``settings`` are the names of all settings it would find."""
    said = [word for key, value in SWITCHED_OFF.items() for word in ("-c", f"{key}={value}")]
    for name in sorted({name for name in settings if is_switched_off(name)}):
        if name.startswith("gpg."):
            said += ("-c", f"{name}=false") if "=" not in name else ()  # git knows no such format
        else:
            said.append(f"--config-env={name}={_NOTHING}")
    asked = [word for word in words[1:] if word != "--no-pager"]
    command = asked[0] if asked else ""
    return (words[0], "--no-pager", "--no-optional-locks", *said, *asked[:1], *_OFF_OPTIONS.get(command, ()), *asked[1:])


def settings_command(git: str) -> tuple[str, ...]:
    """The command that lists all settings with where they stand; reading them runs nothing."""
    return hardened((git, "config", "--list", "--includes", "--show-scope", "--show-origin", "-z"), ())


def place_command(git: str) -> tuple[str, ...]:
    """The command that says where a repository is, a line each: its folder, the one it shares with its other work trees, its files."""
    return hardened((git, "rev-parse", "--absolute-git-dir", "--git-common-dir", "--show-toplevel"), ())


def rules() -> dict[str, Rules]:
    """git's part of the table, by its two words."""
    return {f"git {name}": replace(rule) for name, rule in READING.items()}
