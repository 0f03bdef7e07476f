"""The documentation matches the program: commands, tools, targets, labels, links and examples."""

from __future__ import annotations

import contextlib
import itertools
import re
import shlex
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote

import pytest
from markdown_it import MarkdownIt

from atelier_desk import Atelier
from atelier_desk.cli.parser import build_parser
from atelier_desk.desktop.main_window.user_guide_window import anchor
from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.model_messages import ToolCall
from atelier_desk.llm.scripted_model import ScriptedModel
from tests.engine.conftest import WordEmbedder
from tests.helpers.tool_calls import tool_call

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
ids = [path.relative_to(ROOT).as_posix() for path in PAGES]
LIMITS = {"README.md": 8192, "CHANGELOG.md": 10_000}
"""The largest allowed size of a page, in bytes."""


def fenced(path: Path, language: str = "") -> list[str]:
    """The code blocks of a page in a language, or in none."""
    return [
        each.content
        for each in MarkdownIt().parse(path.read_text("utf-8"))
        if each.type == "fence" and each.info == language
    ]


@pytest.mark.parametrize("name", LIMITS)
def test_entry_pages_are_short(name: str) -> None:
    assert (ROOT / name).stat().st_size <= LIMITS[name]


@pytest.mark.parametrize("path", PAGES, ids=ids)
def test_every_link_leads_somewhere(path: Path) -> None:
    inline = (token for each in MarkdownIt().parse(path.read_text("utf-8")) for token in each.children or ())
    for target in (
        str(token.attrs.get("href") or token.attrs["src"]) for token in inline if token.type in {"link_open", "image"}
    ):
        if re.match(r"https?://|mailto:", target):
            continue
        name, _, place = unquote(target).partition("#")
        found = (path.parent / name).resolve() if name else path
        assert found.exists(), target
        assert found.is_relative_to(ROOT), target
        if place:
            headings = re.findall(r"^#+ (.*)$", found.read_text("utf-8"), re.MULTILINE)
            assert place in {anchor(each) for each in headings}, target


@pytest.mark.parametrize("path", [path for path in PAGES if path.name != "CHANGELOG.md"], ids=lambda path: path.name)
def test_every_make_target_exists(path: Path) -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert (
        set(re.findall(r"(?:`|^)(?:[A-Z_]+=\S+ )*make ([a-z][a-z0-9-]*)", path.read_text("utf-8"), re.MULTILINE))
        <= targets
    )


@pytest.mark.parametrize("path", [ROOT / "docs/architecture.md", ROOT / "CONTRIBUTING.md"], ids=lambda path: path.name)
def test_every_cited_file_and_folder_exists(path: Path) -> None:
    cited = set(re.findall(r"`([a-z_.]+(?:/[a-z_0-9]+)+/?(?:\.[a-z]+)?)`", path.read_text("utf-8")))
    assert len(cited) > 20
    assert [each for each in cited if not ((ROOT / each).exists() or (ROOT / "app/atelier_desk" / each).exists())] == []


@pytest.mark.parametrize("name", ["tools.md", "cli.md"])
def test_the_lists_of_tools_and_commands_match_the_program(load: Callable[[str], ModuleType], name: str) -> None:
    present, right = load("generated_docs").page(name)
    assert present == right, "run `make pages` and commit the result"


def _commands() -> Iterator[tuple[str, list[str]]]:
    """The commands of the examples, each without ``atelier``, with its page."""
    for path in PAGES:
        for line in "\n".join(fenced(path)).splitlines():
            if "atelier " in line and "$(" not in line:
                parts = shlex.shlex(line, posix=True, punctuation_chars=";|")
                parts.whitespace_split = True
                for separator, words in itertools.groupby(parts, lambda word: word in {";", "|"}):
                    program, *rest = words
                    if not separator and program == "atelier":
                        yield path.name, rest


def test_every_command_in_an_example_is_valid() -> None:
    parser = build_parser()
    found = list(_commands())
    assert len(found) > 60
    for page, command in found:
        try:
            parser.parse_args(command)
        except Exception as error:
            pytest.fail(f"{page}: atelier {shlex.join(command)}: {getattr(error, 'text', error)}")


def _call(name: str, **arguments: Any) -> list[ToolCall]:
    return [tool_call(name, "c1", **arguments)]


COLOUR = _call("UserQuestionTool", question="Which colour?", question_type="text")
EXAMPLES: list[tuple[list[Any], str]] = [
    ([_call("population", city="Lyon"), "522,000 people live in Lyon."], "522,000 people live in Lyon."),
    (["It is 84."], "completed"),
    (["It is eighty-four.", "C’est quatre-vingt-quatre."], "C’est quatre-vingt-quatre."),
    ([COLOUR, "Blue it is."], "completed"),
    ([_call("word_count", text="two words"), "Two."], "Two."),
]
"""By example of the page: the reply of its model, and what the example then prints."""


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_the_examples_of_the_python_page_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], number: int
) -> None:
    steps, printed = EXAMPLES[number]
    examples = fenced(ROOT / "docs/python.md", "python")
    assert len(examples) == len(EXAMPLES)
    model = ScriptedModel(steps)
    real = Atelier.open

    @contextlib.asynccontextmanager
    async def opened(**options: Any) -> AsyncIterator[Atelier]:
        async with real(**options, model_factory=lambda agent: model, embedder=WordEmbedder()) as atelier:
            yield atelier

    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(Atelier, "open", opened)
    exec(compile(examples[number], "docs/python.md", "exec"), {"__name__": "example"})
    assert printed in capsys.readouterr().out
    assert len(model.requests) == len(steps)


def test_the_agent_file_of_the_python_page_is_valid() -> None:
    (file,) = fenced(ROOT / "docs/python.md", "json")
    assert AgentConfig.model_validate_json(file).name == "Researcher"


def test_no_docstring_cites_a_missing_page() -> None:
    for path in [*(ROOT / "app").rglob("*.py"), *(ROOT / "packaging").glob("*.py")]:
        text = path.read_text("utf-8")
        for page in re.findall(r"(?<!/)\bdocs/[a-z./-]+\.md", text):
            assert (ROOT / page).is_file(), f"{path}: {page}"
        assert re.search(r'the specification|the interfaces page|reference "|\bspec/|shared/', text) is None, path


def _labels(name: str) -> list[str]:
    text = (ROOT / "docs" / name).read_text("utf-8")
    return [
        part
        for each in re.findall(r"\*\*(.+?)\*\*", text, re.DOTALL)
        for part in re.sub(r"\s*\n\s*", " ", each).split(" → ")
    ]


def test_the_labels_in_the_user_guide_match_the_window_in_both_languages() -> None:
    from babel.messages.pofile import read_po

    with (ROOT / "translations/fr/LC_MESSAGES/atelier.po").open("rb") as file:
        french = {
            one: other
            for message in read_po(file)
            for one, other in zip(
                *((each,) if isinstance(each, str) else tuple(each) for each in (message.id, message.string or ())),
                strict=False,
            )
        }
    english, translated = _labels("user-guide.md"), _labels("user-guide.fr.md")
    assert len(english) > 100
    assert [label for label in english if label not in french] == []
    assert translated == [french[label] for label in english]
