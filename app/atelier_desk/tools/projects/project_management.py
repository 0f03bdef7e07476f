"""Tools that create, index, select and delete projects."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from pydantic import Field

from atelier_desk.domain.approval import ApprovalKind
from atelier_desk.domain.call_presentation_and_subjects import Subjects
from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.project import EntityKind, IngestStage, IngestState, Project, free_name
from atelier_desk.domain.result_parts import FileChange
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.threads import in_tool_thread
from atelier_desk.tools.base import Call, Effect, Input, Risk, ToolContext, ToolResult
from atelier_desk.tools.definition.call_description import summary_of
from atelier_desk.tools.definition.input_schema import PathText
from atelier_desk.tools.definition.tool_description import About
from atelier_desk.tools.files.file_tool_base import author
from atelier_desk.tools.projects.new_project_files import LANGUAGES, basic
from atelier_desk.tools.projects.project_tool_base import KINDS, ProjectTool, kind_of, outside_of, real, without_links
from atelier_desk.tools.registry.builtin import builtin
from atelier_desk.workspace.diffs import file_change
from atelier_desk.workspace.path_resolution import first_outside

Name = Field(min_length=1, max_length=128, description="The project's name, as list_projects has it.")
INGEST_S = 3_600.0
POLL_S = 0.5
FILES = 500
LISTED = 20
"""Maximum unread or skipped files that a result names."""


class _Changing(ProjectTool):
    effect = Effect.WRITE
    needs_workspace = True
    idempotent = True
    timeout_s = INGEST_S

    def out_of_reach(self, call: Call, roots: Sequence[Path]) -> ToolError | None:
        return first_outside(call.subjects.paths, roots)

    def folder(self, text: str, context: ToolContext) -> str:
        """Return a granted folder in the form stored with a project."""
        return real(self.place(text, context), context)

    async def make(self, name: str, root: str, *, embedded: bool = True) -> Project:
        """Create a project of a folder without links; a folder that meanwhile became a link is refused."""
        made = await self.projects.create(name, root, embedded=embedded)
        if made.root != root:
            await self.projects.delete(made.id)
            raise ToolError("{path} leads out of the workspace by a link.", code="outside", path=root)
        return made

    async def read(
        self, project: Project, paths: Sequence[str], context: ToolContext, *, force: bool = False
    ) -> ToolResult:
        """Index files of a project and wait; stopping the call pauses indexing."""
        await self.projects.ingest(project.id, paths, force=force)
        state = await self.followed(project, context)
        if not (state.changed or state.unchanged or state.removed) and not await in_tool_thread(
            _any, paths or [project.root]
        ):
            raise ToolError(
                "{path} does not exist and is not in the index.",
                code="not_found",
                path=", ".join(paths),
            )
        statistics = await self.projects.statistics(project.id)
        reads = self.reader(project, context)
        found = await self.projects.problems(project.id)
        problems = await in_tool_thread(lambda: [each for each in found if reads(each.path)])
        listed = {
            "not_read": [{"path": each.path, "reason": each.localized(_)} for each in problems if not each.skipped],
            "left_out": [{"path": each.path, "reason": each.localized(_)} for each in problems if each.skipped],
        }
        trusted = without_links(context.trusted)
        named = (each["path"] for files in listed.values() for each in files[:LISTED])
        return ToolResult(
            {
                "success": True,
                "project": project.name,
                "changed": state.changed,
                "unchanged": state.unchanged,
                "removed": state.removed,
                "entities": {kind.value: count for kind, count in statistics.entities.items()},
                "relations": {kind.value: count for kind, count in statistics.relations.items()},
                **{name: files[:LISTED] for name, files in listed.items() if files},
                **{f"{name}_count": len(files) for name, files in listed.items() if len(files) > LISTED},
            },
            state={"project": project.id},
            tainted=tuple(dict.fromkeys(filter(None, (outside_of(path, project.root, trusted) for path in named)))),
        )

    async def followed(self, project: Project, context: ToolContext) -> IngestState:
        """Wait until indexing of a project ends, reporting progress.

        Raises:
            ToolError: ``ingest_failed`` if it did not complete.
        """
        waiting = asyncio.ensure_future(self.projects.wait(project.id))
        try:
            while not waiting.done():
                await asyncio.wait([waiting], timeout=POLL_S)
                state = (await self.projects.states()).get(project.id)
                if state is not None and not waiting.done():
                    percent = 100 * state.done // state.total if state.total else 0
                    context.progress(
                        min(99, percent),
                        _("{done} of {total}: {path}", done=state.done, total=state.total, path=state.path),
                    )
        except asyncio.CancelledError:
            waiting.cancel()
            await self.projects.stop(project.id)
            raise
        state = waiting.result()
        if state is None or state.stage is not IngestStage.DONE:
            raise ToolError(
                "It was not finished: {reason}",
                code="ingest_failed",
                reason=(state.error if state else "") or "it was paused",
            )
        return state


class CreateInput(Input):
    name: str = Field(min_length=1, max_length=128, description="The project's name.")
    path: PathText = Field(default=".", description="Its folder in the workspace.")
    language: str = Field(
        default="", max_length=60, description=f"For the first file of a template: {', '.join(LANGUAGES)}."
    )
    template: Literal["", "empty", "basic"] = Field(
        default="",
        description=(
            "empty makes the folder; basic also a README.md, a .gitignore and a first file. Nothing is overwritten."
        ),
    )


@builtin(order=800)
class CreateProject(_Changing):
    name = "create_project"
    title = N_("New project")
    purpose = N_("Creates a project for a folder, without indexing it yet")
    summaries = {"": N_("Create the project {name} from {path}")}
    subjects = {"path": "paths"}
    input = CreateInput
    about = About(
        what=(
            "Makes a project of a folder of the workspace, to look things up in; with a template it makes the "
            "folder too."
        ),
        when=(
            "you begin something new, or want a project with a name of its own, and to read it later with "
            "ingest_directory."
        ),
        when_not="the folder is there and you want it read at once: setup_project does both.",
        example={"name": "shop", "path": "shop", "language": "python", "template": "basic"},
    )

    def describe(self, input: CreateInput) -> Call:
        """Describe the call; with a template it changes files, and needs the corresponding approval."""
        call = super().describe(input)
        if not input.template:
            return call
        paths = tuple(dict.fromkeys((input.path, *(f"{input.path}/{name}" for name in self._content(input)))))
        return replace(call, kind=ApprovalKind.FILE_OP, risk=Risk.MEDIUM, subjects=Subjects(paths=paths))

    async def run(self, input: CreateInput, context: ToolContext) -> ToolResult:
        if any(each.name.casefold() == input.name.casefold() for each in await self.projects.list()):
            raise ToolError("There is already a project named {name}.", code="conflict", name=input.name)
        if input.template == "basic" and input.language and input.language.casefold() not in LANGUAGES:
            raise ToolError(
                "There is no template for {language}. There are: {names}.",
                code="not_found",
                language=input.language,
                names=", ".join(LANGUAGES),
            )
        parts = await in_tool_thread(self._begin, input, context) if input.template else []
        made = await self.make(input.name, self.folder(input.path, context))
        said = {"language": input.language} if input.language else {}
        files = {"files": [part.path for part in parts]} if parts else {}
        answer = {"success": True, "project": made.name, "root": made.root, **said, **files}
        return ToolResult(answer, state={"project": made.id}, parts=tuple(parts))

    @staticmethod
    def _content(input: CreateInput) -> dict[str, str]:
        return basic(input.name, input.language.casefold()) if input.template == "basic" else {}

    def _begin(self, input: CreateInput, context: ToolContext) -> list[FileChange]:
        """Create the folder and missing template files, undoably. Runs in a thread."""
        files = self.services.files
        if files is None:
            raise ToolError("Files cannot be used here.", code="no_workspace")
        folder = self.place(input.path, context)
        if folder.path and files.root(folder.root).inspect(folder.path) is None:
            files.make_folder(author(context), folder)
        parts = []
        for name, text in self._content(input).items():
            where, data = folder.below(name), text.encode()
            if files.root(where.root).inspect(where.path) is None:
                files.write(author(context), where, data, expected=None, new=True)
                parts.append(file_change(where.shown, None, data))
        return parts


class SetupInput(Input):
    root: PathText = Field(default=".", description="Folder of the workspace.")
    ingest: bool = Field(default=True, description="Read it now.")
    embeddings: bool = Field(default=True, description="Make vectors, so that it is found by meaning too.")


@builtin(order=802)
class SetupProject(_Changing):
    name = "setup_project"
    title = N_("Set up project")
    purpose = N_("Creates a project for a folder and indexes it")
    summaries = {"": N_("Set up the project in {root}")}
    subjects = {"root": "paths"}
    input = SetupInput
    about = About(
        what=(
            "Makes a project of a folder of the workspace, if it is none yet, and reads its code and documents "
            "into a graph."
        ),
        when=(
            "you will look up many things in a folder: after it semantic_search and explore_relationships find "
            "them at once."
        ),
        when_not="one search in files is enough.",
        example={"root": "."},
        limits=("files that .gitignore leaves out, and files that look like secrets, are not read",),
    )

    async def run(self, input: SetupInput, context: ToolContext) -> ToolResult:
        root = self.folder(input.root, context)
        known = await self.projects.list()
        project = next((each for each in known if each.root == root), None)
        if project is None:
            project = await self.make(free_name(Path(root).name, known), root, embedded=input.embeddings)
        elif not project.loaded:
            project = await self.projects.change(project.id, loaded=True)
        if not input.ingest:
            said = {"success": True, "project": project.name, "root": root, "embeddings": project.embedded}
            return ToolResult(said, state={"project": project.id})
        return await self.read(project, (), context)


class LoadInput(Input):
    path: PathText = Field(min_length=1, description="Its folder in the workspace, or one in it.")


class PathInput(Input):
    path: PathText = Field(min_length=1, description="Folder or file of the workspace.")


class ForgetInput(Input):
    path: PathText = Field(min_length=1, description="Folder or file of the workspace, or the address of a page.")


@builtin(order=804)
class LoadProject(_Changing):
    name = "load_project"
    title = N_("Load project")
    purpose = N_("Includes a folder's project in searches")
    summaries = {"": N_("Load the project in {path}")}
    subjects = {"path": "paths"}
    input = LoadInput
    about = About(
        what="Brings a project back into brain_search, and makes it the current project of this run.",
        when="list_projects says loaded: false.",
        when_not=(
            "the folder has no project yet (setup_project), or the project is loaded and only to become current "
            "(switch_project)."
        ),
        example={"path": "shop"},
    )

    async def run(self, input: LoadInput, context: ToolContext) -> ToolResult:
        where = self.place(input.path, context)
        project = await self.of_place(where, context)
        if not await in_tool_thread(os.path.isdir, real(where, context)):
            raise ToolError("There is no folder {path}. See list_projects.", code="not_found", path=where.shown)
        await self.projects.change(project.id, loaded=True)
        return ToolResult(
            {"success": True, "project": project.name, "root": project.root}, state={"project": project.id}
        )


class Nothing(Input):
    pass


@builtin(order=806)
class ListProjects(ProjectTool):
    name = "list_projects"
    title = N_("List projects")
    purpose = N_("Lists the existing projects")
    summaries = {"": N_("List the projects")}
    idempotent = True
    input = Nothing
    about = About(
        what="Lists the projects that you may look things up in, with what each holds.",
        when="you want to know what can be looked up.",
        when_not="you know the project's name.",
        example={},
    )

    async def run(self, input: Nothing, context: ToolContext) -> ToolResult:
        states = await self.projects.states()
        rows = []
        for each in await self.visible(context):
            state = states.get(each.id)
            rows.append(
                {
                    "name": each.name,
                    "root": each.root,
                    "loaded": each.loaded,
                    "read": each.ingested_at is not None,
                    "current": each.id == context.state.get("project"),
                    **(
                        {"state": state.stage.value}
                        if state is not None and state.stage is not IngestStage.DONE
                        else {}
                    ),
                }
            )
        return ToolResult.ok(count=len(rows), projects=rows)


class NameInput(Input):
    name: str = Name


@builtin(order=808)
class SwitchProject(ProjectTool):
    name = "switch_project"
    title = N_("Switch project")
    purpose = N_("Switches to another project")
    summaries = {"": N_("Switch to the project {name}")}
    idempotent = True
    input = NameInput
    about = About(
        what="Makes a project the current one for the rest of this run: the one that query_entities, semantic_search, "
        "explore_relationships and generate_embeddings look at.",
        when="there are several projects and another one is current.",
        when_not="you want to search all of them: brain_search.",
        example={"name": "shop"},
    )

    async def run(self, input: NameInput, context: ToolContext) -> ToolResult:
        project = await self.named(input.name, context)
        return ToolResult(
            {"success": True, "project": project.name, "root": project.root}, state={"project": project.id}
        )


@builtin(order=810)
class UnloadProject(_Changing):
    name = "unload_project"
    title = N_("Unload project")
    purpose = N_("Excludes a project from searches; nothing is deleted")
    summaries = {"": N_("Unload the project {name}")}
    needs_workspace = False
    input = NameInput
    about = About(
        what="Leaves a project out of brain_search, in other runs too, until load_project. Nothing is deleted.",
        when="what it holds is in the way of what you look for in all projects.",
        when_not="you want another current project (switch_project), or files are gone (ingest_directory notices).",
        example={"name": "shop"},
    )

    async def run(self, input: NameInput, context: ToolContext) -> ToolResult:
        project = await self.named(input.name, context)
        await self.projects.change(project.id, loaded=False)
        said = {"success": True, "project": project.name, "loaded": False}
        return ToolResult(said, state={"project": ""} if context.state.get("project") == project.id else None)


class IngestCodeInput(Input):
    path: PathText = Field(default="", description="Folder or file of the workspace.")
    files: list[str] = Field(default=[], max_length=FILES, description="Or several files.")
    incremental: bool = Field(default=True, description="Read only what changed.")


@builtin(order=812)
class IngestCode(_Changing):
    name = "ingest_code"
    title = N_("Index code")
    purpose = N_("Indexes the code of a project")
    subjects = {"path": "paths", "files": "paths"}
    input = IngestCodeInput
    about = About(
        what="Reads files of a project again: those that changed, or with incremental false all of them.",
        when=(
            "files changed by a command and are to be found as they are now. Watched projects notice changes by "
            "themselves."
        ),
        when_not="the folder is no project yet: setup_project.",
        example={"path": "src"},
        limits=(f"{FILES} files at once",),
    )

    def describe(self, input: IngestCodeInput) -> Call:
        """Describe the call; its summary names the files, or the folder or file."""
        where = ", ".join(input.files) or input.path
        text = N_("Index the code in {path}") if where not in ("", ".") else N_("Index the code")
        return replace(super().describe(input), summary=summary_of({"path": where}, text))

    async def run(self, input: IngestCodeInput, context: ToolContext) -> ToolResult:
        places = [self.place(each, context) for each in (input.files or [input.path or "."])]
        project = await self.of_place(places[0], context)
        for where in places[1:]:
            if (await self.of_place(where, context)).id != project.id:
                raise ToolError(
                    "{path} lies in another project than the first file.", code="bad_path", path=where.shown
                )
        paths = [real(each, context) for each in places]
        there = await in_tool_thread(lambda: [os.path.lexists(path) for path in paths])
        read = await self.read(project, paths, context, force=not input.incremental)
        missing = [where.shown for where, found in zip(places, there, strict=True) if not found]
        return replace(read, data={**read.data, "missing": missing}) if missing else read


@builtin(order=814)
class IngestDirectory(_Changing):
    name = "ingest_directory"
    title = N_("Index folder")
    purpose = N_("Indexes the code, text and documents in a folder of a project")
    summaries = {"": N_("Index the folder {path}")}
    subjects = {"path": "paths"}
    input = PathInput
    about = About(
        what=(
            "Reads all there is in a folder of a project: code, Markdown, PDF and other text. Only what changed "
            "is read."
        ),
        when="the folder belongs to a project and is not read yet, or changed.",
        when_not="the folder is no project yet: setup_project.",
        example={"path": "docs"},
    )

    async def run(self, input: PathInput, context: ToolContext) -> ToolResult:
        where = self.place(input.path, context)
        return await self.read(await self.of_place(where, context), [real(where, context)], context)


class EmbeddingsInput(Input):
    entity: str = Field(default="", max_length=60, description=f"Only of these: {', '.join(KINDS)}. All without it.")
    force: bool = Field(default=False, description="Make those anew that are there, too.")


@builtin(order=816)
class GenerateEmbeddings(_Changing):
    name = "generate_embeddings"
    title = N_("Compute embeddings")
    purpose = N_("Computes the missing embeddings of a project")
    summaries = {"": N_("Compute the missing embeddings")}
    input = EmbeddingsInput
    about = About(
        what=(
            "Makes the vectors that the project lacks, so that it is found by meaning too. The same text is "
            "never embedded twice."
        ),
        when="semantic_search says that vectors are missing.",
        when_not="the project was just read: that made them.",
        example={},
    )

    async def run(self, input: EmbeddingsInput, context: ToolContext) -> ToolResult:
        kinds = [kind_of(input.entity)] if input.entity else []
        project = await self.named("", context)
        if not project.embedded:
            project = await self.projects.change(project.id, embedded=True)  # otherwise searches would ignore them
        await self.projects.wait(project.id)
        await self.projects.embed(project.id, kinds=kinds, force=input.force)
        state = await self.followed(project, context)
        statistics = await self.projects.statistics(project.id)
        return ToolResult.ok(project=project.name, done=state.done, texts=statistics.texts, vectors=statistics.vectors)


@builtin(order=818)
class ForgetPath(_Changing):
    name = "forget_path"
    title = N_("Remove from index")
    purpose = N_("Removes a file or folder from the index of its project; the files are kept")
    summaries = {"": N_("Remove {path} from the index")}
    subjects = {"path": "paths"}
    input = ForgetInput
    about = About(
        what="Removes what was read of a file, folder or page from its project. The files themselves stay.",
        when="something should not be found for now.",
        when_not="files were deleted: reading the folder again notices that.",
        example={"path": "old"},
        limits=("the next reading of a folder brings its files back; a line in .gitignore keeps them out",),
    )

    async def run(self, input: ForgetInput, context: ToolContext) -> ToolResult:
        if input.path.startswith(("http://", "https://")):
            return await self._remove_page(input.path, context)
        where = self.place(input.path, context)
        project = await self.of_place(where, context)
        count = await self.projects.forget_path(project.id, real(where, context))
        if not count:
            raise ToolError(
                "The project {name} contains nothing from {path}.",
                code="not_found",
                path=where.shown,
                name=project.name,
            )
        return ToolResult.ok(project=project.name, files=count)

    async def _remove_page(self, address: str, context: ToolContext) -> ToolResult:
        names = []
        for project in await self.visible(context):
            if (await self.projects.query(project.id, EntityKind.PAGE, {"path": address}, "", 1))[1]:
                await self.projects.forget_path(project.id, address)
                names.append(project.name)
        if not names:
            raise ToolError("No project holds the page {url}.", code="not_found", url=address)
        return ToolResult.ok(project=", ".join(names), files=len(names))


def _any(paths: Sequence[str]) -> bool:
    """Whether any of them exists."""
    return any(Path(path).exists() for path in paths)
