"""Commands that install packages: package scripts run on this machine, so they always ask."""

from __future__ import annotations

_VERBS: dict[str, frozenset[str]] = {
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"),
    frozenset({"install", "i", "add", "ci", "in", "isntall", "update", "up", "upgrade",
                                                               "exec", "x", "link", "dlx", "create",
                                                               "init", "install-test", "it", "import"})),
    **dict.fromkeys(("pip", "pip3", "conda", "mamba", "micromamba"),
    frozenset({"install", "download", "wheel", "create", "update"})),
    "uv": frozenset({"add", "sync", "pip", "tool", "run", "lock", "python", "build"}),
    "poetry": frozenset({"add", "install", "update", "sync", "lock"}),
    "pdm": frozenset({"add", "install", "update", "sync", "lock"}),
    "cargo": frozenset({"install", "add", "update", "fetch"}),
    "go": frozenset({"get", "install", "mod"}),
    **dict.fromkeys(("gem", "bundle", "composer", "brew", "port", "snap", "flatpak", "nix-env", "dotnet", "luarocks",
    "cpan", "opam"),
                    frozenset({"install", "add", "require", "update", "upgrade", "i", "-i", "restore", "tool"})),
    **dict.fromkeys(("apt", "apt-get", "dnf", "yum", "zypper", "apk", "pacman", "aptitude"),
                    frozenset({"install", "add", "upgrade", "update", "dist-upgrade", "full-upgrade", "in", "-S", "-Sy",
                    "-Syu", "-U"})),
}  # fmt: skip
"""Programs that install, and the words that make them do so. Asking too often is the safe side."""
_BARE = frozenset({"yarn", "pnpm", "npx", "bunx", "pipx", "uvx", "easy_install"})
"""Programs that install without such a word."""


def installs(words: tuple[str, ...]) -> bool:
    """Whether a simple command installs packages, or runs one that is downloaded first."""
    program, *rest = words
    name = program.rpartition("/")[2].removesuffix(".exe")
    if name.startswith("python") and "-m" in rest:
        module = rest[rest.index("-m") + 1 :]
        return bool(module) and installs(tuple(module))
    if name in _BARE and (not rest or name not in _VERBS):
        return True
    if name.startswith("pip") and name[3:].replace(".", "").isdigit():
        name = "pip"
    return bool(_VERBS.get(name, frozenset()) & set(rest))
