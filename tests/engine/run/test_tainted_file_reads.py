"""Which calls read a file marked as having outside content: command lines of all kinds, and tools."""

# judges: app/atelier_desk/engine/run/call_facts.py
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from atelier_desk.engine.run.tainted_file_reads import read_by_call
from atelier_desk.tools.registry.default_registry import create_default_tool_registry
from atelier_desk.workspace.checkpoints.tainted_file_marks import TaintMarks
from atelier_desk.workspace.commands.judge import judge
from atelier_desk.workspace.diffs import digest

REGISTRY = create_default_tool_registry()
READING = r"""
cat n{otes,x}.md
cat {notes,x}.md
cat ?otes.md
cat [n]otes.md
cat "notes.md"
cat not""es.md
cat ./sub/../notes.md
cat d/notes.md
cat d/*
cat l.md
cat -- notes.md
cat < notes.md
cat <notes.md
head -c 10 notes.md
sort notes.md clean.md
comm clean.md notes.md
diff -r . sub
diff clean.md notes.md
grep -f notes.md clean.md
grep x notes.md
grep -rn x
grep -rn x .
grep x -- notes.md
rg x
rg x .
rg --files
jq . notes.md
sed -n p notes.md
sed -n '1p' *.md
sed 'r notes.md' clean.md
find . -name "*.md" -exec cat {} +
find . -files0-from notes.md
find . -type f -fprintf /dev/stdout %p
date -f notes.md
wc --files0-from=notes.md
du --files0-from=notes.md
file -f notes.md
ls -l; cat notes.md
ls && cat notes.md
true || cat notes.md
pwd | cat - notes.md
echo a | tee -a notes.md
cp notes.md copy.md
mv notes.md other.md
ln notes.md other.md
ln -s notes.md o.md
cat ~/notes.md
cat $HOME/notes.md
cat $(echo notes.md)
bash -c "cat notes.md"
xargs cat < list
env cat notes.md
/bin/cat notes.md
./cat notes.md
python3 x.py
make
npm test
git diff
git log -p
git log
git show
git grep x
git blame notes.md
git status -v
git status -vv
git status --verbose
git status -sv
git -C . status -v
git -C sub diff
git diff --no-index clean.md notes.md
git hash-object notes.md
git shortlog
git stash show -p
less notes.md
vim notes.md
xxd notes.md
base64 notes.md
tac notes.md
strings notes.md
nl notes.md
od notes.md
md5sum notes.md
md5sum -c notes.md
paste notes.md
cut -c1- notes.md
rev notes.md
tail -n 5 notes.md
join clean.md notes.md
uniq notes.md
fold notes.md
cmp -l clean.md notes.md
hexdump -C notes.md
cd sub && cat ../notes.md
cd sub; cat ../notes.md
cd d && cat notes.md
cat clean.md notes.md
column notes.md
expand notes.md
fmt notes.md
tr a b < notes.md
xz -dc notes.md
cat clean.md > sub/x; cat notes.md
echo hi >> notes.md
echo hi > notes.md
ls >> notes.md
cat clean.md >> notes.md
cat clean.md | grep -r x
git status >> notes.md
""".strip().splitlines()
"""Each may reveal the content of ``notes.md``, or changes it and keeps a part."""
OTHERS = r"""
cat clean.md
ls
ls -la
pwd
git status
git status -s
git branch -v
find . -name "*.md"
wc -l notes.md
stat notes.md
mkdir new
touch new.md
echo hi > new.md
head clean.md | sort
grep x clean.md
cat clean.md | grep x
rg x clean.md
rm notes.md
cp clean.md b.md
date
which python
""".strip().splitlines()
"""None reveals anything but its name and size."""
BELOW = ("cat ../notes.md", "cat ../n*", "grep -r x ..", "rg x", "cat x ../notes.md", "make")
"""The same from a subfolder."""
TOOLS: list[tuple[str, dict[str, Any], bool]] = [
    ("read_file", {"path": "notes.md"}, True),
    ("read_file", {"path": "sub/../notes.md"}, True),
    ("read_file", {"path": "l.md"}, True),
    ("read_file", {"path": "clean.md"}, False),
    ("edit_file", {"path": "notes.md", "old_string": "a", "new_string": "b"}, True),
    ("write_file", {"path": "notes.md", "content": "x"}, True),
    ("write_file", {"path": "new.md", "content": "x"}, False),
    ("move_file", {"source": "notes.md", "destination": "x.md"}, True),
    ("copy_file", {"source": "sub", "destination": "x"}, False),
    ("copy_file", {"source": ".", "destination": "x"}, True),
    ("delete_path", {"path": "notes.md"}, False),
    ("git_diff", {}, True),
    ("git_status", {}, False),
    ("describe_image", {"path": "notes.md"}, True),
    ("read_image", {"path": "notes.md"}, True),
    ("run_npm_script", {"script": "x"}, True),
    ("install_package", {"manager": "npm", "package_name": "x"}, True),
    ("list_directory", {"path": "."}, False),
    ("glob_files", {"pattern": "*"}, False),
    ("get_file_info", {"path": "notes.md"}, False),
]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "ws"
    (folder / "sub").mkdir(parents=True)
    (folder / "notes.md").write_text("x")
    (folder / "clean.md").write_text("c")
    (folder / "l.md").symlink_to("notes.md")
    (folder / "d").symlink_to(".")
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture
def marks(tmp_path: Path, root: Path) -> TaintMarks:
    made = TaintMarks(tmp_path / "taint.jsonl")
    made.wrote(root, "notes.md", ("evil.example",), digest(b"x"))
    return made


def told(marks: TaintMarks, root: Path, name: str, **arguments: Any) -> str:
    tool = REGISTRY.get_tool(name)
    assert tool is not None
    described = REGISTRY.prepare(tool, arguments).described
    judgement = judge(described.subjects.command, str(Path.home())) if described.subjects.command else None
    return read_by_call(marks, name, tool.section, described, judgement, [str(root)])


def of_line(marks: TaintMarks, root: Path, line: str, cwd: str = "") -> str:
    return told(marks, root, "run_command", command=line, modifies_files=True, cwd=cwd)


def test_every_line_that_may_reveal_it_is_recognised(marks: TaintMarks, root: Path) -> None:
    assert [line for line in READING if of_line(marks, root, line) != "evil.example"] == []
    assert [line for line in BELOW if of_line(marks, root, line, "sub") != "evil.example"] == []


def test_no_other_line_is(marks: TaintMarks, root: Path) -> None:
    assert [line for line in OTHERS if of_line(marks, root, line)] == []


def test_without_a_mark_nothing_reads_outside_content(marks: TaintMarks, root: Path) -> None:
    marks.clear([str(root)])
    assert [line for line in (*READING, *OTHERS) if of_line(marks, root, line)] == []


@pytest.mark.parametrize(("tool", "arguments", "reads"), TOOLS)
def test_tools_by_the_files_they_name(
    marks: TaintMarks, root: Path, tool: str, arguments: dict[str, Any], reads: bool
) -> None:
    assert (told(marks, root, tool, **arguments) == "evil.example") is reads
