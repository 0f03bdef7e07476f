"""Files in which other programs configure servers."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from atelier_desk.workspace.skills.skill_discovery import home as home_folder


@dataclass(frozen=True, slots=True)
class ConfigLocation:
    """A configuration file that may exist."""

    program: str
    path: Path


def _settings() -> Path:
    """This system's folder for programs' settings."""
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or home_folder() / "AppData" / "Roaming")
    return home_folder() / "Library" / "Application Support" if sys.platform == "darwin" else home_folder() / ".config"


def of_user() -> list[ConfigLocation]:
    """Configuration files of the person's programs, existing or not."""
    home, settings = home_folder(), _settings()
    config = home / ".config"
    return [
        ConfigLocation("Claude Desktop", settings / "Claude" / "claude_desktop_config.json"),
        ConfigLocation("Claude Code", home / ".claude.json"),
        ConfigLocation("Cursor", home / ".cursor" / "mcp.json"),
        ConfigLocation("VS Code", settings / "Code" / "User" / "mcp.json"),
        ConfigLocation("Copilot CLI", home / ".copilot" / "mcp-config.json"),
        ConfigLocation("Cline", home / ".cline" / "data" / "settings" / "cline_mcp_settings.json"),
        ConfigLocation("Gemini", home / ".gemini" / "settings.json"),
        ConfigLocation("Qwen", home / ".qwen" / "settings.json"),
        ConfigLocation("Codex", home / ".codex" / "config.toml"),
        ConfigLocation("opencode", config / "opencode" / "opencode.json"),
        ConfigLocation("opencode", config / "opencode" / "opencode.jsonc"),
        ConfigLocation("Zed", config / "zed" / "settings.json"),
        ConfigLocation("goose", config / "goose" / "config.yaml"),
        ConfigLocation("Vibe", home / ".vibe" / "config.toml"),
    ]


def of_folder(folder: Path) -> list[ConfigLocation]:
    """Configuration files of a project, existing or not."""
    return [
        ConfigLocation("Claude Code", folder / ".mcp.json"),
        ConfigLocation("Cursor", folder / ".cursor" / "mcp.json"),
        ConfigLocation("VS Code", folder / ".vscode" / "mcp.json"),
        ConfigLocation("Copilot CLI", folder / ".github" / "mcp.json"),
        ConfigLocation("Codex", folder / ".codex" / "config.toml"),
        ConfigLocation("Gemini", folder / ".gemini" / "settings.json"),
        ConfigLocation("Qwen", folder / ".qwen" / "settings.json"),
        ConfigLocation("opencode", folder / "opencode.json"),
        ConfigLocation("opencode", folder / "opencode.jsonc"),
        ConfigLocation("Kilo", folder / "kilo.jsonc"),
        ConfigLocation("Zed", folder / ".zed" / "settings.json"),
        ConfigLocation("Vibe", folder / ".vibe" / "config.toml"),
        ConfigLocation("Agent Plugin", folder / "mcp.json"),
    ]


def program_of(path: Path) -> str:
    """The program a file belongs to, by path and name; empty when unknown."""
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
