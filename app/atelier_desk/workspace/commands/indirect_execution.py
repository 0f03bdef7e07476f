"""Programs outside the table: options that run another program or load another definition.

A rule such as ``pytest:*`` or ``npm run test:*`` covers what is written, but not ``pytest -p evil`` or ``npm run test
--script-shell ./evil.sh``: such a word is covered only by a rule that spells it out (``npm --prefix web run test:*``).

Unlike ``command_table``, this is a deny list: anything missing is covered by the rule. One row per program, with its
source; https://gtfobins.github.io was checked for programs that are neither in ``command_table`` nor in
``command_table.WRAPPERS``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Indirect:
    """Dangerous options of one program.

    Attributes:
        source: their documentation.
        letters: short options, also after other letters (``-kf``) and with an attached value (``-fevil.mk``).
        values: other letters with a value, which end a group of letters.
        long: names after two dashes, including abbreviations; this and the next two are space-separated.
        begins: prefixes of a word.
        words: whole words, such as a subcommand.
        script: an interpreter: words after the script's name belong to the script.
        assigns: ``NAME=value`` sets a variable that may name a program, unless the value is a number.
        exact: long names are never abbreviated.
        bundled: the first word may be letters without a dash, whose values follow in turn (``tar xIf ./evil a.tar``).
    """

    source: str
    letters: str = ""
    values: str = ""
    long: str = ""
    begins: str = ""
    words: str = ""
    script: bool = False
    assigns: bool = False
    exact: bool = False
    bundled: bool = False


_PACKAGES = Indirect(
    "https://docs.npmjs.com/cli/using-npm/config", letters="CFwr",
    long=("script-shell shell prefix dir cwd userconfig globalconfig node-options workspace workspaces filter "
          "use-yarnrc preload require import config env-file eval print shell-emulator git editor viewer browser "
          "call"),
)  # fmt: skip
_NODE = Indirect(
    "https://nodejs.org/api/cli.html", letters="eprCi", script=True,
    long=("eval print require import loader experimental-loader conditions interactive env-file env-file-if-exists "
          "openssl-config experimental-config-file experimental-default-config-file test-global-setup run project "
          "compiler tsconfig"),
)  # fmt: skip
_CC = Indirect(
    "https://gcc.gnu.org/onlinedocs/gcc/Overall-Options.html", letters="B",
    begins="@ -wrapper -fplugin -specs --specs -fuse-ld -Xclang -load -Wl, -Xlinker --config -iplugindir",
)  # fmt: skip
_BINUTILS = Indirect(
    "https://sourceware.org/binutils/docs/binutils/index.html",
    begins="@ -plugin --plugin", long="plugin script",
)  # fmt: skip
_LATEX = Indirect(
    "https://tug.org/texinfohtml/web2c.html",
    begins="-shell --shell -enable-write18 --enable-write18 -fmt --fmt",
)  # fmt: skip
_BUNDLERS = Indirect(
    "https://webpack.js.org/api/cli/", letters="cpr", exact=True,
    long="config config-plugin configPlugin configLoader plugin require root extends env-file",
)  # fmt: skip
_TEX = ("pdflatex", "xelatex", "lualatex", "latex", "pdftex", "tex", "luatex", "xetex")

ROWS: dict[str, Indirect] = {
    # Interpreters: code on the command line, or loaded besides the script
    "python": Indirect("https://docs.python.org/3/using/cmdline.html", letters="cm", values="WX", script=True),
    "node": _NODE, "nodejs": _NODE, "tsx": _NODE, "ts-node": _NODE,
    "deno": Indirect("https://docs.deno.com/runtime/reference/cli/", letters="Ac",
                     long=("allow-all allow-run allow-read allow-write allow-net allow-env allow-ffi allow-sys "
                           "config import-map preload env-file cert")),
    "perl": Indirect("https://perldoc.perl.org/perlrun", letters="eEMmIxdD", script=True),
    "ruby": Indirect("https://docs.ruby-lang.org/en/master/ruby/options_md.html", letters="erICSx", script=True,
                     long="require"),
    "php": Indirect("https://www.php.net/manual/en/features.commandline.options.php", letters="rBREFfzdcS", script=True,
                    long=("run define php-ini file process-begin process-code process-file process-end "
                          "zend-extension server")),
    "lua": Indirect("https://www.lua.org/manual/5.4/manual.html#7", letters="eli", script=True),
    "julia": Indirect("https://docs.julialang.org/en/v1/manual/command-line-interface/", letters="eELJ", script=True,
                      long="eval print load sysimage project"),
    "Rscript": Indirect("https://stat.ethz.ch/R-manual/R-devel/library/utils/html/Rscript.html", letters="e"),
    "elixir": Indirect("https://hexdocs.pm/elixir/main/elixir.html", letters="er",
                       begins="--eval --rpc-eval --erl --require"),
    "java": Indirect("https://docs.oracle.com/en/java/javase/21/docs/specs/man/java.html",
                     begins="@ -javaagent -agent -XX: -Xbootclasspath -XshowSettings:file"),
    "javac": Indirect("https://docs.oracle.com/en/java/javase/21/docs/specs/man/javac.html",
                      begins="@ -J -processor --processor -Xplugin"),
    # Builds
    "make": Indirect("https://www.gnu.org/software/make/manual/html_node/Options-Summary.html",
                     letters="fCIE", values="jlOoW", assigns=True,
                     long="file makefile directory include-dir eval"),
    "ninja": Indirect("https://ninja-build.org/manual.html", letters="fCt", values="jkld"),
    "just": Indirect("https://just.systems/man/en/", letters="fdcgE", assigns=True,
                     long=("justfile working-directory command global-justfile shell shell-arg shell-command set "
                           "chooser dotenv-path dotenv-filename cygpath tempdir")),
    "task": Indirect("https://taskfile.dev/reference/cli", letters="tdg", assigns=True, long="taskfile dir global"),
    "rake": Indirect("https://ruby.github.io/rake/doc/command_line_usage_rdoc.html", letters="frRIeEpN", assigns=True,
                     long="rakefile require libdir rakelibdir execute execute-print execute-continue"),
    "cmake": Indirect("https://cmake.org/cmake/help/latest/manual/cmake.1.html", letters="DCPTGE", exact=True,
                      long="toolchain preset install-prefix config open"),
    "ctest": Indirect("https://cmake.org/cmake/help/latest/manual/ctest.1.html",
                      begins="-S --script -SP --test-command --build- --test-dir --overwrite --launch"),
    "meson": Indirect("https://mesonbuild.com/Commands.html", letters="DC",
                      long="cross-file native-file wrapper wrap gdb-path"),
    "cargo": Indirect("https://doc.rust-lang.org/cargo/commands/cargo.html", letters="ZC", values="pjF", exact=True,
                      long="config manifest-path target-dir",
                      begins="+"),
    "rustc": Indirect("https://doc.rust-lang.org/rustc/command-line-arguments.html", letters="CLZ",
                      long="codegen sysroot",
                      begins="@ +"),
    "go": Indirect("https://pkg.go.dev/cmd/go#hdr-Compile_packages_and_dependencies",
                   begins=("-exec -toolexec -modfile -overlay -C -vettool -ldflags -pkgdir -compiler -gccgoflags "
                           "--exec --toolexec --modfile --overlay --C --vettool --ldflags --pkgdir --compiler "
                           "--gccgoflags")),
    "gradle": Indirect("https://docs.gradle.org/current/userguide/command_line_interface.html",
                       long=("init-script build-file settings-file project-dir include-build gradle-user-home "
                             "system-prop plugin-repo"),
                       begins="-I -b -c -p -g -Dorg.gradle -Djava @"),
    "mvn": Indirect("https://maven.apache.org/ref/current/maven-embedder/cli.html",
                    long="file settings global-settings toolchains global-toolchains",
                    begins=("-f -s -gs -t -gt -Dexec. -Djvm -DargLine -Dmaven.ext -Dmaven.repo -Djava "
                            "-Dmaven.compiler.executable")),
    "ant": Indirect("https://ant.apache.org/manual/running.html",
                    begins="-f -buildfile -s -lib -logger -listener -inputhandler -propertyfile -main -D"),
    "dotnet": Indirect("https://learn.microsoft.com/dotnet/core/tools/dotnet-build",
                       begins=("@ -p: /p: -property /property --property -logger /logger --logger -l: /l: "
                               "--test-adapter-path --settings --additionalprobingpath --additional-deps")),
    "gcc": _CC, "g++": _CC, "cc": _CC, "c++": _CC, "clang": _CC, "clang++": _CC,
    **dict.fromkeys(("ld", "nm", "ar", "strip", "objdump", "objcopy", "ranlib", "readelf", "size", "addr2line"),
    _BINUTILS),
    **dict.fromkeys(_TEX, _LATEX),
    "latexmk": Indirect("man:latexmk(1)",
                        begins=("-e -r -shell --shell -latex -pdflatex -lualatex= -xelatex= -pdfxelatex "
                                "-pdflualatex -usepretex -norc")),
    "pandoc": Indirect("https://pandoc.org/MANUAL.html", letters="FLdt", values="fomMVH",
                       long="filter lua-filter defaults pdf-engine pdf-engine-opt to write data-dir"),
    # Packages and their scripts
    "npm": _PACKAGES, "pnpm": _PACKAGES, "yarn": _PACKAGES,
    "bun": replace(_PACKAGES, source="https://bun.sh/docs/runtime", letters="CFwrepc"),
    "poetry": Indirect("https://python-poetry.org/docs/cli/", letters="CP", long="directory project"),
    "pdm": Indirect("https://pdm-project.org/latest/reference/cli/", letters="cp", long="config project"),
    "hatch": Indirect("https://hatch.pypa.io/latest/cli/reference/", letters="p", long="config project data-dir"),
    "bundle": Indirect("https://bundler.io/man/bundle-exec.1.html", long="gemfile"),
    # Tests
    "pytest": Indirect("https://docs.pytest.org/en/stable/reference/reference.html#command-line-flags",
                       letters="pco", values="kmrnW", exact=True, begins="@",
                       long="config-file rootdir confcutdir override-ini pdbcls cov-config basetemp inifile"),
    "tox": Indirect("https://tox.wiki/en/latest/cli_interface.html", letters="cx", values="efmp",
                    long="conf root override workdir runner result-json discover installpkg"),
    "nox": Indirect("https://nox.thea.codes/en/stable/usage.html", letters="f", values="skepRtr", long="noxfile"),
    "coverage": Indirect("https://coverage.readthedocs.io/en/latest/cmd.html", long="rcfile"),
    "mypy": Indirect("https://mypy.readthedocs.io/en/stable/command_line.html", begins="@",
                     long="config-file python-executable install-types custom-typeshed-dir custom-typing-module"),
    "ruff": Indirect("https://docs.astral.sh/ruff/configuration/#full-command-line-interface", begins="@",
                     long="config"),
    "pylint": Indirect("https://pylint.readthedocs.io/en/stable/user_guide/configuration/all-options.html",
                       long="rcfile load-plugins init-hook output-format"),
    "flake8": Indirect("https://flake8.pycqa.org/en/latest/user/options.html",
                       long="config append-config enable-extensions require-plugins format"),
    "pre-commit": Indirect("https://pre-commit.com/#command-line-interface", letters="c",
                           long="config",
                           words="try-repo"),
    "rspec": Indirect("https://rspec.info/features/3-13/rspec-core/command-line/", letters="rIOf",
                      long="require options format"),
    "jest": Indirect("https://jestjs.io/docs/cli", letters="c", values="twi", exact=True,
                     long=("config globalSetup globalTeardown setupFiles setupFilesAfterEnv runner testRunner "
                           "reporters transform resolver rootDir roots preset testEnvironment projects "
                           "dependencyExtractor filter prettierPath snapshotSerializers testSequencer "
                           "testResultsProcessor moduleNameMapper modulePaths moduleDirectories haste globals env "
                           "watchPlugins")),
    "vitest": Indirect("https://vitest.dev/guide/cli", letters="cr", values="t", exact=True,
                       long=("config root dir globalSetup environment reporter workspace pool configLoader browser "
                             "diff snapshotEnvironment execArgv sequence coverage.customProviderModule "
                             "typecheck.checker")),
    "mocha": Indirect("https://mochajs.org/", letters="rRun", values="gft",
                      long=("require import loader config package opts reporter ui file node-option "
                            "experimental-loader")),
    "eslint": Indirect("https://eslint.org/docs/latest/use/command-line-interface", letters="cf",
                       long="config rulesdir resolve-plugins-relative-to plugin parser format"),
    "prettier": Indirect("https://prettier.io/docs/cli", long="config plugin plugin-search-dir"),
    "tsc": Indirect("https://www.typescriptlang.org/docs/handbook/compiler-options.html",
                    begins="-p --project -b --build @"),
    "webpack": _BUNDLERS, "vite": _BUNDLERS, "rollup": _BUNDLERS,
    # Archives, data, machine control
    "tar": Indirect("https://www.gnu.org/software/tar/manual/html_section/Option-Summary.html",
                    letters="IFTX", values="fbCgKNVHL", bundled=True,
                    long=("use-compress-program to-command checkpoint-action rsh-command rmt-command info-script "
                          "new-volume-script files-from exclude-from")),
    "zip": Indirect("https://linux.die.net/man/1/zip", letters="T@", long="unzip-command"),
    "split": Indirect("https://www.gnu.org/software/coreutils/manual/html_node/split-invocation.html", long="filter"),
    "curl": Indirect("https://curl.se/docs/manpage.html", letters="K", values="oHdXAbceEmuxTFrtwyYzCDPQU",
                     long="config engine libcurl netrc-file"),
    "wget": Indirect("https://www.gnu.org/software/wget/manual/wget.html", letters="eiB", values="OoaPtTwQUDARI",
                     long="execute use-askpass config input-file post-file body-file load-cookies"),
    "sqlite3": Indirect("https://sqlite.org/cli.html", begins=". -init --init -cmd --cmd -A --append"),
    "psql": Indirect("https://www.postgresql.org/docs/current/app-psql.html", letters="cfvo",
                     long="command file set variable output"),
    "mysql": Indirect("https://dev.mysql.com/doc/refman/8.4/en/mysql-command-options.html", letters="e", values="uhPDp",
                      long="execute init-command pager plugin-dir defaults-file defaults-extra-file tee"),
    "terraform": Indirect("https://developer.hashicorp.com/terraform/cli/commands",
                          begins="-chdir -plugin-dir -from-module"),
    "helm": Indirect("https://helm.sh/docs/helm/helm/",
                     long="post-renderer post-renderer-args kubeconfig registry-config"),
}  # fmt: skip
"""By program name, without folder, ``.exe`` and version (``python3.12``)."""

_SAME = {"gmake": "make", "py.test": "pytest", "gradlew": "gradle", "mvnw": "mvn", "bsdtar": "tar", "gtar": "tar",
         "pypy": "python", "luajit": "lua", "mariadb": "mysql"}  # fmt: skip
_VERSION = re.compile(r"(?<=[a-z+])-?[0-9]+(?:\.[0-9]+)*$", re.ASCII)

_DOCS = "https://git-scm.com/docs/git-{}"
_GIT_LONG = (
    "exec upload-pack receive-pack ext-diff textconv output open-files-in-pager extcmd tool config template "
    "exec-path git-dir work-tree no-index contents file strategy tree-filter index-filter msg-filter env-filter "
    "commit-filter parent-filter tag-name-filter setup subdirectory-filter filters"
)
_GIT_LETTERS: dict[str, tuple[str, str]] = {
    # command: dangerous letters, other letters with a value
    "rebase": ("xs", "XCS"), "clone": ("uc", "bojS"), "difftool": ("xt", ""), "mergetool": ("t", ""),
    "grep": ("O", "efABCm"), "commit": ("Ft", "mCcuS"), "tag": ("F", "mun"), "merge": ("sF", "mXS"),
    "pull": ("s", "XSjor"), "notes": ("F", "mCc"), "archive": ("o", ""),
    "revert": ("s", "mXS"), "cherry-pick": ("s", "mXS"), "config": ("f", ""),
}  # fmt: skip
_GIT_COMMANDS = frozenset({
    "bisect", "citool", "config", "credential", "cvsserver", "daemon", "difftool", "filter-branch", "gui", "hook",
    "http-backend", "imap-send", "instaweb", "merge-index", "merge-one-file", "mergetool", "p4", "receive-pack",
    "remote-ext", "remote-fd", "send-email", "shell", "submodule", "svn", "upload-archive", "upload-pack",
    "web--browse",
})  # fmt: skip
"""git commands whose purpose is to run or configure other programs: ``git:*`` does not include them."""
_GIT_WORDS = {"submodule": "foreach", "bisect": "run", "hook": "run"}
_GIT_HARMLESS = frozenset({"--no-pager", "--version", "--help"})
"""Options allowed before git's command."""
_RUNNERS = frozenset({"poetry run", "pdm run", "pipenv run", "hatch run", "rye run", "uv run", "bundle exec",
                      "pnpm exec", "yarn exec", "yarn run"})  # fmt: skip
"""Programs that run the one named after these words: its own row applies from there."""
_MODULE = re.compile(r"-[a-zA-Z]*?m(.*)", re.DOTALL)


def spelled_out(words: tuple[str, ...]) -> int:
    """Return how many leading words of a command a rule must spell out to cover it.

    Includes the last option on this list and its value. 0: any rule that covers its words.
    """
    name = program_name(words[0])
    if name == "git":
        return _git(words)
    row = ROWS.get(name)
    most = _most(row, words, 1) if row is not None else 0
    for index, word in enumerate(words):
        if name in ("python", "coverage") and (module := _MODULE.fullmatch(word)):
            # pytest's own options, after ``python -m pytest`` or ``python -mpytest``
            attached = (module[1],) if module[1] else ()
            return max(most, _behind((*attached, *words[index + 1 :]), index + 1 - len(attached)))
        if f"{name} {word}" in _RUNNERS:
            return max(most, _behind(words[index + 1 :], index + 1))
    return most


def program_name(word: str) -> str:
    """Return a program's name in the tables: ``python`` for ``/usr/bin/python3.12``."""
    name = word.rpartition("/")[2].removesuffix(".exe").removesuffix(".cmd")
    name = _VERSION.sub("", name) if name not in ROWS and name not in _SAME else name
    return _SAME.get(name, name)


def _behind(words: tuple[str, ...], before: int) -> int:
    """Like ``spelled_out`` for a command run by another one, with ``before`` words in front of it."""
    inner = spelled_out(words) if words else 0
    return inner + before if inner else 0


def _git(words: tuple[str, ...]) -> int:
    most, index = 0, 1
    while index < len(words) and words[index].startswith("-"):
        if words[index] not in _GIT_HARMLESS:
            most = index + 2
        index += 1
    if index >= len(words):
        return min(most, len(words))
    if words[index] in _GIT_COMMANDS:
        most = max(most, index + 1)
    letters, values = _GIT_LETTERS.get(words[index], ("", ""))
    row = Indirect(_DOCS.format(words[index]), letters, values, _GIT_LONG, words=_GIT_WORDS.get(words[index], ""))
    return max(min(most, len(words)), _most(row, words, index + 1))


def _most(row: Indirect, words: tuple[str, ...], start: int) -> int:
    most = 0
    for index in range(start, len(words)):
        word = words[index]
        if row.script and not word.startswith("-") and not words[index - 1].startswith("-"):
            break
        found = _of_word(row, word, first=index == start)
        if found:
            most = min(index + found, len(words))
    return most


def _of_word(row: Indirect, word: str, *, first: bool) -> int:
    """Return 0 if a word is none of the row's options, 1 if it is, 2 if the next word is its value."""
    if word in row.words.split() or (row.assigns and _assigns(word)):
        return 1
    if any(word.startswith(start) for start in row.begins.split()):
        return 1 if "=" in word else 2
    if word == "-D" and any(start.startswith("-D") for start in row.begins.split()):
        return 2
    if word.startswith("--") and len(word) > 2:
        name, equals, _value = word[2:].partition("=")
        # jest and vitest accept --globalSetup and --global-setup, and --globals.x for a part
        said, names = (name.partition(".")[0], name), row.long.split()
        listed = any(_plain(one) in map(_plain, names) for one in said)
        listed = listed or (not row.exact and any(each.startswith(name) for each in names))
        return (1 if equals else 2) if listed else 0
    if first and row.bundled and not word.startswith("-"):
        return len(word) + 1 if set(word) & set(row.letters) else 0
    if not word.startswith("-") or len(word) < 2:
        return 0
    for index, letter in enumerate(word[1:], 2):
        if letter in row.letters:
            return 1 if index < len(word) else 2
        if letter in row.values:
            return 0
    return 0


def _plain(name: str) -> str:
    return name.replace("-", "").casefold()


_NUMBER = re.compile(r"\w+=[0-9]*", re.ASCII)
_MAKE_OWN = ("SHELL", "MAKEFLAGS", "GNUMAKEFLAGS", "MAKEFILES", "PATH")


def _assigns(word: str) -> bool:
    name, equals, _value = word.partition("=")
    return bool(equals) and not word.startswith("-") and (not _NUMBER.fullmatch(word) or name in _MAKE_OWN)
