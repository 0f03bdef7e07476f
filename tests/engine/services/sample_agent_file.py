"""The file of an agent."""

from __future__ import annotations

FILE = {
    "name": "Researcher", "lifecycle": "permanent", "provider": "ollama", "model": "qwen3:4b", "temperature": 0.2,
    "max_tokens": 4096,
    "system_prompt": "…", "tools": ["TodoTool", "MemoryTool"], "sections": ["web_ops"], "mcp_servers": [],
    "tool_mode": "direct", "tool_dialect": "auto", "max_tool_iterations": 50, "enable_thinking": True,
    "effort": "medium",
    "question_timeout_s": 300,
    "approval": "selective",
    "budget": {"max_cost": 1.0, "max_tokens": 200000, "max_seconds": 900, "max_tool_calls": 100},
}  # fmt: skip
