"""The daemon with verbs: `coordinator serve` under the test profile, or with a token.

The HTTP port belongs to the process and not to the server, so that it answers while the server is down.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from coordinator.config.values import is_loopback
from coordinator.core.cluster import ClusterNode
from coordinator.http.parts import HttpParts
from coordinator.http.port import HttpPort, HttpPortError, open_http, tls_config
from coordinator.server.server import PortFiles, run_node
from coordinator.server.startup import StartupError
from coordinator.testing.host import ServerHost
from coordinator.testing.http import PREFIX, VerbCommands
from coordinator.testing.verbs import Verbs

if TYPE_CHECKING:
    from coordinator.config.config import Config
    from coordinator.console.source import ConsoleSource


def run(
    config: Config, files: PortFiles, *, ready: Callable[..., None], verbs_at: Callable[[str], None] = lambda url: None
) -> int:
    """Serve until SIGTERM, SIGINT or SIGHUP, with verbs. Returns the exit code. Raises StartupError.

    `verbs_at` is called with the URL of the verbs, if there is an HTTP port, and then `ready`.
    """
    address = config.http_address
    if address is not None and not config.test_verbs_token and not is_loopback(address.host):
        raise StartupError(
            f"the verbs for tests would be open to the network at {address}: serve them on this machine with "
            "--http 127.0.0.1:9080, or have them ask for a token with test.verbs.token "
            "(COORDINATOR_TEST_VERBS_TOKEN in the environment)"
        )
    node = _Node(config)

    def announce(*addresses: str) -> None:
        if node.http_address:
            verbs_at(f"http{'s' if tls_config(config) else ''}://{node.http_address}{PREFIX}")
        ready(*addresses)

    return run_node(node, files, ready=announce)


class _Node:
    """A server that verbs stop and start, and the HTTP port beside it."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._host = ServerHost(replace(config, http_listen="off"), is_own_process=True)
        self._http: HttpPort | None = None

    @property
    def host(self) -> str:
        return self._host.host

    @property
    def port(self) -> int:
        return self._host.port

    @property
    def addresses(self) -> list[str]:
        return self._host.announced

    @property
    def http_address(self) -> str:
        return "" if self._http is None else self._http.bound

    async def start(self) -> None:
        """Open the HTTP port, which says why the server is not ready yet, and start the server."""
        commands = VerbCommands(Verbs(self._host), asyncio.get_running_loop(), self._config.test_verbs_token)
        try:
            self._http = open_http(self._config, HttpParts(self._host.status, commands, self._console))
        except HttpPortError as error:
            raise StartupError(str(error)) from None
        self._host.http_address = self.http_address
        await self._host.start()

    def _console(self) -> ConsoleSource:
        """Return the console. Called once, on the loop of the HTTP port."""
        from coordinator.server.console_source import console_of  # late: see `HttpPort`

        entrance = self._host.entrance
        assert entrance is not None
        return console_of(
            self._config, lambda: [ClusterNode(self._config.node_id, self.host, self.port)], entrance.links
        )

    async def stop(self) -> None:
        """Stop the server, and then the HTTP port."""
        await self._host.close()
        if self._http is not None:
            self._http.close()
