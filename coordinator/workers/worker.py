"""A worker: a node that a supervisor has started. `python -m coordinator.workers.worker`, spoken to by `messages.py`.

It is the ordinary server, with a socket that the supervisor has bound and keeps: while a dead worker is started again,
clients that connect wait for it instead of being refused.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
from typing import Final

from coordinator.server import server
from coordinator.server.log_format import write_log_to_stderr
from coordinator.workers.messages import READY, WorkerOrder, status_line

STDIN: Final = 0


def _line() -> bytes:
    """The next line of stdin, empty at its end. Unbuffered: at exit Python would wait for the lock of a buffer."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(STDIN, 1)
        if not byte:
            return b""
        line += byte
    return line


def main() -> int:
    order = WorkerOrder.parse(_line())
    write_log_to_stderr(order.log_level, prefix=f"node={order.config.node_id} ")
    out = sys.stdout.buffer

    def say_ready(address: str) -> None:
        out.write(READY)
        out.flush()

    node = server.Server(order.config, socket.socket(fileno=order.listen_fd))

    def converse() -> None:
        """Tell the status when asked; end with the supervisor."""
        while _line():
            out.write(status_line(node.status()))
            out.flush()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=converse, name="supervisor", daemon=True).start()
    try:
        return server.run_node(node, ready=say_ready)
    except server.StartupError as error:
        logging.getLogger("coordinator.server").error("%s", error)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
