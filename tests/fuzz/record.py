"""`make fuzz-record`: let real clients talk to a daemon through a proxy, and keep their frames for the session fuzzer.

The clients are those of `make clients`, in some of its scenarios; the producers of the Python libraries; and Kafka's
command-line tools. The daemon advertises the address of the proxy. A client that the machine lacks is named, and its
recordings stay as they are.
"""

from __future__ import annotations

import argparse
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, TextIO, TypeAlias

from protocol.frames import FrameReader
from tests.clients.matrix_programs import PROGRAMS, BrokenError, Missing
from tests.clients.matrix_scenarios import SCENARIOS, Stage
from tests.clients.matrix_tools import TOOLS, Operator
from tests.clients.producers import produce_with
from tests.fuzz.recording import DIRECTORY, GROUP, PARTITIONS, TOPIC, Frame, pack, without_repeats
from tests.support.daemon import Daemon

CHOSEN: Final = ("rebalance", "resume", "static", "cooperative")
MOST_BYTES: Final = 1 << 26
PRODUCERS: Final = ("aiokafka", "kafka-python", "confluent-kafka")


class Proxy:
    """Passes bytes on between clients and a daemon, and keeps the frames of both directions in their order."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.daemon_port = 0
        self._connections = 0
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):  # it was closed
            while True:
                client, _ = self._listener.accept()
                try:
                    daemon = socket.create_connection(("127.0.0.1", self.daemon_port))
                except OSError:  # the daemon is down: the client hears the same
                    client.close()
                    continue
                self._connections += 1
                for ends in ((client, daemon, False), (daemon, client, True)):
                    threading.Thread(target=self._pump, args=(*ends, self._connections), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket, is_answer: bool, connection: int) -> None:
        reader = FrameReader(MOST_BYTES)
        with suppress(OSError):
            while data := source.recv(1 << 16):
                found = [Frame(is_answer, connection, frame) for frame in reader.feed(data)]
                with self._lock:
                    self.frames += found
                target.sendall(data)
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


class RecordedDaemon(Daemon):
    """A daemon whose clients come through a proxy. `port` is its own one, which is not recorded."""

    def __init__(self, directory: Path) -> None:
        self.proxy = Proxy()
        overrides = ["group.initial.rebalance.delay.ms=0", f"advertised.listeners=127.0.0.1:{self.proxy.port}"]
        super().__init__(directory, overrides=overrides)

    def await_ready(self) -> Daemon:
        super().await_ready()
        self.proxy.daemon_port = self.port
        return self

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.proxy.port}"


class _RecordedStage(Stage):
    """A scenario whose topic and group have the names of all recordings."""

    def __post_init__(self) -> None:
        self.topic, self.group = TOPIC, GROUP
        self.daemon.create_topic(self.topic, self.partitions)


class _Front:
    """The recorded daemon as a scenario or a tool sees it: clients are told the address of the proxy."""

    def __init__(self, daemon: RecordedDaemon) -> None:
        self.port, self.address, self.directory = daemon.port, daemon.bootstrap, daemon.directory
        self.create_topic = daemon.create_topic


Play: TypeAlias = Callable[[_Front, TextIO], None]


def record(name: str, play: Play, scratch: Path) -> None:
    directory = scratch / name
    daemon = RecordedDaemon(directory)
    with daemon, (directory / "client.log").open("w") as log:
        play(_Front(daemon), log)
    daemon.proxy.close()
    frames = [_nameless(each) for each in without_repeats(daemon.proxy.frames)]
    packed = pack(frames)
    (DIRECTORY / f"{name}.bin").write_bytes(packed)
    print(f"{name}: {len(frames)} of {len(daemon.proxy.frames)} frames in {len(packed)} bytes", flush=True)


def _nameless(frame: Frame) -> Frame:
    """Return the frame with another name of the same length for this machine: kafka-go puts it into its client id."""
    name = b"@" + socket.gethostname().encode()
    return frame._replace(data=frame.data.replace(name, b"@" + b"h" * (len(name) - 1)))


def consumers(client: str, scenario: str) -> Play:
    program = PROGRAMS[client]()
    if scenario in program.without:
        raise Missing(program.without[scenario])

    def play(front: _Front, log: TextIO) -> None:
        stage = _RecordedStage(front, log, PARTITIONS)  # type: ignore[arg-type]
        try:
            SCENARIOS[scenario](stage, program)
        finally:
            stage.end()

    return play


def producers(library: str) -> Play:
    def play(front: _Front, log: TextIO) -> None:
        front.create_topic(TOPIC, PARTITIONS)
        for compression in ("none", "gzip"):
            produce_with(library, front.address, TOPIC, [b"value" * 5] * 10, compression)

    return play


def tools(front: _Front, log: TextIO) -> None:
    operator = Operator(front, front.directory / "tools.log")  # type: ignore[arg-type]
    for _, step in TOOLS.values():
        step(operator)


def plays() -> dict[str, Callable[[], Play]]:
    """Return what can be recorded, by the name of the recording."""
    found: dict[str, Callable[[], Play]] = {
        f"{client}-{scenario}": partial(consumers, client, scenario) for client in PROGRAMS for scenario in CHOSEN
    }
    found |= {f"{library}-producer": partial(producers, library) for library in PRODUCERS}
    return found | {"kafka-tools": lambda: tools}


def main() -> int:
    known = plays()
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=known, metavar="NAME", help="; ".join(known))
    given = parser.parse_args()
    DIRECTORY.mkdir(exist_ok=True)
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name in given.only or known:
            try:
                record(name, known[name](), Path(scratch))
            except Missing as reason:
                print(f"{name}: not recorded: {reason}", flush=True)
            except (AssertionError, OSError, BrokenError, subprocess.SubprocessError) as error:
                print(f"{name}: FAILED: {error}", flush=True)
                failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
