"""An Ollama found on this machine."""

from __future__ import annotations

from types import SimpleNamespace

OLLAMA = SimpleNamespace(
    kind="ollama", software="Ollama", base_url="http://127.0.0.1:11434", models=("qwen3:4b", "llama3.2")
)
