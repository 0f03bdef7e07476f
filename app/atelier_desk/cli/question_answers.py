"""Answers to questions on the command line: typed, skipped, from a file, or left for later."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from atelier_desk.cli.answering_base import Asker
from atelier_desk.cli.approval_text import lineage
from atelier_desk.cli.file_arguments import read_text
from atelier_desk.cli.terminal_io import Output
from atelier_desk.domain.elicitation_form import FieldKind, FormField
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.question import ACCEPT, DECLINE, QuestionType, UserQuestion, form_text
from atelier_desk.engine.atelier import Atelier
from atelier_desk.presentation import elicitation_form_text
from atelier_desk.presentation.elicitation_form_text import (
    ANSWER_RECIPIENT,
    NOT_ENCRYPTED,
    REPLY_RECIPIENT,
    SECRET,
    shown_host,
)
from atelier_desk.support.i18n import N_, _

LATER, SKIP = "", "!"
"""Input that leaves a question open, and input that skips it."""

Given = tuple[list[str], str]
"""Selected options and text."""


class Answers(Asker[UserQuestion]):
    """Answers agents' and servers' questions.

    ``ask`` prompts when somebody is there; ``skip`` skips every question; a file holds a JSON list of answers
    in order, or an object that maps question texts to answers. An answer is a text, a list of options (ids,
    labels or numbers), an object with ``options`` and ``text``, or null to skip.
    """

    how = N_("Answer with: atelier questions answer ID; then continue with: atelier resume {workflow}")

    def __init__(
        self,
        atelier: Atelier,
        out: Output,
        mode: str = "ask",
        *,
        queue: Sequence[object] = (),
        by_text: dict[str, object] | None = None,
    ) -> None:
        super().__init__(out, atelier.questions)
        self._questions = atelier.questions
        self._mode = mode
        self._queue = list(queue)
        self._by_text = by_text or {}

    @classmethod
    async def create(cls, atelier: Atelier, out: Output, value: str) -> Answers:
        """Create from the value of ``--answers``: ``ask``, ``skip`` or a file."""
        if value in ("ask", "skip"):
            return cls(atelier, out, value)
        text = await read_text(out, value)
        try:
            content = json.loads(text)
        except ValueError as error:
            raise UsageError(N_("The answers file {path} is not JSON: {reason}"), path=value, reason=error) from None
        if isinstance(content, list):
            _check_all(content, value)
            return cls(atelier, out, "file", queue=content)
        if isinstance(content, dict):
            _check_all(list(content.values()), value)
            return cls(atelier, out, "file", by_text=content)
        raise UsageError(
            N_("The answers file {path} must be a JSON list, or an object that maps questions to answers."), path=value
        )

    async def _by_option(self, asked: UserQuestion) -> bool | None:
        if self._mode == "skip":
            return await self._answer(asked, None)
        return await self._from_file(asked) if self._mode == "file" else None

    async def _answer(self, asked: UserQuestion, answer: Given | None) -> bool:
        """Submit an answer; None skips the question."""
        questions = self._questions
        await self._give(
            asked, questions.skip(asked.id) if answer is None else questions.answer_with(asked.id, *answer)
        )
        return True

    async def _from_file(self, asked: UserQuestion) -> bool:
        if self._queue:
            value = self._queue.pop(0)
        elif asked.spec.question in self._by_text:
            value = self._by_text[asked.spec.question]
        else:
            self._out.note(_("The answers file has no answer for: {question}", question=asked.spec.question), "warn")
            return False
        return await self._answer(asked, None if value is None else _parts(value, asked))

    async def _by_person(self, asked: UserQuestion) -> bool:
        typed = await (self._for_agent(asked) if asked.spec.asker is None else self._for_server(asked))
        return typed != LATER and await self._answer(asked, None if isinstance(typed, str) else typed)

    async def _for_agent(self, asked: UserQuestion) -> Given | str:
        """Ask an agent's question: options and text, or ``LATER`` or ``SKIP``."""
        kind = asked.spec.question_type
        hint = _("! to skip, Enter to answer later")
        first = (
            _("Answer ({hint}): ", hint=hint)
            if kind is QuestionType.TEXT
            else _("Options (numbers separated by commas; {hint}): ", hint=hint)
        )
        typed = await self._typed(first)
        if typed in (LATER, SKIP):
            return typed
        if kind is QuestionType.TEXT:
            return [], typed
        text = (await self._out.ask(_("Your answer: "))) or "" if kind is QuestionType.MIXED else ""
        return typed.split(","), text

    async def _for_server(self, asked: UserQuestion) -> Given | str:
        """Ask a server's question: its form field by field, or whether its request is allowed."""
        spec = asked.spec
        hint = _("yes, no, ! to cancel, Enter to answer later")
        words = {
            QuestionType.FORM: _("Fill in the form?"),
            QuestionType.URL: _("Open the page?"),
            QuestionType.SAMPLING: _("Allow the request?"),
        }
        typed = await self._typed(f"{words[spec.question_type]} ({hint}): ")
        if typed in (LATER, SKIP):
            return typed
        if FormField(name="yes", kind=FieldKind.BOOLEAN).read(typed) is not True:
            return [DECLINE], ""
        if spec.form is None:
            return [ACCEPT], ""
        values = spec.form.defaults()
        for field in spec.form.fields:
            while True:
                proposed = field.in_words(values[field.name]) if field.name in values else ""
                said = await self._out.ask(f"  {field.label}{f' [{proposed}]' if proposed else ''}: ")
                value = field.read(said) if said and said.strip() else values.get(field.name)
                problem = field.problem(value)
                if not problem:
                    break
                self._out.note(elicitation_form_text.problem(spec.form, field.name, problem).localized(_), "warn")
                if said is None:
                    return LATER
            if value is not None:
                values[field.name] = value
        return [ACCEPT], form_text(values)

    def _in_a_line(self, asked: UserQuestion) -> str:
        return _("Waiting for an answer to {id}: {question}", id=asked.id, question=asked.spec.question)

    def _show(self, asked: UserQuestion) -> None:
        spec = asked.spec
        if spec.asker is not None:
            for line in server_lines(asked):
                self._out.note(line)
            return
        who = lineage(asked.lineage, asked.agent_name)
        self._out.note(_("{agent} asks: {question}", agent=who, question=spec.question), "bold")
        if spec.context:
            self._out.note(spec.context)
        for number, option in enumerate(spec.options, 1):
            self._out.note(f"  {number}. {option.label}", "")
        if spec.text_placeholder:
            self._out.note(f"  ({spec.text_placeholder})")


def server_lines(asked: UserQuestion) -> list[str]:
    """A server's question as lines.

    They say who receives what, the fields of its form, the host of its page, and what would be sent to a
    model.
    """
    spec = asked.spec
    assert spec.asker is not None
    server = spec.asker.server
    lines = [_("The server “{server}” asks: {question}", server=server, question=spec.question)]
    if spec.asker.doubtful:
        lines.append(_(SECRET, server=server))
    if spec.form is not None:
        for field in spec.form.fields:
            choices = ", ".join(each.title for each in field.choices)
            about = "; ".join(
                filter(
                    None,
                    (_("required") if field.required else "", field.about, choices, elicitation_form_text.hint(field)),
                )
            )
            lines.append(f"  {field.name} ({field.label}): {about}" if about else f"  {field.name} ({field.label})")
        lines.append(_(ANSWER_RECIPIENT, server=server))
    if spec.url:
        host = _("The page is at {host}: {url}", host=shown_host(spec.url), url=spec.url)
        lines += [host, *([_(NOT_ENCRYPTED)] if spec.url.startswith("http:") else [])]
    if spec.sampling is not None:
        asks = spec.sampling
        lines.append(
            _("Model: {model}. At most {n} tokens, counted toward this run.", model=asks.model, n=asks.max_tokens)
        )
        lines += [
            f"  | {line}"
            for text in (asks.system, *(each.text for each in asks.messages))
            for line in text.splitlines()
        ]
        lines.append(_(REPLY_RECIPIENT, server=server))
    return lines


def _check_all(values: list[object], path: str) -> None:
    for value in values:
        if value is None or isinstance(value, str):
            continue
        if isinstance(value, list) and all(isinstance(each, (str, int)) for each in value):
            continue
        if isinstance(value, dict) and set(value) == {"values"} and isinstance(value["values"], dict):
            continue
        if isinstance(value, dict) and set(value) <= {"options", "text"} and isinstance(value.get("text", ""), str):
            options = value.get("options", [])
            if isinstance(options, list) and all(isinstance(each, (str, int)) for each in options):
                continue
        raise UsageError(
            N_(
                "The answers file {path} contains {value}, which is not an answer: use a string, a list of options, "
                'an object with "options" and "text", an object with the "values" of a form, or null to skip.'
            ),
            path=path,
            value=json.dumps(value, ensure_ascii=False)[:80],
        )


def _parts(value: Any, asked: UserQuestion) -> Given:
    """Options and text of an answer from the file.

    A plain text answers a text question, and names the option of any other.
    """
    if isinstance(value, list):
        return [str(each) for each in value], ""
    if isinstance(value, dict) and "values" in value:
        return [ACCEPT], form_text(value["values"])
    if isinstance(value, dict):
        return [str(each) for each in value.get("options", [])], str(value.get("text", ""))
    return ([], value) if asked.spec.question_type is QuestionType.TEXT else ([value], "")
