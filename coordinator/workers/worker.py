"""A worker: a node that a supervisor has started with `python -m coordinator.workers.worker` (see `messages.py`).

It is the ordinary server on sockets that the supervisor has bound and keeps open: while a dead worker is restarted,
clients that connect wait in the backlog instead of being refused.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
from pathlib import Path
from typing import Final

from coordinator.config.values import parse_address
from coordinator.server import server
from coordinator.server.internal_listener import InternalListener, login_of
from coordinator.server.log_format import write_log_to_stderr
from coordinator.server.startup import StartupError
from coordinator.server.supervised import Supervised
from coordinator.workers.messages import READY, WorkerOrder, status_line

STDIN: Final = 0


def _line() -> bytes:
    """Read a line of stdin, empty at its end. Unbuffered, because at exit Python waits for the lock of a buffer."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(STDIN, 1)
        if not byte:
            return b""
        line += byte
    return line


def _supervised(order: WorkerOrder) -> Supervised:
    internal = order.internal
    return Supervised(
        [socket.socket(fileno=each) for each in order.listen_fds],
        order.http_address,
        None if internal is None else InternalListener(socket.socket(fileno=internal.fd), login_of(internal.secret)),
        {} if internal is None else {node: parse_address(each) for node, each in internal.addresses.items()},
        Path(order.documents_dir),
    )


def main() -> int:
    order = WorkerOrder.parse(_line())
    config = order.config
    write_log_to_stderr(
        order.log_level, config.log_format, node_id=config.node_id, most_sources=config.log_lines_max_sources
    )
    out = sys.stdout.buffer

    def report_ready(*addresses: str) -> None:
        out.write(READY)
        out.flush()

    node = server.Server(order.config, _supervised(order))

    def answer_status() -> None:
        """Answer requests for the status; end the process when the supervisor has ended."""
        while _line():
            out.write(status_line(node.status()))
            out.flush()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=answer_status, name="supervisor", daemon=True).start()
    try:
        return server.run_node(node, ready=report_ready)
    except StartupError as error:
        logging.getLogger("coordinator.server").error("%s", error)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
