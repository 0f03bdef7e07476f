"""Headers of Markdown files: every content is parsed or refused with a message."""

from __future__ import annotations

import contextlib
import time

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain.errors import UsageError
from atelier_desk.workspace.skills.yaml_header import Document, read, split_names


def test_a_header_is_read_with_marks_and_line_ends_of_other_systems() -> None:
    found = read("\ufeff---\r\nname: pdf\r\ndescription: >\r\n  Reads\r\n  files\r\n---\r\n\r\n# Body\r\n")
    assert (found.text("name"), found.text("description"), found.body, found.repaired) == (
        "pdf",
        "Reads files",
        "# Body",
        False,
    )


def test_a_colon_in_a_value_is_repaired() -> None:
    found = read("---\nname: pdf\ndescription: Use when: the user has a PDF\n---\nBody")
    assert found.repaired
    assert found.text("description") == "Use when: the user has a PDF"


@pytest.mark.parametrize(
    "value", ["[file] [focus]", "[--all] <path>", "*.py files", '"a" or b', "{{file}} now", "@file", "`cmd`"]
)
def test_a_value_that_resembles_yaml_is_read_as_text(value: str) -> None:
    found = read(f"---\ndescription: Reviews\nargument-hint: {value}\nallowed-tools: [Read, Grep]\n---\nB")
    assert (found.text("argument-hint"), found.words("allowed-tools"), found.repaired) == (
        value,
        ("Read", "Grep"),
        True,
    )


NEARLY: dict[str, tuple[str, dict[str, str]]] = {
    "no blank after the colon": ("name:reviewer\ndescription:Reviews", {"name": "reviewer", "description": "Reviews"}),
    "a tab before a field": ("name: a\n\tmodel: x", {"name": "a", "model": "x"}),
    "a line that goes on": (
        "description: Use when: asked\nand this goes on\nmodel: x",
        {"description": "Use when: asked and this goes on"},
    ),
    "a block that is not indented": (
        "description: |\nfirst\nsecond\nmodel: x",
        {"description": "first second", "model": "x"},
    ),
    "an apostrophe in single quotes": ("description: 'it's fine: yes'", {"description": "it's fine: yes"}),
    "a colon within a list": ("handoffs:\n  - label: Go: on\n    agent: b\nmodel: x", {"model": "x"}),
    "an address": ("name: a: b\nhomepage: https://example.org/x", {"homepage": "https://example.org/x"}),
}


@pytest.mark.parametrize("name", NEARLY)
def test_invalid_but_common_yaml_is_parsed(name: str) -> None:
    header, wanted = NEARLY[name]
    found = read(f"---\n{header}\n---\nB")
    assert {field: found.text(field) for field in wanted} == wanted
    assert (found.repaired, found.body) == (True, "B")


@pytest.mark.parametrize(
    "text",
    ["```chatagent\n---\nname: a\n---\nB\n```\n", "\n\n---\nname: a\n---\nB", "~~~~md\n---\nname: a\n---\nB\n~~~~"],
)
def test_a_header_in_a_code_block_or_after_blank_lines_is_recognised(text: str) -> None:
    found = read(text)
    assert (found.text("name"), found.body) == ("a", "B")
    assert read("```sh\nls\n```").body == "```sh\nls\n```", "other blocks are text"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("---\nname: a\nno end", "has no end"),
        ("---\n- a\n- b\n---\n", "not a list of names"),
        ("---\na: [\n---\n", "not YAML"),
        ("---\na: &x [*x]\n---\n", "not YAML"),
        ("---\n" + "[" * 20_000 + "\n---\n", "not YAML"),
        ("---\na: " + "x" * 70_000 + "\n---\n", "longer than"),
    ],
)
def test_a_broken_header_is_refused_with_a_message(text: str, word: str) -> None:
    with pytest.raises(UsageError, match=word):
        read(text)


def test_yaml_creates_no_objects_and_no_bombs() -> None:
    with pytest.raises(UsageError):
        read("---\nname: !!python/object/apply:os.system [echo]\n  x: [\n---\n")
    # a list, and nothing was run
    assert read("---\nname: !!python/object/apply:os.system ['true']\n---\n").text("name") == "true"
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{b}: &{b} [*{a},*{a},*{a},*{a},*{a},*{a},*{a}]\n" for a, b in zip("abcdefghi", "bcdefghij", strict=True)
    )
    assert read(f"---\n{bomb}---\nx").text("j") == ""


def test_names_with_parentheses_stay_together() -> None:
    assert split_names("Bash(git add:*), Read  Write") == ("Bash(git add:*)", "Read", "Write")


@given(st.text(max_size=400))
def test_any_text_is_read_or_refused(text: str) -> None:
    for each in (text, f"---\n{text}\n---\n{text}"):
        with contextlib.suppress(UsageError):
            assert isinstance(read(each), Document)


@pytest.mark.parametrize("header", ["a:" + " " * 16_000 + "\nb: [", "a: " + "[" * 8_000, "a: " + "{" * 8_000])
def test_a_header_designed_to_be_slow_is_refused_at_once(header: str) -> None:
    began = time.thread_time()
    with pytest.raises(UsageError):
        read(f"---\n{header}\n---\nDo it.")
    assert time.thread_time() - began < 3, "it took minutes"


_NAMES = st.from_regex(r"[a-z]{1,8}", fullmatch=True)


@given(
    st.dictionaries(_NAMES, st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=40), min_size=1),
    st.text("ab \n", max_size=30),
)
def test_dumped_yaml_is_parsed_again(fields: dict[str, str], body: str) -> None:
    written = yaml.safe_dump(fields, allow_unicode=True, sort_keys=False)
    found = read(f"---\n{written}---\n{body}")
    assert found.fields == yaml.load(written, yaml.BaseLoader)
    assert found.body == body.strip()


@pytest.mark.parametrize(
    "text", ["```\n\n```" + " " * 200_000 + "x", "```\n" + "\n```" * 50_000 + "x", "`" * 200_000 + "\n\n```x"]
)
def test_a_nearly_complete_block_is_parsed_quickly(text: str) -> None:
    began = time.monotonic()
    assert read(text).body == text
    assert time.monotonic() - began < 2


def test_a_value_over_thousands_of_lines_is_parsed_quickly() -> None:
    began = time.monotonic()
    read("---\na: 'b\n" + ":\n" * 8_000 + "---\n")
    read("---\na: b: c\n" + ":\n" * 8_000 + "---\n")
    assert time.monotonic() - began < 1
