"""Parse one file of a skill or command. Pure: text in, facts out; ``find`` reads the files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from atelier_desk.domain.errors import AtelierError, UsageError
from atelier_desk.support.i18n import N_
from atelier_desk.workspace.skills import argument_placeholders, yaml_header

FILE = "SKILL.md"
NAME = 64
"""Maximum characters of a name. Source: agentskills.io/specification."""
DESCRIPTION = 1_024
BODY = 20_000
"""Maximum characters of instructions without a warning: about 5 000 tokens. Source: as above."""
PATHS, PATH = 10, 100
"""Maximum number of file patterns passed on, and characters of one."""
NOT_OURS = ("context", "agent", "model", "effort", "disallowed-tools", "hooks", "subtask")
"""Header fields used by Claude Code and opencode."""
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
COMMAND_NAME = re.compile(r"[A-Za-z0-9_][\w.-]{0,63}(?::[\w.-]{1,64}){0,4}")
"""Name of a command: its file name, after the names of its folders."""


@dataclass(frozen=True, slots=True)
class Text:
    """Content of a skill or command file.

    Attributes:
        body: its instructions, with placeholders.
        hint: its author's description of the arguments; ``names`` are theirs.
        by_model, by_person: who may call it.
        allowed: tools it declares, under its own names; grants nothing.
        paths: patterns of files it is for; shown to models.
        ignored: header fields that other programs use and Atelier does not.
        warnings: problems that do not prevent its use.
    """

    name: str
    description: str
    body: str
    hint: str = ""
    names: tuple[str, ...] = ()
    by_model: bool = True
    by_person: bool = True
    allowed: tuple[str, ...] = ()
    compatibility: str = ""
    paths: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    warnings: tuple[AtelierError, ...] = ()

    @property
    def takes_arguments(self) -> bool:
        return bool(self.names or self.hint) or argument_placeholders.has_placeholder(self.body, self.names)


@lru_cache(maxsize=512)  # read at every turn, and YAML is slow
def skill(text: str, folder: str) -> Text:
    """Parse a ``SKILL.md`` in a folder of this name.

    Raises:
        UsageError: it is unusable: no or a broken header, no description, no instructions, no callable name.
    """
    found = yaml_header.read(text)
    if not found.fields:
        raise UsageError(N_("The file has no header with a name and a description."), code="header")
    warnings: list[AtelierError] = []
    if found.repaired:
        message = N_("The header is not valid YAML: put values with a colon or brackets in quotes.")
        warnings.append(UsageError(message, code="mended"))
    written, name = found.text("name"), found.text("name")
    if not written:
        warnings.append(UsageError(N_("The header has no name: the folder's name is used."), code="name"))
    elif len(written) > NAME:
        warnings.append(
            UsageError(
                N_("The name has {count} characters; the usual maximum is {most}."),
                code="long",
                count=len(written),
                most=NAME,
            )
        )
    if len(name) > 2 * NAME or not _NAME.fullmatch(name):
        if not _NAME.fullmatch(folder) or len(folder) > 2 * NAME:
            message = N_(
                "“{name}” is not a valid skill name: lowercase letters, digits and single hyphens are allowed."
            )
            raise UsageError(message, code="name", name=(written or folder)[: 2 * NAME])
        if written:
            message = N_("“{name}” is not a valid skill name, so the folder's name is used.")
            warnings.append(UsageError(message, code="name", name=written[: 2 * NAME]))
        name = folder
    elif name != folder:
        warnings.append(
            UsageError(N_("Its folder is named {folder}, not {name}."), code="folder", folder=folder, name=name)
        )
    description = found.text("description")
    if not description:
        raise UsageError(
            N_("The header has no description, so agents cannot know when to use the skill."), code="description"
        )
    if len(description) > DESCRIPTION:
        message = N_("The description has {count} characters; agents get only the first {most}.")
        warnings.append(UsageError(message, code="long", count=len(description), most=DESCRIPTION))
    if not found.body:
        raise UsageError(N_("There are no instructions below the header."), code="empty")
    if len(found.body) > BODY:
        message = N_(
            "The instructions have {count} characters. Use at most {most}: longer instructions take up much of a "
            "model's context window."
        )
        warnings.append(UsageError(message, code="long", count=len(found.body), most=BODY))
    allowed = found.words("allowed-tools")
    return Text(
        name=name,
        description=description[:DESCRIPTION],
        body=found.body,
        hint=found.text("argument-hint")[:200],
        names=argument_placeholders.names_of(found.body, found.words("arguments")),
        by_model=not found.flag("disable-model-invocation", False),
        by_person=found.flag("user-invocable", True),
        allowed=allowed,
        compatibility=found.text("compatibility")[:500],
        paths=tuple(each[:PATH] for each in found.words("paths")[:PATHS]),
        ignored=_ignored(found),
        warnings=tuple(warnings),
    )


@lru_cache(maxsize=512)
def command(text: str, name: str) -> Text:
    """Parse a command file of this name. The header is optional.

    Raises:
        UsageError: the header is broken, the file is empty, or the name is not callable.
    """
    if not COMMAND_NAME.fullmatch(name):
        raise UsageError(
            N_("“{name}” is not a valid command name: letters, digits, - and _ are allowed."),
            code="name",
            name=name[:NAME],
        )
    found = yaml_header.read(text)
    if not found.body:
        raise UsageError(N_("The file is empty."), code="empty")
    first = next(line for line in found.body.splitlines() if line.strip())
    return Text(
        name=name,
        description=(found.text("description") or first.lstrip("# ").strip())[:DESCRIPTION],
        body=found.body,
        hint=found.text("argument-hint")[:200],
        names=argument_placeholders.names_of(found.body, found.words("arguments"), braced=True),
        by_model=False,
        allowed=found.words("allowed-tools"),
        ignored=_ignored(found),
    )


def _ignored(found: yaml_header.Document) -> tuple[str, ...]:
    return tuple(name for name in NOT_OURS if name in found.fields)
