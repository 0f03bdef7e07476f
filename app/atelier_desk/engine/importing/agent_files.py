"""Import agents from other programs: Markdown with a header (Claude Code, opencode, Copilot, Cursor, goose), YAML
(Cline), TOML (Codex).

Supported fields are converted, with tool names translated; a note names each of the others. Nothing in a file makes an
agent ask less often than a new one.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from atelier_desk.domain import limits
from atelier_desk.domain.agent import AgentConfig, ApprovalMode, Effort
from atelier_desk.domain.errors import AtelierError, LimitError, UsageError
from atelier_desk.policy.permissions.rule_import import agent_tools_for
from atelier_desk.support.i18n import N_
from atelier_desk.support.visible_and_shortened_text import shorten
from atelier_desk.workspace.skills import yaml_header
from atelier_desk.workspace.skills.yaml_header import Document

_KNOWN_FIELDS = frozenset({
    "name", "tools", "disallowedtools", "model", "temperature", "maxturns", "maxsteps", "steps", "effort",
    "model_reasoning_effort",
    "permissionmode", "sandbox_mode", "readonly", "developer_instructions", "prompt", "instructions", "systemprompt",
    "system_prompt",
})  # fmt: skip
_HARMLESS = frozenset(
    {"color", "mode", "hidden", "disable", "icon", "version", "author", "license", "skills", "is_background", "target"}
)
"""Ignored without a note: display options, or what every agent has here."""
_PROMPTS = ("developer_instructions", "prompt", "instructions", "systemPrompt", "system_prompt")
_MODES = {
    "plan": ApprovalMode.PLAN,
    "acceptEdits": ApprovalMode.EDIT,
    "default": ApprovalMode.SELECTIVE,
    "read-only": ApprovalMode.PLAN,
    "workspace-write": ApprovalMode.SELECTIVE,
}
ASKS_LESS = N_(
    "The mode {name} would ask for approval less often than the default for new agents, so the agent gets that default."
)
_EFFORTS = {"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "high", "max": "high"}
_INHERIT = ("", "inherit", "default")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What exists here.

    Attributes:
        tools: names of all tools; ``usual``: those of an agent whose file names none, which there means all.
        providers: configured providers; ``provider`` and ``model`` replace those of the file that are missing here.
    """

    tools: Sequence[str]
    usual: Sequence[str]
    providers: Sequence[str]
    provider: str
    model: str


@dataclass(frozen=True, slots=True)
class ForeignAgent:
    """An agent that was read but not stored; ``notes`` describe what could not be converted."""

    config: AgentConfig
    notes: tuple[AtelierError, ...] = ()


@dataclass(slots=True)
class _Notes:
    warnings: list[AtelierError] = field(default_factory=list)

    def add(self, template: str, **params: str | float) -> None:
        self.warnings.append(UsageError(template, code="note", recoverable=None, **params))


def is_foreign(text: str, name: str) -> bool:
    """Whether a file is another program's: Atelier's own are JSON objects."""
    return not text.lstrip("\ufeff \t\r\n").startswith("{") or PurePath(name).suffix.lower() in (
        ".md",
        ".toml",
        ".yaml",
        ".yml",
    )


def read(text: str, name: str, here: Surroundings) -> ForeignAgent:
    """Read an agent from a file of this name.

    Raises:
        UsageError: the file cannot be read, or contains no agent.
        LimitError: its instructions are too long.
    """
    found = _document(text, PurePath(name).suffix.lower())
    if not found.fields:
        raise UsageError(N_("This is not an agent file: it has no header with a name or a description."), code="header")
    notes = _Notes()
    prompt = found.body or next(
        (str(found.fields[key]).strip() for key in _PROMPTS if isinstance(found.fields.get(key), str)), ""
    )
    description = found.text("description")
    if not prompt and description:
        notes.add(N_("The agent has no instructions: its description is used instead."))
        prompt = description
    purpose = shorten(description, limits.AGENT_PURPOSE)
    if len(description) > limits.AGENT_PURPOSE:
        notes.add(
            N_("The description is shortened to {most} characters: “{text}”"), most=limits.AGENT_PURPOSE, text=purpose
        )
    if not prompt:
        raise UsageError(N_("The file has no instructions for the agent."), code="empty")
    if len(prompt) > limits.SYSTEM_PROMPT:
        note = N_("The instructions have {count} characters; at most {most} are allowed.")
        raise LimitError(note, count=len(prompt), most=limits.SYSTEM_PROMPT)
    provider, model = _model(found, here, notes)
    fields: dict[str, Any] = {
        "name": (found.text("name") or _stem(name))[: limits.AGENT_NAME].strip() or _stem(name)[: limits.AGENT_NAME],
        "purpose": purpose,
        "system_prompt": prompt,
        "provider": provider,
        "model": model,
        "tools": _tools(found, here, notes),
        "approval": _approval(found, notes),
    }
    fields |= _numbers(found, notes)
    if not found.words("tools") and not isinstance(found.fields.get("tools"), Mapping):
        notes.add(
            N_(
                "The file lists no tools. In the other program, this means all tools; here, the agent gets "
                "the tools of the sections Basics, Files, Shell, Web and Context."
            )
        )
    left = [key for key in found.fields if key.casefold() not in _KNOWN_FIELDS | _HARMLESS | {"description"}]
    if left:
        notes.add(N_("Not imported: {names}"), names=", ".join(left)[:500])
    return ForeignAgent(AgentConfig(**fields), tuple(notes.warnings))


def _document(text: str, suffix: str) -> Document:
    if suffix == ".toml":
        try:
            return Document(_plain(tomllib.loads(text.removeprefix("\ufeff"))))
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise UsageError(N_("The file is not TOML: {detail}"), code="header", detail=str(error)) from None
    if suffix in (".yaml", ".yml"):
        text = text.removeprefix("\ufeff")
        return yaml_header.read(
            text if text.startswith("---") and "\n---" in text[3:] else f"---\n{text.removeprefix('---')}\n---\n"
        )
    return yaml_header.read(text)


def _plain(value: object) -> Any:
    """Convert numbers and booleans to text, as in a Markdown header."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return str(value).lower() if isinstance(value, bool) else value if isinstance(value, str) else str(value)


def _stem(name: str) -> str:
    stem = PurePath(name).name
    for end in (".agent.md", ".md", ".toml", ".yaml", ".yml"):
        if stem.lower().endswith(end):
            return stem[: -len(end)] or "agent"
    return stem or "agent"


def _tools(found: Document, here: Surroundings, notes: _Notes) -> tuple[str, ...]:
    listed = found.fields.get("tools")
    unknown: list[str] = []
    if isinstance(listed, Mapping):
        off = [name for name, on in listed.items() if str(on).casefold() in ("false", "no", "off")]
        wanted = [name for name in here.usual if name not in _translated(off, here, unknown)]
        wanted += _translated([name for name in listed if name not in off], here, unknown)
    elif found.words("tools"):
        names = found.words("tools")
        wanted = list(here.usual) if "*" in names else _translated(names, here, unknown)
    else:
        wanted = list(here.usual)
    refused = _translated((*found.words("disallowedTools"), *found.words("disallowed-tools")), here, [])
    if unknown:
        notes.add(N_("No tool here corresponds to: {names}"), names=", ".join(unknown)[:500])
    narrowed = [name for name in (*found.words("tools"), *found.words("disallowedTools")) if "(" in name]
    if narrowed:
        notes.add(
            N_("Restrictions in parentheses are not imported: {names}. Use permission rules instead."),
            names=", ".join(narrowed)[:500],
        )
    return tuple(dict.fromkeys(name for name in wanted if name not in refused))


def _translated(names: Iterable[str], here: Surroundings, unknown: list[str]) -> list[str]:
    out: list[str] = []
    for written in names:
        name = written.partition("(")[0].strip()
        if name.startswith("mcp__"):
            out.append(name)
            continue
        known = [tool for tool in ((name,) if name in here.tools else agent_tools_for(name)) if tool in here.tools]
        out += known
        if not known and name != "*":
            unknown.append(written)
    return out


def _model(found: Document, here: Surroundings, notes: _Notes) -> tuple[str, str]:
    written = found.text("model")
    if written.casefold() in _INHERIT:
        return here.provider, here.model
    provider, slash, model = written.partition("/")
    own = next((name for name in here.providers if name.casefold() == provider.casefold()), "")
    if slash and model and own:
        return own, model[: limits.MODEL_NAME]
    note = N_("The model {name} is not configured here: the agent uses {model} until you choose another.")
    notes.add(note, name=written[:100], model=here.model)
    return here.provider, here.model


def _approval(found: Document, notes: _Notes) -> ApprovalMode:
    if found.flag("readonly", False):
        return ApprovalMode.PLAN
    written = found.text("permissionMode") or found.text("sandbox_mode")
    mode = _MODES.get(written, ApprovalMode.SELECTIVE)
    if mode is ApprovalMode.EDIT or (written and written not in _MODES):
        notes.add(ASKS_LESS, name=written[:60])
        return ApprovalMode.SELECTIVE
    return mode


def _numbers(found: Document, notes: _Notes) -> dict[str, object]:
    out: dict[str, object] = {}
    least, most = limits.TEMPERATURE
    temperature = _number(found.text("temperature"))
    if temperature is not None and least <= temperature <= most:
        out["temperature"] = temperature
    elif found.text("temperature"):
        notes.add(
            N_("The temperature {value} is not between {least} and {most}."),
            value=found.text("temperature"),
            least=least,
            most=most,
        )
    turns = next((text for key in ("maxTurns", "maxSteps", "steps") if (text := found.text(key))), "")
    count = _number(turns)
    if count is not None:
        fewest, largest = limits.TOOL_ITERATIONS
        out["max_tool_iterations"] = int(min(max(count, fewest), largest))
    effort = found.text("effort") or found.text("model_reasoning_effort")
    if effort in _EFFORTS:
        out["effort"] = Effort(_EFFORTS[effort])
    elif effort:
        notes.add(N_("The effort level {value} is not supported."), value=effort[:60])
    return out


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if -1e9 < value < 1e9 else None
