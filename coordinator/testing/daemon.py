"""The daemon with verbs: `coordinator serve` under the test profile, or with a token.

The HTTP port belongs to the process and not to the server, so that it answers while the server is down.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from coordinator.metrics.http_server import HttpPortError, open_http
from coordinator.server.server import STOP_S, STOP_SIGNALS, SWITCH_S, PortFiles, StartupError, loop_factory
from coordinator.server.stop_watchdog import watchdog
from coordinator.testing.host import ServerHost
from coordinator.testing.http import VerbCommands
from coordinator.testing.verbs import Verbs

if TYPE_CHECKING:
    from coordinator.config.config import Config


def run(config: Config, files: PortFiles, *, ready: Callable[[str], None]) -> int:
    """Serve until SIGTERM, SIGINT or SIGHUP, with verbs. Returns the exit code. Raises StartupError."""
    sys.setswitchinterval(SWITCH_S)
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(_serve(config, files, ready))


async def _serve(config: Config, files: PortFiles, ready: Callable[[str], None]) -> int:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, stop.set)
    host = ServerHost(replace(config, http_listen="off"), is_own_process=True)
    commands = VerbCommands(Verbs(host), loop, config.test_verbs_token)
    http = None
    try:
        await host.start()
        try:
            http = open_http(config, host.status, commands)
        except HttpPortError as error:
            raise StartupError(str(error)) from None
        files.write(host.port, "" if http is None else http.bound)
        ready(host.bootstrap_servers)
        await stop.wait()
    finally:
        with watchdog("the stop", STOP_S):
            await host.close()
            if http is not None:
                http.close()
    return 0
