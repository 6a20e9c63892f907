"""The check of replication in containers: `make ha-test`.

Brings up the profile `ha` of docker-compose.yml under a project of its own: two databases, three nodes, and clients of
three libraries and raw ones, which write down all that they do. `tests.ha.nemesis` then breaks it, by a schedule from
the seed, and `tests.ha.checker` judges. Without a container engine, `tests.ha.run` does the same with processes.

Clients, faults and the judge compare times, so all containers must be on this machine.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.cluster.engine import CannotRunError, build, compose_command, run, say
from tests.ha.containers.cluster import CLIENTS, DATABASES, NODES, ContainerNodes, ContainerPostgres, HaEngine
from tests.ha.nemesis import Kind, Nemesis, schedule
from tests.ha.verdict import FAULTS, HISTORY, judge

PROJECT = "coordinator-ha-test"
BUILT = (DATABASES[0], NODES[1], CLIENTS[0])  # one for each image
WARM_UP_S = 10.0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make ha-test", description=__doc__)
    parser.add_argument("--faults", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", help="only these kinds of faults, by their names: kill,freeze")
    parser.add_argument("--keep", action="store_true", help="keep the history; leave the containers running")
    parser.add_argument("--processes", action="store_true", help="do not use a container engine")
    parser.add_argument("--project", default=PROJECT)
    return parser.parse_args()


def play_as_processes(options: argparse.Namespace) -> int:
    command = [sys.executable, "-m", "tests.ha.run", "--faults", str(options.faults), "--seed", str(options.seed)]
    command += ["--kinds", options.kinds] if options.kinds else []
    command += ["--keep"] if options.keep else []
    return subprocess.run(command, check=False).returncode


async def play(engine: HaEngine, directory: Path, options: argparse.Namespace) -> list[str]:
    """Play the faults; returns what went wrong with the containers. The history is in the directory afterwards."""
    complaints: list[str] = []
    nodes = ContainerNodes(engine)
    say("starting two databases and three nodes")
    engine.compose("up", "-d", *(NODES[number] for number in nodes.first))
    await nodes.start_all()
    say("starting the clients of three libraries, and raw ones")
    engine.compose("up", "-d", *CLIENTS)
    await asyncio.sleep(WARM_UP_S)
    kinds = [kind for kind in Kind if kind is not Kind.FULL]  # the databases have no disks of their own
    if options.kinds:
        kinds = [Kind[name.upper()] for name in options.kinds.split(",")]
    try:
        nemesis = Nemesis(ContainerPostgres(engine), nodes, directory / FAULTS)
        await nemesis.run(schedule(options.seed, options.faults, kinds, nodes.first), say)
    except AssertionError as failure:
        complaints.append(f"the faults ended early: {failure}")
    complaints += [f"{each} ended by itself" for each in CLIENTS if not engine.state(each)["Running"]]
    say("stopping the clients; final fetches")
    engine.compose("stop", *CLIENTS)
    await nodes.start_all()
    engine.compose("run", "--rm", "-T", "ha-judge")
    run("docker", "cp", f"{engine.container(CLIENTS[0])}:/history/{HISTORY}", str(directory / HISTORY))
    return complaints + nodes.complaints()


def logs(engine: HaEngine, directory: Path) -> None:
    (directory / "containers.log").write_text(engine.compose("logs", "--no-color", "--timestamps", check=False))


def main() -> int:
    options = arguments()
    try:
        if options.processes:
            raise CannotRunError("--processes")
        engine = HaEngine(compose_command(), options.project)
    except CannotRunError as error:
        print(f"with processes, not with containers: {error}", flush=True)
        return play_as_processes(options)
    directory = Path(tempfile.mkdtemp(prefix="kgc-ha-"))
    engine.compose("down", "-v", "--remove-orphans", check=False)
    complaints: list[str] = []
    try:
        build(engine, *BUILT)
        complaints = asyncio.run(play(engine, directory, options))
    except (AssertionError, RuntimeError) as error:
        complaints.append(str(error))
    finally:
        logs(engine, directory)
        if not options.keep:
            engine.compose("down", "-v", "--remove-orphans", check=False)
    is_well = judge(directory, complaints)
    if is_well and not options.keep:
        shutil.rmtree(directory)
    else:
        print(f"history and logs: {directory}")
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
