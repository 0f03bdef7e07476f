"""Prompts as Markdown files: Atelier's own, and the simple parts of other programs' files. Pure.

Source: commands of Claude Code, Codex and opencode (``$ARGUMENTS``, ``$1``), ``*.prompt.md`` of Copilot
(``${input:name}``), recipes of goose (``prompt``, ``parameters`` with ``key`` and ``default``, ``{{ key }}``).
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

from atelier_desk.domain import limits
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.prompt import Prompt, PromptDraft
from atelier_desk.support.i18n import N_
from atelier_desk.workspace.skills import argument_placeholders, yaml_header

OWN = "variables"
"""Field that marks Atelier's own files, whose text has no other variables."""
_KNOWN_FIELDS = frozenset(
    {
        "name",
        "title",
        "description",
        "argument-hint",
        "arguments",
        "version",
        "prompt",
        "instructions",
        "parameters",
        OWN,
    }
)
_INPUT = re.compile(r"\$\{input:([^\W\d][\w-]{0,63})(?::[^{}]*)?\}")
_DOLLAR = re.compile(r"(\\?)\$(?:(ARGUMENTS)\b(?!\[)|([1-9])(?![\d.,]\d|\d))")
_ENDS = (".prompt.md", ".prompt", ".md", ".markdown", ".yaml", ".yml", ".json")


@dataclass(frozen=True, slots=True)
class FilePrompt:
    """The prompt of a file.

    Attributes:
        ignored: fields that other programs use and prompts of Atelier do not have, such as ``model``.
    """

    draft: PromptDraft
    ignored: tuple[str, ...] = ()


def write(prompt: Prompt) -> str:
    """Return a prompt as a file."""
    import yaml  # see ``header``

    names = [each.name for each in argument_placeholders.variables(prompt.content)]
    fields = {"name": prompt.name, "description": prompt.description, OWN: names}
    header = yaml.safe_dump(
        fields, allow_unicode=True, sort_keys=False, default_flow_style=None, width=limits.PROMPT_DESCRIPTION
    )
    return f"---\n{header}---\n\n{prompt.content}\n"


def read(text: str, file: str) -> FilePrompt:
    """Parse a prompt from a file; its name is used if the content gives none.

    Raises:
        UsageError, LimitError: it contains no prompt, or one that cannot be stored.
    """
    base = posixpath.basename(file.replace("\\", "/"))
    end = next((each for each in _ENDS if base.lower().endswith(each)), "")
    if end in (".yaml", ".yml", ".json"):
        found = yaml_header.read(f"---\n{text.strip()}\n---\n")
        body = next(
            (
                each
                for name in ("prompt", "instructions")
                if isinstance(each := found.fields.get(name), str) and each.strip()
            ),
            "",
        )
        if not body:
            raise UsageError(
                N_("There is no prompt in {file}. A goose recipe needs one under “prompt” or “instructions”."),
                file=base,
            )
        body = _with_defaults(body, found.fields.get("parameters"))
    else:
        found = yaml_header.read(text)
        body = found.body if OWN in found.fields else _own_variables(found.body)
    name = (
        _callable(found.text("name"))
        or _callable(base[: len(base) - len(end)])
        or _callable(found.text("title"))
        or "prompt"
    )
    description = found.text("description") or found.text("title")
    draft = PromptDraft(name=name, description=description[: limits.PROMPT_DESCRIPTION], content=body).checked()
    return FilePrompt(draft, tuple(name for name in found.fields if name not in _KNOWN_FIELDS))


def _callable(name: str) -> str:
    """Return the closest callable name; empty if there is none."""
    return re.sub(r"[^\w.]+", "-", unicodedata.normalize("NFC", name)).strip("-.")[: limits.PROMPT_NAME].rstrip("-")


def _own_variables(body: str) -> str:
    """Convert placeholders of other programs to variables."""
    body = _INPUT.sub(lambda match: "{{" + match[1] + "}}", body)

    def named(match: re.Match[str]) -> str:
        if match[1]:
            return match[0][1:]
        return "{{arguments}}" if match[2] else "{{" + f"argument_{match[3]}" + "}}"

    return _DOLLAR.sub(named, body)


def _with_defaults(body: str, parameters: object) -> str:
    """Add the defaults of a recipe's parameters at their first use."""
    for each in parameters if isinstance(parameters, list) else ():
        if (
            isinstance(each, Mapping)
            and isinstance(key := each.get("key"), str)
            and isinstance(default := each.get("default"), str)
        ):
            if re.search(r"[{}]", default):
                continue
            placeholder = re.compile(r"\{\{\s*" + re.escape(key) + r"\s*\}\}")
            body = placeholder.sub(lambda _match, said=f"{key}={default}": "{{" + said + "}}", body, count=1)  # type: ignore[misc]
    return body
