"""A run: an engine, nodes, clients of three libraries and raw ones, faults from a seed; then the verdict and figures.

    python -m tests.ha.run --engine postgres --faults 50 --seed 7
    python -m tests.ha.run --judge DIRECTORY

The first form leaves its directory (history, log of faults, logs of all processes) behind if the verdict is not good,
or with --keep. The second gives the verdict on such a directory again.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.ha.engines import Files, KafkaTopic, Postgres, SharedEngine
from tests.ha.final_fetches import fetch_all
from tests.ha.nemesis import LINK_FAULTS, Kind, Nemesis, schedule
from tests.ha.nodes import EngineNodes
from tests.ha.verdict import FAULTS, HISTORY, judge
from tests.support.daemon import REPOSITORY

CLIENTS = ("aiokafka", "confluent", "kafka_python", "raw")
LIBRARIES = ("aiokafka", "confluent-kafka", "kafka-python")
WARM_UP_S = 5.0
ENDS_S = 30.0
DISK_BYTES = 400 << 20  # of each database, where one of the faults fills it
KINDS: dict[str, list[Kind]] = {
    "files": [Kind.KILL, Kind.FREEZE, Kind.FREEZE_ALL, Kind.STOP, Kind.RESTART_ALL, Kind.RESTART_EACH],
    "postgres": [kind for kind in Kind if kind is not Kind.FULL or os.getuid() == 0],
    "kafka": [kind for kind in Kind if kind not in {*LINK_FAULTS, Kind.SLOW, Kind.STANDBY, Kind.FULL}],
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--engine", choices=sorted(KINDS), default="postgres")
    parser.add_argument("--faults", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--groups", type=int, default=3, help="groups of each client program")
    parser.add_argument("--kinds", help="only these kinds of faults, by their names: kill,freeze")
    parser.add_argument("--clients", default=",".join(CLIENTS))
    parser.add_argument(
        "--topic", default="orders:4", help="name:partitions; the nodes keep it, and library members subscribe to it"
    )
    parser.add_argument("--keep", action="store_true", help="keep the directory of the run")
    parser.add_argument("--judge", type=Path, help="check the history of an earlier run")
    return parser.parse_args()


class Clients:
    """The client programs, as processes."""

    def __init__(self, directory: Path, bootstrap: str, options: argparse.Namespace) -> None:
        self._programs: dict[str, subprocess.Popen[bytes]] = {}
        watched = ",".join(f"{library}-alone-{number}" for library in LIBRARIES for number in range(options.groups))
        for number, name in enumerate(options.clients.split(",")):
            command = [sys.executable, "-m", f"tests.ha.clients.{name}", "--bootstrap", bootstrap]
            command += ["--groups", str(options.groups), "--seconds", "86400", "--history", str(directory / HISTORY)]
            command += ["--seed", str(options.seed), "--number", str(number)]
            command += ["--watch", watched] if name == "raw" else []
            command += ["--topic", options.topic] if options.topic else []
            with (directory / f"{name}.log").open("wb") as log:
                self._programs[name] = subprocess.Popen(command, cwd=REPOSITORY, stdout=log, stderr=log)

    def complaints(self) -> list[str]:
        return [f"client {name} ended by itself" for name, each in self._programs.items() if each.poll() is not None]

    def stop(self) -> None:
        """End all of them; what they still wait for has an unknown outcome."""
        for each in self._programs.values():
            each.terminate()
        for each in self._programs.values():
            try:
                each.wait(ENDS_S)
            except subprocess.TimeoutExpired:
                each.kill()
                each.wait()


def kinds_of(options: argparse.Namespace) -> list[Kind]:
    if options.kinds:
        return [Kind[name.upper()] for name in options.kinds.split(",")]
    return KINDS[options.engine]


def engine_of(name: str, directory: Path, kinds: Sequence[Kind]) -> SharedEngine:
    if name == "kafka":
        return KafkaTopic(directory)
    return Postgres(directory, disk_bytes=DISK_BYTES * (Kind.FULL in kinds)) if name == "postgres" else Files()


async def play(directory: Path, options: argparse.Namespace) -> list[str]:
    """Play the faults; returns what went wrong with the processes. The history is in the directory afterwards."""
    engine = engine_of(options.engine, directory, kinds_of(options))
    complaints: list[str] = []
    try:
        with noted(complaints):
            await asyncio.to_thread(engine.start)
            async with EngineNodes(directory, engine, options.nodes, options.topic) as nodes:
                await play_against(engine, nodes, directory, options, complaints)
    finally:
        await asyncio.to_thread(engine.stop)
    return complaints


async def play_against(
    engine: SharedEngine, nodes: EngineNodes, directory: Path, options: argparse.Namespace, complaints: list[str]
) -> None:
    """Run the clients and the nemesis; then all is healed, and every offset is fetched."""
    clients = Clients(directory, nodes.bootstrap, options)
    try:
        await asyncio.sleep(WARM_UP_S)
        nemesis = Nemesis(engine, nodes, directory / FAULTS)
        with noted(complaints):
            await nemesis.run(schedule(options.seed, options.faults, kinds_of(options), nodes.first), say)
        complaints += clients.complaints()
    finally:
        await asyncio.to_thread(clients.stop)
    say("final fetches")
    await nodes.start_all()
    addresses = [("127.0.0.1", nodes.nodes[number].daemon.port) for number in nodes.first]
    await fetch_all(directory / HISTORY, addresses, options.topic.partition(":")[0])
    complaints += nodes.complaints()


@contextlib.contextmanager
def noted(complaints: list[str]) -> Iterator[None]:
    """Turn a failed assertion of a fault into a complaint: the history up to there is judged all the same."""
    try:
        yield
    except AssertionError as failure:
        complaints.append(f"the faults ended early: {failure}")


def main() -> int:
    options = arguments()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # all processes are ended then, too
    if options.judge is not None:
        return 0 if judge(options.judge, []) else 1
    directory = Path(tempfile.mkdtemp(prefix="kgc-ha-"))
    say(f"engine {options.engine}, seed {options.seed}, in {directory}")
    complaints = asyncio.run(play(directory, options))
    is_well = judge(directory, complaints)
    if is_well and not options.keep:
        shutil.rmtree(directory)
    else:
        print(f"history and logs: {directory}")
    return 0 if is_well else 1


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
