"""The command line with a scripted model: ``python -m tests.cli.scripted_program ARGUMENTS``.

Its environment has ``TEST_STEPS``, the steps of the model as JSON. With ``TEST_GATE`` a reply never ends; with
``TEST_HANG`` a run cannot be interrupted.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

from atelier_desk.__main__ import main
from atelier_desk.domain.model_messages import ToolCall
from atelier_desk.engine.atelier import Atelier
from atelier_desk.llm.scripted_model import ScriptedModel
from atelier_desk.llm.secrets import KeyVault
from tests.engine.conftest import WordEmbedder


def step(value: Any) -> Any:
    return [ToolCall(**call) for call in value] if isinstance(value, list) else value


async def hang(*_given: Any) -> None:
    await asyncio.Event().wait()


if __name__ == "__main__":
    real, steps = Atelier.open, [step(value) for value in json.loads(os.environ["TEST_STEPS"])]
    if os.environ.get("TEST_HANG"):
        from atelier_desk.engine.runs.live_runs import LiveRuns

        assert callable(LiveRuns.interrupt)
        LiveRuns.interrupt = hang  # type: ignore[method-assign, assignment]

    def opened(data_dir: Any = None, **options: Any) -> Any:
        gate = asyncio.Event() if os.environ.get("TEST_GATE") else None
        model = ScriptedModel(steps, gate=gate)
        parts: dict[str, Any] = {"embedder": WordEmbedder(), "vault": KeyVault(), "fsync": False}
        return real(data_dir, model_factory=lambda agent: model, **parts, **options)

    Atelier.open = opened  # type: ignore[method-assign]
    sys.exit(main())
