"""The program as the client under test of the protocol's conformance suite.

Run as ``python -m tests.helpers.mcp_conformance_client URL``. It does what a person with an agent does at any
server: adds it, signs in if required, lists its tools and calls each. ``MCP_CONFORMANCE_CONTEXT`` names the
registered client and the calls the suite wants instead.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import httpx2

from atelier_desk.domain.mcp import McpError, McpServer
from atelier_desk.domain.question import QuestionSpec, QuestionStatus, Sampling, UserQuestion
from atelier_desk.engine import Atelier
from atelier_desk.mcp import oauth
from tests.helpers.form_answers import form_answer

DOCUMENT = "https://conformance-test.local/client-metadata.json"
"""The client's metadata document, which the suite expects."""
MOST_SIGN_INS = 3


class Person:
    """Accepts the suggestions of forms; see ``mcp.server_requests.RequestHandler``."""

    roots: Sequence[str] = ()
    model = "none"

    async def refusal(self) -> str | None:
        return None

    async def ask(self, spec: QuestionSpec) -> UserQuestion:
        reply = form_answer(spec.form.defaults() if spec.form is not None else {})
        return UserQuestion(
            workflow_id="w", run_id="r", call_id="c", spec=spec, status=QuestionStatus.ANSWERED,
            selected_options=reply.selected_options, text_response=reply.text_response,
        )  # fmt: skip

    async def sample(self, server: str, sampling: Sampling) -> Mapping[str, Any]:
        return {"role": "assistant", "content": {"type": "text", "text": "Blue."}, "model": self.model}


def visit(url: str) -> None:
    """Replaces the browser: signs in at any address."""
    httpx2.get(url, follow_redirects=True, timeout=30)


def fitting(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments for the required parameters of a tool."""
    samples: dict[str, Any] = {"integer": 3, "number": 2, "boolean": True, "array": [], "object": {}}
    properties = schema.get("properties") or {}
    return {
        name: samples.get(str(properties.get(name, {}).get("type")), "text") for name in schema.get("required") or ()
    }


class Client:
    def __init__(self, atelier: Atelier) -> None:
        self._atelier, self._remaining = atelier, MOST_SIGN_INS

    async def begin(self) -> None:
        """Connect, signing in if required."""
        health = await self._atelier.mcp.test("suite")
        while not health.ok and health.code == "sign_in" and self._remaining:
            self._remaining -= 1
            health = await self._atelier.mcp.sign_in("suite")
        if not health.ok:
            raise SystemExit(f"{health.code}: {health.message}")

    async def call(self, tool: str, arguments: dict[str, Any]) -> None:
        """Call a tool, answering its server's requests."""
        given: dict[str, Any] | None = None
        state: str | None = None
        while True:
            connection = await self._atelier.mcp.connection("suite")
            with connection.answers.serving(Person()) as serving:
                try:
                    result: Any = await connection.call(tool, arguments, serving=serving, given=given, state=state)
                except McpError as error:
                    if error.code != "sign_in":
                        print(f"{tool}: {error}", file=sys.stderr)
                        return
                    await self.begin_again()
                    continue
                if not hasattr(result, "input_requests"):
                    return
                answers, questions, _note = await connection.answers.sorted(
                    result.input_requests or {}, serving.request_handler
                )
                for spec in questions:
                    assert spec.asker is not None
                    answers[spec.asker.key] = (await serving.request_handler.ask(spec)).elicited
                given, state = answers, result.request_state

    async def begin_again(self) -> None:
        if not self._remaining:
            raise SystemExit("it wants a sign-in again and again")
        self._remaining -= 1
        health = await self._atelier.mcp.sign_in("suite")
        if not health.ok:
            raise SystemExit(f"{health.code}: {health.message}")


async def main(url: str) -> None:
    setattr(oauth, "open_browser", visit)  # noqa: B010
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    own = DOCUMENT if scenario == "auth/basic-cimd" else ""
    config = McpServer(name="suite", transport="http", url=url, client_id=context.get("client_id") or own)
    secret = context.get("client_secret")
    async with Atelier.open(temporary=True) as atelier:
        await atelier.mcp.save(config, {"client:secret": secret} if secret else None, new=True)
        client = Client(atelier)
        await client.begin()
        tools = await (await atelier.mcp.connection("suite")).tools()
        calls = [(each["name"], each["arguments"]) for each in context.get("toolCalls") or ()]
        if scenario == "json-schema-2020-12-preservation":
            # The result of one tool is sent to the other, which compares it.
            schemas = {str(each["name"]): each["inputSchema"] for each in tools}
            calls = [("json_schema_echo", {"schema": schemas["json_schema_2020_12_tool"]})]
        for name, arguments in calls or [(str(each["name"]), fitting(each["inputSchema"])) for each in tools]:
            await client.call(name, arguments)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
