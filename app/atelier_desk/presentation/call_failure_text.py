"""Explain failed calls in the reader's language; the model's text is in the result."""

from __future__ import annotations

from typing import Any

from atelier_desk.domain.errors import AtelierError
from atelier_desk.domain.failure_codes import FailureCode
from atelier_desk.support.i18n import N_, _, language
from atelier_desk.support.locale_format import number

_BY_CODE: dict[str, str] = {
    FailureCode.BAD_ADDRESS: N_("This is not the address of a web page that can be fetched."),
    FailureCode.BAD_ANSWER: N_("The service did not return what was requested."),
    FailureCode.BAD_PATH: N_("This is not a valid file path."),
    FailureCode.BAD_PATTERN: N_("The search pattern is not valid."),
    FailureCode.BAD_PATCH: N_("The patch is not valid."),
    FailureCode.BAD_RANGE: N_("The requested range is outside the file or page."),
    FailureCode.BAD_NOTEBOOK: N_("This is not a readable notebook."),
    FailureCode.NO_CELL: N_("The notebook has no such cell."),
    FailureCode.BINARY: N_("The file is not text."),
    FailureCode.CONFLICT: N_("This name is already taken."),
    FailureCode.BARRED: N_("The page redirects to a host that a rule forbids."),
    FailureCode.BROWSER: N_("The browser did not show the page."),
    FailureCode.DAMAGED: N_("The stored copy of the file is damaged."),
    FailureCode.BROKEN_PAGE: N_("The page is damaged, or takes too much time or memory to read."),
    FailureCode.BROKEN: N_("The file is damaged, or needs too much memory."),
    FailureCode.CERTIFICATE: N_("The server's certificate is not trusted."),
    FailureCode.CHANGED: N_("The file has been changed since it was read. Nothing was written."),
    FailureCode.CLOSED: N_("This location belongs to Atelier itself or is closed to agents."),
    FailureCode.CHANGING: N_("The file is currently being moved."),
    FailureCode.DENIED: N_("The call was refused: a rule, the profile or the system forbids it."),
    FailureCode.DEPTH: N_("The maximum team depth has been reached: no more agents can be started."),
    FailureCode.DIVISION_BY_ZERO: N_("A number was divided by zero."),
    FailureCode.DOMAIN: N_("The calculation has no result for these numbers."),
    FailureCode.ELSEWHERE: N_("The page redirects to another site, which was not contacted."),
    FailureCode.EMPTY: N_("The 3D model has no faces."),
    FailureCode.ENCODING: N_("The file's encoding cannot represent all of these characters."),
    FailureCode.ENCRYPTED: N_("The file is protected by a password."),
    FailureCode.EXISTS: N_("Something with this name already exists."),
    FailureCode.HTTP_STATUS: N_("The server did not return the page."),
    FailureCode.INTERNAL_ERROR: N_("The tool failed because of an error in its code. See the log for details."),
    FailureCode.INGEST_FAILED: N_("The project was not indexed completely."),
    FailureCode.INTO_ITSELF: N_("A folder cannot be moved into itself."),
    FailureCode.LANGUAGE: N_("Text recognition supports only French and English."),
    FailureCode.INVALID: N_("The file does not contain what was expected."),
    FailureCode.INVALID_ARGUMENTS: N_("The arguments are not valid for this tool."),
    FailureCode.MAKING: N_("The service could not generate the file."),
    FailureCode.MEMORY_OFF: N_("Memory is turned off for this workflow."),
    FailureCode.NEEDS_USER: N_(
        "After reading untrusted content, an agent cannot delete memories that apply to other workflows; only you can."
    ),
    FailureCode.NO_CHANGE: N_("Nothing would change."),
    FailureCode.NO_MATCH: N_("The text to replace is not in the file."),
    FailureCode.NO_SHELL: N_("This computer has no bash: only single commands can be run."),
    FailureCode.NO_OCR: N_(
        "Text in images cannot be read because OCR is not installed. To install it: make run EXTRAS=ocr (a "
        "Mac needs macOS 15 or later)."
    ),
    FailureCode.NO_SPACE: N_("The disk is full: nothing was written."),
    FailureCode.NO_TEXT: N_("The file has no text that can be read."),
    FailureCode.OLD_FORMAT: N_("The file is in an older format that is not supported."),
    FailureCode.NO_WORKSPACE: N_(
        "The agent has no workspace folder, or the folder no longer exists. Give this workflow "
        "access to a folder, then try again."
    ),
    FailureCode.NOT_A_PAGE: N_("This page has no text that can be read."),
    FailureCode.NOT_A_FILE: N_("This is not a file."),
    FailureCode.NOT_A_FOLDER: N_("This is not a folder."),
    FailureCode.NOT_EMPTY: N_("The folder is not empty."),
    FailureCode.NOT_A_MODEL: N_("This is not a 3D model that can be rendered."),
    FailureCode.NOT_A_PICTURE: N_("This is not a readable image."),
    FailureCode.NOT_CONFIGURED: N_("Something the call needs is not configured."),
    FailureCode.NOT_ENABLED: N_("The agent is not allowed to use this tool."),
    FailureCode.NOT_LOADED: N_("The agent has to search for this tool first."),
    FailureCode.NOT_FOUND: N_("The call refers to something that does not exist."),
    FailureCode.NOT_STARTED: N_("The command could not be started."),
    FailureCode.NOT_UNIQUE: N_("The text to replace occurs more than once in the file."),
    FailureCode.OWN_NETWORK: N_(
        "The address is on this computer or the local network. A rule that includes the port can allow it."
    ),
    FailureCode.OTHER_DISK: N_("The two locations are on different disks."),
    FailureCode.OUTSIDE: N_("This is outside the workspace folders."),
    FailureCode.OVERFLOW: N_("The resulting number is too large."),
    FailureCode.PACKED: N_("The server compresses the page in an unsupported way."),
    FailureCode.PROXY: N_("The proxy did not connect to this server."),
    FailureCode.READ_ONLY: N_("The disk cannot be written to."),
    FailureCode.REDIRECTS: N_("The server redirects endlessly."),
    FailureCode.ROBOTS: N_("The site asks programs not to fetch this page."),
    FailureCode.SAME: N_("Both names refer to the same file."),
    FailureCode.SEARCH: N_(
        "The search service does not answer. Others are available in Settings → Web and media: SearXNG, "
        "Brave Search, Tavily."
    ),
    FailureCode.SYNTAX: N_("The expression is not valid."),
    FailureCode.TOO_LARGE: N_("The file or folder is too large."),
    FailureCode.TOO_LONG: N_("The text is too long."),
    FailureCode.UNKNOWN_HOST: N_("There is no server with this name, or the network is down."),
    FailureCode.UNKNOWN_TOOL: N_("There is no such tool."),
    FailureCode.UNSAFE_REPOSITORY: N_("The repository would make git run other programs, so git was not run."),
    FailureCode.UNSUPPORTED: N_("This is not supported here."),
    FailureCode.WEB_TIMEOUT: N_("The server did not answer in time."),
    FailureCode.WEB_UNREACHABLE: N_("The server cannot be reached."),
    FailureCode.WHOLE: N_("The workspace folder itself cannot be moved or deleted."),
    FailureCode.WORKSPACE_GONE: N_("The folder no longer exists."),
}
"""By error code. The English text for the model is more specific, so these replace it in other languages only."""
_ENDED = {
    "processes": N_("The command was stopped: it started too many processes."),
    "memory": N_("The command was stopped: it needed too much memory."),
    "output": N_("The command was stopped: it printed too much."),
    "disk": N_("The command was stopped: the disk was nearly full."),
    "unknown": N_("The command was stopped: its processes could no longer be tracked."),
    "repositories": N_("The command was stopped: it kept changing git hooks and settings, or created too many files."),
    "stopped": N_("The command was stopped."),
}
"""By cause of an early end of a command."""


def timed_out(result: object) -> bool:
    """Whether a result says that the call timed out."""
    return isinstance(result, dict) and result.get("code") == "timeout"


def stopped_by_user(result: object) -> bool:
    """Whether a result says that a person stopped the call."""
    return isinstance(result, dict) and result.get("ended_by") == "user"


def stopped(result: object) -> bool:
    """Whether a result says that the call, or its sub-agent, was stopped: not a failure."""
    return stopped_by_user(result) or (isinstance(result, dict) and result.get("code") == FailureCode.CANCELLED)


def denied_by(result: object) -> str:
    """Return the user's rule that forbade a call; empty if none did."""
    return str(result.get("rule", "")) if isinstance(result, dict) and result.get("code") == "denied" else ""


def explain(tool: str, result: Any, error: str) -> str:
    """Return the display text for ``error``, which was written for the model."""
    seconds = result.get("timeout_s") if timed_out(result) else None
    if isinstance(seconds, int | float):
        shown = number(seconds, 3, trim=True)
        return _("“{tool}” took longer than {seconds} s and was stopped.", tool=tool, seconds=shown)
    if stopped_by_user(result):
        # The model's text continues with instructions.
        return _("Stopped by you.")
    if rule := denied_by(result):
        return _("Your rule “{rule}” forbids this call.", rule=rule)
    if not isinstance(result, dict) or language() == "en":
        return error
    return _command(result) or _of(str(result.get("code", ""))) or error


def in_words(error: AtelierError) -> str:
    """Return the display text for an error that a tool would return to the model."""
    said = error.localized(_)
    return _of(error.code) or said if said == str(error) and language() != "en" else said


def _of(code: str) -> str:
    return _(_BY_CODE[code]) if code in _BY_CODE else ""


def _command(result: dict[str, object]) -> str:
    """Describe how a command ended."""
    status, duration = result.get("exit_status"), result.get("duration_ms")
    if result.get("code") == "exit_status" and isinstance(status, int):
        if status > 128:
            return _("The command was terminated by signal {number}.", number=status - 128)
        return _("The command ended with exit status {number}.", number=status)
    if result.get("code") == "timeout" and isinstance(duration, int):
        return _("The command was stopped after {seconds} s.", seconds=round(duration / 1000))
    by = str(result.get("ended_by", ""))
    return _(_ENDED[by]) if by in _ENDED else ""
