"""What tools reach, for rules and marks that hold whatever tool a call uses: which tell names alone, which run commands or read pages."""

from __future__ import annotations

from atelier_desk.tools.sections import PAGE_READER

NAMES_ONLY = frozenset(
    {"create_directory", "delete_path", "file_exists", "get_file_info", "git_status", "glob_files", "list_directory", "list_images"}
)
"""They tell names, and nothing of what stands in files."""
CHECKED_LATER = frozenset({"search_files"})
"""Their results say themselves which marked files they hold (``ToolResult.tainted``)."""
WHOLE_WORKSPACE = frozenset({"git_diff"})
"""They read what they do not name."""
WHOLE_FOLDERS = frozenset({"move_file", "copy_file", "delete_path"})
"""They take a folder with all that it holds."""
COMMANDS = frozenset({"run_command", "run_npm_script"})
"""Rules tell their calls apart by the command."""
PAGES = frozenset({PAGE_READER, "ingest_web_page"})
"""Rules tell their calls apart by the host."""
