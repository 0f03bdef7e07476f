"""Why a call failed, in the reader's language, where that is known; what the model reads of the same is in its result."""

from __future__ import annotations

from typing import Any

from atelier_desk.domain.errors import AtelierError
from atelier_desk.i18n import N_, _, language

_BY_CODE = {
    "bad_address": N_("This is no address of a web page that can be fetched."),
    "bad_answer": N_("The service answered something else than was asked for."),
    "bad_path": N_("This is no path that a file can have."),
    "bad_pattern": N_("The search pattern cannot be read."),
    "bad_patch": N_("The patch cannot be read."),
    "bad_range": N_("These lines are not in the file."),
    "bad_notebook": N_("This is no notebook that can be read."),
    "no_cell": N_("The notebook has no such cell."),
    "binary": N_("The file is no text."),
    "conflict": N_("There is one with this name already."),
    "barred": N_("The page leads to a host that a rule forbids."),
    "browser": N_("The browser did not show the page."),
    "damaged": N_("What was kept of the file is damaged."),
    "broken_page": N_("The page is broken, or asks for too much time or memory."),
    "broken": N_("The file is broken, or asks for too much memory."),
    "certificate": N_("The server shows a certificate that is not trusted."),
    "changed": N_("The file was changed by somebody else since it was read. Nothing was written."),
    "closed": N_("This place belongs to the program itself or is closed to agents."),
    "changing": N_("The file is being moved at this moment."),
    "denied": N_("The call was refused: a rule, the profile or the system forbids it."),
    "depth": N_("No more agents can be started at this depth."),
    "division_by_zero": N_("A number was divided by zero."),
    "domain": N_("The calculation has no result for these numbers."),
    "elsewhere": N_("The page has moved to another site, which was not asked."),
    "empty": N_("The model has no faces."),
    "encoding": N_("The file's encoding does not have all of these characters."),
    "encrypted": N_("The file is protected by a password."),
    "exists": N_("There is something of this name already."),
    "http_status": N_("The server does not give the page."),
    "internal_error": N_("The tool failed because of a mistake in it. The log has more."),
    "ingest_failed": N_("The project was not read to the end."),
    "into_itself": N_("A folder cannot be put into itself."),
    "language": N_("Only French and English text can be read."),
    "invalid": N_("The file does not hold what is expected of it."),
    "invalid_arguments": N_("The arguments do not fit the tool."),
    "making": N_("The service could not make it."),
    "memory_off": N_("Memory is switched off for this workflow."),
    "needs_user": N_("What holds for all workflows, or in another one, is deleted by you alone once something from outside was read."),
    "no_change": N_("Nothing would change."),
    "no_match": N_("The text to replace is not in the file."),
    "no_shell": N_("This machine has no bash: only single commands can be run."),
    "no_ocr": N_("Text in pictures cannot be read here. To install OCR: make run EXTRAS=ocr (on a Mac: macOS 15 or later)."),
    "no_space": N_("The disk is full: nothing was written."),
    "no_text": N_("The file has no text that can be read."),
    "no_workspace": N_("The agent has no folder to work in, or the folder is not there any more."),
    "not_a_page": N_("This is no page with a text."),
    "not_a_file": N_("This is no file."),
    "not_a_folder": N_("This is no folder."),
    "not_empty": N_("The folder is not empty."),
    "not_a_model": N_("This is no 3D model that can be drawn."),
    "not_a_picture": N_("This is no picture that can be read."),
    "not_configured": N_("What the call needs was not set up."),
    "not_enabled": N_("The agent may not use this tool."),
    "not_loaded": N_("The agent has to look for this tool first."),
    "not_found": N_("What the call names is not there."),
    "not_started": N_("The command could not be started."),
    "not_unique": N_("The text to replace is there more than once."),
    "own_network": N_("The address is on this machine or its network. A rule with its port can allow it."),
    "other_disk": N_("The two places are on different disks."),
    "outside": N_("This lies outside of the folders that were granted."),
    "overflow": N_("The result is too large a number."),
    "packed": N_("The server packs the page in a way that is not read."),
    "proxy": N_("The proxy does not connect to this server."),
    "read_only": N_("The disk cannot be written to."),
    "redirects": N_("The server sends from one page to the next without end."),
    "robots": N_("The site asks programs not to fetch this page."),
    "same": N_("Both names are the same file."),
    "search": N_("The search service does not answer. Settings, Web, has others: SearXNG, Brave Search, Tavily."),
    "syntax": N_("The expression cannot be read."),
    "too_large": N_("The file or folder is too large."),
    "too_long": N_("The text is too long."),
    "unknown_host": N_("There is no server of this name, or the network is down."),
    "unknown_tool": N_("There is no such tool."),
    "unsafe_repository": N_("The repository would make git run other programs, so git was not run."),
    "unsupported": N_("This system cannot do it yet."),
    "web_timeout": N_("The server did not answer in time."),
    "web_unreachable": N_("The server cannot be reached."),
    "whole": N_("The granted folder itself cannot be moved or deleted."),
    "workspace_gone": N_("The folder is not there any more."),
}
"""By the code of an error. The English text that the model reads names more, so these stand in its place in other languages alone."""
_ENDED = {
    "processes": N_("The command was ended: it started too many processes."),
    "memory": N_("The command was ended: it needed too much memory."),
    "output": N_("The command was ended: it printed too much."),
    "disk": N_("The command was ended: the disk was nearly full."),
    "unknown": N_("The command was ended: its processes could no longer be seen."),
    "repositories": N_("The command was ended: it changed hooks and settings of git again and again, or made too many files."),
    "stopped": N_("The command was stopped."),
}
"""By what ended a command before its time."""


def timed_out(result: Any) -> bool:
    """Whether a call's result says that it was stopped because its time was over."""
    return isinstance(result, dict) and result.get("code") == "timeout"


def stopped_by_user(result: Any) -> bool:
    """Whether a call's result says that a person stopped it before it was done."""
    return isinstance(result, dict) and result.get("ended_by") == "user"


def denied_by(result: Any) -> str:
    """The rule of the user's own that forbade a call; empty for a call that was not refused so."""
    return str(result.get("rule", "")) if isinstance(result, dict) and result.get("code") == "denied" else ""


def explain(tool: str, result: Any, error: str) -> str:
    """What to show a person for ``error``, the text that was written for the model."""
    seconds = result.get("timeout_s") if timed_out(result) else None
    if isinstance(seconds, int | float):
        from babel.numbers import format_decimal

        shown = format_decimal(seconds, locale=language())
        return _("{tool} took longer than {seconds} s and was stopped.", tool=tool, seconds=shown)
    if stopped_by_user(result):
        # What the model reads of it tells it what not to do next.
        return _("Stopped by you.")
    if rule := denied_by(result):
        return _("Your rule “{rule}” forbids it.", rule=rule)
    if not isinstance(result, dict) or language() == "en":
        return error
    return _command(result) or _of(str(result.get("code", ""))) or error


def in_words(error: AtelierError) -> str:
    """What to show a person for an error that a tool would give the model."""
    said = error.localized(_)
    return _of(error.code) or said if said == str(error) and language() != "en" else said


def _of(code: str) -> str:
    return _(_BY_CODE[code]) if code in _BY_CODE else ""


def _command(result: dict[str, Any]) -> str:
    """How a command ended."""
    status, duration = result.get("exit_status"), result.get("duration_ms")
    if result.get("code") == "exit_status" and isinstance(status, int):
        if status > 128:
            return _("The command was ended by signal {number}.", number=status - 128)
        return _("The command ended with exit status {number}.", number=status)
    if result.get("code") == "timeout" and isinstance(duration, int):
        return _("The command was ended after {seconds} s.", seconds=round(duration / 1000))
    by = str(result.get("ended_by", ""))
    return _(_ENDED[by]) if by in _ENDED else ""
