"""The proxies between nodes and servers, in a container: `python -m tests.ha.containers.proxy NODES SERVER...`.

Node n reaches server s (both from 1 on) at port `port_of(n, s)`. On `CONTROL_PORT` one line is one order, answered with
a line: `break NODE WAY`, `slow NODE SECONDS`, `heal NODE`.
"""

from __future__ import annotations

import asyncio
import signal
import sys

from tests.ha.proxy import EngineProxy, Way

CONTROL_PORT = 5400
DATABASE_PORT = 5432


def port_of(node: int, server: int) -> int:
    """Return the port where a node reaches a server."""
    return CONTROL_PORT + 10 * node + server


class NodeProxies:
    """The proxies of all nodes."""

    def __init__(self) -> None:
        self._proxies: dict[int, list[EngineProxy]] = {}

    async def start(self, nodes: int, servers: list[str]) -> None:
        """Listen for all nodes, and for orders."""
        for node in range(1, nodes + 1):
            self._proxies[node] = [EngineProxy(server, DATABASE_PORT) for server in servers]
            for number, proxy in enumerate(self._proxies[node], 1):
                await proxy.start("0.0.0.0", port_of(node, number))
        await asyncio.start_server(self._follow, "0.0.0.0", CONTROL_PORT)

    async def _follow(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            self.obey(*line.decode().split())
            writer.write(b"done\n")
        writer.close()

    def obey(self, order: str, node: str, value: str = "") -> None:
        """Carry out one order."""
        for proxy in self._proxies[int(node)]:
            if order == "break":
                proxy.break_off(Way[value])
            elif order == "slow":
                proxy.delay_s = float(value)
            else:
                proxy.heal()


async def main() -> None:
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    await NodeProxies().start(int(sys.argv[1]), sys.argv[2:])
    await ended.wait()


if __name__ == "__main__":
    asyncio.run(main())
