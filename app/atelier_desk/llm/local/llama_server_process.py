"""The child process that runs llama.cpp's server; its output is llama.cpp's log.

It gets one request, a configuration (``ServerConfig`` and ``api_key``), and answers with ``http://127.0.0.1:PORT``. It
is ended by a signal: destroying the server while it generates blocks for minutes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from atelier_desk.support.worker.child import serve

_servers: list[Any] = []
"""Keeps the server alive as long as the process."""


def _start(config: Mapping[str, object]) -> str:
    """Load the model and listen on a random loopback port; return the address when the server is ready."""
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
    params.cache_ram_mib = 512  # the default caches up to 8 GiB of old prompts
    params.api_keys = [config["api_key"]]
    _servers.append(xllamacpp.Server(params))
    return str(_servers[-1].listening_address)


if __name__ == "__main__":
    serve(lambda config, _data, _tell: _start(config))
