"""Atelier's side of the processes that run users' tool files: one per description or call.

A process is asked to end and killed ``TOOL_ENDS_S`` later; everything a call started ends with it.
"""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Callable, Mapping
from typing import Any

from atelier_desk.domain import limits
from atelier_desk.domain.errors import AtelierError, ToolError, UsageError
from atelier_desk.domain.limits import TOOL_ENDS_S
from atelier_desk.support.i18n import N_
from atelier_desk.support.logs import redact
from atelier_desk.support.worker.environment import environment
from atelier_desk.support.worker.errors import Failed, WorkerError
from atelier_desk.support.worker.requests_to_child import Worker
from atelier_desk.tools.user_tools.tool_files import ToolFile

log = logging.getLogger(__name__)

WORKERS = 16
"""Maximum concurrent processes, about 35 MB each; further calls wait."""
FINISH_S = 1.0
"""Seconds that a worker has after its answer to flush; threads left by a tool do not extend it."""
MOST_ANSWER = 4 * limits.RESULT_STORED
"""Maximum bytes of an answer; the worker itself cuts results to ``limits.RESULT_STORED`` bytes."""
_MODULE = "atelier_desk.tools.user_tools.worker"

Progress = Callable[[int, str], None]


class ToolProcesses:
    """The workers of a running Atelier."""

    def __init__(self, most: int = WORKERS) -> None:
        self._free = asyncio.Semaphore(most)
        self._working: set[Worker] = set()

    @property
    def pids(self) -> list[int]:
        """Process ids of the running workers."""
        return [worker.pid for worker in self._working]

    async def describe(self, file: ToolFile) -> list[dict[str, Any]]:
        """Run the file and return its tools as described by ``worker.describe``. Cancelling ends the process.

        Raises:
            UsageError: the problem with the file.
        """
        try:
            return list(await self._asked(file, {"do": "describe", "file": _order(file)}, lambda _told: None))
        except WorkerError as error:
            raise UsageError(
                N_("The file {name} cannot be run: {reason}"), name=file.name, reason=str(error)
            ) from error

    async def call(
        self, file: ToolFile, tool: str, arguments: dict[str, object], context: dict[str, object], progress: Progress
    ) -> tuple[str, dict[str, Any]]:
        """Make one call: returns ``("result", …)`` or ``("ask", …)`` from ``worker``. Cancelling ends the process and
        all it started.

        Raises:
            ToolError: the function failed, in words for the model: type, message and line.
            AtelierError: raised by the function, or by the check of its arguments.
        """
        order = {"do": "call", "file": _order(file), "tool": tool, "arguments": arguments, "context": context}
        try:
            ((kind, content),) = (await self._asked(file, order, lambda told: progress(*told))).items()
        except WorkerError as error:
            log.warning("tool %s failed: %s\n%s", tool, error, getattr(error, "trace", ""))
            reason = redact(str(error))[:500]
            raise ToolError(
                f"{tool} failed: {reason}. Try other arguments or go on without it.", code="internal_error"
            ) from error
        return kind, content

    async def aclose(self) -> None:
        """End every worker."""
        await asyncio.gather(*(worker.end(gently_s=TOOL_ENDS_S) for worker in list(self._working)))

    async def _asked(self, file: ToolFile, order: Mapping[str, object], told: Callable[[Any], None]) -> Any:
        """Return the answer of a new worker.

        Raises:
            WorkerError: it did not answer, or raised something not meant for people.
            AtelierError: raised and meant for people.
        """
        async with self._free:
            worker = await Worker.start(_MODULE, env=environment(), most=MOST_ANSWER)
            self._working.add(worker)
            gently_s = TOOL_ENDS_S
            try:
                found = (await worker.ask(order, told=told)).value
                gently_s = 0
                return found
            except Failed as error:
                gently_s = 0
                if error.template:
                    raise _rebuilt(file, error) from error
                raise
            finally:
                try:
                    if not gently_s:
                        await worker.exited_within(FINISH_S)
                    await worker.end(gently_s=gently_s)
                finally:
                    self._working.discard(worker)
                    if worker.printed:
                        log.info("tool file %s printed: %s", file.name, worker.printed.rstrip())


def _order(file: ToolFile) -> dict[str, str]:
    return {
        "name": file.name,
        "path": str(file.path),
        "sha256": file.sha256,
        "data": base64.b64encode(file.data).decode(),
    }


def _rebuilt(file: ToolFile, failed: Failed) -> AtelierError:
    if failed.trace:
        log.warning("tool file %s failed\n%s", file.name, failed.trace)
    error = UsageError(failed.template, code=failed.code)
    error.params = {name: redact(str(value)) for name, value in failed.params.items()}
    return error
