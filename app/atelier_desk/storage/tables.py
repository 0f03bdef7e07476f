"""How each domain model is stored; the migrations define the same columns."""

from __future__ import annotations

from atelier_desk.domain.agent import Agent
from atelier_desk.domain.approval import ApprovalRequest
from atelier_desk.domain.audit import AuditEntry
from atelier_desk.domain.mcp import McpEntry
from atelier_desk.domain.memory import DeletedMemory, Memory
from atelier_desk.domain.permission import PermissionRule
from atelier_desk.domain.project import Project
from atelier_desk.domain.prompt import Prompt
from atelier_desk.domain.provider import ModelInfo, ProviderConfig
from atelier_desk.domain.question import UserQuestion
from atelier_desk.domain.system_prompt_and_tools import PromptFrame
from atelier_desk.domain.task import Task
from atelier_desk.domain.workflow import Message, Report, Run, ToolExecution, Workflow
from atelier_desk.storage.row_mapping import Table
from atelier_desk.support.i18n import N_

_RUN_LINKS = {"workflow_id": "workflow", "run_id": "run"}


WORKFLOWS: Table[Workflow] = Table(
    "workflow",
    Workflow,
    links={"head_run_id": "run"},
    json_fields={"usage", "choices", "draft_attachments"},
    order=("unpinned", "recency"),
)
RUNS: Table[Run] = Table(
    "run",
    Run,
    links={"workflow_id": "workflow", "previous_run_id": "run", "parent_run_id": "run"},
    json_fields={"usage"},
)
MESSAGES: Table[Message] = Table(
    "message",
    Message,
    links=_RUN_LINKS,
    json_fields={"usage", "details"},
    order=("back",),
    hashed=N_("Workflow {workflow}, run {run}: the message {row} is damaged."),
    changing=("pinned",),
)
EXECUTIONS: Table[ToolExecution] = Table(
    "tool_execution",
    ToolExecution,
    links=_RUN_LINKS,
    json_fields={"arguments", "result", "presentation", "parts"},
    order=("recency",),
    hashed=N_("Workflow {workflow}, run {run}: the tool call {row} is damaged."),
)
TASKS: Table[Task] = Table(
    "task",
    Task,
    links={"workflow_id": "workflow"},
    hashed=N_("Workflow {workflow}: the task {row} is damaged."),
)
MEMORIES: Table[Memory] = Table(
    "memory",
    Memory,
    links={"workflow_id": "workflow"},
    order=("recency",),
    hashed=N_("The memory {row} is damaged."),
    changing=("tainted", "embedder", "retrieved_by"),
)
MEMORY_BIN: Table[DeletedMemory] = Table(
    "memory_bin", DeletedMemory, links={"workflow_id": "workflow"}, json_fields={"merged"}, order=("recency",)
)
QUESTIONS: Table[UserQuestion] = Table(
    "user_question",
    UserQuestion,
    links=_RUN_LINKS,
    json_fields={"spec", "lineage"},
    hashed=N_("Workflow {workflow}, run {run}: the question {row} is damaged."),
    changing=("seen_ms",),
)
APPROVALS: Table[ApprovalRequest] = Table(
    "approval_request",
    ApprovalRequest,
    links=_RUN_LINKS,
    json_fields={"arguments", "edited", "details", "lineage", "presentation", "subjects"},
    hashed=N_("Workflow {workflow}, run {run}: the approval {row} is damaged."),
    changing=("seen_ms",),
)
AUDIT: Table[AuditEntry] = Table(
    "audit",
    AuditEntry,
    links=_RUN_LINKS,
    order=("recency",),
)
FRAMES: Table[PromptFrame] = Table(
    "prompt_frame",
    PromptFrame,
    links={"workflow_id": "workflow"},
    json_fields={"tools"},
    hashed=N_("Workflow {workflow}: the record {row} of instructions and tools sent to a model is damaged."),
)
REPORTS: Table[Report] = Table(
    "report",
    Report,
    links={"workflow_id": "workflow"},
    hashed=N_("Workflow {workflow}: the database entry of the report {row} is damaged."),
)
RULES: Table[PermissionRule] = Table(
    "permission_rule",
    PermissionRule,
    hashed=N_("The permission rule {row} is damaged."),
    changing=("last_matched_at",),
)
AGENTS: Table[Agent] = Table(
    "agent",
    Agent,
    json_fields={"config"},
    extra=lambda agent: {"name": agent.name},
    order=("name",),
    hashed=N_("The agent {row} is damaged."),
)
PROVIDERS: Table[ProviderConfig] = Table(
    "provider",
    ProviderConfig,
    key=lambda provider: provider.name,
    json_fields={"headers"},
    hashed=N_("The entry of the provider {row} is damaged."),
)
MCP_SERVERS: Table[McpEntry] = Table(
    "mcp_server",
    McpEntry,
    key=lambda entry: entry.name,
    json_fields={"config", "known"},
    hashed=N_("The entry of the MCP server {row} is damaged."),
)
PROJECTS: Table[Project] = Table(
    "project", Project, extra=lambda project: {"folded": project.name.casefold()}, order=("folded",)
)
PROMPTS: Table[Prompt] = Table(
    "prompt",
    Prompt,
    extra=lambda prompt: {"folded": prompt.name.casefold()},
    order=("folded",),
    hashed=N_("The prompt {row} is damaged."),
    changing=("tainted",),
)
MODELS: Table[ModelInfo] = Table("model", ModelInfo, key=lambda model: [model.provider, model.name])

OWNED = (
    "partial_reply",
    "run_event",
    "message",
    "tool_execution",
    "task",
    "user_question",
    "approval_request",
    "audit",
    "prompt_frame",
    "memory_vector",
    "memory",
    "memory_bin",
    "report",
    "run",
)
"""Tables whose rows belong to a workflow, in the order of deletion."""
