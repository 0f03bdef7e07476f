"""An MCP server of the older revisions over standard input, plain JSON, fast and badly behaved.

``python mcp_stdio.py FILE``: the file defines it: ``{"tools": […], "mode": …, "notes": PATH}``; it is read
again for every list.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def tool(name: str, description: str = "A tool.", **properties: Any) -> dict[str, Any]:
    """A definition in which each parameter is required."""
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "description": description, "inputSchema": schema}


STAYS = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
ECHO = tool("echo", "Says it again.", text={"type": "string"})


def main() -> None:
    path = sys.argv[1]
    config = read(path)
    mode = config.get("mode", "")
    note(config, f"start {os.getpid()}")
    if mode == "dies":
        sys.exit(config.get("words", "no licence was found"))
    if mode == "noise":
        while True:
            print("Loading, please wait.", flush=True)
    if mode == "endless line":
        while True:
            sys.stdout.write("x" * 65536)
    if mode == "byte order mark":
        sys.stdout.write("\ufeff")
    if mode == "shouts":
        for _number in range(2_000):
            sys.stderr.write("e" * 1_000 + "\n")
    if mode == "stays":
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        note(config, f"child {subprocess.Popen([sys.executable, '-S', '-E', '-c', STAYS], start_new_session=True).pid}")
    if mode == "child":
        note(config, f"child {subprocess.Popen(['sleep', '600']).pid}")
    for line in sys.stdin:
        message = json.loads(line)
        note(config, message.get("method", "answer"))
        if mode != "hangs" and "id" in message and "method" in message:
            answer(read(path), message)
    if mode == "stays":
        time.sleep(600)


def read(path: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(path).read_text())
    return found


def note(config: dict[str, Any], text: str) -> None:
    """Record a request, in order, for the test."""
    if "notes" in config:
        with Path(config["notes"]).open("a") as file:
            file.write(text + "\n")


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def answer(config: dict[str, Any], message: dict[str, Any]) -> None:
    method, params = message["method"], message.get("params", {})
    result: Any = None
    if method == "initialize":
        info = {"name": "plain", "version": "1", **config.get("info", {})}
        offered = {"tools": {"listChanged": True}, **config.get("capabilities", {})}
        result = {"protocolVersion": "2025-06-18", "capabilities": offered, "serverInfo": info}
        result |= {"instructions": config["instructions"]} if "instructions" in config else {}
    elif method == "tools/list":
        result = {"tools": config.get("tools", [ECHO])}
        if config.get("mode") == "endless list":
            result["nextCursor"] = "more"
    elif method == "tools/call":
        result = call(message["id"], params, config.get("progress", "first"))
    elif method in config.get("answers", {}):
        result = config["answers"][method]
    elif method == "ping":
        result = {}
    if result == "nothing":
        return
    if result is None:
        send(id=message["id"], error={"code": -32601, "message": f"no such method: {method}"})
    else:
        send(id=message["id"], result=result)


def call(id: Any, params: dict[str, Any], progress: str) -> Any:
    name, arguments = params["name"], params.get("arguments", {})
    token = params.get("_meta", {}).get("progressToken")
    text: str | None = None
    match name:
        case "echo":
            text = arguments["text"]
        case "environment":
            text = json.dumps(dict(os.environ))
        case "waits":
            return "nothing"
        case "dies":
            os._exit(3)
        case "huge":
            text = "y" * (2 * 1024 * 1024)
        case "long":
            text = "z" * 200_000
        case "picture":
            return {
                "content": [
                    {"type": "image", "data": PIXEL, "mimeType": "image/png"},
                    {"type": "text", "text": "a pixel"},
                ]
            }
        case "writes":
            try:
                Path(arguments["path"]).write_text("written")
                text = "written"
            except OSError as error:
                text = f"refused: {error.strerror}"
        case "reads":
            try:
                text = Path(arguments["path"]).read_text()
            except OSError as error:
                text = f"refused: {error.strerror}"
        case "deep":
            return {"content": [], "structuredContent": json.loads('{"a":' * 400 + "1" + "}" * 400)}
        case "unasked":
            for number in range(100):
                send(id=f"never-{number}", result={})
                send(id=id + 1_000 + number, error={"code": 1, "message": "x"})
            text = "done"
        case "restless":
            for _number in range(1_000):
                send(method="notifications/tools/list_changed")
            text = "done"
        case "works":
            send(
                method="notifications/progress",
                params={"progressToken": token, "progress": 1, "total": 4, "message": progress},
            )
            text = "done"
        case "prints":
            print(progress, flush=True)
            text = "done"
        case "refuses":
            send(id=id, error={"code": -32603, "message": progress})
            return "nothing"
        case "fails":
            return {"content": [{"type": "text", "text": "there is no such page"}], "isError": True}
        case "nonsense":
            return {"content": "not a list", "isError": 7}
        case "asks":
            send(
                id="q1",
                method="elicitation/create",
                params={"message": "Your password?", "requestedSchema": {"type": "object", "properties": {}}},
            )
            text = "asked"
        case "changes":
            send(method="notifications/tools/list_changed")
            text = "changed"
        case "pings":
            for number in range(1_000_000):
                send(id=f"p{number}", method="ping")
            text = "pinged"
        case "hurries":
            for number in range(1_000):
                send(
                    method="notifications/progress", params={"progressToken": token, "progress": number, "total": 1_000}
                )
            text = "done"
        case "asks often":
            form = {"type": "object", "properties": {"name": {"type": "string"}}}
            for number in range(80):
                send(id=f"q{number}", method="elicitation/create", params={"message": "Who?", "requestedSchema": form})
            return "nothing"
        case "asks on":
            form = {"type": "object", "properties": {"password": {"type": "string"}}}
            while True:
                send(id="q", method="elicitation/create", params={"message": "Who?", "requestedSchema": form})
                if not sys.stdin.readline():
                    os._exit(0)
        case "many":
            return {"content": [], "structuredContent": {"rows": [{"a": 1}] * 300_000}}
        case "flood":
            for number in range(3_000):
                send(method="notifications/message", params={"level": "info", "data": number})
            text = "flooded"
        case _:
            text = f"called {name}"
    return {"content": [{"type": "text", "text": text}]}


if __name__ == "__main__":
    main()
