"""The scripted server of all frameworks: OpenAI-compatible, in its own process, so that its work counts for nobody.

It has no state: the answer follows from the request alone, so any number of runs can work at once. The name of the
model selects the script, and the number of tool results after the last question is the position in it:

* ``tools-N``: N turns with one call each, then the answer.
* ``lines-N``: the same, each call appends "line 1." and so on; the answer lists in JSON the numbers of the lines that
  no result names.
* ``words-N``: an answer of N words, each a delta of its own when streamed.

Run: ``python -m tests.bench.peers.scripted_server``; prints its port, ends with its standard input.
"""

from __future__ import annotations

import asyncio
import json
import sys
from functools import lru_cache
from typing import Any

TOOL = "CalculatorTool"
ANSWER = "It is 42."
PIECE = 5
"""Characters of text and of arguments in one delta of a ``tools-N`` answer."""
USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}


def _sse(delta: dict[str, Any] | None, model: str, finish: str | None = None) -> bytes:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    chunk: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": model,
        "choices": choices,
    }
    if delta is None:
        chunk["usage"] = USAGE
    return f"data: {json.dumps(chunk)}\n\n".encode()


def _call(kind: str, turn: int) -> tuple[str, str, str]:
    """The id, the tool and the arguments of a turn's call, different each turn: no loop detection stops them."""
    if kind == "lines":
        return f"call_{turn}", "append_line", json.dumps({"line": f"line {turn + 1}."})
    return f"call_{turn}", TOOL, json.dumps({"operation": "eval", "expression": f"{turn + 2}*7"})


@lru_cache(maxsize=256)
def answer(model: str, turn: int, stream: bool, text: str) -> bytes:
    """The body of an answer, after ``turn`` tool results; ``text`` is the last one."""
    kind, _, count = model.partition("-")
    calls = kind != "words" and turn < int(count)
    if not stream:
        message: dict[str, Any] = {"role": "assistant", "content": None if calls else text}
        if calls:
            identity, tool, arguments = _call(kind, turn)
            message["tool_calls"] = [
                {"id": identity, "type": "function", "function": {"name": tool, "arguments": arguments}}
            ]
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
        completion = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": model,
            "choices": [choice],
            "usage": USAGE,
        }
        return json.dumps(completion).encode()
    parts = [_sse({"role": "assistant", "content": None}, model)]
    if calls:
        identity, tool, arguments = _call(kind, turn)
        head = {"index": 0, "id": identity, "type": "function", "function": {"name": tool, "arguments": ""}}
        parts.append(_sse({"tool_calls": [head]}, model))
        for start in range(0, len(arguments), PIECE):
            delta = {"index": 0, "function": {"arguments": arguments[start : start + PIECE]}}
            parts.append(_sse({"tool_calls": [delta]}, model))
    else:
        parts += [_sse({"content": text[start : start + PIECE]}, model) for start in range(0, len(text), PIECE)]
    parts += [_sse({}, model, "tool_calls" if calls else "stop"), _sse(None, model), b"data: [DONE]\n\n"]
    return b"".join(f"{len(part):x}\r\n".encode() + part + b"\r\n" for part in parts) + b"0\r\n\r\n"


def _results(messages: list[dict[str, Any]]) -> list[str]:
    """Number of tool results after the last message of a person."""
    questions = [number for number, message in enumerate(messages) if message["role"] == "user"]
    latest = messages[questions[-1] if questions else 0 :]
    return [json.dumps(message["content"]) for message in latest if message["role"] == "tool"]


def _last_text(model: str, results: list[str]) -> str:
    kind, _, count = model.partition("-")
    if kind == "words":
        return "word " * int(count)
    if kind == "lines":
        return json.dumps(
            [line for line in range(1, int(count) + 1) if not any(f"line {line}." in result for result in results)]
        )
    return ANSWER


def _send_json(writer: asyncio.StreamWriter, body: bytes) -> None:
    writer.write(
        f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body
    )


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of one connection."""
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            length = next(
                (line for line in head.split("\r\n") if line.startswith("content-length:")), "content-length: 0"
            )
            content = await reader.readexactly(int(length.partition(":")[2]))
            if head.startswith("get "):
                _send_json(writer, b'{"object": "list", "data": []}')
                continue
            request = json.loads(content)
            results, model = _results(request["messages"]), request["model"]
            stream = bool(request.get("stream"))
            body = answer(model, len(results), stream, _last_text(model, results))
            if stream:
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n" + body
                )
            else:
                _send_json(writer, body)
            await writer.drain()
    except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
        pass  # the client has disconnected, or the benchmark has ended
    finally:
        writer.close()


async def main() -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=64 * 2**20, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
