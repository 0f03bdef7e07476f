"""``list_directory``, ``glob_files`` and ``search_files``: ignored files are excluded, and no pattern runs
forever.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from atelier_desk.tools.files.finding import GlobFilesTool, GlobInput, ListDirectoryTool, ListInput
from atelier_desk.tools.registry.tool_services import ToolServices
from tests.tools.conftest import Calls


@pytest.fixture(autouse=True)
def tree(ws: Path) -> None:
    for name, text in {
        ".gitignore": "build/\n*.log\n!keep.log\n/only-top.txt\n",
        "a.py": "import os\nprint('Hello')\n",
        "only-top.txt": "ignored\n",
        "sub/only-top.txt": "print\n",
        "sub/b.py": "def hello():\n    print(1)\n    return 2\n",
        "sub/.gitignore": "secret*\n",
        "sub/secret.py": "print\n",
        "build/out.py": "print\n",
        "x.log": "print\n",
        "keep.log": "print\n",
        ".hidden/h.py": "print\n",
        ".git/config": "print\n",
        "data.bin": "print\0\n",
        "two\nlines.py": "print\n",
        "émoji 🎨.py": "print\n",
    }.items():
        path = ws / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (ws / "loop").symlink_to(".")
    (ws / "out").symlink_to("/etc")


async def paths(call: Calls, tool: str, key: str, **arguments: object) -> list[str]:
    data = await call(tool, "", **arguments)
    assert data["success"], data
    return [row["path" if "path" in row else "name"] for row in data[key]]


async def test_a_list_excludes_what_git_ignores(call: Calls) -> None:
    names = await paths(call, "list_directory", "entries")
    assert names[0] == "sub/"
    assert {"a.py", "keep.log", "loop", "out"} <= set(names)
    assert not {"build/", "x.log", ".hidden/", ".git/", "only-top.txt"} & set(names)
    deep = await paths(call, "list_directory", "entries", recursive=True)
    assert {"sub/b.py", "sub/only-top.txt"} <= set(deep)
    assert not [name for name in deep if name.startswith(("loop/", "out/")) or "secret" in name]
    assert {"build/", ".hidden/", "x.log"} <= set(await paths(call, "list_directory", "entries", show_hidden=True))


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.py", {"a.py", "two\nlines.py", "émoji 🎨.py"}),
        ("**/*.py", {"a.py", "sub/b.py", "two\nlines.py", "émoji 🎨.py"}),
        ("sub/*.{py,txt}", {"sub/b.py", "sub/only-top.txt"}),
        ("[ab].py", {"a.py"}),
        ("?.py", {"a.py"}),
        ("**/b.*", {"sub/b.py"}),
        ("[!a]*.py", {"two\nlines.py", "émoji 🎨.py"}),
        ("nothing*", set()),
        ("./sub/*.py", {"sub/b.py"}),
        ("./*.py", {"a.py", "two\nlines.py", "émoji 🎨.py"}),
        ("sub//./b.py", {"sub/b.py"}),
        (".//**/b.*", {"sub/b.py"}),
    ],
)
async def test_globs(call: Calls, pattern: str, found: set[str]) -> None:
    assert set(await paths(call, "glob_files", "files", pattern=pattern)) == found


async def test_the_newest_file_comes_first_and_ignored_ones_are_skipped(call: Calls, ws: Path) -> None:
    os.utime(ws / "a.py", (2_000_000_000, 2_000_000_000))
    assert (await paths(call, "glob_files", "files", pattern="**/*.py"))[0] == "a.py"
    assert "sub/b.py" not in await paths(call, "glob_files", "files", pattern="**/*.py", ignore=["sub"])


async def test_search_finds_lines(call: Calls) -> None:
    data = await call("search_files", pattern=r"print\(", context_lines=1)
    assert [(row["path"], row["line"]) for row in data["matches"]] == [("a.py", 2), ("sub/b.py", 2)]
    assert data["matches"][1]["text"] == "     1\tdef hello():\n     2\t    print(1)\n     3\t    return 2"
    everywhere = {row["path"] for row in (await call("search_files", pattern="print"))["matches"]}
    assert everywhere == {"a.py", "sub/b.py", "sub/only-top.txt", "keep.log", "two\nlines.py", "émoji 🎨.py"}
    assert (await call("search_files", pattern="HELLO", ignore_case=True))["count"] == 2
    assert {row["path"] for row in (await call("search_files", pattern="print", glob="*.txt"))["matches"]} == {
        "sub/only-top.txt"
    }
    assert (await call("search_files", pattern="print", path="sub/b.py"))["count"] == 1
    cut = await call("search_files", pattern="print", max_results=2)
    assert (cut["count"], "first 2" in cut["note"]) == (2, True)


async def test_an_invalid_or_endless_pattern_is_refused(call: Calls, ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (await call("search_files", pattern="(unclosed"))["code"] == "bad_pattern"
    monkeypatch.setattr("atelier_desk.tools.files.finding.SECONDS", 0.3)
    # for which every pattern is quick
    monkeypatch.setattr("atelier_desk.workspace.ripgrep.program", lambda _folder: None)
    (ws / "evil.txt").write_text("a" * 40 + "!\n")
    data = await call("search_files", pattern="^(a|aa)+$", glob="evil.txt")
    assert data["success"]
    assert "takes too long" in data["note"]


async def test_one_very_long_line_is_shown_around_the_match(call: Calls, ws: Path) -> None:
    (ws / "line.txt").write_text("x" * 9_000 + "needle" + "y" * 5_000_000)
    (row,) = (await call("search_files", pattern="needle"))["matches"]
    assert "needle" in row["text"]
    assert len(row["text"]) < 500


async def test_many_stars_are_matched_quickly(call: Calls, ws: Path) -> None:
    (ws / ("a" * 200)).write_text("")
    assert await paths(call, "glob_files", "files", pattern="*a" * 100 + "b") == []


async def test_a_folder_with_many_entries_is_cut(call: Calls, ws: Path) -> None:
    (ws / "many").mkdir()
    for number in range(1_100):
        (ws / "many" / f"{number:04}").touch()
    data = await call("list_directory", path="many")
    assert (data["count"], "first 1000" in data["note"]) == (1000, True)


async def test_cyclic_links_end_every_walk(call: Calls, ws: Path) -> None:
    (ws / "round").mkdir()
    (ws / "round" / "back").symlink_to("..")
    (ws / "one").symlink_to("two")
    (ws / "two").symlink_to("one")
    for tool, arguments in (
        ("search_files", {"pattern": "hello"}),
        ("glob_files", {"pattern": "**/*"}),
        ("list_directory", {"recursive": True}),
    ):
        assert (await call(tool, "", **arguments))["success"], tool
    assert (await call("read_file", path="one"))["code"] == "outside"


@pytest.mark.parametrize("folder", ["{ws}", "{ws}/sub"])
async def test_an_absolute_pattern_in_the_workspace_is_made_relative(call: Calls, ws: Path, folder: str) -> None:
    pattern = f"{folder.format(ws=ws)}/**/b.py"
    assert await paths(call, "glob_files", "files", pattern=pattern) == ["sub/b.py"]
    assert await paths(call, "glob_files", "files", pattern=pattern, cwd="sub") == ["sub/b.py"]
    assert await paths(call, "search_files", "matches", pattern="hello", glob=pattern) == ["sub/b.py"]


@pytest.mark.parametrize(
    ("pattern", "code"),
    [
        ("/etc/*", "outside"),
        ("~/*.py", "outside"),
        ("/*", "outside"),
        ("out/**", "outside"),
        ("../*.py", "bad_pattern"),
        ("sub/../*.py", "bad_pattern"),
        ("*.{py,txt", "bad_pattern"),
        ("*.py}", "bad_pattern"),
        ("[ab.py", "bad_pattern"),
    ],
)
async def test_a_pattern_that_leads_out_or_is_invalid_is_refused(call: Calls, pattern: str, code: str) -> None:
    """It would silently find nothing."""
    assert (await call("glob_files", pattern=pattern))["code"] == code
    found = await call("search_files", pattern="print", glob=pattern)
    assert found.get("code") == code or (pattern, found["count"]) == ("out/**", 0)


async def test_escaped_pattern_characters_match_names(call: Calls, ws: Path) -> None:
    for name in ("a{b.py", "[id].tsx", "c]d"):
        (ws / name).touch()
    for pattern, name in (("a[{]b.py", "a{b.py"), ("[[]id].tsx", "[id].tsx"), ("c]d", "c]d"), ("c[]]d", "c]d")):
        assert await paths(call, "glob_files", "files", pattern=pattern) == [name]


async def test_an_explicitly_named_ignored_folder_is_searched(call: Calls) -> None:
    assert await paths(call, "search_files", "matches", pattern="print", path="build") == ["build/out.py"]
    assert await paths(call, "glob_files", "files", pattern="*.py", cwd="build") == ["build/out.py"]
    assert await paths(call, "glob_files", "files", pattern="build/*.py") == ["build/out.py"]
    assert await paths(call, "list_directory", "entries", path="build") == ["out.py"]
    assert await paths(call, "search_files", "matches", pattern="print", path="sub", glob="secret*") == []


async def test_a_match_far_along_a_line_is_found(call: Calls, ws: Path) -> None:
    (ws / "bundle.min.js").write_text("x" * 300_000 + ";needle=1;" + "y" * 100)
    (row,) = (await call("search_files", pattern="needle=\\d", path="bundle.min.js"))["matches"]
    assert "needle=1" in row["text"]


@pytest.mark.parametrize(
    ("pattern", "cwd", "about"),
    [
        ("*.py", ".", (".",)),
        ("sub/*.py", ".", (".", "./sub")),
        ("b/*.py", "sub", ("sub", "sub/b")),
        ("/elsewhere/*.py", ".", (".", "/elsewhere")),
    ],
)
def test_rules_apply_to_the_folder_of_a_pattern(pattern: str, cwd: str, about: tuple[str, ...]) -> None:
    tool = GlobFilesTool(ToolServices())
    assert tool.describe(GlobInput(pattern=pattern, cwd=cwd)).subjects.paths == about


@pytest.mark.parametrize(("path", "said"), [(".", "Listed the folder"), ("src", "Listed {path}")])
def test_the_workspace_folder_is_described_in_words(path: str, said: str) -> None:
    call = ListDirectoryTool(ToolServices()).describe(ListInput(path=path))
    assert call.done == said
    assert call.summary.text == said.replace("Listed", "List")
    assert call.subjects.paths == (path,)
