#!/usr/bin/env python3
# mypy: warn_return_any=False
# ruff: noqa: PTH123, PTH105, PTH120, PTH118, SIM115
"""A fake browser, controlled over two pipes like Chromium: it fetches the requests listed in a file, through its proxy.

The file is its first argument, JSON: ``requests`` are [url, kind, frame, asks] in order (with ``asks`` false they go to
the proxy without a question); ``html`` is the page, ``final`` its address; ``mode`` is ``dies``, ``silent``, ``noise``,
``busy`` or empty. It writes the result of each request and its process id to the file's ``.out``.
"""

import json
import os
import socket
import subprocess
import sys
import time
from typing import Any


def main() -> None:
    plan = json.load(open(os.path.join(os.path.dirname(os.path.realpath(sys.argv[0])), "plan.json")))
    options = dict(each.partition("=")[::2] for each in sys.argv[1:])
    proxy = options["--proxy-server"].removeprefix("http://").split(":")
    out: dict[str, Any] = {
        "pid": os.getpid(),
        "got": [],
        "environment": sorted(os.environ),
        "options": sys.argv[1:],
        "profile": options["--user-data-dir"],
    }

    def send() -> None:
        path = os.path.join(os.path.dirname(os.path.realpath(sys.argv[0])), "out.json")
        with open(path + ".new", "w") as file:
            json.dump(out, file)
        os.replace(path + ".new", path)

    if plan.get("mode") == "dies":
        sys.stderr.write("No usable sandbox!\n")
        send()
        sys.exit(1)
    if plan.get("mode") in ("silent", "busy"):
        out["child"] = subprocess.Popen(
            [sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True
        ).pid
    send()
    buffer = b""
    verdicts: dict[str, bool] = {}

    def report(**message: object) -> None:
        os.write(4, json.dumps(message).encode() + b"\0")

    def receive() -> dict[str, Any]:
        nonlocal buffer
        while b"\0" not in buffer:
            data = os.read(3, 65536)
            if not data:
                sys.exit(0)
            buffer += data
        text, buffer = buffer.split(b"\0", 1)
        return json.loads(text)

    def event(method: str, **params: object) -> None:
        report(method=method, params=params, sessionId="S")

    def proxied(url: str) -> str:
        try:
            with socket.create_connection((proxy[0], int(proxy[1])), 5) as link:
                if url.startswith("tunnel:"):
                    link.sendall(f"CONNECT {url[7:]} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
                else:
                    link.sendall(f"GET {url} HTTP/1.1\r\nHost: x\r\nProxy-Connection: keep-alive\r\n\r\n".encode())
                return link.recv(4096).split(b"\r\n")[0].decode()
        except OSError as error:
            return type(error).__name__

    def answer(message: dict[str, Any]) -> None:
        method, params = str(message["method"]), message.get("params") or {}
        result: dict[str, Any] = {}
        if method == "Target.createTarget":
            result = {"targetId": "T"}
        elif method == "Target.attachToTarget":
            result = {"sessionId": "S"}
        elif method in ("Fetch.continueRequest", "Fetch.failRequest"):
            verdicts[str(params["requestId"])] = method == "Fetch.continueRequest"
        elif method == "Page.getFrameTree":
            result = {"frameTree": {"frame": {"id": "T", "url": plan.get("final", "")}}}
        elif method == "DOM.getDocument":
            result = {"root": {"nodeId": 1}}
        elif method == "DOM.getOuterHTML":
            result = {"outerHTML": plan.get("html", "") * int(plan.get("times", 1))}
        if method == "Page.navigate":
            report(id=message["id"], result={"frameId": "T", "loaderId": "L"})
            shows()
        else:
            report(id=message["id"], result=result)

    def shows() -> None:
        event("Page.frameNavigated", frame={"id": "T", "loaderId": "L"})
        for number, (url, kind, frame, asks) in enumerate(plan.get("requests", ())):
            goes = True
            if asks:
                event(
                    "Fetch.requestPaused", requestId=str(number), request={"url": url}, resourceType=kind, frameId=frame
                )
                while str(number) not in verdicts:
                    answer(receive())
                goes = verdicts[str(number)]
            out["got"].append([url, proxied(url) if goes else "stopped"])
            send()
        if plan.get("mode") != "busy":
            event("Page.lifecycleEvent", name="networkIdle", loaderId="L", frameId="T")

    while True:
        message = receive()
        if plan.get("mode") == "silent":
            time.sleep(600)
        if plan.get("mode") == "noise":
            os.write(4, b"{ nothing that is JSON\0")
        answer(message)


if __name__ == "__main__":
    main()
