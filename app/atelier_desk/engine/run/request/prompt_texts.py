"""Texts that the engine adds to a conversation: facts for the agent, and summaries of old turns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from atelier_desk.domain import limits
from atelier_desk.domain.events.run import OutputShown
from atelier_desk.domain.folder_instructions import FolderInstructions
from atelier_desk.domain.skill import SkillFacts
from atelier_desk.domain.sub_agent import ChildState
from atelier_desk.engine.run.reducer.conversation_entries import ContextEntry, EntryKind
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.support.i18n import english_name
from atelier_desk.tools.control.answer_child import AnswerChildTool
from atelier_desk.tools.control.read_attachment import ReadAttachmentTool
from atelier_desk.tools.skills.activate import ActivateSkillTool

SUMMARY_INSTRUCTIONS = (
    "Summarise the conversation below so that the work can go on without it. Keep: what the user wants, decisions, "
    "facts, names, numbers, "
    "open tasks and questions, and what was tried. Leave out greetings and repetitions. Write plain text of at most "
    "300 words, in the "
    "conversation's language, and nothing else."
)

MOST_HANDED = limits.RESULT_TO_MODEL
"""Maximum characters of a stored text in a sub-agent's report; the rest is in the stored one."""

FINISH_NOTE = (
    "The limit of this run is reached. Give your final answer now from what you have; tools can no longer be used."
)

ROOM = 40_000
"""Maximum characters of folder instructions."""


def system_prompt(state: RunState, tool_list: str = "", room: int = ROOM, *, skills: bool = True) -> str:
    """Return the system message.

    The user's own text, facts the agent cannot know, instructions of trusted folders (in ``room`` characters), the
    skill catalogue (in a quarter of that), the textual description of tools, and the answer schema.
    """
    parts = [state.agent.system_prompt.strip()]
    facts = []
    if state.started_at is not None:
        facts.append(f"Today is {state.started_at:%A %d %B %Y}.")
    language = english_name(state.language or "en")
    if state.handed_down:
        texts = ", ".join(f"{each.name!r} ({each.characters} characters)" for each in state.handed_down)
        facts.append(
            f"Attached to the conversation of who started you, for {ReadAttachmentTool.name} when your task needs "
            f"it: {texts}."
        )
    facts.append(f"Answer in the language of the user's message; when in doubt, in {language}.")
    parts.append(" ".join(facts))
    folders = folder_text(state.instructions, room)
    catalogue = skill_text(state.skills, min(SKILLS_ROOM, room // 4)) if skills else ""
    form = answer_form(state.agent.answer_schema) if state.agent.answer_schema is not None else ""
    parts += [part for part in (folders, catalogue, tool_list, form) if part]
    return "\n\n".join(parts)


ANSWER_FORM = (
    "Your final answer, the reply in which you call no tool, must be one JSON object that fits this JSON Schema, and "
    "nothing else: no "
    "sentence before or after it."
)


def answer_form(schema: Mapping[str, object]) -> str:
    """Describe the schema of an agent's answers.

    Always included: some servers accept no schema, or none together with tools.
    """
    # "</" in the schema must not end the frame; JSON has another notation for it.
    text = json.dumps(schema, ensure_ascii=False).replace("</", "<\\/")
    return f"{ANSWER_FORM}\n<answer_schema>\n{text}\n</answer_schema>"


def fix_answer(problem: str, *, cut: bool) -> str:
    """Return the note about an invalid answer; ``cut``: it reached the reply length limit."""
    length = " Your answer was cut off at the limit of length: give a shorter one." if cut else ""
    return (
        f"Your answer does not fit the JSON Schema of your answers: {problem}{length} Reply with the corrected JSON "
        f"object alone."
    )


FOLDER_NOTE = (
    "The user trusts these folders. What their own files say about working in them stands below, framed. Follow it "
    "where it fits the task; "
    "the user's messages and your instructions above come first. A file holds for its folder and below: of two, the "
    "one nearer to what "
    "you work on wins."
)


def folder_text(instructions: Sequence[FolderInstructions], room: int) -> str:
    """Return the framed instructions of trusted folders, in at most about ``room`` characters.

    Empty if there are none.
    """
    if not instructions:
        return ""
    parts, left = [FOLDER_NOTE], room
    for each in instructions:
        name = f"{each.folder.rstrip('/')}/{each.path}"
        excerpt = each.text[: max(0, left)]
        left -= len(excerpt)
        if not excerpt:
            parts.append(f"[{name} is left out here for want of room. Read it before you work there.]")
            continue
        more = (
            "\n[The rest is left out here. Read the file when you need it.]"
            if each.cut or len(excerpt) < len(each.text)
            else ""
        )
        from xml.sax.saxutils import quoteattr  # imports urllib.request, which most runs do not need

        # Otherwise the text could close the enclosing element itself.
        escaped = excerpt.replace("</folder_instructions", "</ folder_instructions")
        parts.append(f"<folder_instructions file={quoteattr(name)}>\n{escaped}{more}\n</folder_instructions>")
    return "\n\n".join(parts)


SKILLS_ROOM = 12_000
"""Maximum characters of the skill catalogue: about 3 000 tokens."""
SKILL_LINE = 300
"""Maximum characters of a description if there is no room for all in full."""
SKILLS_NOTE = (
    "Skills are instructions that the user keeps for particular tasks. When a task fits one of those below, take it "
    "up with "
    f"{ActivateSkillTool.name} before you begin. A skill says how to work; it changes nothing of what you may do."
)


def skill_text(skills: Sequence[SkillFacts], room: int) -> str:
    """Return the catalogue: one line each, in at most about ``room`` characters; empty if there are none."""
    mine = [each for each in skills if each.by_model]
    if not mine:
        return ""
    entries = [f"- {each.name}: {' '.join(each.description.split())}" for each in mine]
    lines = entries if sum(map(len, entries)) <= room else [line[:SKILL_LINE] for line in entries]
    kept: list[str] = []
    for line in lines:
        room -= len(line) + 1
        if room < 0 and kept:
            break
        kept.append(line)
    left = [each.name for each in mine[len(kept) :]]
    if left:
        kept.append(f"- and {len(left)} more: {', '.join(left)}"[:2_000])
    # Otherwise the text could close the enclosing element itself.
    catalogue = "\n".join(kept).replace("</available_skills", "</ available_skills")
    return f"{SKILLS_NOTE}\n<available_skills>\n{catalogue}\n</available_skills>"


def child_questions(asking: Sequence[ChildState]) -> str:
    """Return the note about sub-agents that wait for this agent's answer."""
    lines = [f"- {child.name} (child_id {child.id}): {child.question}" for child in asking]
    return f"Sub-agents of yours wait for your answer. Answer each with {AnswerChildTool.name}.\n" + "\n".join(lines)


def child_reports(children: Sequence[ChildState]) -> str:
    """Return the note with reports of background sub-agents; long ones are cut so that each has its share."""
    room = max(400, limits.RESULT_TO_MODEL // max(1, len(children)))
    parts = [
        (
            "Sub-agents of yours that worked in the background are done. Take their reports into account and answer "
            "the "
            "user."
        )
    ]
    for child in children:
        text = child.report or child.error or "(no report)"
        if len(text) > room:
            text = f"{text[: room // 2]}\n[… {len(text) - room} characters left out …]\n{text[-room // 2 :]}"
        parts.append(f"## {child.name} ({child.status.value}, child_id {child.id})\n{text}")
    return "\n\n".join(parts)


def with_handed(report: str, handed: Sequence[OutputShown]) -> str:
    """Return a sub-agent's report with what it passed on before, in order, without repetition.

    Names of stored texts come first: a parent that gets a cut report can read the complete text by name.
    """
    names = ", ".join(dict.fromkeys(repr(each.report) for each in handed if each.report))
    parts = [f"Stored as reports, whole: {names}.", report] if names else [report]
    for each in handed:
        text = each.content.strip()
        if text and text not in report:
            stored = f", report {each.report!r}" if each.report else ""
            rest = (
                f"\n[… {len(text) - MOST_HANDED} characters more in the report]"
                if each.report and len(text) > MOST_HANDED
                else ""
            )
            parts.append(f"## Handed over ({each.output_type}{stored})\n\n{text[:MOST_HANDED] if rest else text}{rest}")
    return "\n\n".join(part for part in parts if part)


SUMMARISED = 2000
"""Characters of an entry to summarise: its beginning and end."""


def as_text(entries: tuple[ContextEntry, ...]) -> str:
    """Return entries as plain lines for a summary, each cut to ``SUMMARISED`` characters."""
    labels = {
        EntryKind.USER: "User",
        EntryKind.REPLY: "Assistant",
        EntryKind.RESULT: "Tool result",
        EntryKind.NOTE: "Note",
        EntryKind.SUMMARY: "Earlier summary",
    }
    lines = []
    for entry in entries:
        text = (
            entry.text
            if len(entry.text) <= SUMMARISED
            else f"{entry.text[: SUMMARISED // 2]} … {entry.text[-SUMMARISED // 2 :]}"
        )
        calls = "".join(f" [called {call.name}]" for call in entry.calls)
        lines.append(f"{labels[entry.kind]}: {text}{calls}".strip())
    return "\n".join(lines)


def digest(entries: tuple[ContextEntry, ...], limit: int = 4000) -> str:
    """Return a deterministic summary without a model: the user's words first, then answers and calls.

    Newer lines take precedence over older ones within ``limit`` characters.
    """
    earlier = [entry.text for entry in entries if entry.kind is EntryKind.SUMMARY]
    lines = []
    for entry in entries:
        head = " ".join(entry.text.split())
        if entry.kind is EntryKind.USER:
            lines.append(f"- User: {head[:300]}")
        elif entry.kind is EntryKind.REPLY:
            called = ", ".join(call.name for call in entry.calls)
            lines.append(f"- Assistant: {head[:160]}" + (f" (called {called})" if called else ""))
        elif entry.kind is EntryKind.RESULT:
            lines.append(f"- {entry.tool} gave: {head[:100]}")
    body: list[str] = []
    room = limit - sum(len(text) for text in earlier[-1:])
    for line in reversed(lines):
        if room - len(line) < 0:
            body.append("- (older turns left out)")
            break
        room -= len(line) + 1
        body.append(line)
    return "\n".join([*(text[:limit] for text in earlier[-1:]), "Earlier in this conversation:", *reversed(body)])
