"""The nearest ceiling: what a Python server on uvloop costs when it does nothing at all.

`data_received` writes back what came. The coordinator's cost per request is reported as a ratio to this, at the same
number of connections and the same request size, so that a slow machine does not look like a slow coordinator.
Usage: echo_uvloop.py PORT_FILE
"""

from __future__ import annotations

import asyncio
import gc
import resource
import sys
from pathlib import Path
from typing import cast

import uvloop


class Echo(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.write = cast(asyncio.WriteTransport, transport).write  # uvloop's transport is no subclass of asyncio's

    def data_received(self, data: bytes) -> None:
        self.write(data)


async def serve(port_file: Path) -> None:
    server = await asyncio.get_running_loop().create_server(Echo, "127.0.0.1", 0, backlog=1024)
    temporary = port_file.with_suffix(".new")
    temporary.write_text(f"{server.sockets[0].getsockname()[1]}\n")
    temporary.rename(port_file)
    gc.freeze()
    await server.serve_forever()


if __name__ == "__main__":
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    uvloop.run(serve(Path(sys.argv[1])))
