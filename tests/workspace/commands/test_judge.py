"""The judgement of a command line by the table of commands, and published flaws of other programs that it must not
have.
"""

# judges: app/atelier_desk/workspace/commands/parsing.py
from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atelier_desk.workspace.commands import command_table, git_safety
from atelier_desk.workspace.commands.judge import MOST_COMMANDS, Kind, judge
from atelier_desk.workspace.commands.parsing import UnreadableError, read
from tests.workspace.commands.option_injections import lines
from tests.workspace.commands.random_command_lines import HOME, WORDS, check_line, random_lines

CASES = {
    "CVE-2025-54795: an allowed echo carries a command": ['echo "a"; ./canary', "echo '\"'; ./canary; echo '\"'",
    "echo a\n./canary"],
    "CVE-2025-58764: an option of rg runs a program": ["rg --pre ./canary x", "rg --pre=./canary x",
    "rg x --hostname-bin=./canary"],
    "CVE-2025-64755: sed writes and runs": ["sed -n 'w out' x", "sed 's/a/b/w out' x", "sed -n '1e id' x",
    "sed -i s/a/b/ x"],
    "CVE-2025-66032: an option is hidden in a value or an abbreviation": [
        "sort --compress-prog=./canary x", "sort -S1 --compress-program=./canary x", "man --html=./canary x",
        "xargs -t ./canary",
    ],
    "CVE-2026-25722: cd and then a write": ["cd .claude && echo x > settings.json", "cd /etc && rm passwd",
    "cd .. && echo x > y"],
    "CVE-2026-35020 to 35022: substitutions in quotes": ['cat "x$(./canary)"', 'ls "`./canary`"',
    'cat "${x:-$(./canary)}"'],
    "CVE-2026-22708: words of the shell change what follows": [
        "export PATH=.; ls", "typeset -i x=1", "declare x=1 && ls", "alias ls=./canary\nls", "PATH=. ls", "set -a; ls",
        "unset PATH; ls",
    ],
    "GHSA-j4h9-wv2m-wrf7: a value is put into a shell": ["git config user.email 'x; ./canary'",
    "git -c user.email=$(./canary) log"],
    "CVE-2025-68145 and CVE-2026-27735: git writes and goes up": ["git diff --output=x", "git add ../../x",
    "git init /x"],
    "CVE-2026-85660: a substitution behind an allowed word": ["ls $(./canary)", "ls `./canary`", "ls <(./canary)"],
    "CVE-2026-19592: helpers of a repository": ["git -c core.fsmonitor=./canary status", "git --exec-path=. status",
    "git -C x status"],
    "Adversa: beyond a limit of the parser": ["; ".join(["ls"] * (MOST_COMMANDS + 1)), "ls " + "x" * 20_000],
}  # fmt: skip
"""Published cases about command lines."""


@pytest.mark.parametrize(("case", "line"), [(case, line) for case, found in CASES.items() for line in found])
def test_published_cases(case: str, line: str) -> None:
    judgement = judge(line, HOME)
    assert not judgement.safe, case
    assert judgement.reason or any(one.reason or not one.inside for one in judgement.commands), case


@pytest.mark.parametrize(
    "line",
    [
        "git ls-files -o -i -X /etc/passwd", "git ls-files -X../x", f"git ls-files -o -i -X {HOME}/.ssh/id_rsa",
        "git ls-files --exclude-from=/etc/passwd",
        "git ls-files --exclude-per-directory=x", "git diff -O/etc/passwd", "git log --output=x", "git diff --output x",
        "git show --pathspec-from-file=/etc/passwd", "git diff --no-index a /etc/passwd", "git diff /etc/passwd x",
        "git status -v",
        "git status -vs", "git log --format=%h%+GG", "git log --format=%+(trailers:x)", "git log --stdin",
        "git diff --textconv",
        "git diff --ext-diff", "git ls-files --with-tree=x", "git --git-dir=/x status", "git log --show-signature",
    ],
)  # fmt: skip
def test_options_of_git_that_name_files_or_programs(line: str) -> None:
    assert not judge(line, HOME).safe


SAFE = [
    "ls", "ls -la src", "cat a.txt b/c.txt", "head -20 x", "head -n 20 x", "tail -n +5 x", "wc -l *.py",
    "grep -rn foo src",
    "grep -E 'a|b' x", "grep -e a -f patterns x", "rg -n --glob '*.py' foo", "rg --files | head",
    "find . -name '*.py' -type f",
    "find src tests -maxdepth 2 -not -path '*/x/*' -print0", "sed -n 1,20p x", "sed -n '5p;$p' x y",
    "sort -k2,2n -t, x", "uniq -c x",
    "cut -d: -f1 x", "tr a-z A-Z < x", "diff -u a b", "stat -c %s x", "du -sh .", "jq -r .name x.json", "date +%F",
    "echo hi", "pwd",
    "git status", "git log --oneline -5", "git diff HEAD~1 -- x", "git show HEAD:x", "git branch -a", "cd a && ls",
    "cd a && cd b && cat c",
    "cat x | grep y | sort | uniq -c", "ls > /dev/null 2>&1", "cat < x", "true && echo ok || echo no",
    "printf '%s\\n' a", "sha256sum x",
    "ls # what is here", "ls\ncat x",
]  # fmt: skip


@pytest.mark.parametrize("line", SAFE)
def test_everyday_reading_needs_no_approval(line: str) -> None:
    judgement = judge(line, HOME)
    assert judgement.safe, [(one.reason, one.about) for one in judgement.commands]
    assert judgement.kind is Kind.READS
    assert not judgement.asks_always


@pytest.mark.parametrize(
    ("line", "kind", "writes", "always"),
    [
        ("mkdir -p a/b", Kind.WRITES, ["a/b"], False),
        ("rm -rf build && touch x", Kind.WRITES, ["build", "x"], False),
        ("cat a > b", Kind.WRITES, ["b"], False),
        ("cd a && echo x >> b", Kind.WRITES, ["a/b"], False),
        ("ls | tee out", Kind.WRITES, ["out"], False),
        ("cat ~/x", Kind.READS, [], False),
        ("npm test", Kind.RUNS, [], False),
        ("git push", Kind.RUNS, [], False),
        ("./run.sh", Kind.RUNS, [], False),
        ("sudo make install", Kind.RUNS, [], True),
        ("ls | xargs cat", Kind.RUNS, [], True),
        ("find . -delete", Kind.RUNS, [], True),
        ("x=1", Kind.RUNS, [], True),
        ("/usr/bin/env ls", Kind.RUNS, [], True),
    ],
)
def test_other_effects_of_a_line(line: str, kind: Kind, writes: list[str], always: bool) -> None:
    judgement = judge(line, HOME)
    assert not judgement.safe
    assert judgement.kind is kind
    assert [file.name for file in judgement.writes] == writes
    assert judgement.asks_always is always


@pytest.mark.parametrize(
    "line", ["cd a; cat b", "cd a || cat b", "cd a | cat b", "cd a && ls; cat b", "cd", "cd -", "cd a b", "cd *"]
)
def test_a_folder_that_is_not_certain(line: str) -> None:
    assert not judge(line, HOME).safe


def test_every_entry_names_its_source() -> None:
    for name, rules in {**command_table.READS, **command_table.WRITES, **git_safety.rules()}.items():
        assert rules.source.startswith(("https://", "man:")), name
        assert not set(rules.flags) & set(rules.values + rules.files), name
    assert not (command_table.READS.keys() | command_table.WRITES.keys()) & command_table.WRAPPERS
    assert not command_table.READS.keys() & command_table.WRITES.keys()


def test_at_least_300_injections_are_tried() -> None:
    found = lines()
    assert len(found) >= 300
    assert sum(judge(line, HOME).safe for line in found) < len(found) / 20


def test_a_sample_of_random_lines() -> None:
    assert sum(check_line(line) for line in random_lines(2_000, seed=11)) > 20


@pytest.mark.parametrize("character", ["é", "\u137e", "\U0009666a", "\U000f1eee"])
def test_letters_beyond_ascii_are_letters(character: str) -> None:
    """The unpatched grammar crashes the process on some of them, mostly after a brace."""
    assert read(f"cat {character}a 'b {character}'", HOME).commands[0].arguments == (
        "cat",
        f"{character}a",
        f"b {character}",
    )
    for line in (f"echo {{{character}", f"4{{{character}M \\", f"echo {{1..{character}}}"):
        check_line(line)
    with pytest.raises(UnreadableError):
        read(f"{character}=1 ls", HOME)


@settings(max_examples=300)
@given(st.lists(st.sampled_from(WORDS) | st.text(max_size=8), max_size=8).map(" ".join))
def test_any_line_is_judged(text: str) -> None:
    check_line(text)


@given(st.text(alphabet="ab*?[]./- '\"", min_size=1, max_size=12))
def test_a_quoted_word_is_the_same_word(word: str) -> None:
    import shlex

    try:
        line = read(f"cat -- {shlex.quote(word)}", HOME)
    except UnreadableError:
        return
    assert line.commands[0].arguments == ("cat", "--", word)


def test_a_line_is_parsed_once_however_often_it_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    first = judge("git status && ls", "/home/me")
    monkeypatch.setattr("atelier_desk.workspace.commands.judge.read", None)
    assert judge("git status && ls", "/home/me") is first
