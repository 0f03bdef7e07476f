"""The text the engine adds around a conversation: what the agent is told about itself, and how old turns are summarised."""

from __future__ import annotations

from app.domain.agent import ToolMode
from app.engine.run.state import Entry, EntryKind, RunState

LANGUAGE_NAMES = {"en": "English", "fr": "French"}

SUMMARY_INSTRUCTIONS = (
    "Summarise the conversation below so that the work can go on without it. Keep: what the user wants, decisions, facts, names, numbers, "
    "open tasks and questions, and what was tried. Leave out greetings and repetitions. Write plain text of at most 300 words, in the "
    "conversation's language, and nothing else."
)

FINISH_NOTE = "The limit of this run is reached. Give your final answer now from what you have; tools can no longer be used."


def system_prompt(state: RunState, tool_list: str = "") -> str:
    """The system message: the owner's own words first, then the facts the agent cannot know, then the tools named in text."""
    parts = [state.agent.system_prompt.strip()]
    facts = []
    if state.started_at is not None:
        facts.append(f"Today is {state.started_at:%A %d %B %Y}.")
    language = LANGUAGE_NAMES.get(state.language, "English")
    facts.append(f"Answer in the language of the user's message; when in doubt, in {language}.")
    parts.append(" ".join(facts))
    if state.agent.tool_mode is ToolMode.INVOKE and tool_list:
        parts.append(tool_list)
    return "\n\n".join(parts)


def as_text(entries: tuple[Entry, ...], each: int = 2000) -> str:
    """Entries as plain lines for a summary, each cut to ``each`` characters."""
    labels = {
        EntryKind.USER: "User",
        EntryKind.REPLY: "Assistant",
        EntryKind.RESULT: "Tool result",
        EntryKind.NOTE: "Note",
        EntryKind.SUMMARY: "Earlier summary",
    }
    lines = []
    for entry in entries:
        text = entry.text if len(entry.text) <= each else f"{entry.text[: each // 2]} … {entry.text[-each // 2 :]}"
        calls = "".join(f" [called {call.name}]" for call in entry.calls)
        lines.append(f"{labels[entry.kind]}: {text}{calls}".strip())
    return "\n".join(lines)


def digest(entries: tuple[Entry, ...], limit: int = 4000) -> str:
    """A summary without a model, always the same for the same entries: the user's words first, then what was answered and called.

    Newer lines win over older ones when ``limit`` characters are not enough.
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
