"""The database driver is loaded without its clients of remote servers, which remain available on request."""

from __future__ import annotations

import json
import subprocess
import sys

PROGRAM = """
import asyncio, json, sys
from atelier_desk.storage import surrealdb_driver_loader
from atelier_desk.storage.database_engine import Engine

async def main():
    engine = await Engine.open(None)
    said = (await engine.run("RETURN 6 * 7", {}))[0].value
    await engine.close()
    loaded = sorted({"aiohttp", "requests", "websockets.sync.client"} & set(sys.modules))
    module = surrealdb_driver_loader.surrealdb()
    elsewhere = [module.AsyncSurreal("http://127.0.0.1:9"), module.Surreal("ws://127.0.0.1:9")]
    from surrealdb.connections.async_http import AsyncHttpSurrealConnection
    from surrealdb.connections.blocking_ws import BlockingWsSurrealConnection
    kinds = [type(each) for each in elsewhere] == [AsyncHttpSurrealConnection, BlockingWsSurrealConnection]
    print(json.dumps([said, loaded, kinds]))

asyncio.run(main())
"""


def test_the_database_loads_no_server_client() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout, done.stderr
    assert json.loads(done.stdout) == [42, [], True]
