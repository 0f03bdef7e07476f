"""Groups of tools by what they access, for rules and marks that apply to any tool."""

from __future__ import annotations

from atelier_desk.tools.registry.sections import PAGE_READER

NAMES_ONLY = frozenset(
    {
        "create_directory",
        "delete_path",
        "file_exists",
        "get_file_info",
        "git_status",
        "glob_files",
        "list_directory",
        "list_images",
    }
)
"""They reveal only names, not file contents."""
CHECKED_LATER = frozenset({"search_files"})
"""Their results name the marked files they contain (``ToolResult.tainted``)."""
WORKSPACE_WIDE = frozenset({"git_diff"})
"""They read files that they do not name."""
FOLDER_WIDE = frozenset({"move_file", "copy_file", "delete_path"})
"""They affect a folder with all its content."""
COMMANDS = frozenset({"run_command", "run_npm_script"})
"""Rules distinguish their calls by command."""
PAGES = frozenset({PAGE_READER, "ingest_web_page"})
"""Rules distinguish their calls by host."""
