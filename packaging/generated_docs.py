"""Write the lists in ``docs/tools.md``, ``docs/cli.md`` and ``docs/events.md`` from the program's tools, commands
and events.

    python packaging/generated_docs.py write
    python packaging/generated_docs.py check

``check`` fails when a page differs from what ``write`` would generate. The pages are in English, whatever the
language of the machine.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from atelier_desk.cli.parser import Parser, build_parser, global_options
from atelier_desk.domain.stream.payloads import Payload
from atelier_desk.support.i18n import spoken
from atelier_desk.tools.base import Tool
from atelier_desk.tools.registry.default_registry import create_default_tool_registry

DOCS = Path(__file__).resolve().parent.parent / "docs"
START, END = "<!-- written by `make pages` -->\n", "<!-- end of what is written by `make pages` -->\n"


def cell(text: str) -> str:
    """A text as one cell of a Markdown table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def tools() -> Iterator[str]:
    """Every tool by section: a table, then the description that models receive, with the parameters."""
    registry = create_default_tool_registry()
    every = [tool for name in registry.get_all_tool_names() if (tool := registry.get_tool(name)) is not None]
    sections = {section.id: section for section in registry.sections.all()}
    for key in dict.fromkeys(tool.section for tool in every):
        here = [tool for tool in every if tool.section == key]
        if key:
            yield from (f"## {sections[key].name}: `{key}`", "", f"{sections[key].description}.", "")
        else:
            yield from (
                "## Run control",
                "",
                "Every agent has these, except guided ones: they end a turn, ask, and call other tools.",
                "",
            )
        yield from ("| tool | what it does | effect | risk | folder needed |", "|---|---|---|---|---|")
        for tool in here:
            folder = "yes" if tool.needs_workspace else ""
            yield f"| `{tool.name}` | {cell(tool.purpose)} | {tool.effect.value} | {tool.risk.value} | {folder} |"
        yield ""
        for tool in here:
            yield from (f"### {tool.name}", "", "```text", tool.description, "```", "", *_parameters(tool), "")


def _parameters(tool: Tool) -> list[str]:
    schema = tool.definition().parameters
    found = []
    for name, each in schema.get("properties", {}).items():
        needed = ", required" if name in schema.get("required", []) else ""
        description = cell(each.get("description", ""))
        found.append(f"- `{name}` ({_type(each)}{needed})" + (f": {description}" if description else ""))
    return found or ["No parameters."]


def _type(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return " | ".join(f"`{each}`" for each in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(_type(each) for each in schema["anyOf"])
    return str(schema.get("type", "object" if "$ref" in schema else "any value"))


def commands() -> Iterator[str]:
    """Every command with its arguments and options, by group."""
    subparsers = next(action for action in build_parser()._actions if isinstance(action, argparse._SubParsersAction))
    yield from (
        "## Global options",
        "",
        "Before or after the name of a command.",
        "",
        *_arguments(global_options(), frozenset()),
        "",
    )
    for name, parser in subparsers.choices.items():
        yield from (f"## {name}", "", _sentence(parser), "")
        for each in _leaf_commands(parser):
            given = (_value(each, action) for action in each._actions if not action.option_strings)
            yield from (f"### `{' '.join((each.prog, *given))}`", "")
            if each is not parser:
                yield from (_sentence(each), "")
            listed = _arguments(each)
            yield from (*listed, "") if listed else ()


GLOBAL = frozenset({"-h", *(action.option_strings[0] for action in global_options()._actions)})


def _leaf_commands(parser: Any) -> Iterator[Any]:
    """The subcommands below a parser that have no subcommands themselves; the parser itself if it has none."""
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not below:
        yield parser
    for action in below:
        for each in action.choices.values():
            yield from _leaf_commands(each)


def _value(parser: Parser, action: argparse.Action) -> str:
    return "" if action.nargs == 0 else parser._get_formatter()._format_args(action, str(action.dest).upper())


def _arguments(parser: Parser, left_out: frozenset[str] = GLOBAL) -> list[str]:
    found = []
    for action in parser._actions:
        if action.option_strings and action.option_strings[0] in left_out:
            continue
        name = " ".join(filter(None, (", ".join(action.option_strings), _value(parser, action))))
        help_ = parser._get_formatter()._expand_help(action) if action.help else ""
        details = "; ".join(
            filter(None, ("required" if action.option_strings and action.required else "", cell(help_)))
        )
        if details or action.option_strings:
            found.append(f"- `{name}`" + (f": {details}" if details else ""))
    return found


def _sentence(parser: Parser) -> str:
    text = parser.description or ""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def events() -> Iterator[str]:
    """Every event of the stream with its fields."""
    for chunk, payload in Payload.by_chunk.items():
        description = payload.__doc__ or "" if "__doc__" in vars(payload) else ""
        yield from (f"## {chunk.value}", "", *([cell(description), ""] if description else []))
        schema = payload.model_json_schema(mode="serialization").get("properties", {})
        fields = [f"`{name}` ({_type(each)})" for name, each in schema.items()]
        yield from (("Fields: " + ", ".join(fields) + ".") if fields else "No fields of its own.", "")


PAGES: dict[str, Callable[[], Iterator[str]]] = {"tools.md": tools, "cli.md": commands, "events.md": events}


def page(name: str) -> tuple[str, str]:
    """A page as it is, and as it should be."""
    text = (DOCS / name).read_text("utf-8")
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    with spoken("en"):
        return text, f"{before}{START}\n{chr(10).join(PAGES[name]())}{END}{after}"


def main() -> int:
    """Write or check the pages; the exit status is 1 when one is out of date."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=("write", "check"))
    task = parser.parse_args().task
    status = 0
    for name in PAGES:
        present, right = page(name)
        if task == "write":
            (DOCS / name).write_text(right, "utf-8")
        elif present != right:
            print(f"docs/{name} is not what the program says: run `make pages` and commit the result.", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
