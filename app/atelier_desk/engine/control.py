"""What everything that acts on runs has: the environment and the runs in memory."""

from __future__ import annotations

from atelier_desk.engine.live import LiveRuns
from atelier_desk.engine.run.environment import RunEnvironment


class Control:
    """Base of the parts of the run manager."""

    def __init__(self, env: RunEnvironment, live: LiveRuns) -> None:
        self._env = env
        self._runs = live
