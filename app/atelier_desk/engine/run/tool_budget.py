"""Limits of a run for a tool call that itself asks a model."""

from __future__ import annotations

from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.events.run import PictureDescribed
from atelier_desk.domain.model_messages import Usage
from atelier_desk.engine.journal import RunHandle
from atelier_desk.engine.run.environment import RunEnvironment
from atelier_desk.policy import budget


class CallSpending:
    """``tools.context.Spending`` of one call."""

    def __init__(self, env: RunEnvironment, handle: RunHandle, call_id: str) -> None:
        self._env = env
        self._handle = handle
        self._call_id = call_id
        self.run_id = handle.run_id

    async def room(self, prompt_tokens: int, reply_tokens: int, prices: tuple[float, float]) -> int:
        await self._env.month.prepare()
        state = self._handle.current
        room = self._env.month.reserve(state, prompt_tokens=prompt_tokens, reply_tokens=reply_tokens, prices=prices)
        if isinstance(room, budget.ReachedLimit):
            raise ToolError("The limits of this run have no room for a request to the model that sees pictures.", code="limit")
        return room

    async def used(self, provider: str, model: str, usage: Usage, duration_ms: int) -> None:
        described = PictureDescribed(call_id=self._call_id, provider=provider, model=model, usage=usage, duration_ms=duration_ms)
        await self._env.journal.append(self._handle, described)
