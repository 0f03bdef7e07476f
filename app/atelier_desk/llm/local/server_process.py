"""The child process that runs llama.cpp's server: ``python -m atelier_desk.llm.local.server_process``.

Protocol, one JSON object a line:

- stdin: first the configuration ``{"model", "alias", "n_ctx", "n_threads", "n_parallel", "api_key"}``, then nothing. End of file ends
  the process at once, so that it never outlives its parent, however that one died.
- stdout: ``{"event": "ready", "address": "http://127.0.0.1:PORT"}`` or ``{"event": "error", "message": …}``.
- stderr: llama.cpp's log.

``os._exit`` on purpose: destroying the server while it generates blocks for minutes, and SIGINT does not stop it.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any, TextIO


def main() -> None:
    """Read the configuration, start the server, say so, and wait for the end of stdin."""
    replies = _take_stdout()
    first = sys.stdin.readline()
    if not first:
        os._exit(0)
    config = json.loads(first)
    watcher = threading.Thread(target=_exit_with_parent, name="stdin-watcher", daemon=True)
    watcher.start()
    try:
        server = _start(config)
    except Exception as error:  # whatever llama.cpp raises, the parent must hear of it
        _say(replies, {"event": "error", "message": f"{type(error).__name__}: {error}"})
        os._exit(1)
    _say(replies, {"event": "ready", "address": server.listening_address})
    watcher.join()


def _start(config: dict[str, Any]) -> Any:
    """Load the model and listen on a random loopback port; returns when the server answers."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = config["model"]
    params.model_alias = {config["alias"]}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = config["n_ctx"]
    params.n_parallel = config["n_parallel"]
    params.kv_unified = True
    params.cpuparams.n_threads = config["n_threads"]
    params.cpuparams_batch.n_threads = config["n_threads"]
    params.use_jinja = True
    params.ui = False
    params.offline = True
    params.cache_ram_mib = 512  # the default keeps up to 8 GiB of old prompts in memory
    params.api_keys = [config["api_key"]]
    return xllamacpp.Server(params)


def _take_stdout() -> TextIO:
    """Keep stdout for the protocol and send everything else that is printed, by native code too, to stderr."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return replies


def _say(replies: TextIO, message: dict[str, Any]) -> None:
    replies.write(json.dumps(message) + "\n")
    replies.flush()


def _exit_with_parent() -> None:
    while sys.stdin.readline():
        continue
    os._exit(0)


if __name__ == "__main__":
    main()
