"""Parsing command lines: what is accepted, what is refused, and that bash sees the same arguments."""

# equivalent: line.py _Reader.command: `'file_redirect'` → `'file_redirectx'`
#   The grammar puts a redirection into a command only before its first word, where it is refused either way.
# equivalent: line.py _Reader.apart: `'file_descriptor'` → `'file_descriptorx'`
#   A number that touches the word before it is no descriptor for the grammar; 25 000 random lines are read alike.
from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.workspace.commands.parsing import LONGEST, UnreadableError, read

HOME = "/home/ann"


@pytest.mark.parametrize(
    ("text", "arguments", "rendered"),
    [
        ("ls", [("ls",)], "ls"),
        ("  git  log -3\t'a b' ", [("git", "log", "-3", "a b")], "git log -3 'a b'"),
        ('echo "it\'s" \\; x\\ y', [("echo", "it's", ";", "x y")], "echo 'it'\"'\"'s' ';' 'x y'"),
        ('echo "a\\$b \\x \\\\"', [("echo", "a$b \\x \\")], "echo 'a$b \\x \\'"),
        ("a'b'\"c\"d", [("abcd",)], "abcd"),
        ("echo a#b '#c' ''", [("echo", "a#b", "#c", "")], "echo 'a#b' '#c' ''"),
        ("ls # what is there", [("ls",)], "ls"),
        ("a && b || c; d | e\nf", [("a",), ("b",), ("c",), ("d",), ("e",), ("f",)], "a && b || c ; d | e ; f"),
        ("cat ~/x ~", [("cat", "/home/ann/x", "/home/ann")], "cat /home/ann/x /home/ann"),
        ("ls *.py src/*.c '*'", [("ls", "*.py", "src/*.c", "*")], "ls ./*.py src/*.c '*'"),
        ("echo ] a]", [("echo", "]", "a]")], "echo ']' 'a]'"),
        ("make 2>&1 >/dev/null", [("make",)], "make 2>&1 >/dev/null"),
        ("a > 'x y' && b >> z", [("a",), ("b",)], "a >'x y' && b >>z"),
        ('cat ~/"a b" ""', [("cat", "/home/ann/a b", "")], "cat '/home/ann/a b' ''"),
        ("echo é 日本", [("echo", "é", "日本")], "echo 'é' '日本'"),
    ],
)
def test_accepted_lines(text: str, arguments: list[tuple[str, ...]], rendered: str) -> None:
    line = read(text, HOME)
    assert [command.arguments for command in line.commands] == arguments
    assert line.rendered == rendered


def test_a_redirection_belongs_to_the_last_command() -> None:
    line = read("a && b | c > out < in 2>&1")
    assert [
        [(one.operator, one.file.text if one.file else one.target) for one in each.redirects] for each in line.commands
    ] == [
        [],
        [],
        [(">", "out"), ("<", "in"), (">&", "1")],
    ]
    assert [one.writes for one in line.commands[-1].redirects] == [True, False, False]
    assert not read("a > /dev/null").commands[0].redirects[0].writes


@pytest.mark.parametrize(
    ("text", "plain"), [("git log", True), ("git log > x", False), ("a; b", False), ("ls *", False), ("ls '*'", True)]
)
def test_lines_that_run_without_a_shell(text: str, plain: bool) -> None:
    assert read(text).plain is plain


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "\n", "# only a remark", "a &&", "| a", "a; ; b", "'open", '"open', "a\\", "a \\\n b", "a\rb",
        "a\x00b", "a\x1bb",
        "a\x1fb", 'echo "a\\\nb"', 'cat "a"~/x', "cat 'a'~", "a b2>x", "a ']'2>x", "a >x b",
        "a\ud800", "a ]\\;",
        "echo $(id)", "echo `id`", "echo $x", "echo ${x}", 'echo "$x"', 'echo "`id`"', "echo $'a'", 'echo $"a"',
        "echo $((1+1))",
        "x=1", "x=1 a", "x=$(id) a", "PATH=. a", "a=b", "export x", "declare x", "alias a=b",
        "(a)", "{ a; }", "a &", "a |& b", "! a", "time a", "coproc a", "f() { a; }", "function f { a; }",
        "if a; then b; fi",
        "for x in y; do z; done", "while a; do b; done", "case a in b) c;; esac", "[ -f x ]", "[[ -f x ]]", "(( x ))",
        "cat <<E\nx\nE", "cat <<<x", "a <(b)", "a >(b)", "> x", "a > $x", "a > *", "a >&3", "a 3<&0", "a <> x",
        "echo {a,b}", "echo a{1..3}", "echo ~root", "~x/y", "echo !x", "!!", "eval a", "exec a", "source a", ". a",
        "command a", "builtin a",
        "$x a", "*a b", "'' a", "$(a) b", "a\x7f",
    ],
)  # fmt: skip
def test_refused_lines(text: str) -> None:
    with pytest.raises(UnreadableError):
        read(text, HOME)


def test_limits() -> None:
    with pytest.raises(UnreadableError):
        read("a" * (LONGEST + 1))
    with pytest.raises(UnreadableError):
        read("a|" * 9_000 + "a")
    with pytest.raises(UnreadableError):
        read("ls ~/x")


@given(st.text(alphabet="ab -=~*?[]{}()<>|&;\n\t'\"\\$`!#é./0", max_size=30) | st.text(max_size=40))
def test_any_text_is_parsed_or_refused_and_parsing_is_stable(text: str) -> None:
    try:
        line = read(text, HOME)
    except UnreadableError:
        return
    again = read(line.rendered, HOME)
    assert again.rendered == line.rendered
    if not any(word.globs for command in line.commands for word in command.words):
        assert [command.arguments for command in again.commands] == [command.arguments for command in line.commands]


PIECES = [
    "a",
    "b",
    "'x y'",
    '"q r"',
    "\\;",
    "-o",
    "c=d",
    "~",
    "é",
    "''",
    "a\\ b",
    '"\\$"',
    "'\\'",
    "#",
    "x#",
    "*",
    "a?",
    "[z]",
    "]",
    "0",
    "%n",
    "^",
    ",",
    "@",
]
BETWEEN = [" ", "  ", "\t", "", " && ", " || ", "; ", "\n", " | ", " 2>&1 ", " > o ", " >> 'p q' ", " < i "]


def lines(count: int, seed: int) -> list[str]:
    chance = random.Random(seed)
    return [
        "a " + "".join(chance.choice(PIECES) + chance.choice(BETWEEN) for _ in range(chance.randint(1, 6)))
        for _ in range(count)
    ]


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash to compare with")
def test_bash_sees_the_same_arguments(tmp_path: Path) -> None:
    compare_with_bash(tmp_path, lines(150, seed=1))


def compare_with_bash(folder: Path, texts: list[str]) -> None:
    """Every accepted line runs with programs that record their arguments: as written, and as rendered."""
    programs, out = folder / "bin", folder / "out"
    programs.mkdir()
    for name in ("a", "b"):
        script = programs / name
        script.write_text('#!/bin/sh\nprintf "%s\\0" "${0##*/}" "$@" >> "$OUT"\nprintf "\\n" >> "$OUT"\n')
        script.chmod(0o755)
    compared = 0
    for text in texts:
        try:
            line = read(text, HOME)
        except UnreadableError:
            continue
        if {command.arguments[0] for command in line.commands} - {"a", "b"} or any(
            w.pieces and w.pieces[0][1] for c in line.commands for w in c.words
        ):
            continue
        seen = []
        for said in (text, line.rendered):
            room = folder / "room"
            shutil.rmtree(room, ignore_errors=True)
            room.mkdir()
            (room / "i").write_text("")
            out.write_bytes(b"")
            subprocess.run(
                [str(shutil.which("bash")), "--norc", "-c", said],
                cwd=room,
                env={
                    "PATH": str(programs),
                    "OUT": str(out),
                    "HOME": HOME,
                    "LC_ALL": os.environ.get("LC_ALL", "C.UTF-8"),
                },
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=20,
                check=False,
            )
            seen.append((sorted(out.read_bytes().split(b"\n")), sorted(path.name for path in room.iterdir())))
        assert seen[0] == seen[1], text
        ran = ["\0".join(command.arguments) for command in line.commands]
        assert {entry.decode().rstrip("\0") for entry in seen[0][0] if entry} <= {one.rstrip("\0") for one in ran}, text
        compared += 1
    assert compared >= len(texts) // 10
