"""Git commands that change repository settings: they ask, and approved changes are not reverted."""

from __future__ import annotations

from atelier_desk.workspace.commands.option_parsing import (
    Operands,
    ParsedOptions,
    Rules,
    UnknownOptionError,
    parse_options,
)

_DOCS = "https://git-scm.com/docs/git-{}"
SETTINGS = ".git/config"
"""The protected name that represents their target."""
_WORDS = Operands.WORDS
_CONFIG_OPTIONS = (
    "local worktree add replace-all unset unset-all get get-all get-regexp list bool "
    "int path type= show-origin show-scope name-only includes null rename-section remove-section default= fixed-value"
)
_CONFIG = Rules(
    _DOCS.format("config"), flags="zl", operands=_WORDS,
    long=tuple(_CONFIG_OPTIONS.split()),
)  # fmt: skip
_SUBMODULE = Rules(
    _DOCS.format("submodule"), flags="qfN", values="bj", operands=_WORDS,
    long=(
        "quiet", "init", "recursive", "remote", "force", "checkout", "merge", "rebase", "no-fetch", "all", "progress",
        "cached",
        "branch=", "name=", "depth=", "jobs=", "recommend-shallow", "no-recommend-shallow", "single-branch",
        "no-single-branch",
    ),
    long_values=("branch", "name", "depth", "jobs"),
)  # fmt: skip
_REMOTE = Rules(
    _DOCS.format("remote"), flags="fad", values="tm", operands=_WORDS,
    long=("tags", "no-tags", "mirror=", "add", "delete", "push", "auto", "progress", "no-progress"),
)  # fmt: skip
_INIT = Rules(
    _DOCS.format("init"), flags="q", values="b", operands=_WORDS,
    long=("quiet", "bare", "initial-branch=", "object-format="),
    long_values=("initial-branch", "object-format"),
)  # fmt: skip
_BRANCH = Rules(
    _DOCS.format("branch"),
    values="u",
    operands=_WORDS,
    long=("set-upstream-to=", "unset-upstream"),
    long_values=("set-upstream-to",),
)
_SPARSE = Rules(
    _DOCS.format("sparse-checkout"),
    operands=_WORDS,
    long=("cone", "no-cone", "sparse-index", "no-sparse-index", "skip-checks"),
)
PURPOSES: dict[str, tuple[Rules, tuple[str, ...]]] = {
    "config": (_CONFIG, ()),
    "init": (_INIT, ()),
    "submodule": (_SUBMODULE, ("add", "init", "update", "deinit", "sync", "set-url", "set-branch", "absorbgitdirs")),
    "remote": (_REMOTE, ("add", "remove", "rm", "rename", "set-url", "set-branches", "set-head")),
    "branch": (_BRANCH, ("-u", "--set-upstream-to", "--unset-upstream")),
    "sparse-checkout": (_SPARSE, ("init", "set", "add", "reapply", "disable")),
}
"""By command: allowed options, and the first words that change something.

None of them executes a workspace file: the checkout hooks of a submodule come from the user's own template.
"""


def changes_settings(arguments: tuple[str, ...]) -> bool:
    """Whether a git command (without its first word) is one of these; any other option disqualifies it."""
    if not arguments or arguments[0] not in PURPOSES:
        return False
    rules, firsts = PURPOSES[arguments[0]]
    if firsts and not any(word.partition("=")[0] in firsts for word in arguments[1:2]):
        return False
    try:
        options = parse_options(rules, arguments[1:])
    except UnknownOptionError:
        return False
    return arguments[0] != "config" or not _only_reads(options)


def _only_reads(taken: ParsedOptions) -> bool:
    """Whether ``git config`` only prints settings: by its option, its first word, or because no value is given."""
    if set(taken.options) & {"--get", "--get-all", "--get-regexp", "--list", "-l"} or taken.operands[:1] in (
        ("get",),
        ("list",),
    ):
        return True
    removes = {"--unset", "--unset-all", "--remove-section", "--rename-section"}
    return len(taken.operands) < 2 and not set(taken.options) & removes
