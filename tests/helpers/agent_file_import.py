"""Import an agent file the way the window and the command line do."""

from __future__ import annotations

from atelier_desk.domain.agent import Agent
from atelier_desk.engine.services.agents import AgentService


async def import_agent(agents: AgentService, text: str, on_conflict: str = "rename") -> Agent:
    return await agents.import_config((await agents.read_file(text, "agent.json")).config, on_conflict)
