"""The services of the engine, listed once: created by the open engine, called by the window. Imports none of them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from atelier_desk.engine.services.agents import AgentService
    from atelier_desk.engine.services.api_key_storage import KeyService
    from atelier_desk.engine.services.approvals import ApprovalService
    from atelier_desk.engine.services.attachments import AttachmentService
    from atelier_desk.engine.services.audit import AuditService
    from atelier_desk.engine.services.background_commands import CommandService
    from atelier_desk.engine.services.chat_import import ChatService
    from atelier_desk.engine.services.data_folder_and_backups import DataService
    from atelier_desk.engine.services.file_changes_and_trust import FileService
    from atelier_desk.engine.services.imported_data_confirmation import ImportedDataService
    from atelier_desk.engine.services.mcp import McpService
    from atelier_desk.engine.services.mcp_import import McpImportService
    from atelier_desk.engine.services.media import MediaService
    from atelier_desk.engine.services.memories import MemoryService
    from atelier_desk.engine.services.message_pins_and_branches import MessageService
    from atelier_desk.engine.services.models import ModelService
    from atelier_desk.engine.services.own_tools import OwnToolService
    from atelier_desk.engine.services.permissions import PermissionService
    from atelier_desk.engine.services.projects import ProjectService
    from atelier_desk.engine.services.prompts import PromptService
    from atelier_desk.engine.services.providers import ProviderService
    from atelier_desk.engine.services.questions import QuestionService
    from atelier_desk.engine.services.reports import ReportService
    from atelier_desk.engine.services.sent_request_inspector import InspectorService
    from atelier_desk.engine.services.settings import SettingsService
    from atelier_desk.engine.services.skills import SkillService
    from atelier_desk.engine.services.step_mode import SteppingService
    from atelier_desk.engine.services.tasks import TaskService
    from atelier_desk.engine.services.teams import TeamService
    from atelier_desk.engine.services.tools import ToolService
    from atelier_desk.engine.services.usage import UsageService
    from atelier_desk.engine.services.web import WebService
    from atelier_desk.engine.services.workflows import WorkflowService


class Services:
    """A new service is one line here; its class is in the module of ``engine/services`` with its name, or in that of
    ``MODULES``.
    """

    workflows: WorkflowService
    messages: MessageService
    agents: AgentService
    providers: ProviderService
    keys: KeyService
    models: ModelService
    tasks: TaskService
    memories: MemoryService
    reports: ReportService
    files: FileService
    chats: ChatService
    commands: CommandService
    questions: QuestionService
    approvals: ApprovalService
    permissions: PermissionService
    audit: AuditService
    teams: TeamService
    inspector: InspectorService
    settings: SettingsService
    data: DataService
    imported_data: ImportedDataService
    own_tools: OwnToolService
    tools: ToolService
    skills: SkillService
    prompts: PromptService
    stepping: SteppingService
    usage: UsageService
    attachments: AttachmentService
    mcp: McpService
    mcp_import: McpImportService
    web: WebService
    media: MediaService
    projects: ProjectService


SERVICES: dict[str, str] = dict(Services.__annotations__)
"""Class name of each service, by name."""

MODULES: dict[str, str] = {
    "chats": "chat_import",
    "commands": "background_commands",
    "data": "data_folder_and_backups",
    "files": "file_changes_and_trust",
    "imported_data": "imported_data_confirmation",
    "inspector": "sent_request_inspector",
    "keys": "api_key_storage",
    "messages": "message_pins_and_branches",
    "stepping": "step_mode",
}
"""Modules of services whose short name does not say what is inside."""

PARTS: dict[str, str] = {
    "runs.answering": "engine.runs.answering.Answering",
    "runs.editing": "engine.runs.pins_and_compaction_undo.ContextEditing",
    "runs.remembering": "engine.runs.memory_extraction.MemoryExtraction",
    "runs.steering": "engine.runs.pause_resume_step.Steering",
    "runs.titles": "engine.runs.workflow_titles.Titles",
    "runs.waiting": "engine.runs.queued_messages.WaitingMessages",
    "files.cleaning": "engine.services.common.checkpoint_cleaning.CheckpointCleaning",
    "mcp.content": "engine.services.common.mcp_resources_prompts.McpContent",
    "models.downloads": "llm.local.download.Downloads",
    "permissions.trials": "engine.services.common.rule_dry_run.RuleTrials",
    "workflows.exporting": "engine.services.workflow.exporting.WorkflowExport",
}
"""Further objects called by the window: parts of services and runs, each with its class below ``atelier_desk``."""


def service_class(name: str) -> type:
    """The class of a service, which is loaded by this.

    Raises:
        KeyError: there is no such service.
    """
    found: type = getattr(import_module(f"atelier_desk.engine.services.{MODULES.get(name, name)}"), SERVICES[name])
    return found
