"""What the model should do after an error.

Kept here because lower layers must not know tools by name.
"""

from __future__ import annotations

from atelier_desk.domain.failure_codes import FailureCode

_STEPS: tuple[tuple[FailureCode, str, str], ...] = (
    (
        FailureCode.NOT_A_FILE,
        "is a folder, not a file.",
        "See what it holds with list_directory, or give the path of a file in it.",
    ),
    (FailureCode.NOT_A_FOLDER, "no folder.", "Give the path of a folder; list_directory shows them."),
    (FailureCode.NOT_FOUND, "does not exist.", "Use list_directory or glob_files to find it."),
    (FailureCode.EXISTS, "exists already.", "Read it and change it with edit_file, or choose another name."),
    (FailureCode.BAD_RANGE, "are none of them.", "Read it again with read_file."),
    (FailureCode.BINARY, "cannot be edited as text.", "Replace or convert it with a program (run_command)."),
    (FailureCode.BINARY, "it is not shown.", "get_file_info says what it is; a program may read it (run_command)."),
    (FailureCode.BINARY, "not overwritten with text.", "Choose another name, or delete it first with delete_path."),
    (FailureCode.TOO_LARGE, "are read.", "Use a smaller file, or a program that reads a part of it (run_command)."),
    (FailureCode.TOO_LARGE, "can be used.", "Use a program that reads or changes a part of it (run_command)."),
    (FailureCode.TOO_LARGE, "are allowed.", "Write several smaller files."),
    (FailureCode.INTO_ITSELF, "itself.", "Choose a destination that is not in it."),
    (FailureCode.SAME, "are the same file.", "Nothing needs to be done, or choose another destination."),
    (FailureCode.DENIED, "the system does not allow it.", "Use another place, or tell the user."),
    (FailureCode.CLOSED, "", "Work in the workspace instead."),
    (FailureCode.READ_ONLY, "cannot be written to.", "Use another place, or tell the user."),
    (FailureCode.NOT_EMPTY, "is not empty.", "Set recursive to delete it with all it holds."),
    (FailureCode.OUTSIDE, "link", "Use a path that leads through no such link."),
    (FailureCode.OUTSIDE, "lies outside", "Begin the pattern in that folder, or leave the folder out."),
    (FailureCode.WHOLE, "", "Move or delete what is in it."),
    (FailureCode.BAD_PATH, "this system", "Give a shorter, plain path."),
    (FailureCode.BAD_PATH, "no file can have", "Give a shorter path of plain characters."),
    (FailureCode.BAD_PATTERN, "cannot be read", "Write it with *, ?, [a-z], {a,b} and ** alone."),
    (FailureCode.BAD_PATTERN, "too many braces", "Use several calls with simpler patterns."),
    (
        FailureCode.BAD_PATCH,
        "",
        "Send the whole patch again, as edit_file describes it, or use old_string and new_string.",
    ),
    (FailureCode.NO_CHANGE, "nothing would change", "Go on, or read the file again with read_file."),
    (FailureCode.NO_TEXT, "has no text", "Go on without it, or look for another source."),
    (FailureCode.BROKEN, "", "Go on without it, and tell the user."),
    (FailureCode.DIVISION_BY_ZERO, "", "Check the numbers, and leave this division out."),
    (FailureCode.OVERFLOW, "", "Use smaller numbers, or calculate its logarithm."),
    (FailureCode.DOMAIN, "", "Check the numbers: a real result is needed at each step."),
    (FailureCode.UNSUPPORTED, "", "Go on without it."),
    (FailureCode.NO_WORKFLOW, "runs in none", "Go on without it."),
    (FailureCode.NO_MEMORY, "in this run.", "Go on without it."),
    (FailureCode.NOT_A_PICTURE, "picture", "list_images shows which pictures there are."),
    (FailureCode.INGEST_FAILED, "", "Try again with a smaller folder, or use search_files."),
    (FailureCode.NOT_A_FILE, "left alone", "Use another file."),
    (FailureCode.NOT_A_FILE, "it is not copied", "Use another file."),
    (FailureCode.EXISTS, "nothing is moved over it", "Choose another name, or delete it first with delete_path."),
    (FailureCode.BAD_PATH, "lies in another project", "Read the files of each project by a call of its own."),
    (FailureCode.BAD_RANGE, "is past its end", "Use a smaller offset."),
    (FailureCode.DENIED, "git is not asked that", "Use another git command, or go on without it."),
    (FailureCode.OUTSIDE, "git cannot be asked that", "Give a path below the workspace."),
    (FailureCode.NO_WORKSPACE, "cannot be used here", "Go on without them."),
    (FailureCode.NOT_FOUND, "contains nothing from", "Nothing needs to be done, or give another path."),
    (FailureCode.NOT_FOUND, "is not in the index", "Check the path, or give another one."),
    (
        FailureCode.NOT_FOUND,
        "No project holds the page",
        "Use ingest_web_page to keep it, or give its address as it was kept.",
    ),
    (FailureCode.NOT_STARTED, "", "Check the command with list_safe_commands, or use another one."),
    (FailureCode.NOT_A_PAGE, "has no text", "Go on without it, or fetch another page."),
    (FailureCode.BAD_ADDRESS, "", "Give a full address of a page, such as https://example.org/page."),
    (FailureCode.BAD_ANSWER, "cannot be fetched", "Try again later, and tell the user."),
    (FailureCode.BARRED, "", "Fetch another page, or tell the user."),
    (FailureCode.BROWSER, "", "Fetch another page, or go on without this one."),
    (FailureCode.HTTP_STATUS, "", "Check the address, or search for another page with search_web."),
    (FailureCode.REDIRECTS, "", "Fetch another page."),
    (FailureCode.PROXY, "", "Try again later, or tell the user."),
    (FailureCode.WEB_UNREACHABLE, "", "Check the address, try again later, or use another page."),
    (FailureCode.WEB_TIMEOUT, "has not finished", "Tell the user: it may still come, and it was paid for."),
    (FailureCode.LIMIT, "have no room", "Go on without it, and tell the user."),
    (FailureCode.UNKNOWN_MODEL, "", "Leave provider and model out to use yours."),
    (FailureCode.NOT_RUNNING, "", "See how they are with list_children."),
    (FailureCode.SKIPPED, "", "Do not ask it again: go on with a sensible assumption, and say which."),
)
"""By code and part of the text: the next step."""


def with_next_step(text: str, code: str) -> str:
    """Return the error's text with the next step, unless the text already says it."""
    step = next((step for known, part, step in _STEPS if known == code and part in text and step not in text), "")
    if not step:
        return text
    return f"{text.rstrip()}{'' if text.rstrip().endswith(('.', '!', '?', ':')) else '.'} {step}"
