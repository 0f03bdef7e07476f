"""Where other programs keep their servers."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from atelier_desk.workspace.skills.find import home as home_folder


@dataclass(frozen=True, slots=True)
class Place:
    """A file of a program that may be there."""

    program: str
    path: Path


def _settings() -> Path:
    """Where programs of this system keep their settings."""
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or home_folder() / "AppData" / "Roaming")
    return home_folder() / "Library" / "Application Support" if sys.platform == "darwin" else home_folder() / ".config"


def of_user() -> list[Place]:
    """The files of the person's programs, there or not."""
    home, settings = home_folder(), _settings()
    config = home / ".config"
    return [
        Place("Claude Desktop", settings / "Claude" / "claude_desktop_config.json"),
        Place("Claude Code", home / ".claude.json"),
        Place("Cursor", home / ".cursor" / "mcp.json"),
        Place("VS Code", settings / "Code" / "User" / "mcp.json"),
        Place("Copilot CLI", home / ".copilot" / "mcp-config.json"),
        Place("Cline", home / ".cline" / "data" / "settings" / "cline_mcp_settings.json"),
        Place("Gemini", home / ".gemini" / "settings.json"),
        Place("Qwen", home / ".qwen" / "settings.json"),
        Place("Codex", home / ".codex" / "config.toml"),
        Place("opencode", config / "opencode" / "opencode.json"),
        Place("opencode", config / "opencode" / "opencode.jsonc"),
        Place("Zed", config / "zed" / "settings.json"),
        Place("goose", config / "goose" / "config.yaml"),
        Place("Vibe", home / ".vibe" / "config.toml"),
    ]


def of_folder(folder: Path) -> list[Place]:
    """The files of a project, there or not."""
    return [
        Place("Claude Code", folder / ".mcp.json"),
        Place("Cursor", folder / ".cursor" / "mcp.json"),
        Place("VS Code", folder / ".vscode" / "mcp.json"),
        Place("Copilot CLI", folder / ".github" / "mcp.json"),
        Place("Codex", folder / ".codex" / "config.toml"),
        Place("Gemini", folder / ".gemini" / "settings.json"),
        Place("Qwen", folder / ".qwen" / "settings.json"),
        Place("opencode", folder / "opencode.json"),
        Place("opencode", folder / "opencode.jsonc"),
        Place("Kilo", folder / "kilo.jsonc"),
        Place("Zed", folder / ".zed" / "settings.json"),
        Place("Vibe", folder / ".vibe" / "config.toml"),
        Place("Agent Plugin", folder / "mcp.json"),
    ]


def program_of(path: Path) -> str:
    """Which program a file is of, by its place and name; empty when nobody knows."""
    parts = path.parts
    for place in (*of_user(), *of_folder(Path("/"))):
        wanted = (
            place.path.parts[-2:]
            if place.path.parent.name.startswith(".") or place.path.parent.parent != Path("/")
            else place.path.parts[-1:]
        )
        if parts[-len(wanted) :] == wanted:
            return place.program
    return ""
