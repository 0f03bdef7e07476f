"""``run_npm_script`` and ``install_package``: project scripts, and packages from a registry."""

from __future__ import annotations

import re
import shlex
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from atelier_desk.domain import limits
from atelier_desk.domain.approval import ApprovalKind
from atelier_desk.domain.call_presentation_and_subjects import Subjects
from atelier_desk.domain.errors import ToolError
from atelier_desk.support.i18n import N_
from atelier_desk.support.threads import in_tool_thread
from atelier_desk.tools.base import Call, Effect, Input, Risk, ToolContext, ToolResult
from atelier_desk.tools.definition.call_description import summary_of
from atelier_desk.tools.definition.tool_description import About
from atelier_desk.tools.registry.builtin import builtin
from atelier_desk.tools.registry.sections import FILES
from atelier_desk.tools.shell import command_execution
from atelier_desk.tools.shell.fixed_command_tool_base import FixedCommand
from atelier_desk.tools.shell.project_manifests import manifest

_SCRIPT_S = 600.0
_INSTALL_S = 600.0


class ScriptInput(Input):
    script: str = Field(min_length=1, max_length=200, description="Name of a script in package.json.")
    args: list[str] = Field(default=[], max_length=50, description="Arguments for the script.")

    @field_validator("script")
    @classmethod
    def _name(cls, value: str) -> str:
        if not re.fullmatch(r"[\w][\w:.@/-]*", value):
            raise ValueError("must be the name of a script: letters, digits and : . @ / - _, not beginning with a dash")
        return value


@builtin(order=460)
class RunNpmScript(FixedCommand):
    name = "run_npm_script"
    title = N_("Run an npm script")
    purpose = N_("Runs a script from the project's package.json")
    effect = Effect.EXECUTE
    risk = Risk.MEDIUM
    timeout_s = _SCRIPT_S + limits.COMMAND_ENDS_S
    input = ScriptInput
    summaries: ClassVar = {"": N_("Run the npm script “{script}”")}
    done: ClassVar = {"": N_("Ran the npm script “{script}”")}
    about = About(
        what="Run a script of the package.json in the workspace.",
        when="the project has a script for the task (test, build, lint).",
        when_not="the script serves or watches: use run_command with background.",
        example={"script": "test"},
        limits=(f"{_SCRIPT_S:.0f} seconds",),
    )

    def describe(self, input: ScriptInput) -> Call:
        command = shlex.join(("npm", "run", input.script, *(("--", *input.args) if input.args else ())))
        return Call(
            effect=self.effect,
            risk=self.risk,
            kind=self.kind or ApprovalKind.FILE_OP,
            subjects=Subjects(command=command, sandbox=command_execution.kind_of("workspace", safe=False)),
            timeout_s=self.timeout_s,
            details={"command": command, "cwd": "", "commands": [], "writes": [], "reason": "", "about": ""},
            summary=summary_of(dict(input), self.summaries[""]),
            done=self.done[""],
        )

    async def run(self, input: ScriptInput, context: ToolContext) -> ToolResult:
        root = command_execution.where(context).root
        if not await in_tool_thread((root / "package.json").exists):
            raise ToolError("There is no package.json in the workspace folder.", code="not_found")
        found = await in_tool_thread(manifest, root, "package.json", context.may_disclose)
        if found is None or not isinstance(listed := found.get("scripts", {}), dict):
            raise ToolError(
                (
                    "The package.json of the workspace cannot be read: it is no JSON object, a link to elsewhere, or a "
                    "rule denies it."
                ),
                code="invalid",
            )
        scripts = [str(name) for name in listed]
        if input.script not in scripts:
            raise ToolError(
                f"package.json has no script {input.script!r}. It has: {', '.join(scripts) or 'none'}.",
                code="not_found",
            )
        words = ("run", "--silent", input.script, *(("--", *input.args) if input.args else ()))
        return await self.perform("npm", words, context, _SCRIPT_S)


_PACKAGE = {
    "npm": re.compile(r"(@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~-][a-z0-9._~-]*(@[\w.^~<>=*-]+)?", re.ASCII),
    "pip": re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9,._-]+\])?((==|>=|<=|~=|!=|<|>)[\w.*+!-]+)?", re.ASCII),
}
_REGISTRY = {"npm": "registry.npmjs.org", "pip": "pypi.org", "uv": "pypi.org"}


class InstallInput(Input):
    package_name: str = Field(
        min_length=1, max_length=214, description="Name in the registry, with a version if need be."
    )
    manager: Literal["npm", "pip", "uv"] = Field(default="npm", description="Who installs it.")
    dev: bool = Field(default=False, description="For development only (npm and uv).")


@builtin(order=390)
class InstallPackage(FixedCommand):
    name = "install_package"
    title = N_("Install a package")
    purpose = N_("Installs a package from a registry; its scripts may run")
    section = FILES
    icon = "download"
    effect = Effect.NETWORK
    risk = Risk.HIGH
    timeout_s = _INSTALL_S + limits.COMMAND_ENDS_S
    input = InstallInput
    summaries: ClassVar = {"": N_("Install {package_name} with {manager}")}
    done: ClassVar = {"": N_("Installed {package_name} with {manager}")}
    about = About(
        what="Install one package from its registry into the workspace's project. The user is always asked.",
        when="the project needs a package that is not installed.",
        when_not="all packages of the project are to be installed: use run_command.",
        example={"package_name": "left-pad@1.3.0", "manager": "npm"},
        limits=(
            "a name of the registry with at most one version; no paths, addresses or options",
            f"{_INSTALL_S:.0f} seconds",
        ),
    )

    def describe(self, input: InstallInput) -> Call:
        command = shlex.join(_install(input))
        return Call(
            effect=self.effect,
            risk=self.risk,
            kind=self.kind or ApprovalKind.FILE_OP,
            subjects=Subjects(
                command=command,
                hosts=(_REGISTRY[input.manager],),
                sandbox=command_execution.kind_of("network", safe=False),
            ),
            timeout_s=self.timeout_s,
            details={"command": command, "cwd": "", "commands": [], "writes": [], "reason": "", "about": ""},
            summary=summary_of(dict(input), self.summaries[""]),
            done=self.done[""],
        )

    async def run(self, input: InstallInput, context: ToolContext) -> ToolResult:
        if not _PACKAGE["npm" if input.manager == "npm" else "pip"].fullmatch(input.package_name):
            raise ToolError(
                (
                    f"{input.package_name!r} is no plain package name of {input.manager}. Give a name of its registry, "
                    f"with at most a version."
                ),
                code="invalid_arguments",
            )
        program, *words = _install(input)
        return await self.perform(program, tuple(words), context, _INSTALL_S, box="network")


def _install(input: InstallInput) -> tuple[str, ...]:
    name: Any = input.package_name
    match input.manager:
        case "npm":
            return ("npm", "install", "--no-audit", "--no-fund", *(("--save-dev",) if input.dev else ()), "--", name)
        case "uv":
            return ("uv", "add", *(("--dev",) if input.dev else ()), "--", name)
        case _:
            return ("pip", "install", "--disable-pip-version-check", "--no-input", "--", name)
