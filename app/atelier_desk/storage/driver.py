"""The SurrealDB driver without its ways to a database elsewhere, and with compiled CBOR.

Importing the driver imports all its connections, and with them two whole HTTP clients and a second websocket client. The database here is
in the same process: without them every start is a tenth of a second shorter and the program 13 MB smaller.
"""

from __future__ import annotations

import importlib
import sys
import threading
from functools import partial
from importlib.util import find_spec
from types import ModuleType
from typing import Any

_ELSEWHERE = {
    "async_http": ("AsyncHttpSurrealConnection",),
    "blocking_http": ("BlockingHttpSurrealConnection",),
    "blocking_ws": ("BlockingSurrealSession", "BlockingSurrealTransaction", "BlockingWsSurrealConnection"),
    "blocking_embedded": ("BlockingEmbeddedSurrealConnection",),
}
"""The driver's connections that are not needed, by their modules, and what the driver takes from each."""
_importing = threading.Lock()


def surrealdb() -> Any:
    """The driver's package. The first call takes some 0.1 s; it belongs into a thread."""
    with _importing:
        if "surrealdb" not in sys.modules:
            _import()
        if find_spec("cbor2") is not None:  # there is none to install for Macs with Intel's processors
            importlib.import_module("atelier_desk.storage.cbor").take_over()
    return importlib.import_module("surrealdb")


def _import() -> None:
    named = {f"surrealdb.connections.{module}": classes for module, classes in _ELSEWHERE.items()}
    stands = {name: _stand_in(name, classes) for name, classes in named.items() if name not in sys.modules}
    sys.modules.update(stands)
    try:
        importlib.import_module("surrealdb")
    finally:
        for name in stands:  # whoever asks for the module itself gets the real one
            sys.modules.pop(name, None)


def _stand_in(name: str, classes: tuple[str, ...]) -> ModuleType:
    """A module with classes that give objects of the real ones, which are only then imported."""
    module = ModuleType(name)
    for each in classes:
        setattr(module, each, type(each, (), {"__new__": partial(_real, name, each)}))
    return module


def _real(name: str, made: str, _class: type, *args: Any, **fields: Any) -> Any:
    return getattr(importlib.import_module(name), made)(*args, **fields)
