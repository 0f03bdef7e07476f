"""``get_working_directory``, ``get_environment_info`` and ``get_project_info``.

What an agent needs before it begins.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from atelier_desk.support.i18n import N_
from atelier_desk.support.threads import in_tool_thread
from atelier_desk.tools.base import Input, ToolContext, ToolResult
from atelier_desk.tools.definition.tool_description import About, DescribedTool
from atelier_desk.tools.registry.builtin import builtin
from atelier_desk.tools.registry.sections import CONTEXT
from atelier_desk.tools.shell.project_manifests import manifest
from atelier_desk.workspace.processes import command_environment

PROGRAMS = (
    "bash",
    "git",
    "python3",
    "uv",
    "pip",
    "node",
    "npm",
    "make",
    "cmake",
    "gcc",
    "cargo",
    "go",
    "java",
    "docker",
    "rg",
)
MANIFESTS = (
    "pyproject.toml", "setup.py", "requirements.txt", "package.json", "Cargo.toml", "go.mod", "pom.xml", "build.gradle",
    "Makefile",
    "CMakeLists.txt", "Gemfile", "composer.json", "Dockerfile", "README.md", "AGENTS.md",
)  # fmt: skip
_MOST_ENTRIES = 200


class Nothing(Input):
    pass


class _Context(DescribedTool):
    section = CONTEXT
    icon = "folder-open"
    idempotent = True
    needs_workspace = True
    input = Nothing


@builtin(order=710)
class GetWorkingDirectory(_Context):
    name = "get_working_directory"
    title = N_("Working folder")
    purpose = N_("Returns the folder in which the agent works")
    summaries: ClassVar = {"": N_("Look up the working folder")}
    about = About(
        what="Get the folder where relative paths start.",
        when="you need an absolute path.",
        when_not="a relative path does: every tool takes paths relative to it.",
        example={},
    )

    async def run(self, input: Nothing, context: ToolContext) -> ToolResult:
        root = context.workspace
        return ToolResult.ok(working_directory=str(root), exists=root is not None and await in_tool_thread(root.is_dir))


@builtin(order=720)
class GetEnvironmentInfo(_Context):
    name = "get_environment_info"
    title = N_("Environment")
    purpose = N_("Shows the system and the installed programs")
    icon = "monitor"
    summaries: ClassVar = {"": N_("Check the environment")}
    needs_workspace = False
    about = About(
        what="Get the operating system, the processor and which usual programs commands can use.",
        when="you choose a command that depends on the system.",
        when_not="you want to know about the project: use get_project_info.",
        example={},
    )

    async def run(self, input: Nothing, context: ToolContext) -> ToolResult:
        return ToolResult.ok(
            system=platform.system(),
            release=platform.release(),
            machine=platform.machine(),
            processors=os.cpu_count(),
            programs=await in_tool_thread(_programs, context.workspace),
            now=context.now().isoformat(timespec="seconds"),
        )


def _programs(root: Path | None) -> dict[str, str]:
    found = {name: command_environment.program(name, root or Path.home(), root) for name in PROGRAMS}
    return {name: file for name, file in found.items() if file}


@builtin(order=730)
class GetProjectInfo(_Context):
    name = "get_project_info"
    title = N_("Project")
    purpose = N_("Detects the type of project in the folder")
    summaries: ClassVar = {"": N_("Detect the type of project")}
    about = About(
        what=(
            "Get the top of the workspace: its entries, the project files among them, names, scripts and whether "
            "it is a git repository."
        ),
        when="you begin work in a folder you do not know.",
        when_not="you know the project already.",
        example={},
        limits=(f"{_MOST_ENTRIES} entries",),
    )

    async def run(self, input: Nothing, context: ToolContext) -> ToolResult:
        root = context.workspace
        if root is None or not await in_tool_thread(root.is_dir):
            return ToolResult.failure("The workspace folder is not there. Tell the user.", "no_workspace")
        return ToolResult.ok(**await in_tool_thread(_project, root, context.may_disclose))


def _project(root: Path, tells: Callable[[str], bool]) -> dict[str, object]:
    with os.scandir(root) as found:
        entries = sorted(entry.name + ("/" if entry.is_dir(follow_symlinks=False) else "") for entry in found)
    manifests = [name for name in MANIFESTS if name in entries]
    said: dict[str, object] = {
        "root": str(root),
        "git": ".git/" in entries or ".git" in entries,
        "manifests": manifests,
        "entries": entries[:_MOST_ENTRIES],
        "total": len(entries),
    }
    if "package.json" in manifests and (package := manifest(root, "package.json", tells)):
        scripts = package.get("scripts")
        said["npm"] = {"name": package.get("name"), "scripts": scripts if isinstance(scripts, dict) else {}}
    if "pyproject.toml" in manifests and isinstance(
        project := (manifest(root, "pyproject.toml", tells) or {}).get("project"), dict
    ):
        said["python"] = {name: project.get(name) for name in ("name", "requires-python", "dependencies")}
    return said
