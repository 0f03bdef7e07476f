"""A person's prompts: storage, files, and substitution for ``/name``."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import count

from atelier_desk.domain import limits
from atelier_desk.domain.errors import ConflictError, LimitError, NotFoundError, UsageError
from atelier_desk.domain.prompt import Prompt, PromptDraft
from atelier_desk.domain.skill import Invocation, SkillUse
from atelier_desk.engine.run.lone_surrogates import sanitized
from atelier_desk.engine.services.common.import_conflict_choice import OnConflict
from atelier_desk.engine.services.common.service import Service
from atelier_desk.storage.repositories.prompts import NAME_IN_USE
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.threads import in_tool_thread
from atelier_desk.workspace.diffs import digest
from atelier_desk.workspace.skills import argument_placeholders, prompt_file

MISSING = N_("The prompt {name} needs values for: {missing}. For example: /{name} {example}")
UNKNOWN = N_("The prompt {name} has no variable {unknown}. Its variables: {names}.")


@dataclass(frozen=True, slots=True)
class Imported:
    """A stored prompt, and the unsupported fields of its file."""

    prompt: Prompt
    ignored: tuple[str, ...] = ()


class PromptService(Service):
    """Prompts with unique names. Changes are announced as ``prompt`` with the prompt's id."""

    async def list(self) -> builtins.list[Prompt]:
        """All prompts by name."""
        return await self._context.repos.prompts.list()

    async def get(self, prompt_id: str) -> Prompt:
        return await self._context.repos.prompts.get(prompt_id)

    async def by_name(self, name: str) -> Prompt:
        """Return the prompt with this name; the error lists the existing ones."""
        found = await self._context.repos.prompts.named(name.strip().removeprefix("/"))
        if found is None:
            names = ", ".join(prompt.name for prompt in await self.list()) or _("none")
            raise NotFoundError(N_("There is no prompt {name}. Prompts: {names}."), name=name, names=names)
        return found

    async def save(self, draft: PromptDraft, id: str | None = None) -> Prompt:
        """Store a new prompt, or change the one with ``id``. Its text then counts as reviewed by a person.

        Raises:
            UsageError, LimitError, ConflictError: invalid name or text, or the name is taken.
        """
        return await self._store(draft.checked(), id, ())

    async def _store(self, draft: PromptDraft, id: str | None, tainted: tuple[str, ...]) -> Prompt:
        found = len(argument_placeholders.variables(draft.content))
        if found > limits.PROMPT_VARIABLES:
            message = N_("The prompt has {count} variables; at most {most} are allowed.")
            raise LimitError(message, count=found, most=limits.PROMPT_VARIABLES)
        repo = self._context.repos.prompts
        old = None if id is None else await repo.get(id)
        other = await repo.named(draft.name)
        if other is not None and other.id != id:
            raise ConflictError(NAME_IN_USE, name=draft.name)
        if old is None and len(await repo.list()) >= limits.PROMPTS:
            raise LimitError(
                N_("There are already {most} prompts, the maximum. Delete one first."), most=limits.PROMPTS
            )
        now = self._context.clock.now()
        # Pasted text may contain lone surrogates, which databases refuse.
        values = {
            **{name: sanitized(text) for name, text in draft.model_dump().items()},
            "tainted": tainted,
            "updated_at": now,
        }
        prompt = old.model_copy(update=values) if old is not None else Prompt(**values, created_at=now)
        return await self._save(prompt)

    async def _save(self, prompt: Prompt) -> Prompt:
        await self._context.repos.prompts.save(prompt)
        self._context.bus.changed("prompt", prompt.id)
        return prompt

    async def delete(self, prompt_id: str) -> Prompt:
        """Delete and return a prompt: ``put_back`` reverts it."""
        prompt = await self.get(prompt_id)
        await self._context.repos.prompts.delete(prompt_id)
        self._context.bus.changed("prompt", prompt_id)
        return prompt

    async def put_back(self, prompt: Prompt) -> Prompt:
        """Restore a deleted prompt, under another name if its own was taken meanwhile."""
        return await self._save(prompt.model_copy(update={"name": await self._free_name(prompt.name)}))

    async def duplicate(self, prompt_id: str) -> Prompt:
        """Return a copy under a free name, with the same origin."""
        prompt = await self.get(prompt_id)
        draft = prompt.draft.model_copy(update={"name": await self._free_name(prompt.name)})
        return await self._store(draft, None, prompt.tainted)

    async def export_text(self, prompt_id: str) -> str:
        """Return the prompt as a Markdown file with a header."""
        return prompt_file.write(await self.get(prompt_id))

    async def import_text(self, text: str, file: str, on_conflict: OnConflict | str = OnConflict.RENAME) -> Imported:
        """Store the prompt of a file, Atelier's own or another program's; ``file`` is its path, the default for the
        name.

        Text that an agent wrote to the file after reading outside content does not count as reviewed.

        Raises:
            UsageError, LimitError: it contains no prompt, or one that cannot be stored.
        """
        rule = OnConflict.parse(on_conflict)
        read = await in_tool_thread(prompt_file.read, text, file)
        tainted = tuple(await in_tool_thread(self._context.workspace_files.marks.of, file))
        draft, other = read.draft, await self._context.repos.prompts.named(read.draft.name)
        if other is not None and rule is OnConflict.SKIP:
            return Imported(other, read.ignored)
        if other is not None and rule is OnConflict.RENAME:
            draft, other = draft.model_copy(update={"name": await self._free_name(draft.name)}), None
        return Imported(await self._store(draft, other.id if other is not None else None, tainted), read.ignored)

    async def filled(self, name: str, values: Mapping[str, str]) -> str:
        """Return a prompt's text with its variables filled in.

        Raises:
            NotFoundError: there is no such prompt.
            UsageError: missing or unknown variables; the error names them.
            LimitError: the text is longer than a message may be.
        """
        return _filled(await self.by_name(name), values)

    async def called(self, name: str, given: str) -> Invocation | None:
        """Return what a message ``/name given`` calls; None if there is no prompt with exactly that name.

        Raises:
            UsageError, LimitError: as ``filled``.
        """
        prompt = await self._context.repos.prompts.named(name)
        if prompt is None or prompt.name != name:
            return None
        values = argument_placeholders.values_of(
            given, [each.name for each in argument_placeholders.variables(prompt.content)]
        )
        use = SkillUse(name=prompt.name, digest=digest(prompt.content.encode()))
        read = next(iter(prompt.tainted), "")
        return Invocation(
            kind="prompt", use=use, source="", text=_filled(prompt, values), arguments=given.strip(), read=read
        )

    async def _free_name(self, name: str) -> str:
        names_in_use = {prompt.name.casefold() for prompt in await self.list()}
        return next(each for each in _numbered(name) if each.casefold() not in names_in_use)


def _numbered(name: str) -> Iterable[str]:
    """Yield ``name``, ``name-2``, ``name-3`` …, within the maximum length."""
    yield name
    base, _dash, number = name.rpartition("-")
    base = base if base and number.isdecimal() else name
    for n in count(2):
        yield f"{base[: limits.PROMPT_NAME - len(str(n)) - 1]}-{n}"


def _filled(prompt: Prompt, values: Mapping[str, str]) -> str:
    known = {each.name: each.default for each in argument_placeholders.variables(prompt.content)}
    if unknown := [name for name in values if name not in known]:
        raise UsageError(
            UNKNOWN,
            code="unknown_variable",
            name=prompt.name,
            unknown=", ".join(unknown),
            names=", ".join(known) or _("none"),
        )
    if missing := [name for name, default in known.items() if default is None and name not in values]:
        example = " ".join(f"{name}=…" for name in missing)
        raise UsageError(
            MISSING, code="missing_variables", name=prompt.name, missing=", ".join(missing), example=example
        )
    length = argument_placeholders.length_with(prompt.content, values)
    if length > limits.MESSAGE:
        message = N_("The prompt has {length} characters with its variables filled in; at most {most} are allowed.")
        raise LimitError(message, length=length, most=limits.MESSAGE)
    return argument_placeholders.with_values(prompt.content, values)
